package action

import (
	"html"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// An echo is a text with its escapes decoded, as one of its readers would decode it. A receiver that repeats a request's content may percent-encode it,
// or write it as JSON or HTML, all of it or some characters.
type echo struct {
	text       string
	start, end []int // the offsets of each byte in the original text; nil: the same offsets as in text
}

// An unescaper decodes the escape at the beginning of a text, and returns the escape's length; 0: there is no escape.
type unescaper func(text string) (plain string, length int)

const maxEscape = 12 // bytes of the longest decoded escape: two \u of JSON

// echoes returns all decodings of a text.
func echoes(text string) []echo {
	all := []echo{{text: text}}
	for _, reading := range []struct {
		marks    string
		unescape unescaper
	}{{"%", unpercent}, {"+", unform}, {`\`, unquote}, {"&", unentity}} {
		if strings.Contains(text, reading.marks) {
			all = append(all, read(text, reading.unescape))
		}
	}
	return all
}

func read(text string, unescape unescaper) echo {
	var out strings.Builder
	var e echo
	for at := 0; at < len(text); {
		plain, length := unescape(text[at:])
		if length == 0 {
			plain, length = text[at:at+1], 1
		}
		for range len(plain) {
			e.start, e.end = append(e.start, at), append(e.end, at+length)
		}
		out.WriteString(plain)
		at += length
	}
	e.text = out.String()
	return e
}

// place returns the offsets in the original text for bytes of the echo.
func (e *echo) place(from, to int) (start, end int) {
	if e.start == nil {
		return from, to
	}
	return e.start[from], e.end[to-1]
}

// unpercent reads %2F.
func unpercent(text string) (string, int) {
	if text[0] != '%' || len(text) < 3 {
		return "", 0
	}
	b, err := strconv.ParseUint(text[1:3], 16, 8)
	if err != nil {
		return "", 0
	}
	return string([]byte{byte(b)}), 3
}

// unform decodes a form: %2F, and + for a space.
func unform(text string) (string, int) {
	if text[0] == '+' {
		return " ", 1
	}
	return unpercent(text)
}

// unquote decodes \n, \", \/, \x0a and \u000a, the escapes of JSON and programming languages.
func unquote(text string) (string, int) {
	if text[0] != '\\' || len(text) < 2 {
		return "", 0
	}
	switch c := text[1]; c {
	case 'n':
		return "\n", 2
	case 'r':
		return "\r", 2
	case 't':
		return "\t", 2
	case '"', '\'', '\\', '/':
		return string(c), 2
	case 'x':
		if r, ok := hexRune(text, 2, 2); ok {
			return string(r), 4
		}
	case 'u':
		first, ok := hexRune(text, 2, 4)
		if !ok {
			break
		}
		if utf16.IsSurrogate(first) && strings.HasPrefix(text[6:], `\u`) {
			if second, ok := hexRune(text, 8, 4); ok {
				return string(utf16.DecodeRune(first, second)), 12
			}
		}
		return string(first), 6
	}
	return "", 0
}

// hexRune is the character whose number is in a given number of hexadecimal digits.
func hexRune(text string, at, digits int) (rune, bool) {
	if len(text) < at+digits {
		return utf8.RuneError, false
	}
	r, err := strconv.ParseUint(text[at:at+digits], 16, 32)
	return rune(r), err == nil
}

// entity is an HTML entity at the beginning of a text.
var entity = regexp.MustCompile(`^&#?[A-Za-z0-9]{1,9};`)

// unentity decodes &amp; and &#38; and &#x26;.
func unentity(text string) (string, int) {
	if text[0] != '&' {
		return "", 0
	}
	written := entity.FindString(text[:min(len(text), maxEscape)])
	plain := html.UnescapeString(written)
	if written == "" || strings.HasSuffix(plain, ";") && plain != ";" {
		return "", 0 // there is no such entity, or a shorter one at its beginning
	}
	return plain, len(written)
}

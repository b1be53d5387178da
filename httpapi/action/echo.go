package action

import (
	"html"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// An echo is a text as one of its readers would take it, with escapes carried out: a receiver that says what it was sent may percent-encode it,
// or write it as JSON or HTML, all of it or some of its characters.
type echo struct {
	text       string
	start, end []int // of each byte of text, where that stands in the text that was read; nil: where it stands in text
}

// An unescaper returns what an escape at the beginning of a text stands for, and how long the escape is; 0: none begins there.
type unescaper func(text string) (plain string, length int)

const maxEscape = 12 // bytes, of those that are carried out: two \u of JSON

// echoes are all readings of a text.
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

// place is where bytes of the echo stand in the text that was read.
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

// unform reads what a form has: %2F, and + for a space.
func unform(text string) (string, int) {
	if text[0] == '+' {
		return " ", 1
	}
	return unpercent(text)
}

// unquote reads \n, \", \/, \x0a and \u000a, as JSON and programs have them.
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

// hexRune is the character whose number stands at a place in so many digits.
func hexRune(text string, at, digits int) (rune, bool) {
	if len(text) < at+digits {
		return utf8.RuneError, false
	}
	r, err := strconv.ParseUint(text[at:at+digits], 16, 32)
	return rune(r), err == nil
}

// entity is one of HTML at the beginning of a text.
var entity = regexp.MustCompile(`^&#?[A-Za-z0-9]{1,9};`)

// unentity reads &amp; and &#38; and &#x26;.
func unentity(text string) (string, int) {
	written := entity.FindString(text)
	plain := html.UnescapeString(written)
	if written == "" || strings.HasSuffix(plain, ";") && plain != ";" {
		return "", 0 // there is no such entity, or one that begins it
	}
	return plain, len(written)
}

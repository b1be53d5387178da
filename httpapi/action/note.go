package action

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const maxNote = 2048 // bytes

const notePrefix = "Http Action - "

// note is the record of an answer, in the format of Azure's scheduler: the host, the status, four headers, why the body broke off, and with withBody
// part of the body. It is printable UTF-8 of at most 2,048 bytes without secrets.
func note(host string, a *answer, withBody bool, clean *redactor) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%sResponse from host '%s': '%s' Response Headers:", notePrefix, host, statusWord(a.status))
	for _, name := range []string{"Content-Type", "Content-Length", "Retry-After", "Location"} {
		value := a.header.Get(name)
		if name == "Location" {
			value = shownLocation(value)
		}
		if value != "" {
			fmt.Fprintf(&text, " %s: %s", name, cut(printable(clean.clean(value)), 200))
		}
	}
	if a.broken != "" {
		text.WriteString(" The body is incomplete: " + a.broken + ".")
	}
	if withBody && len(a.body) > 0 {
		body := string(a.body)
		if a.cut {
			body = clean.cleanCut(body)
		} else {
			body = clean.clean(body)
		}
		text.WriteString(" Body: " + cut(printable(body), maxNote))
	}
	return cut(clean.clean(text.String()), maxNote)
}

// shownLocation is a Location without its query, which may contain secrets.
func shownLocation(value string) string {
	u, err := url.Parse(value)
	if err != nil || value == "" {
		return ""
	}
	u.User, u.RawQuery, u.Fragment, u.RawFragment, u.ForceQuery = nil, "", "", "", false
	return u.String()
}

// statusWord is the name of a status in .NET: NotFound for 404; a status without a name is its number.
func statusWord(status int) string {
	word := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) {
			return r
		}
		return -1
	}, http.StatusText(status))
	if word == "" {
		return strconv.Itoa(status)
	}
	return word
}

var statusOf = func() map[string]int {
	words := map[string]int{}
	for status := 100; status <= 599; status++ {
		words[statusWord(status)] = status
	}
	return words
}()

// NoteStatus returns the status of the answer in a Sender's note, and 0 if the note is not about an answer.
func NoteStatus(text string) int {
	rest, ok := strings.CutPrefix(text, notePrefix+"Response from host '")
	if !ok {
		return 0
	}
	_, rest, _ = strings.Cut(rest, "': '")
	word, _, ok := strings.Cut(rest, "'")
	if !ok {
		return 0
	}
	return statusOf[word]
}

// printable escapes control characters, and replaces bytes that are not UTF-8 by the replacement character.
func printable(text string) string {
	var out strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		switch {
		case r == utf8.RuneError && size == 1:
			out.WriteRune(utf8.RuneError)
		case unicode.IsPrint(r):
			out.WriteRune(r)
		default:
			quoted := strconv.QuoteRuneToASCII(r)
			out.WriteString(quoted[1 : len(quoted)-1])
		}
		text = text[size:]
	}
	return out.String()
}

package output

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// value prints a value as JSON on lines of its own.
func (p Printer) value(v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	return p.json(text, err)
}

// line prints a value as JSON on one line.
func (p Printer) line(v any) error {
	text, err := json.Marshal(v)
	return p.json(text, err)
}

func (p Printer) json(text []byte, err error) error {
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.Out, "%s\n", harmless(string(text)))
	return err
}

// harmless returns JSON that means the same and has no character which a terminal obeys or hides. Those can only be in its strings, but for the
// spaces and line feeds between its parts.
func harmless(text string) string {
	hostile := func(c rune) bool { return c >= ' ' && unprintable(c) }
	if strings.IndexFunc(text, hostile) < 0 {
		return text
	}
	var b strings.Builder
	for _, c := range text { // of bytes that are no UTF-8 it is utf8.RuneError
		switch first, second := utf16.EncodeRune(c); {
		case !hostile(c):
			b.WriteRune(c)
		case first != utf8.RuneError:
			fmt.Fprintf(&b, `\u%04x\u%04x`, first, second)
		default:
			fmt.Fprintf(&b, `\u%04x`, c)
		}
	}
	return b.String()
}

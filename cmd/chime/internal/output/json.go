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

// harmless returns equivalent JSON without characters that control a terminal or are invisible. Apart from the spaces and line feeds between
// tokens, such characters can only be in its strings.
func harmless(text string) string {
	hostile := func(c rune) bool { return c >= ' ' && unprintable(c) }
	if strings.IndexFunc(text, hostile) < 0 {
		return text
	}
	var b strings.Builder
	for _, c := range text { // c is utf8.RuneError for bytes that are not UTF-8
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

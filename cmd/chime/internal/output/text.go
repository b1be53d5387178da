// Package output prints what commands have found: tables that adapt to a narrow terminal, JSON, and names alone.
package output

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Printable returns a text that cannot move the cursor or hide anything: control and format characters, and bytes that are not UTF-8, are written
// as Go escapes.
func Printable(text string) string {
	if strings.IndexFunc(text, unprintable) < 0 {
		return text
	}
	var b strings.Builder
	for at := 0; at < len(text); {
		c, size := utf8.DecodeRuneInString(text[at:])
		switch {
		case c == utf8.RuneError && size == 1, c < 0x80 && unprintable(c):
			fmt.Fprintf(&b, `\x%02x`, text[at])
		case c > 0xffff && unprintable(c):
			fmt.Fprintf(&b, `\U%08x`, c)
		case unprintable(c):
			fmt.Fprintf(&b, `\u%04x`, c)
		default:
			b.WriteRune(c)
		}
		at += size
	}
	return b.String()
}

func unprintable(c rune) bool {
	return c == utf8.RuneError || unicode.IsControl(c) || unicode.Is(unicode.Cf, c) || unicode.In(c, unicode.Zl, unicode.Zp)
}

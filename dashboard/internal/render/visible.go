package render

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
)

// visible escapes characters that are invisible or that move other characters, in a page's texts and in attributes that people read. A note with
// U+202E would reverse the rest of its line, and a note with ESC would colour the terminal to which it is copied. Text areas and other attributes are
// not changed, because forms send them back.
func visible(html string) string {
	if !strings.ContainsFunc(html, unseen) {
		return html
	}
	var b strings.Builder
	for len(html) > 0 {
		end := strings.IndexByte(html, '<')
		if end < 0 {
			end = len(html)
		}
		escapeUnseen(&b, html[:end])
		html = html[end:]
		if typed := strings.Index(html, "</textarea>"); typed >= 0 && strings.HasPrefix(html, "<textarea") {
			b.WriteString(html[:typed])
			html = html[typed:]
		}
		tag := strings.IndexByte(html, '>') + 1 // templates escape > in values
		if tag == 0 {
			tag = len(html)
		}
		escapeSaid(&b, html[:tag])
		html = html[tag:]
	}
	return b.String()
}

// said are the attributes that people read or that screen readers read aloud.
var said = regexp.MustCompile(` (?:title|aria-label|data-label)="[^"]*"`)

// escapeSaid writes a tag with these attributes escaped.
func escapeSaid(b *strings.Builder, tag string) {
	if !strings.ContainsFunc(tag, unseen) {
		b.WriteString(tag)
		return
	}
	end := 0
	for _, at := range said.FindAllStringIndex(tag, -1) {
		b.WriteString(tag[end:at[0]])
		escapeUnseen(b, tag[at[0]:at[1]])
		end = at[1]
	}
	b.WriteString(tag[end:])
}

func escapeUnseen(b *strings.Builder, text string) {
	for _, c := range text {
		switch {
		case !unseen(c):
			b.WriteRune(c)
		case c < 0x80:
			fmt.Fprintf(b, `\x%02x`, c)
		case c > 0xffff:
			fmt.Fprintf(b, `\U%08x`, c)
		default:
			fmt.Fprintf(b, `\u%04x`, c)
		}
	}
}

func unseen(c rune) bool {
	if c < 0x80 { // the common case
		return c < ' ' && c != '\n' && c != '\t' && c != '\r' || c == 0x7f
	}
	return unicode.IsControl(c) || unicode.In(c, unicode.Cf, unicode.Zl, unicode.Zp)
}

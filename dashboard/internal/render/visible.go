package render

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
)

// visible writes the characters of a page's texts that nobody sees, or that draw others elsewhere, as an escape: a note with U+202E would turn the
// rest of its line around, and one with ESC colour the terminal that it is copied to. So it does with what attributes say to people. What is typed in a
// text area stays, and so do the other attributes: forms send them back.
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
		tag := strings.IndexByte(html, '>') + 1 // templates escape it in values
		if tag == 0 {
			tag = len(html)
		}
		escapeSaid(&b, html[:tag])
		html = html[tag:]
	}
	return b.String()
}

// said are the attributes that people read or hear.
var said = regexp.MustCompile(` (?:title|aria-label|data-label)="[^"]*"`)

// escapeSaid writes a tag.
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
	if c < 0x80 { // most of a page
		return c < ' ' && c != '\n' && c != '\t' && c != '\r' || c == 0x7f
	}
	return unicode.IsControl(c) || unicode.In(c, unicode.Cf, unicode.Zl, unicode.Zp)
}

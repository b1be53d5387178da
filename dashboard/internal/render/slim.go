package render

import (
	"bytes"
	"regexp"
	"strings"
)

// slim removes a third of a script that browsers do not need: comments, indents and spaces that do not separate words. It only supports the part of the
// language that these scripts use: no string, template or pattern of theirs contains a line break, and no template contains another one.
func slim(script []byte) []byte {
	var slimmed bytes.Buffer
	for line := range bytes.Lines(script) {
		if code := slimLine(string(bytes.TrimSpace(line))); code != "" {
			slimmed.WriteString(code + "\n")
		}
	}
	return slimmed.Bytes()
}

func slimLine(line string) string {
	var b strings.Builder
	last := byte('\n') // the last written byte
	for i := 0; i < len(line); {
		c := line[i]
		end := i + 1
		switch {
		case strings.HasPrefix(line[i:], "// "):
			return b.String()
		case c == ' ':
			if i+1 < len(line) && needsSpace(last, line[i+1]) && !strings.HasPrefix(line[i+1:], "// ") {
				b.WriteByte(' ')
				last = ' '
			}
			i++
			continue
		case c == '"', c == '\'', c == '`', c == '/' && strings.IndexByte("\n(,=:[!&|?{};>", last) >= 0:
			end = i + quoted(line[i:])
		}
		b.WriteString(line[i:end])
		last = line[end-1]
		i = end
	}
	return b.String()
}

// needsSpace reports whether a space between two characters is needed: between words, and between two signs that would form another sign.
func needsSpace(a, b byte) bool {
	word := func(c byte) bool {
		return c == '_' || c == '$' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= 0x80
	}
	return word(a) && word(b) || a == b && strings.IndexByte("+-/", a) >= 0
}

// quoted returns the length of the string, template or pattern at the beginning of a text.
func quoted(text string) int {
	class := false // within the brackets of a pattern, where a slash does not end it
	for i := 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\':
			i++
		case text[0] == '/' && (c == '[' || c == ']'):
			class = c == '['
		case c == text[0] && !class:
			return i + 1
		}
	}
	return len(text)
}

// slimStyle removes comments, indents, empty lines and spaces next to braces from a style sheet. No string of the style sheet contains any of these.
func slimStyle(sheet []byte) []byte {
	var slimmed bytes.Buffer
	for line := range bytes.Lines(comment.ReplaceAllLiteral(sheet, nil)) {
		if rule := bytes.TrimSpace(line); len(rule) > 0 {
			tight.WriteString(&slimmed, string(rule)+"\n")
		}
	}
	return slimmed.Bytes()
}

var tight = strings.NewReplacer(" { ", "{", " {", "{", "; }", "}", " }", "}", "; ", ";", ": ", ":", ", ", ",")

var comment = regexp.MustCompile(`(?s)/\*.*?\*/`)

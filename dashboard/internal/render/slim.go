package render

import (
	"bytes"
	"regexp"
	"strings"
)

// slim leaves out of a script what browsers do not need: comments, indents, and spaces beside what is no word. A third of it. It knows as much of the
// language as these scripts use: no string, template or pattern of theirs has a line's end, and no template another one within.
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
	last := byte('\n') // that was written
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

// needsSpace reports whether a space between two characters means something: between words, and where two signs would be another one.
func needsSpace(a, b byte) bool {
	word := func(c byte) bool {
		return c == '_' || c == '$' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= 0x80
	}
	return word(a) && word(b) || a == b && strings.IndexByte("+-/", a) >= 0
}

// quoted is how long the string, template or pattern is that a text begins with.
func quoted(text string) int {
	class := false // within the brackets of a pattern, where a slash is itself
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

// slimStyle leaves comments, indents, empty lines and spaces beside braces out of a style sheet. No string of it has any of these.
func slimStyle(sheet []byte) []byte {
	var slimmed bytes.Buffer
	for line := range bytes.Lines(comment.ReplaceAllLiteral(sheet, nil)) {
		if rule := bytes.TrimSpace(line); len(rule) > 0 {
			tight.WriteString(&slimmed, string(rule)+"\n")
		}
	}
	return slimmed.Bytes()
}

var tight = strings.NewReplacer(" { ", "{", " {", "{", "; }", "}", " }", "}")

var comment = regexp.MustCompile(`(?s)/\*.*?\*/`)

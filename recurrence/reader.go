package recurrence

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	longestText = 64 << 10 // bytes
	deepestText = 100      // values within values
)

// A jsonValue is one JSON value with its place in the text, which encoding/json does not tell.
type jsonValue struct {
	kind    jsonKind
	at      int    // where it begins
	raw     string // as written
	text    string // of a string: what it says
	items   []jsonValue
	members []jsonMember // every one, duplicates included, in the order of the text
}

type jsonMember struct {
	key string
	at  int
	jsonValue
}

type jsonKind byte

const (
	jsonNull jsonKind = iota
	jsonBoolean
	jsonNumber
	jsonWord
	jsonArray
	jsonObject
)

// unset tells whether the value means that its field was not given.
func (v jsonValue) unset() bool {
	return v.kind == jsonNull || v.kind == jsonArray && len(v.items) == 0
}

// shown is what an Error shows of the value.
func (v jsonValue) shown() string {
	if v.kind == jsonWord {
		return v.text
	}
	return v.raw
}

// readJSON reads one JSON value as RFC 8259 has it, with nothing after it.
func readJSON(data []byte) (jsonValue, *Error) {
	if len(data) > longestText {
		return jsonValue{}, refuse(CodeSyntax, "", "", "must be at most 64 KiB, is %d bytes", len(data))
	}
	r := jsonReader{data: string(data)}
	r.space()
	v := r.value(0)
	r.space()
	if r.err == nil && r.at < len(r.data) {
		r.fail("one JSON value must stand alone, something follows it")
	}
	return v, r.err
}

// A jsonReader walks over JSON text. After its first error it no longer moves.
type jsonReader struct {
	data string
	at   int
	err  *Error
}

func (r *jsonReader) fail(reason string) {
	if r.err == nil {
		r.err = refuse(CodeSyntax, "", r.data[r.at:], "at byte %d: %s", r.at, reason)
	}
}

// peek is the next byte; 0, which begins nothing in JSON, at the end and after an error.
func (r *jsonReader) peek() byte {
	if r.err != nil || r.at >= len(r.data) {
		return 0
	}
	return r.data[r.at]
}

// take steps over c if it is next.
func (r *jsonReader) take(c byte) bool {
	if r.peek() != c || r.at >= len(r.data) {
		return false
	}
	r.at++
	return true
}

func (r *jsonReader) space() {
	for r.take(' ') || r.take('\n') || r.take('\t') || r.take('\r') {
	}
}

func (r *jsonReader) value(depth int) jsonValue {
	v := jsonValue{at: r.at}
	if depth > deepestText {
		r.fail("values are nested too deeply")
		return v
	}
	switch c := r.peek(); {
	case c == '{':
		v.kind, v.members = jsonObject, r.object(depth)
	case c == '[':
		v.kind, v.items = jsonArray, r.array(depth)
	case c == '"':
		v.kind, v.text = jsonWord, r.string()
	case c == '-' || isDigit(c):
		v.kind = jsonNumber
		r.number()
	case c == 'n':
		r.literal("null")
	case c == 't':
		v.kind = jsonBoolean
		r.literal("true")
	case c == 'f':
		v.kind = jsonBoolean
		r.literal("false")
	case strings.HasPrefix(r.data[r.at:], "\ufeff"):
		r.fail("JSON has no byte order mark")
	default:
		r.fail("a JSON value must stand here")
	}
	v.raw = r.data[v.at:r.at]
	return v
}

func (r *jsonReader) object(depth int) (members []jsonMember) {
	r.take('{')
	r.space()
	if r.take('}') {
		return nil
	}
	for r.err == nil {
		m := jsonMember{at: r.at}
		if r.peek() != '"' {
			r.fail("a key in double quotes must stand here")
			return nil
		}
		m.key = r.string()
		r.space()
		if !r.take(':') {
			r.fail("a colon must follow the key")
			return nil
		}
		r.space()
		m.jsonValue = r.value(depth + 1)
		members = append(members, m)
		r.space()
		if r.take('}') {
			return members
		}
		if !r.take(',') {
			r.fail("a comma or } must follow the value")
		}
		r.space()
	}
	return nil
}

func (r *jsonReader) array(depth int) (items []jsonValue) {
	r.take('[')
	r.space()
	if r.take(']') {
		return nil
	}
	for r.err == nil {
		items = append(items, r.value(depth+1))
		r.space()
		if r.take(']') {
			return items
		}
		if !r.take(',') {
			r.fail("a comma or ] must follow the value")
		}
		r.space()
	}
	return nil
}

func (r *jsonReader) literal(name string) {
	if !strings.HasPrefix(r.data[r.at:], name) {
		r.fail("a JSON value must stand here")
		return
	}
	r.at += len(name)
}

func (r *jsonReader) number() {
	r.take('-')
	if !r.take('0') {
		r.digits()
	}
	if r.take('.') {
		r.digits()
	}
	if r.take('e') || r.take('E') {
		_ = r.take('+') || r.take('-')
		r.digits()
	}
}

// digits steps over one digit or more.
func (r *jsonReader) digits() {
	if !isDigit(r.peek()) {
		r.fail("a digit must stand here")
	}
	for isDigit(r.peek()) {
		r.at++
	}
}

func (r *jsonReader) string() string {
	r.take('"')
	var text strings.Builder
	for {
		c, size := utf8.DecodeRuneInString(r.data[r.at:])
		switch {
		case size == 0:
			r.fail("the string does not end")
		case c == utf8.RuneError && size == 1:
			r.fail("the text is no valid UTF-8")
		case c < ' ':
			r.fail("a control character in a string must be escaped")
		case c == '"':
			r.at++
			return text.String()
		case c == '\\':
			r.at++
			text.WriteRune(r.escape())
		default:
			r.at += size
			text.WriteRune(c)
		}
		if r.err != nil {
			return ""
		}
	}
}

// escape reads what follows a backslash.
func (r *jsonReader) escape() rune {
	const names, meanings = `"\/bfnrt`, "\"\\/\b\f\n\r\t"
	c := r.peek()
	if i := strings.IndexByte(names, c); i >= 0 {
		r.at++
		return rune(meanings[i])
	}
	if c != 'u' {
		r.fail("no such escape")
		return 0
	}
	first := r.hex()
	if !utf16.IsSurrogate(first) || !strings.HasPrefix(r.data[r.at:], `\u`) {
		return first // WriteRune turns a lone surrogate into U+FFFD, as encoding/json does
	}
	before := r.at
	r.at++
	if pair := utf16.DecodeRune(first, r.hex()); pair != utf8.RuneError {
		return pair
	}
	if r.err == nil {
		r.at = before
	}
	return utf8.RuneError
}

// hex reads u and four hexadecimal digits.
func (r *jsonReader) hex() (c rune) {
	r.take('u')
	for range 4 {
		d := r.peek()
		switch {
		case isDigit(d):
			c = c<<4 | rune(d-'0')
		case 'a' <= d|0x20 && d|0x20 <= 'f':
			c = c<<4 | rune(d|0x20-'a'+10)
		default:
			r.fail("\\u needs four hexadecimal digits")
			return 0
		}
		r.at++
	}
	return c
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// lower turns A to Z into a to z and leaves everything else, so that no foreign letter passes for one of ours.
func lower(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}, s)
}

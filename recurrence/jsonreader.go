package recurrence

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	maxJSONBytes = 64 << 10
	maxJSONDepth = 100 // values within values
)

// A jsonValue is one JSON value with its position in the text, which encoding/json does not report.
type jsonValue struct {
	kind    jsonKind
	at      int          // the byte at which it begins
	raw     string       // as written
	text    string       // of a string: its content
	items   []jsonValue  // of an array
	members []jsonMember // of an object: every member, duplicates included, in the order of the text
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
	jsonString
	jsonArray
	jsonObject
)

// isUnset reports whether the value, null or [], means that its field is not set.
func (v jsonValue) isUnset() bool {
	return v.kind == jsonNull || v.kind == jsonArray && len(v.items) == 0
}

// errorValue returns the value in the form for an Error.
func (v jsonValue) errorValue() string {
	if v.kind == jsonString {
		return v.text
	}
	return v.raw
}

// readJSON reads one JSON value as RFC 8259 defines it, with nothing after it.
func readJSON(data []byte) (jsonValue, *Error) {
	if len(data) > maxJSONBytes {
		return jsonValue{}, newError(CodeSyntax, "", "", "must be at most 64 KiB, is %d bytes", len(data))
	}
	r := jsonReader{data: string(data)}
	r.skipSpace()
	v := r.readValue(0)
	r.skipSpace()
	if r.err == nil && r.at < len(r.data) {
		r.fail("more text follows the JSON value")
	}
	return v, r.err
}

// A jsonReader reads JSON text from its beginning to its end. It stops at its first error.
type jsonReader struct {
	data string
	at   int
	err  *Error
}

func (r *jsonReader) fail(reason string) {
	if r.err == nil {
		r.err = newError(CodeSyntax, "", r.data[r.at:], "at byte %d: %s", r.at, reason)
	}
}

// peek returns the next byte. At the end and after an error it returns 0, which begins no JSON value.
func (r *jsonReader) peek() byte {
	if r.err != nil || r.at >= len(r.data) {
		return 0
	}
	return r.data[r.at]
}

// take skips c if it is the next byte, and reports whether it was.
func (r *jsonReader) take(c byte) bool {
	if r.peek() != c || r.at >= len(r.data) {
		return false
	}
	r.at++
	return true
}

func (r *jsonReader) skipSpace() {
	for r.take(' ') || r.take('\n') || r.take('\t') || r.take('\r') {
	}
}

func (r *jsonReader) readValue(depth int) jsonValue {
	v := jsonValue{at: r.at}
	if depth > maxJSONDepth {
		r.fail("values are nested too deeply")
		return v
	}
	switch c := r.peek(); {
	case c == '{':
		v.kind, v.members = jsonObject, r.readObject(depth)
	case c == '[':
		v.kind, v.items = jsonArray, r.readArray(depth)
	case c == '"':
		v.kind, v.text = jsonString, r.readString()
	case c == '-' || isDigit(c):
		v.kind = jsonNumber
		r.skipNumber()
	case c == 'n':
		r.skipLiteral("null")
	case c == 't':
		v.kind = jsonBoolean
		r.skipLiteral("true")
	case c == 'f':
		v.kind = jsonBoolean
		r.skipLiteral("false")
	case strings.HasPrefix(r.data[r.at:], "\ufeff"):
		r.fail("JSON must not begin with a byte order mark")
	default:
		r.fail("a JSON value is expected here")
	}
	v.raw = r.data[v.at:r.at]
	return v
}

func (r *jsonReader) readObject(depth int) (members []jsonMember) {
	r.take('{')
	r.skipSpace()
	if r.take('}') {
		return nil
	}
	for r.err == nil {
		m := jsonMember{at: r.at}
		if r.peek() != '"' {
			r.fail("a key in double quotes is expected here")
			return nil
		}
		m.key = r.readString()
		r.skipSpace()
		if !r.take(':') {
			r.fail("a colon must follow the key")
			return nil
		}
		r.skipSpace()
		m.jsonValue = r.readValue(depth + 1)
		members = append(members, m)
		r.skipSpace()
		if r.take('}') {
			return members
		}
		if !r.take(',') {
			r.fail("a comma or } must follow the value")
		}
		r.skipSpace()
	}
	return nil
}

func (r *jsonReader) readArray(depth int) (items []jsonValue) {
	r.take('[')
	r.skipSpace()
	if r.take(']') {
		return nil
	}
	for r.err == nil {
		items = append(items, r.readValue(depth+1))
		r.skipSpace()
		if r.take(']') {
			return items
		}
		if !r.take(',') {
			r.fail("a comma or ] must follow the value")
		}
		r.skipSpace()
	}
	return nil
}

func (r *jsonReader) skipLiteral(name string) {
	if !strings.HasPrefix(r.data[r.at:], name) {
		r.fail("a JSON value is expected here")
		return
	}
	r.at += len(name)
}

func (r *jsonReader) skipNumber() {
	r.take('-')
	if !r.take('0') {
		r.skipDigits()
	}
	if r.take('.') {
		r.skipDigits()
	}
	if r.take('e') || r.take('E') {
		_ = r.take('+') || r.take('-')
		r.skipDigits()
	}
}

// skipDigits skips one or more digits.
func (r *jsonReader) skipDigits() {
	if !isDigit(r.peek()) {
		r.fail("a digit is expected here")
	}
	for isDigit(r.peek()) {
		r.at++
	}
}

func (r *jsonReader) readString() string {
	r.take('"')
	var text strings.Builder
	for {
		c, size := utf8.DecodeRuneInString(r.data[r.at:])
		switch {
		case size == 0:
			r.fail("the string does not end")
		case c == utf8.RuneError && size == 1:
			r.fail("the text is not valid UTF-8")
		case c < ' ':
			r.fail("a control character in a string must be escaped")
		case c == '"':
			r.at++
			return text.String()
		case c == '\\':
			r.at++
			text.WriteRune(r.readEscape())
		default:
			r.at += size
			text.WriteRune(c)
		}
		if r.err != nil {
			return ""
		}
	}
}

// readEscape reads the rest of an escape sequence, after its backslash.
func (r *jsonReader) readEscape() rune {
	const names, meanings = `"\/bfnrt`, "\"\\/\b\f\n\r\t"
	c := r.peek()
	if i := strings.IndexByte(names, c); i >= 0 {
		r.at++
		return rune(meanings[i])
	}
	if c != 'u' {
		r.fail("this is not an escape sequence of JSON")
		return 0
	}
	first := r.readHex()
	if !utf16.IsSurrogate(first) || !strings.HasPrefix(r.data[r.at:], `\u`) {
		return first // WriteRune writes a lone surrogate as U+FFFD, as encoding/json does
	}
	before := r.at
	r.at++
	if pair := utf16.DecodeRune(first, r.readHex()); pair != utf8.RuneError {
		return pair
	}
	if r.err == nil {
		r.at = before
	}
	return utf8.RuneError
}

// readHex reads the letter u and four hexadecimal digits.
func (r *jsonReader) readHex() (c rune) {
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

// lower turns A to Z into a to z and leaves all other characters unchanged. (strings.ToLower turns the Kelvin sign into a k.)
func lower(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}, s)
}

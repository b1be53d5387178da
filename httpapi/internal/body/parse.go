package body

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/chimejobs/chime/httpapi/internal/problem"
)

const maxDepth = 32 // objects and arrays nested

// Parse reads exactly one JSON value. Its mistakes have the code "syntax".
func Parse(text []byte) (*Value, *problem.Mistake) {
	if !utf8.Valid(text) {
		return nil, bad(text, invalidAt(text), "the body is not UTF-8")
	}
	if err := firstError(text); err != nil {
		return nil, err
	}
	p := &parser{text: text, decoder: json.NewDecoder(bytes.NewReader(text))}
	p.decoder.UseNumber()
	v, err := p.value(0)
	if err != nil {
		return nil, err
	}
	if _, err := p.decoder.Token(); err != io.EOF {
		return nil, p.bad("want one JSON value, and nothing after it")
	}
	return v, nil
}

// firstError is the error that encoding/json finds in the text, because it includes the offset.
func firstError(text []byte) *problem.Mistake {
	var any json.RawMessage
	decoder := json.NewDecoder(bytes.NewReader(text))
	err := decoder.Decode(&any)
	if err == nil {
		return nil
	}
	if syntax, ok := err.(*json.SyntaxError); ok {
		return bad(text, int(syntax.Offset)-1, "want JSON: "+syntax.Error())
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return &problem.Mistake{Code: "syntax", Field: "body", Detail: "the body is missing: want a JSON object"}
	}
	return bad(text, len(text), "the JSON ends too early")
}

type parser struct {
	text    []byte
	decoder *json.Decoder
}

func (p *parser) bad(detail string) *problem.Mistake {
	return bad(p.text, int(p.decoder.InputOffset()), detail)
}

// value reads the next value, at a depth.
func (p *parser) value(depth int) (*Value, *problem.Mistake) {
	at := p.next()
	token, err := p.decoder.Token()
	if err != nil {
		return nil, p.bad("want JSON")
	}
	v := &Value{At: at}
	switch t := token.(type) {
	case nil:
	case bool:
		v.Kind, v.Text = Bool, fmt.Sprint(t)
	case json.Number:
		v.Kind, v.Text = Number, t.String()
	case string:
		v.Kind, v.Text = String, t
		if loneSurrogate(p.text[at:p.decoder.InputOffset()]) {
			return nil, bad(p.text, at, "a string has half of a surrogate pair, which is not a character")
		}
	case json.Delim:
		if depth == maxDepth {
			return nil, bad(p.text, at, fmt.Sprintf("want at most %d levels of objects and arrays", maxDepth))
		}
		if t == '[' {
			return v, p.items(v, depth+1)
		}
		return v, p.members(v, depth+1)
	}
	return v, nil
}

func (p *parser) items(v *Value, depth int) *problem.Mistake {
	v.Kind = Array
	for p.decoder.More() {
		item, err := p.value(depth)
		if err != nil {
			return err
		}
		v.Items = append(v.Items, item)
	}
	return p.end()
}

func (p *parser) members(v *Value, depth int) *problem.Mistake {
	v.Kind = Object
	for p.decoder.More() {
		key, err := p.value(depth)
		if err != nil {
			return err
		}
		value, err := p.value(depth)
		if err != nil {
			return err
		}
		v.Members = append(v.Members, Member{key.Text, value})
	}
	return p.end()
}

// end reads the bracket that closes an object or an array.
func (p *parser) end() *problem.Mistake {
	if _, err := p.decoder.Token(); err != nil {
		return p.bad("want JSON")
	}
	return nil
}

// next is the offset of the next token.
func (p *parser) next() int {
	at := int(p.decoder.InputOffset())
	for at < len(p.text) && bytes.IndexByte([]byte(" \t\r\n,:"), p.text[at]) >= 0 {
		at++
	}
	return at
}

// bad is a mistake at an offset of the text. It does not show the text, which may be part of a secret.
func bad(text []byte, at int, detail string) *problem.Mistake {
	at = max(0, min(at, len(text)))
	line := 1 + bytes.Count(text[:at], []byte("\n"))
	column := at - bytes.LastIndexByte(text[:at], '\n')
	return &problem.Mistake{Code: "syntax", Field: "body", Detail: fmt.Sprintf("line %d, byte %d: %s", line, column, detail)}
}

func invalidAt(text []byte) int {
	at := 0
	for at < len(text) {
		r, n := utf8.DecodeRune(text[at:])
		if r == utf8.RuneError && n == 1 {
			break
		}
		at += n
	}
	return at
}

// loneSurrogate reports whether a JSON string has a \u escape that is half of a pair: encoding/json turns it into U+FFFD.
func loneSurrogate(literal []byte) bool {
	high := false // the previous escape was the first half of a pair
	for i := 0; i < len(literal); i++ {
		if literal[i] != '\\' {
			if high {
				return true
			}
			continue
		}
		i++
		if i >= len(literal) || literal[i] != 'u' || i+4 >= len(literal) {
			if high {
				return true
			}
			continue
		}
		var unit rune
		_, _ = fmt.Sscanf(string(literal[i+1:i+5]), "%04x", &unit)
		i += 4
		low := unit >= 0xDC00 && unit <= 0xDFFF
		if low != high {
			return true
		}
		high = unit >= 0xD800 && unit <= 0xDBFF
	}
	return high
}

// Package body reads the JSON of one request into a tree that keeps what encoding/json drops: the order and spelling of keys, duplicate keys, the
// text of numbers, and the offset of each value. So all mistakes of a body can be reported, in their order and with their place.
package body

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"
)

// A Kind is the type of a value.
type Kind int

// The kinds.
const (
	Null Kind = iota
	Bool
	Number
	String
	Array
	Object
)

var kindNames = [...]string{"null", "true or false", "a number", "a string", "an array", "an object"}

// String is the kind's name in messages.
func (k Kind) String() string { return kindNames[k] }

// A Value is one value of a tree.
type Value struct {
	Kind    Kind
	Text    string   // of a String its content; of a Number and a Bool its JSON
	Items   []*Value // of an Array
	Members []Member // of an Object, in their order
	At      int      // its offset in the text, in bytes
	Stored  bool     // it comes from the store, and no client has changed any part of it
}

// A Member is a key of an object with its value.
type Member struct {
	Key   string
	Value *Value
}

// fold is a key with the case of ASCII letters removed, for comparison.
func fold(key string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, key)
}

// Get returns the value of an object's key, in any case; with duplicates, the last one. Nil: none, or it is null.
func (v *Value) Get(key string) *Value {
	if v == nil {
		return nil
	}
	for _, m := range slices.Backward(v.Members) {
		if fold(m.Key) == fold(key) {
			return m.Value.orNil()
		}
	}
	return nil
}

// orNil returns nil for null.
func (v *Value) orNil() *Value {
	if v == nil || v.Kind == Null {
		return nil
	}
	return v
}

// Append appends the value as JSON without spaces.
func (v *Value) Append(to []byte) []byte {
	switch v.Kind {
	case Null:
		return append(to, "null"...)
	case Bool, Number:
		return append(to, v.Text...)
	case String:
		return appendString(to, v.Text)
	case Array:
		to = append(to, '[')
		for i, item := range v.Items {
			if i > 0 {
				to = append(to, ',')
			}
			to = item.Append(to)
		}
		return append(to, ']')
	}
	to = append(to, '{')
	for i, m := range v.Members {
		if i > 0 {
			to = append(to, ',')
		}
		to = append(appendString(to, m.Key), ':')
		to = m.Value.Append(to)
	}
	return append(to, '}')
}

func appendString(to []byte, text string) []byte {
	encoder := strings.Builder{}
	e := json.NewEncoder(&encoder)
	e.SetEscapeHTML(false)
	_ = e.Encode(text) // a string can be encoded
	return append(to, strings.TrimSuffix(encoder.String(), "\n")...)
}

// show is a value for a message, cut to 100 bytes.
func (v *Value) show() string {
	if v.Kind == Object || v.Kind == Array {
		return "" // it may contain a secret
	}
	return cut(v.Text)
}

const maxShown = 100 // bytes

func cut(text string) string {
	if len(text) <= maxShown {
		return text
	}
	n := maxShown
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

package wire

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// maxPlace is the maximum number of names and indexes in the place of an error.
const maxPlace = 16

// mismatch explains why a valid payload does not match a type: the place, the kind of the value there and the wanted type. It never contains the
// value or a key of a map, because they may be secret and the text is logged and stored.
//
// It finds the place by decoding parts alone: in each part it looks for the first inner part that does not match. That is slow, and is only
// done for the error.
func mismatch(payload []byte, target reflect.Type) string {
	format := format(msgpackFormat{})
	if isJSON(payload) {
		format = jsonFormat{}
	}
	place := ""
	for range maxPlace {
		part, name, t := badPart(format, payload, target)
		if part == nil {
			break
		}
		payload, target, place = part, t, place+name
	}
	text := format.kind(payload) + " does not fit " + target.String()
	if place != "" {
		text = strings.TrimPrefix(place, ".") + ": " + text
	}
	return text
}

// badPart returns the first part of a map or an array that does not match by itself, its name and its type; nil: none.
func badPart(f format, payload []byte, t reflect.Type) (part []byte, name string, of reflect.Type) {
	for t.Kind() == reflect.Pointer && !f.itself(t) {
		t = t.Elem()
	}
	if f.itself(t) {
		return nil, "", nil
	}
	keys, parts := f.parts(payload)
	for i, part := range parts {
		switch {
		case t.Kind() == reflect.Struct && keys != nil:
			field, ok := f.field(t, keys[i])
			if !ok {
				continue
			}
			name, of = "."+keys[i], field
		case t.Kind() == reflect.Map && keys != nil:
			name, of = "[…]", t.Elem()
		case (t.Kind() == reflect.Slice || t.Kind() == reflect.Array) && keys == nil:
			name, of = "["+strconv.Itoa(i)+"]", t.Elem()
		default:
			return nil, "", nil
		}
		if f.decode(part, reflect.New(of).Interface()) != nil {
			return part, name, of
		}
	}
	return nil, "", nil
}

// A format is one of the two formats of payloads.
type format interface {
	kind(value []byte) string                       // the kind of a value, in words
	parts(value []byte) (keys []string, _ [][]byte) // the values of a map and their keys, or of an array and nil
	decode(value []byte, v any) error
	itself(t reflect.Type) bool // whether a type has a method that decodes it
	field(t reflect.Type, key string) (reflect.Type, bool)
}

type jsonFormat struct{}

func (jsonFormat) kind(value []byte) string {
	switch value[0] {
	case '{':
		return "a map"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "nil"
	}
	return "a number"
}

func (jsonFormat) parts(value []byte) (keys []string, parts [][]byte) {
	var fields map[string]json.RawMessage
	var items []json.RawMessage
	switch {
	case value[0] == '{' && json.Unmarshal(value, &fields) == nil:
		keys = []string{}
		for key, part := range fields {
			keys, parts = append(keys, key), append(parts, part)
		}
	case value[0] == '[' && json.Unmarshal(value, &items) == nil:
		for _, part := range items {
			parts = append(parts, part)
		}
	}
	return keys, parts
}

func (jsonFormat) decode(value []byte, v any) error { return decodeJSON(value, v) }

func (jsonFormat) itself(t reflect.Type) bool {
	if t.Kind() != reflect.Pointer {
		t = reflect.PointerTo(t)
	}
	return t.Implements(jsonUnmarshaler) || t.Implements(textUnmarshaler)
}

func (jsonFormat) field(t reflect.Type, key string) (reflect.Type, bool) {
	for _, f := range jsonFieldsOf(t).stored {
		if strings.EqualFold(f.name, key) {
			return f.typ, true
		}
	}
	return nil, false
}

type msgpackFormat struct{}

func (msgpackFormat) kind(value []byte) string {
	switch code := value[0]; {
	case code >= 0x80 && code <= 0x8f, code == 0xde, code == 0xdf:
		return "a map"
	case code >= 0x90 && code <= 0x9f, code == 0xdc, code == 0xdd:
		return "an array"
	case code >= 0xa0 && code <= 0xbf, code >= 0xd9 && code <= 0xdb:
		return "a string"
	case code >= 0xc4 && code <= 0xc6:
		return "binary data"
	case isExt(code):
		return "a time"
	case code == 0xc2, code == 0xc3:
		return "a boolean"
	case code == 0xc0:
		return "nil"
	}
	return "a number"
}

// parts returns the parts of a value that walk has checked. A map has a key that is not a string only if its type in Go has: such keys are not named.
func (f msgpackFormat) parts(value []byte) (keys []string, parts [][]byte) {
	at, inside, _ := head(value, 0)
	isMap := f.kind(value) == "a map"
	if isMap {
		keys = []string{}
	}
	for i := range inside {
		from := at
		at = endOf(value, at)
		if isMap && i%2 == 0 {
			key, _ := bytesAt(value, from, at)
			keys = append(keys, string(key))
			continue
		}
		parts = append(parts, value[from:at])
	}
	return keys, parts
}

func (msgpackFormat) decode(value []byte, v any) error { return decodeMsgpack(value, v) }

func (msgpackFormat) itself(t reflect.Type) bool { return reads(t) }

func (msgpackFormat) field(t reflect.Type, key string) (reflect.Type, bool) {
	fs := fieldsOf(t)
	i, ok := fs.byName[key]
	if !ok {
		return nil, false
	}
	return fs.list[i].typ, true
}

// endOf returns the end of the value that begins at b[at], including its inner values.
func endOf(b []byte, at int) int {
	for left := 1; left > 0; left-- {
		end, inside, err := head(b, at)
		if err != nil {
			panic(fmt.Sprintf("a value that was checked: %v", err))
		}
		at, left = end, left+inside
	}
	return at
}

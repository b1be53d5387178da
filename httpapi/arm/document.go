package arm

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// object is a JSON object. Its keys are found in any case, because Azure's tools have changed the case over the years.
type object = map[string]any

// parse reads one JSON object. Files from Windows' tools begin with a byte order mark, or are UTF-16. The error has line and column.
func parse(data []byte) (object, error) {
	text, err := decodeText(data)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var parsed any
	if err := decoder.Decode(&parsed); err != nil {
		return nil, syntax(text, err)
	}
	after := decoder.InputOffset()
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: there is more text after the JSON value", position(text, after))
	}
	o, ok := parsed.(object)
	if !ok {
		return nil, errors.New(`want a JSON object: a template, a list {"value": […]} or one resource`)
	}
	return o, nil
}

func decodeText(data []byte) ([]byte, error) {
	order := binary.ByteOrder(binary.LittleEndian)
	switch {
	case bytes.HasPrefix(data, []byte{0xef, 0xbb, 0xbf}):
		data = data[3:]
	case bytes.HasPrefix(data, []byte{0xfe, 0xff}):
		order = binary.BigEndian
		fallthrough
	case bytes.HasPrefix(data, []byte{0xff, 0xfe}):
		units := make([]uint16, 0, len(data)/2)
		for rest := data[2:]; len(rest) >= 2; rest = rest[2:] {
			units = append(units, order.Uint16(rest))
		}
		data = []byte(string(utf16.Decode(units)))
	}
	if !utf8.Valid(data) {
		return nil, errors.New("the file is not UTF-8")
	}
	return data, nil
}

// syntax is an error of encoding/json with its line and column.
func syntax(text []byte, err error) error {
	var wrong *json.SyntaxError
	switch {
	case errors.Is(err, io.EOF):
		return errors.New("the file is empty")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%s: the file ends within the JSON", position(text, int64(len(text))))
	case errors.As(err, &wrong):
		return fmt.Errorf("%s: %w", position(text, max(wrong.Offset-1, 0)), err)
	}
	return err
}

// position describes an offset for people: lines and columns begin at 1.
func position(text []byte, offset int64) string {
	before := text[:min(offset, int64(len(text)))]
	column := utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
	return fmt.Sprintf("line %d, column %d", bytes.Count(before, []byte("\n"))+1, column)
}

// keyOf is the key of an object with a name in any case, preferring the exact one; empty: none.
func keyOf(o object, name string) string {
	if _, ok := o[name]; ok {
		return name
	}
	for _, key := range keys(o) {
		if strings.EqualFold(key, name) {
			return key
		}
	}
	return ""
}

// at follows names down through objects; nil: there is no such value.
func at(o object, names ...string) any {
	var found any = o
	for _, name := range names {
		within, _ := found.(object)
		if within == nil {
			return nil
		}
		found = within[keyOf(within, name)]
	}
	return found
}

func objectAt(o object, names ...string) object {
	found, _ := at(o, names...).(object)
	return found
}

func textAt(o object, names ...string) string {
	found, _ := at(o, names...).(string)
	return found
}

// set sets the value of a key, and removes its other spellings.
func set(o object, name string, value any) {
	drop(o, name)
	o[name] = value
}

// drop removes a key in all its spellings.
func drop(o object, name string) {
	for key := range o {
		if strings.EqualFold(key, name) {
			delete(o, key)
		}
	}
}

// keys are the sorted keys of an object.
func keys(o object) []string {
	all := make([]string, 0, len(o))
	for key := range o {
		all = append(all, key)
	}
	slices.Sort(all)
	return all
}

// encode returns JSON without escaping HTML characters. A parsed value can always be encoded.
func encode(value any) json.RawMessage {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(value)
	return bytes.TrimRight(text.Bytes(), "\n")
}

package wire

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"unicode/utf8"
)

// A loss is a part of a value that neither format keeps.
type loss struct {
	place string // such as ".Order.Total", of Go names
	typ   reflect.Type
	want  string
}

func (l *loss) at(name string) *loss {
	l.place = name + l.place
	return l
}

const exactFloat = 1 << 53 // whole numbers up to it are float64s

// These texts of errors describe the value that is needed instead.
const (
	wantFields   = "a struct with exported fields, or a type with methods for JSON, text or binary data: nothing else of it is stored"
	wantConcrete = "a concrete type or any: chime cannot know with which type to decode an interface that has methods"
	wantPointer  = "a pointer to it: its methods need one"
	wantReader   = "a type that can be decoded too: its method for decoding is missing"
	wantName     = "a name of its own: of fields with one name at most one is stored"
	wantExported = "a field of an exported type: an embedded one that is not exported cannot be decoded"
	wantNamed    = "a named field instead of an embedded one: the methods of an embedded field encode the struct without its other fields"
	wantMatter   = "what can be encoded: numbers, texts, times, and structs, slices and maps of them"
	wantFinite   = "a finite number, because the arguments have a part that only JSON can store"
	wantText     = "UTF-8, because the arguments have a part that only JSON can store"
	wantTyped    = "a field of its own type, because the arguments have a part that only JSON can store"
	wantBelow    = "at most 2^53 in an interface, because the arguments have a part that only JSON can store"
	wantKey      = "a map whose keys are texts or whole numbers, because the arguments have a part that only JSON can store"
	wantJSON     = "JSON"
	wantHidden   = `json:"-" too: the arguments have a part that only JSON can store`
	wantNotZero  = "a value that omitzero does not omit"
)

// jsonLoses returns what JSON does not keep of a value; nil: it keeps all of it. free is true behind an interface, where the decoder chooses the
// types.
func (w *walker) jsonLoses(v reflect.Value, free bool, depth int) *loss {
	t := v.Type()
	if w.visited++; w.visited > maxValues || depth > maxWalk {
		return &loss{typ: t, want: fmt.Sprintf("at most %d values, nested at most %d deep", maxValues, maxWalk)}
	}
	if t == timeType || !v.CanInterface() {
		return nil
	}
	if t.Kind() != reflect.Pointer {
		if found, own := jsonLosesItself(v); own {
			return found
		}
	}
	lost := func(want string) *loss { return &loss{typ: t, want: want} }
	switch t.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		if n := v.Int(); free && (n > exactFloat || n < -exactFloat) {
			return lost(wantBelow)
		}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		if free && v.Uint() > exactFloat {
			return lost(wantBelow)
		}
	case reflect.Float32, reflect.Float64:
		if math.IsNaN(v.Float()) || math.IsInf(v.Float(), 0) {
			return lost(wantFinite)
		}
	case reflect.String:
		if !utf8.ValidString(v.String()) {
			return lost(wantText)
		}
	case reflect.Pointer, reflect.Interface:
		switch {
		case v.IsNil():
			return nil
		case t.Kind() == reflect.Interface && t.NumMethod() > 0:
			return lost(wantConcrete)
		}
		return w.jsonLoses(v.Elem(), free || t.Kind() == reflect.Interface, depth+1)
	case reflect.Slice, reflect.Array:
		return w.jsonLosesItem(v, free, depth)
	case reflect.Map:
		return w.jsonLosesEntry(v, free, depth)
	case reflect.Struct:
		return w.jsonLosesField(v, free, depth)
	case reflect.Chan, reflect.Func, reflect.Complex64, reflect.Complex128, reflect.Uintptr, reflect.UnsafePointer:
		return lost(wantMatter)
	}
	return nil
}

// jsonLosesItself is jsonLoses for a type with methods for JSON or text; own is false for all other types.
func jsonLosesItself(v reflect.Value) (found *loss, own bool) {
	t := v.Type()
	p := reflect.PointerTo(t)
	byJSON, byText := p.Implements(jsonMarshaler), p.Implements(textMarshaler)
	if !byJSON && !byText {
		return nil, false
	}
	lost := func(want string) (*loss, bool) { return &loss{typ: t, want: want}, true }
	switch {
	case !v.CanAddr() && !t.Implements(jsonMarshaler) && (byJSON || !t.Implements(textMarshaler)):
		return lost(wantPointer)
	case byJSON && !p.Implements(jsonUnmarshaler), !byJSON && !p.Implements(textUnmarshaler):
		return lost(wantReader)
	case (t.Kind() == reflect.Map || t.Kind() == reflect.Slice || t.Kind() == reflect.Interface) && v.IsNil():
		return nil, true
	case t == reflect.TypeFor[json.RawMessage]() && !json.Valid(v.Bytes()):
		return lost(wantJSON)
	case t.Kind() == reflect.Struct && losesSiblings(v, jsonOf):
		return lost(wantNamed)
	}
	return nil, true
}

func jsonOf(v reflect.Value) (b []byte, err error) {
	defer recovered(&err)
	if v.CanAddr() {
		v = v.Addr()
	}
	return json.Marshal(v.Interface())
}

func (w *walker) jsonLosesItem(v reflect.Value, free bool, depth int) *loss {
	elem := v.Type().Elem()
	if elem.Kind() == reflect.Uint8 && v.Kind() == reflect.Slice && !reflect.PointerTo(elem).Implements(jsonMarshaler) {
		if free && !v.IsNil() {
			return &loss{typ: v.Type(), want: wantTyped} // it would be decoded as its base64 text
		}
		return nil
	}
	for i := range v.Len() {
		if found := w.jsonLoses(v.Index(i), free, depth+1); found != nil {
			return found.at("[" + strconv.Itoa(i) + "]")
		}
	}
	return nil
}

func (w *walker) jsonLosesEntry(v reflect.Value, free bool, depth int) *loss {
	key := v.Type().Key()
	switch {
	case key.Kind() == reflect.String, key.Kind() >= reflect.Int && key.Kind() <= reflect.Uint64:
	case key.Implements(textMarshaler) && reflect.PointerTo(key).Implements(textUnmarshaler):
	default:
		return &loss{typ: v.Type(), want: wantKey}
	}
	for entries := v.MapRange(); entries.Next(); {
		if key.Kind() == reflect.String && !utf8.ValidString(entries.Key().String()) {
			return &loss{typ: v.Type(), want: wantText}
		}
		if found := w.jsonLoses(entries.Value(), free, depth+1); found != nil {
			return found.at("[…]")
		}
	}
	return nil
}

func (w *walker) jsonLosesField(v reflect.Value, free bool, depth int) *loss {
	t := v.Type()
	if isOpaque(t, fieldsOf(t)) {
		return &loss{typ: t, want: wantFields}
	}
	js := jsonFieldsOf(t)
	for _, f := range js.dropped {
		of, ok := f.value(v)
		if ok && (!of.IsZero() || f.want == wantFields) {
			return &loss{"." + f.goName, f.typ, f.want}
		}
	}
	for i := range js.stored {
		f := &js.stored[i]
		of, ok := f.value(v)
		if !ok {
			continue
		}
		if f.excluded && !of.IsZero() {
			return &loss{"." + f.goName, f.typ, wantHidden}
		}
		if z, is := interfaceOf(of).(isZeroer); is && f.omitZero && (of.Kind() != reflect.Pointer || !of.IsNil()) && z.IsZero() && !isOmittedWhole(of) {
			return &loss{"." + f.goName, f.typ, wantNotZero}
		}
		if found := w.jsonLoses(of, free, depth+1); found != nil {
			return found.at("." + f.goName)
		}
	}
	return nil
}

// interfaceOf returns a value; nil if it is in a field that is not exported.
func interfaceOf(v reflect.Value) any {
	if !v.CanInterface() {
		return nil
	}
	return v.Interface()
}

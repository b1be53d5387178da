package wire

import (
	"bytes"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/vmihailenco/msgpack/v5"
)

// maxWalk bounds the depth of a walk through a value that contains itself, which no encoder accepts.
const maxWalk = 1000

// A walker visits the parts of a value. It stops after maxValues of them: an encoder refuses more.
type walker struct{ visited int }

var (
	timeType  = reflect.TypeFor[time.Time]()
	errorType = reflect.TypeFor[error]()
	doubtful  sync.Map // reflect.Type -> whether msgpack may lose a part of some of its values
)

// isDoubtful reports whether msgpack may lose a part of some values of a type. Values of all other types are encoded without a further check.
func isDoubtful(t reflect.Type) bool {
	if known, ok := doubtful.Load(t); ok {
		return known.(bool)
	}
	found := findDoubt(t, false, map[seen]bool{})
	doubtful.Store(t, found)
	return found
}

// seen is a type that was visited, and whether its values have an address.
type seen struct {
	t    reflect.Type
	addr bool
}

func findDoubt(t reflect.Type, addr bool, visited map[seen]bool) bool {
	if t == timeType || t == errorType || visited[seen{t, addr}] {
		return false
	}
	visited[seen{t, addr}] = true
	if t.Kind() != reflect.Pointer && (encodes(t) || encodes(reflect.PointerTo(t))) {
		return !addr && !encodes(t) || !isTextComplete(t) || embedsEncoder(t) || !isPair(t) && (reads(t) || hasJSON(t) || isText(t))
	}
	switch t.Kind() {
	case reflect.Interface, reflect.Chan, reflect.Func, reflect.Complex64, reflect.Complex128, reflect.Uintptr, reflect.UnsafePointer:
		return true
	case reflect.Pointer, reflect.Slice:
		return findDoubt(t.Elem(), true, visited)
	case reflect.Array:
		return findDoubt(t.Elem(), addr, visited)
	case reflect.Map:
		return findDoubt(t.Key(), false, visited) || findDoubt(t.Elem(), false, visited)
	case reflect.Struct:
		fs := fieldsOf(t)
		if fs.confused || fs.pointers || len(fs.excluded) > 0 || isOpaque(t, fs) || hasJSON(t) && hidesFields(t) {
			return true
		}
		return slices.ContainsFunc(fs.list, func(f field) bool {
			return f.omitEmpty && mayOmitTooMuch(f.typ) || findDoubt(f.typ, addr, visited)
		})
	}
	return false
}

// isTextComplete is false for a struct that msgpack stores as its text although it also has methods for JSON. The reason: types of optional values
// often have the same text for "no value" and for an empty one.
func isTextComplete(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	text := p.Implements(textMarshaler) && !slices.ContainsFunc(encoders[:3], p.Implements)
	return !text || t.Kind() != reflect.Struct || !hasJSON(t)
}

// isPair reports whether the method that decodes a type reads what the one that encodes it writes.
func isPair(t reflect.Type) bool {
	class := func(methods []reflect.Type) int { // of the first method that msgpack calls
		return max(1, slices.IndexFunc(methods, reflect.PointerTo(t).Implements))
	}
	return reads(t) && class(encoders) == class(decoders)
}

// isText reports whether a type without a method could be decoded from any text.
func isText(t reflect.Type) bool {
	return t.Kind() == reflect.String || (t.Kind() == reflect.Slice || t.Kind() == reflect.Array) && t.Elem().Kind() == reflect.Uint8
}

// embedsEncoder reports whether a struct may have its methods from an embedded field: then its other fields are not encoded.
func embedsEncoder(t reflect.Type) bool {
	if t.Kind() != reflect.Struct || t.NumField() < 2 {
		return false
	}
	for i := range t.NumField() {
		if f := t.Field(i); f.Anonymous && (encodes(f.Type) || encodes(reflect.PointerTo(f.Type))) {
			return true
		}
	}
	return false
}

// hidesFields reports whether a struct has fields that are not exported.
func hidesFields(t reflect.Type) bool {
	for i := range t.NumField() {
		if f := t.Field(i); !f.IsExported() && !f.Anonymous && f.Name != "_" && f.Name != "_msgpack" {
			return true
		}
	}
	return false
}

// mayOmitTooMuch reports whether msgpack's omitempty may omit a value of a type that is not the zero value: it calls a struct empty
// if none of its fields is stored, looks into interfaces, and asks a method IsZero.
func mayOmitTooMuch(t reflect.Type) bool {
	return t != timeType && (t.Kind() == reflect.Struct || t.Kind() == reflect.Interface || t.Implements(reflect.TypeFor[isZeroer]()))
}

type isZeroer interface{ IsZero() bool }

// keeps reports whether msgpack stores a value completely. If it does not, JSON may.
func (w *walker) keeps(v reflect.Value, depth int) bool {
	t := v.Type()
	if w.visited++; w.visited > maxValues || depth > maxWalk || t == timeType || t == errorType || !v.CanInterface() {
		return true
	}
	if t.Kind() != reflect.Pointer && (encodes(t) || encodes(reflect.PointerTo(t))) {
		return keepsItself(v)
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return true
		}
		if t.Kind() == reflect.Interface && t.NumMethod() > 0 {
			return false // it cannot be decoded
		}
		return w.keeps(v.Elem(), depth+1)
	case reflect.Slice, reflect.Array:
		if !isDoubtful(t.Elem()) {
			return true
		}
		for i := range v.Len() {
			if !w.keeps(v.Index(i), depth+1) {
				return false
			}
		}
	case reflect.Map:
		if !isDoubtful(t.Key()) && !isDoubtful(t.Elem()) {
			return true
		}
		for entries := v.MapRange(); entries.Next(); {
			if !w.keeps(entries.Key(), depth+1) || !w.keeps(entries.Value(), depth+1) {
				return false
			}
		}
	case reflect.Struct:
		return w.keepsStruct(v, depth)
	case reflect.Chan, reflect.Func, reflect.Complex64, reflect.Complex128, reflect.Uintptr, reflect.UnsafePointer:
		return false
	}
	return true
}

func (w *walker) keepsStruct(v reflect.Value, depth int) bool {
	t := v.Type()
	fs := fieldsOf(t)
	if fs.confused {
		return false
	}
	if isOpaque(t, fs) {
		stored, err := packed(v)
		return err == nil && !bytes.Equal(stored, []byte{0x80}) // false unless the application has registered an encoder of the type
	}
	if hasJSON(t) && hidesFields(t) {
		for i := range t.NumField() {
			if f := t.Field(i); !f.IsExported() && !f.Anonymous && !v.Field(i).IsZero() {
				return false
			}
		}
	}
	for _, f := range fs.excluded {
		if of, ok := f.value(v); ok && !of.IsZero() {
			return false
		}
	}
	for i := range fs.list {
		f := &fs.list[i]
		of, ok := f.value(v)
		switch {
		case !ok && (fs.asArray || !fs.omitsAny):
			return false // it would be decoded as a pointer to a zero value
		case !ok:
		case f.omitEmpty && !fs.asArray && isEmpty(of):
			if !isOmittedWhole(of) {
				return false
			}
		case !w.keeps(of, depth+1):
			return false
		}
	}
	return true
}

// keepsItself is keeps for a value with an encoding of its own.
func keepsItself(v reflect.Value) bool {
	t := v.Type()
	switch {
	case !encodes(t) && !v.CanAddr():
		return false // the method has a pointer receiver
	case (v.Kind() == reflect.Map || v.Kind() == reflect.Slice || v.Kind() == reflect.Interface) && v.IsNil():
		return true
	case !isPair(t) && (reads(t) || hasJSON(t)):
		return false
	case !reads(t) && isText(t):
		return isStoredPlain(v)
	}
	if !isTextComplete(t) && !v.IsZero() {
		if text, err := packed(v); err == nil && bytes.Equal(text, []byte{0xc4, 0}) {
			return false
		}
	}
	return !embedsEncoder(t) || !losesSiblings(v, packed)
}

// isStoredPlain reports whether a text with a method for encoding, and none for decoding, is encoded as it is, and not as a part or as "***".
func isStoredPlain(v reflect.Value) bool {
	stored, err := packed(v)
	if err != nil || walk(stored, nil) != nil {
		return false
	}
	text, ok := bytesAt(stored, 0, len(stored))
	switch v.Kind() {
	case reflect.String:
		return ok && string(text) == v.String()
	case reflect.Slice:
		return ok && bytes.Equal(text, v.Bytes())
	}
	plain := make([]byte, v.Len())
	reflect.Copy(reflect.ValueOf(plain), v)
	return ok && bytes.Equal(text, plain)
}

// losesSiblings reports whether a struct with an embedded field is encoded without its other fields: it has the methods of the embedded one.
// Then its encoding is the same if the other fields are zero.
func losesSiblings(v reflect.Value, encode func(reflect.Value) ([]byte, error)) bool {
	t := v.Type()
	if t.NumField() < 2 {
		return false
	}
	for i := range t.NumField() {
		if !t.Field(i).Anonymous {
			continue
		}
		alone, others := reflect.New(t).Elem(), false
		alone.Set(v)
		for j := range t.NumField() {
			if j != i && t.Field(j).IsExported() && !v.Field(j).IsZero() {
				alone.Field(j).SetZero()
				others = true
			}
		}
		if !others {
			continue
		}
		part, err := encode(alone)
		whole, failed := encode(v)
		if err == nil && failed == nil && bytes.Equal(part, whole) {
			return true
		}
	}
	return false
}

// packed returns the msgpack of a value, or its encoder's error.
func packed(v reflect.Value) (b []byte, err error) {
	defer recovered(&err)
	if v.CanAddr() && v.Kind() != reflect.Pointer {
		v = v.Addr()
	}
	var to bytes.Buffer
	encoder := msgpack.NewEncoder(&to)
	encoder.SetCustomStructTag("json")
	err = encoder.Encode(v.Interface())
	return to.Bytes(), err
}

// isEmpty reports whether msgpack's omitempty omits a value.
func isEmpty(v reflect.Value) bool {
	for v.Kind() == reflect.Interface {
		if v.IsNil() {
			return true
		}
		v = v.Elem()
	}
	if !v.CanInterface() {
		return false
	}
	if z, ok := v.Interface().(isZeroer); ok {
		return v.Kind() == reflect.Pointer && v.IsNil() || z.IsZero()
	}
	switch v.Kind() {
	case reflect.Array, reflect.Map, reflect.Slice, reflect.String:
		return v.Len() == 0
	case reflect.Struct:
		fs := fieldsOf(v.Type())
		for i := range fs.list {
			if of, ok := fs.list[i].value(v); ok && !(fs.list[i].omitEmpty && isEmpty(of)) || !ok && !fs.omitsAny {
				return false
			}
		}
		return true
	case reflect.Float32, reflect.Float64:
		return v.Float() == 0
	case reflect.Chan, reflect.Func, reflect.Complex64, reflect.Complex128, reflect.UnsafePointer:
		return false
	}
	return v.IsZero()
}

// isOmittedWhole reports whether nothing is lost if a value that isEmpty is omitted.
func isOmittedWhole(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Map, reflect.Slice:
		return v.Len() == 0
	case reflect.Float32, reflect.Float64:
		return v.Float() == 0
	case reflect.Struct:
		if v.IsZero() || v.Type() == timeType {
			return true
		}
		if encodes(v.Type()) || encodes(reflect.PointerTo(v.Type())) {
			return encodesAsZero(v)
		}
		fs := fieldsOf(v.Type())
		if fs.confused || isOpaque(v.Type(), fs) || len(fs.excluded) > 0 {
			return false
		}
		for i := range fs.list {
			if of, ok := fs.list[i].value(v); ok && !isOmittedWhole(of) {
				return false
			}
		}
		return true
	}
	return v.IsZero()
}

// encodesAsZero reports whether a value has the encoding of the zero value of its type.
func encodesAsZero(v reflect.Value) bool {
	copied := reflect.New(v.Type()).Elem()
	copied.Set(v)
	got, err := packed(copied)
	zero, failed := packed(reflect.New(v.Type()).Elem())
	return err == nil && failed == nil && bytes.Equal(got, zero)
}

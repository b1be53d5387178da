package wire

import (
	"reflect"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// A jsonField is one field of a struct as encoding/json stores it.
type jsonField struct {
	field
	tagged    bool
	omitEmpty bool
	omitZero  bool
	excluded  bool // by msgpack:"-", and not by a JSON tag
}

// jsonFields has the fields of a struct type by the rules of encoding/json.
type jsonFields struct {
	stored  []jsonField
	dropped []dropped
}

// A dropped field is not stored, or can never be decoded.
type dropped struct {
	field
	want string // what it has to be instead
}

var jsonFieldSets sync.Map // reflect.Type -> *jsonFields

func jsonFieldsOf(t reflect.Type) *jsonFields {
	if known, ok := jsonFieldSets.Load(t); ok {
		return known.(*jsonFields)
	}
	js := &jsonFields{}
	var all []jsonField
	js.collect(t, nil, nil, &all)
	for i, f := range all {
		if js.wins(all, i) {
			js.stored = append(js.stored, f)
		} else {
			js.dropped = append(js.dropped, dropped{f.field, wantName})
		}
	}
	jsonFieldSets.Store(t, js)
	return js
}

// wins reports whether JSON stores all[i] under its name: it is less deeply embedded than the others of the name, or the only tagged one.
func (*jsonFields) wins(all []jsonField, i int) bool {
	for j, other := range all {
		of := all[i]
		switch {
		case i == j || other.name != of.name || len(other.index) > len(of.index):
		case len(other.index) < len(of.index) || other.tagged || !of.tagged:
			return false
		}
	}
	return true
}

func (js *jsonFields) collect(t reflect.Type, index []int, within []reflect.Type, all *[]jsonField) {
	if slices.Contains(within, t) {
		return
	}
	within = append(within, t)
	for i := range t.NumField() {
		f := t.Field(i)
		at := append(slices.Clone(index), i)
		inner := f.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		embedded := f.Anonymous && inner.Kind() == reflect.Struct
		tag := f.Tag.Get("json")
		if tag == "-" || !f.IsExported() && !f.Anonymous {
			continue
		}
		if !f.IsExported() && (!embedded || f.Type.Kind() == reflect.Pointer) {
			js.dropped = append(js.dropped, dropped{field{goName: f.Name, typ: f.Type, index: at}, wantExported})
			if !embedded {
				continue
			}
		}
		name, options, _ := strings.Cut(tag, ",")
		if strings.ContainsFunc(name, isOutsideTag) {
			name = ""
		}
		if embedded && name == "" {
			if fs := fieldsOf(inner); isOpaque(inner, fs) && f.IsExported() && !reads(inner) && !hasJSON(inner) {
				js.dropped = append(js.dropped, dropped{field{goName: f.Name, typ: f.Type, index: at}, wantFields})
			}
			js.collect(inner, at, within, all)
			continue
		}
		of := jsonField{field: field{name: name, goName: f.Name, typ: f.Type, index: at}, tagged: name != "", excluded: f.Tag.Get("msgpack") == "-"}
		if name == "" {
			of.name = f.Name
		}
		for option := range strings.SplitSeq(options, ",") {
			of.omitEmpty, of.omitZero = of.omitEmpty || option == "omitempty", of.omitZero || option == "omitzero"
		}
		*all = append(*all, of)
	}
}

// isOutsideTag reports whether encoding/json ignores a name because of a character.
func isOutsideTag(c rune) bool {
	return !strings.ContainsRune("!#$%&()*+-./:;<=>?@[]^_{|}~ ", c) && !unicode.IsLetter(c) && !unicode.IsDigit(c)
}

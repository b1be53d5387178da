package wire

import (
	"encoding"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/vmihailenco/msgpack/v5"
)

// A field is one field of a struct as msgpack stores it.
type field struct {
	name      string // in a payload
	goName    string
	typ       reflect.Type
	index     []int // through embedded structs
	omitEmpty bool
}

// value returns the field of a struct; false: it is behind an embedded pointer that is nil.
func (f *field) value(of reflect.Value) (reflect.Value, bool) {
	for i, at := range f.index {
		if i > 0 && of.Kind() == reflect.Pointer {
			if of.IsNil() {
				return of, false
			}
			of = of.Elem()
		}
		of = of.Field(at)
	}
	return of, true
}

// A fieldSet has the fields of a struct type in the way in which msgpack stores them: it follows the rules of the msgpack library, which
// has no function that returns them. Fields of embedded structs are included.
type fieldSet struct {
	list      []field        // in the order in which they are stored
	byName    map[string]int // name -> index in list
	asArray   bool           // the values are stored as an array, without names
	omitsAny  bool           // a field has omitempty
	excluded  []field        // those that only msgpack does not store: of json:"-,"
	confused  bool           // two fields have one name, or a field can be stored and never be read: msgpack loses values
	pointers  bool           // there is an embedded pointer
	recursive bool           // it embeds itself: the msgpack library would overflow the stack
}

var fieldSets sync.Map // reflect.Type -> *fieldSet

func fieldsOf(t reflect.Type) *fieldSet {
	if known, ok := fieldSets.Load(t); ok {
		return known.(*fieldSet)
	}
	fs := readFields(t, nil)
	fieldSets.Store(t, fs)
	return fs
}

// readFields reads the fields of a struct type. within are the types that embed it.
func readFields(t reflect.Type, within []reflect.Type) *fieldSet {
	fs := &fieldSet{byName: map[string]int{}}
	if slices.Contains(within, t) {
		fs.recursive, fs.confused = true, true
		return fs
	}
	within = append(within, t)
	omitAll := false
	for i := range t.NumField() {
		f := t.Field(i)
		name, options := msgpackTag(f)
		if name == "-" {
			if f.IsExported() && strings.HasPrefix(f.Tag.Get("json"), "-,") && f.Tag.Get("msgpack") == "" {
				fs.excluded = append(fs.excluded, field{goName: f.Name, typ: f.Type, index: f.Index})
			}
			continue
		}
		if f.Name == "_msgpack" {
			fs.asArray = slices.Contains(options, "as_array") || slices.Contains(options, "asArray")
			omitAll = omitAll || slices.Contains(options, "omitempty")
		}
		if !f.IsExported() && !f.Anonymous {
			continue
		}
		of := field{name: name, goName: f.Name, typ: f.Type, index: f.Index, omitEmpty: omitAll || slices.Contains(options, "omitempty")}
		if of.name == "" {
			of.name = f.Name
		}
		if f.Anonymous && !slices.Contains(options, "noinline") && fs.inline(f, slices.Contains(options, "inline"), within) {
			continue
		}
		fs.confused = fs.confused || !f.IsExported() // an unexported field cannot be set
		fs.add(of)
	}
	return fs
}

// inline adds the fields of an embedded struct, and returns false if it is stored as a value of its own.
func (fs *fieldSet) inline(f reflect.StructField, forced bool, within []reflect.Type) bool {
	t, pointer := f.Type, f.Type.Kind() == reflect.Pointer
	if pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || t == reflect.TypeFor[time.Time]() || encodes(t) || encodes(reflect.PointerTo(t)) || reads(t) {
		return false
	}
	inner := readFields(t, within)
	hides := slices.ContainsFunc(inner.list, func(g field) bool { _, taken := fs.byName[g.name]; return taken })
	if hides && !forced {
		return false
	}
	fs.confused = fs.confused || inner.confused || hides || isOpaque(t, inner) && f.IsExported() || pointer && !f.IsExported()
	fs.recursive, fs.pointers = fs.recursive || inner.recursive, fs.pointers || inner.pointers || pointer
	for _, g := range slices.Concat(inner.list, inner.excluded) {
		g.index = append(slices.Clone(f.Index), g.index...)
		switch _, taken := fs.byName[g.name]; {
		case g.name == "":
			fs.excluded = append(fs.excluded, g)
		case !taken:
			fs.add(g)
		}
	}
	return true
}

func (fs *fieldSet) add(f field) {
	if _, taken := fs.byName[f.name]; taken {
		fs.confused = true
	}
	fs.byName[f.name] = len(fs.list)
	fs.list = append(fs.list, f)
	fs.omitsAny = fs.omitsAny || f.omitEmpty
}

// isOpaque reports whether a struct type has fields of which none is stored.
func isOpaque(t reflect.Type, fs *fieldSet) bool {
	for i := range t.NumField() {
		if name := t.Field(i).Name; name != "_" && name != "_msgpack" {
			return len(fs.list) == 0 && len(fs.excluded) == 0
		}
	}
	return false
}

// msgpackTag returns the name and the options in the tag of a field.
func msgpackTag(f reflect.StructField) (name string, options []string) {
	tag := f.Tag.Get("msgpack")
	if tag == "" {
		tag = f.Tag.Get("json")
	}
	name, rest, _ := strings.Cut(tag, ",")
	if strings.Contains(name, ":") { // the library takes it for an option
		name = ""
	}
	for option := range strings.SplitSeq(rest, ",") {
		options = append(options, strings.TrimSpace(option))
	}
	return name, options
}

var (
	encoders = []reflect.Type{
		reflect.TypeFor[msgpack.CustomEncoder](), reflect.TypeFor[msgpack.Marshaler](),
		reflect.TypeFor[encoding.BinaryMarshaler](), reflect.TypeFor[encoding.TextMarshaler](),
	}
	decoders = []reflect.Type{
		reflect.TypeFor[msgpack.CustomDecoder](), reflect.TypeFor[msgpack.Unmarshaler](),
		reflect.TypeFor[encoding.BinaryUnmarshaler](), reflect.TypeFor[encoding.TextUnmarshaler](),
	}
	jsonMarshaler   = reflect.TypeFor[json.Marshaler]()
	jsonUnmarshaler = reflect.TypeFor[json.Unmarshaler]()
	textMarshaler   = reflect.TypeFor[encoding.TextMarshaler]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// encodes reports whether values of a type have a method with which msgpack encodes them.
func encodes(t reflect.Type) bool { return slices.ContainsFunc(encoders, t.Implements) }

// reads reports whether a type has a method with which msgpack decodes it.
func reads(t reflect.Type) bool {
	if t.Kind() != reflect.Pointer {
		t = reflect.PointerTo(t)
	}
	return slices.ContainsFunc(decoders, t.Implements)
}

// hasJSON reports whether a type has a method for each direction of JSON.
func hasJSON(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(jsonMarshaler) && reflect.PointerTo(t).Implements(jsonUnmarshaler)
}

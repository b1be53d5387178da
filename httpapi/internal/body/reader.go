package body

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/chimejobs/chime/httpapi/internal/problem"
)

// A Reader collects the mistakes of a body while its objects are read.
type Reader struct {
	found []placed
}

type placed struct {
	at int
	problem.Mistake
}

// Mistakes returns all mistakes, in the order of the text.
func (r *Reader) Mistakes() []problem.Mistake {
	slices.SortStableFunc(r.found, func(a, b placed) int { return a.at - b.at })
	all := make([]problem.Mistake, 0, len(r.found))
	for _, p := range r.found[:min(len(r.found), problem.MaxMistakes)] {
		all = append(all, p.Mistake)
	}
	return all
}

// Add adds a mistake at a value.
func (r *Reader) Add(v *Value, m problem.Mistake) {
	at := 0
	if v != nil {
		at = v.At
	}
	r.found = append(r.found, placed{at, m})
}

// An ObjectReader reads the fields of one object. Done reports the fields that nobody has read.
type ObjectReader struct {
	Reader *Reader
	Value  *Value // nil: there is no object, and so no field
	path   string
	known  map[string]string // folded -> the documented spelling
}

// Object reads an object at a path. Another kind of value is a mistake, and counts as missing; the value is not shown, because it may be a secret.
func (r *Reader) Object(v *Value, path string) *ObjectReader {
	if v = v.orNil(); v != nil && v.Kind != Object {
		r.Add(v, problem.Mistake{Code: "type", Field: cmp.Or(path, "body"), Detail: "want an object"})
		v = nil
	}
	return &ObjectReader{Reader: r, Value: v, path: path, known: map[string]string{}}
}

// There reports whether the object exists and has any member.
func (o *ObjectReader) There() bool { return o.Value != nil && len(o.Value.Members) > 0 }

// Path is the path of a field.
func (o *ObjectReader) Path(key string) string { return join(o.path, key, false) }

// Field returns the value of a field; nil: it is not set.
func (o *ObjectReader) Field(key string) *Value {
	o.known[fold(key)] = key
	return o.Value.Get(key)
}

// Ignore accepts fields that answers have and that mean nothing in a request.
func (o *ObjectReader) Ignore(keys ...string) {
	for _, key := range keys {
		o.known[fold(key)] = key
	}
}

// Done adds a mistake for each unknown field. Their values are not shown: a misspelt secret is one of them.
func (o *ObjectReader) Done() {
	if o.Value == nil {
		return
	}
	for _, m := range o.Value.Members {
		if _, known := o.known[fold(m.Key)]; !known {
			o.Reader.Add(m.Value, problem.Mistake{Code: "unknown_field", Field: join(o.path, m.Key, false), Detail: "there is no such field here" + o.near(m.Key)})
		}
	}
}

// near names a known field that differs by one letter, or by two letters that have changed places.
func (o *ObjectReader) near(key string) string {
	found := ""
	for folded, known := range o.known {
		if (found == "" || known < found) && oneEdit(fold(key), folded) {
			found = known
		}
	}
	if found == "" {
		return ""
	}
	return "; there is " + found
}

// oneEdit reports whether one inserted, removed or changed letter, or two swapped letters, turn a into b.
func oneEdit(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	switch len(b) - len(a) {
	case 1:
		return a[i:] == b[i+1:]
	case 0:
		if i == len(a) || a[i+1:] == b[i+1:] {
			return true
		}
		return i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
	}
	return false
}

// Object reads a field that is an object.
func (o *ObjectReader) Object(key string) *ObjectReader {
	return o.Reader.Object(o.Field(key), o.Path(key))
}

// Wrong adds a mistake about a field's value.
func (o *ObjectReader) Wrong(key, code, want string) {
	v, shown := o.Value.Get(key), ""
	if v != nil {
		shown = v.show()
	} else {
		v = o.Value // the mistake is at the object, because the field is missing
	}
	o.Reader.Add(v, problem.Mistake{Code: code, Field: o.Path(key), Value: shown, Detail: want})
}

// Text reads a string; empty: it is not set.
func (o *ObjectReader) Text(key string) string {
	v := o.Field(key)
	if v == nil {
		return ""
	}
	if v.Kind != String {
		o.Wrong(key, "type", "want a string")
		return ""
	}
	return v.Text
}

// Bool reads true or false.
func (o *ObjectReader) Bool(key string, otherwise bool) bool {
	v := o.Field(key)
	if v == nil {
		return otherwise
	}
	if v.Kind != Bool {
		o.Wrong(key, "type", "want true or false")
		return otherwise
	}
	return v.Text == "true"
}

// Whole reads a whole number of a range; set is false if the object does not have it.
func (o *ObjectReader) Whole(key string, from, to int, code string) (n int, set bool) {
	v := o.Field(key)
	if v == nil {
		return 0, false
	}
	n, err := strconv.Atoi(v.Text)
	if v.Kind != Number || err != nil && !wholeText(v.Text) {
		o.Wrong(key, "type", "want a whole number, without quotes, fraction and exponent")
		return 0, false
	}
	if err != nil || n < from || n > to {
		o.Wrong(key, code, "want "+strconv.Itoa(from)+" to "+strconv.Itoa(to))
		return 0, false
	}
	return n, true
}

// wholeText reports whether a number is written without fraction and exponent.
func wholeText(text string) bool {
	for i, r := range text {
		if (r < '0' || r > '9') && (r != '-' || i > 0) {
			return false
		}
	}
	return text != ""
}

// Texts reads an array of strings, or one string for an array of one.
func (o *ObjectReader) Texts(key string) []string {
	v := o.Field(key)
	if v == nil {
		return nil
	}
	if v.Kind == String {
		return []string{v.Text}
	}
	if v.Kind != Array {
		o.Wrong(key, "type", "want an array of strings")
		return nil
	}
	var all []string
	for i, item := range v.Items {
		if item.Kind != String {
			o.Reader.Add(item, problem.Mistake{Code: "type", Field: o.Path(key) + "[" + strconv.Itoa(i) + "]", Value: item.show(), Detail: "want a string"})
			continue
		}
		all = append(all, item.Text)
	}
	return all
}

// Named reads an object whose names are the client's. It calls each for the values that are not null; with nulls set, for all values.
func (o *ObjectReader) Named(key string, nulls bool, each func(name string, v *Value, path string)) {
	in := o.Object(key)
	if in.Value == nil {
		return
	}
	for _, m := range in.Value.Members {
		if nulls || m.Value.Kind != Null {
			each(m.Key, m.Value, join(in.path, m.Key, true))
		}
	}
}

// NamedTexts reads an object of strings whose names are the client's; nil: none.
func (o *ObjectReader) NamedTexts(key string) map[string]string {
	var all map[string]string
	o.Named(key, false, func(name string, v *Value, path string) {
		if v.Kind != String {
			o.Reader.Add(v, problem.Mistake{Code: "type", Field: path, Value: v.show(), Detail: "want a string"})
			return
		}
		if all == nil {
			all = map[string]string{}
		}
		all[name] = v.Text
	})
	return all
}

package resource

import (
	"strings"

	"github.com/chimejobs/chime/httpapi/internal/body"
	"github.com/chimejobs/chime/httpapi/internal/problem"
)

// A form is a body in one of two forms: {"properties": {…}}, or the content of properties without it.
type form struct {
	reader  *body.Reader
	outer   *body.ObjectReader
	content *body.ObjectReader
	prefix  string // prefix of the content's paths: "properties." or empty
}

// Keys that answers have outside of properties, and that mean nothing in a request.
var readOnly = []string{"type", "etag", "systemData", "@odata.context"}

// newForm finds the form of a body by the known keys of its content.
func newForm(v *body.Value, keys ...string) *form {
	f := &form{reader: &body.Reader{}}
	f.outer = f.reader.Object(v, "")
	if v.Kind == body.Null {
		f.reader.Add(v, problem.Mistake{Code: "type", Field: "body", Detail: "want an object"})
	}
	f.outer.Ignore(readOnly...)
	f.content = f.outer
	properties := f.outer.Field("properties")
	if properties == nil {
		return f
	}
	f.content, f.prefix = f.reader.Object(properties, "properties"), "properties."
	for _, key := range keys {
		if mixed := f.outer.Field(key); mixed != nil {
			f.reader.Add(mixed, problem.Mistake{Code: "conflict", Field: key,
				Detail: "the body has properties: put this key into properties, or write all keys without properties"})
		}
	}
	return f
}

// done returns all mistakes of the body.
func (f *form) done() []problem.Mistake {
	f.content.Done()
	if f.outer != f.content {
		f.outer.Done()
	}
	return f.reader.Mistakes()
}

// name checks that name and id of the body match the path's resource: a collection, or a job of it. If the path has no name, they mean
// nothing.
func (f *form) name(collection, job string) {
	if collection == "" {
		f.outer.Ignore("name", "id")
		return
	}
	full, path := collection, "/jobCollections/"+collection
	if job != "" {
		full, path = collection+"/"+job, path+"/jobs/"+job
	}
	if name := f.outer.Text("name"); name != "" && name != full && (job == "" || name != job) {
		f.outer.Wrong("name", "name_mismatch", "the name in the path is "+full)
	}
	if id := f.outer.Text("id"); id != "" && !endsWith(id, path) {
		f.outer.Wrong("id", "name_mismatch", "the path is "+path)
	}
}

// endsWith reports whether an ID ends with a path; the fixed words may be in any case.
func endsWith(id, path string) bool {
	if len(id) < len(path) {
		return false
	}
	have, want := strings.Split(id[len(id)-len(path):], "/"), strings.Split(path, "/")
	for i := range want {
		if have[i] != want[i] && (i%2 == 0 || !strings.EqualFold(have[i], want[i])) {
			return false
		}
		if i == len(have)-1 && i < len(want)-1 {
			return false
		}
	}
	return len(have) == len(want)
}

// word returns the word that equals a text in any case; if no word does, it returns the text.
func word[T ~string](text string, words ...T) T {
	for _, w := range words {
		if strings.EqualFold(string(w), text) {
			return w
		}
	}
	return T(text)
}

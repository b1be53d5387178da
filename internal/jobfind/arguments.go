package jobfind

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/wire"
)

// An Argument is a condition on a job's arguments: a value at a path, such as order.id. An empty path means any value in them.
type Argument struct{ Path, Value string }

const (
	maxDecoded = 4 << 20 // bytes of arguments that are decoded
	maxDepth   = 64      // levels of arguments that are searched
)

// addArgument reads a path and its value, or a value alone.
func (f *Filter) addArgument(t term) error {
	path, value, found := strings.Cut(t.text, "=")
	if !found {
		path, value = "", t.text
	}
	for _, known := range f.Arguments {
		if known.Path == path {
			return invalid(t.key, t.text, "each path once")
		}
	}
	f.Arguments = append(f.Arguments, Argument{path, value})
	return nil
}

// Decoded returns a job's arguments as JSON has them, with numbers as they are written. ok is false if they cannot be decoded.
func Decoded(job *chime.JobInfo) (arguments any, ok bool) {
	if len(job.Payload) == 0 || len(job.Payload) > maxDecoded {
		return nil, false
	}
	text, ok := wire.View(job.Payload)
	if !ok {
		return nil, false
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	return arguments, decoder.Decode(&arguments) == nil
}

// argued reports whether arguments match all conditions.
func (f *Filter) argued(arguments any) bool {
	for _, want := range f.Arguments {
		if !has(arguments, want.Path, want.Value, maxDepth) {
			return false
		}
	}
	return true
}

// has reports whether arguments have a value at a path, or anywhere if the path is empty. All elements of an array have the path of the array.
func has(arguments any, path, value string, depth int) bool {
	if depth == 0 {
		return false
	}
	switch v := arguments.(type) {
	case []any:
		for _, element := range v {
			if has(element, path, value, depth-1) {
				return true
			}
		}
	case map[string]any:
		if path == "" {
			for _, member := range v {
				if has(member, "", value, depth-1) {
					return true
				}
			}
			return false
		}
		if member, ok := v[path]; ok && equal(member, value) { // a name may have dots
			return true
		}
		name, rest, nested := strings.Cut(path, ".")
		member, ok := v[name]
		if !ok || !nested {
			return ok && isList(member) && hasElement(member, value, depth-1)
		}
		return has(member, rest, value, depth-1)
	default:
		return path == "" && equal(arguments, value)
	}
	return false
}

func isList(v any) bool {
	_, ok := v.([]any)
	return ok
}

// hasElement reports whether one of the elements of a list is a value.
func hasElement(list any, value string, depth int) bool {
	for _, element := range list.([]any) {
		if equal(element, value) || depth > 0 && isList(element) && hasElement(element, value, depth-1) {
			return true
		}
	}
	return false
}

// equal reports whether a text, a number, a truth value or null is written so.
func equal(v any, value string) bool {
	switch v := v.(type) {
	case string:
		return v == value
	case json.Number:
		return v.String() == value
	case bool:
		return value == map[bool]string{true: "true", false: "false"}[v]
	case nil:
		return value == "null"
	}
	return false
}

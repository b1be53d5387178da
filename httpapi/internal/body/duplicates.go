package body

import (
	"cmp"
	"strconv"

	"github.com/chimejobs/chime/httpapi/internal/problem"
)

// An inside says whose the keys of an object are.
type inside int

const (
	ours    inside = iota // the API's: their case makes no difference
	headers               // the client's names of headers, which are the same in any case
	data                  // the client's, byte for byte
)

// keysOf are the keys, folded, whose objects have names of the client's.
var keysOf = map[string]inside{
	"headers": headers, "secretheaders": headers, "tags": data, "secretquery": data, "custommessageproperties": data, "payload": data,
}

// aliases are the keys, folded, that package recurrence reads by another name too.
var aliases = map[string]string{"minute": "minutes", "hour": "hours", "monthlyoccurences": "monthlyoccurrences"}

// name is a key as it is compared with others of its object.
func (in inside) name(key string) string {
	switch in {
	case data:
		return key
	case ours:
		return cmp.Or(aliases[fold(key)], fold(key))
	}
	return fold(key)
}

// below is whose the keys are of the object that a key has.
func (in inside) below(key string) inside {
	if in == ours {
		return keysOf[fold(key)]
	}
	return data
}

// Duplicates returns the keys that objects have more than once: in any spelling, of data in the same one.
func Duplicates(v *Value) []problem.Mistake { return duplicates(v, "", ours) }

func duplicates(v *Value, path string, in inside) (found []problem.Mistake) {
	for i, item := range v.Items {
		found = append(found, duplicates(item, path+"["+strconv.Itoa(i)+"]", in)...)
	}
	seen := map[string]string{}
	for _, m := range v.Members {
		name, at := in.name(m.Key), join(path, m.Key, in != ours)
		if before, twice := seen[name]; twice {
			detail := "it is there twice"
			if before != m.Key {
				detail = "it is there as " + strconv.Quote(cut(before)) + " too, which is the same key"
			}
			found = append(found, problem.Mistake{Code: "duplicate_field", Field: at, Detail: detail})
		}
		seen[name] = m.Key
		found = append(found, duplicates(m.Value, at, in.below(m.Key))...)
	}
	return found
}

// join is the path of a key; a name of the client's stands in brackets.
func join(path, key string, clients bool) string {
	switch {
	case clients || !plain(key):
		return path + "[" + strconv.Quote(cut(key)) + "]"
	case path == "":
		return key
	}
	return path + "." + key
}

// plain reports whether a key can stand in a path as it is.
func plain(key string) bool {
	for _, r := range key {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' {
			return false
		}
	}
	return key != "" && len(key) <= maxShown
}

package body

import (
	"cmp"
	"strconv"

	"github.com/chimejobs/chime/httpapi/internal/problem"
)

// An inside is the owner of an object's keys.
type inside int

const (
	ours    inside = iota // the API's: their case is ignored
	headers               // the client's names of headers: their case is ignored
	data                  // the client's, byte for byte
)

// keysOf lists the keys, folded, whose objects have names from the client.
var keysOf = map[string]inside{
	"headers": headers, "secretheaders": headers, "tags": data, "secretquery": data, "custommessageproperties": data, "payload": data,
}

// aliases are the keys, folded, that package recurrence also reads under another name.
var aliases = map[string]string{"minute": "minutes", "hour": "hours", "monthlyoccurences": "monthlyoccurrences"}

// name is a key in the form in which it is compared with the other keys of its object.
func (in inside) name(key string) string {
	switch in {
	case data:
		return key
	case ours:
		return cmp.Or(aliases[fold(key)], fold(key))
	}
	return fold(key)
}

// below is the owner of the keys in the object below a key.
func (in inside) below(key string) inside {
	if in == ours {
		return keysOf[fold(key)]
	}
	return data
}

// Duplicates returns the keys that an object has more than once: in any spelling, in data with the same bytes.
func Duplicates(v *Value) []problem.Mistake { return duplicates(v, "", ours) }

func duplicates(v *Value, path string, in inside) (found []problem.Mistake) {
	for i, item := range v.Items {
		found = append(found, duplicates(item, path+"["+strconv.Itoa(i)+"]", in)...)
	}
	seen := map[string]string{}
	for _, m := range v.Members {
		name, at := in.name(m.Key), join(path, m.Key, in != ours)
		if before, twice := seen[name]; twice {
			detail := "it is given twice"
			if before != m.Key {
				detail = "it is also given as " + strconv.Quote(cut(before)) + ", which is the same key"
			}
			found = append(found, problem.Mistake{Code: "duplicate_field", Field: at, Detail: detail})
		}
		seen[name] = m.Key
		found = append(found, duplicates(m.Value, at, in.below(m.Key))...)
	}
	return found
}

// join is the path of a key; a client's name is in brackets.
func join(path, key string, clients bool) string {
	switch {
	case clients || !plain(key):
		return path + "[" + strconv.Quote(cut(key)) + "]"
	case path == "":
		return key
	}
	return path + "." + key
}

// plain reports whether a key needs no brackets in a path.
func plain(key string) bool {
	for _, r := range key {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' {
			return false
		}
	}
	return key != "" && len(key) <= maxShown
}

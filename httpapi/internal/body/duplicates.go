package body

import (
	"strconv"

	"github.com/chimejobs/chime/httpapi/internal/problem"
)

// dataKeys are the keys, folded, whose objects have names of the client's and not of the API's.
var dataKeys = map[string]bool{
	"tags": true, "headers": true, "secretheaders": true, "secretquery": true, "custommessageproperties": true, "payload": true,
}

// isData reports whether the object of a key has names of the client's: it is of dataKeys, or inside of one.
func isData(key string, inside bool) bool { return inside || dataKeys[fold(key)] }

// Duplicates returns the keys that objects have more than once: in any spelling, of data in the same one.
func Duplicates(v *Value) []problem.Mistake { return duplicates(v, "", false) }

func duplicates(v *Value, path string, data bool) (found []problem.Mistake) {
	for i, item := range v.Items {
		found = append(found, duplicates(item, path+"["+strconv.Itoa(i)+"]", data)...)
	}
	seen := map[string]string{}
	for _, m := range v.Members {
		name, inside := m.Key, data
		if !data {
			name = fold(m.Key)
		}
		at := join(path, m.Key, data)
		if before, twice := seen[name]; twice {
			detail := "it is there twice"
			if before != m.Key {
				detail = "it is there as " + strconv.Quote(cut(before)) + " too: the case of letters makes no difference"
			}
			found = append(found, problem.Mistake{Code: "duplicate_field", Field: at, Detail: detail})
		}
		seen[name] = m.Key
		found = append(found, duplicates(m.Value, at, isData(m.Key, inside))...)
	}
	return found
}

// join is the path of a key; a name of the client's stands in brackets.
func join(path, key string, data bool) string {
	switch {
	case data || !plain(key):
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

package body

// Patch returns target with an RFC 7396 merge patch put on it: the members of objects are merged, in any case of their keys outside of data, null removes,
// and every other value takes the place of what was there. Neither tree is changed. What the patch has touched is not Stored any more.
func Patch(target, patch *Value) *Value { return patched(target, patch, ours) }

func patched(target, patch *Value, in inside) *Value {
	if patch.Kind != Object {
		return patch
	}
	merged := &Value{Kind: Object, At: patch.At}
	if target != nil && target.Kind == Object {
		merged.Members = append(merged.Members, target.Members...)
	}
	for _, m := range patch.Members {
		at := merged.index(m.Key, in)
		switch {
		case m.Value.Kind == Null && at >= 0:
			merged.Members = append(merged.Members[:at], merged.Members[at+1:]...)
		case m.Value.Kind == Null:
		case at >= 0:
			merged.Members[at] = Member{m.Key, patched(merged.Members[at].Value, m.Value, in.below(m.Key))}
		default:
			merged.Members = append(merged.Members, Member{m.Key, patched(nil, m.Value, in.below(m.Key))})
		}
	}
	return merged
}

// index is where an object has a key, in any case unless it is data; -1: nowhere.
func (v *Value) index(key string, in inside) int {
	for i, m := range v.Members {
		if m.Key == key || in != data && fold(m.Key) == fold(key) {
			return i
		}
	}
	return -1
}

// Store marks a tree as stored.
func (v *Value) Store() *Value {
	v.Stored = true
	for _, item := range v.Items {
		item.Store()
	}
	for _, m := range v.Members {
		m.Value.Store()
	}
	return v
}

package body

import "slices"

// Patch applies an RFC 7396 merge patch to target and returns the result. Members of objects are merged, with the case of keys ignored outside of data;
// null removes, and every other value replaces. Neither tree is changed. A value that the patch has changed is no longer Stored.
func Patch(target, patch *Value) *Value { return patched(target, patch, ours) }

func patched(target, patch *Value, in inside) *Value {
	if patch.Kind != Object {
		return patch
	}
	merged := &Value{Kind: Object, At: patch.At}
	if target != nil && target.Kind == Object {
		merged.Members = append(merged.Members, target.Members...)
	}
	places := make(map[string]int, len(merged.Members))
	for i, m := range merged.Members {
		places[in.name(m.Key)] = i
	}
	for _, m := range patch.Members {
		name := in.name(m.Key)
		at, there := places[name]
		switch {
		case m.Value.Kind == Null && there:
			merged.Members[at].Value = nil
			delete(places, name)
		case m.Value.Kind == Null:
		case there:
			merged.Members[at] = Member{m.Key, patched(merged.Members[at].Value, m.Value, in.below(m.Key))}
		default:
			places[name] = len(merged.Members)
			merged.Members = append(merged.Members, Member{m.Key, patched(nil, m.Value, in.below(m.Key))})
		}
	}
	merged.Members = slices.DeleteFunc(merged.Members, func(m Member) bool { return m.Value == nil })
	return merged
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

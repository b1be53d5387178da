package batchmodel

import "slices"

// Shrink returns a part of a sequence of operations that still fails, from which no single one can be left out.
func Shrink(ops []Operation, fails func([]Operation) bool) []Operation {
	for size := len(ops); size > 0; {
		before := len(ops)
		for at := 0; at < len(ops); {
			if less := slices.Delete(slices.Clone(ops), at, min(at+size, len(ops))); fails(less) {
				ops = less
			} else {
				at += size
			}
		}
		if size = min(size/2, len(ops)); size == 0 && len(ops) < before {
			size = 1
		}
	}
	return ops
}

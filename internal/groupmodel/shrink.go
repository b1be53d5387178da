package groupmodel

import "slices"

// Shrink returns a sequence of operations that still fails, from which no single one can be left out. It leaves out halves, quarters and so on down
// to single ones, until nothing more can go. Then it makes numbers smaller.
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
	for i := range ops {
		for _, simpler := range []func(*Operation){
			func(o *Operation) { o.N = min(o.N, 1) }, func(o *Operation) { o.N = min(o.N, 2) }, func(o *Operation) { o.Pick = 0 },
		} {
			less := slices.Clone(ops)
			if simpler(&less[i]); less[i] != ops[i] && fails(less) {
				ops = less
			}
		}
	}
	return ops
}

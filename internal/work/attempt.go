package work

// An Attempt is what the handler of a flight may keep: its ctx, in which is where it says more than its error. So its memory is never used
// again, as that of a flight is.
//
// Whoever gives handlers their jobs allocates it beside the job. Each leads to the other; if both were in slabs of their own, what keeps one
// job would keep those of its slab, their attempts, the slabs of these, and so on without an end.
type Attempt struct{ jobContext }

// See notes the job as the handler will be given it.
func (a *Attempt) See(job any) { a.see(job) }

// smallBody is how long a body may be whose job may have its memory in a slab with others.
const smallBody = 1 << 10

// neighbours is how many jobs may follow in the slab of one whose body has so many bytes, if others follow in its answer; below 0: it is
// alone.
func neighbours(body, others int) int {
	if body > smallBody {
		return -1
	}
	return others
}

package work

// An Attempt is what the handler of a flight may keep: its ctx, and in it the Output. So its memory is never reused, unlike a flight's.
//
// The code that gives handlers their jobs allocates it together with the job. Each has a pointer to the other. If each were in a slab of its own,
// a reference to one job would keep its whole slab alive, so also the attempts of the jobs in that slab, their slabs, and so on without end.
type Attempt struct{ jobContext }

// See stores the job as the handler will receive it.
func (a *Attempt) See(job any) { a.see(job) }

// smallBody is the maximum length of the body of a job that may share its slab with others.
const smallBody = 1 << 10

// neighbours returns how many jobs may follow in a job's slab, if its body has this many bytes and this many others follow in its answer. Below
// 0: the job is alone.
func neighbours(body, others int) int {
	if body > smallBody {
		return -1
	}
	return others
}

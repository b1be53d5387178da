package jobfind

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/shape"
)

// A Group is jobs of one name that failed with the same error, apart from the parts that differ from job to job.
type Group struct {
	Count  int       `json:"count"`
	Job    string    `json:"job"`
	Error  string    `json:"error"` // as shape.Of returns it
	First  time.Time `json:"first,omitzero"`
	Last   time.Time `json:"last,omitzero"`
	Queues []string  `json:"queues"` // in order
}

// Groups puts jobs into groups, the largest first.
func Groups(jobs []*chime.JobInfo) []Group {
	type key struct{ job, text string }
	at := map[key]int{}
	groups := []Group{}
	for _, job := range jobs {
		k := key{job.Name, shape.Of(job.LastError)}
		i, known := at[k]
		if !known {
			i = len(groups)
			at[k] = i
			groups = append(groups, Group{Job: k.job, Error: k.text})
		}
		groups[i].add(job)
	}
	slices.SortFunc(groups, larger)
	return groups
}

// larger orders groups.
func larger(a, b Group) int {
	return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Job, b.Job), strings.Compare(a.Error, b.Error))
}

// Merged returns the groups of all jobs, from the groups of two parts of them.
func Merged(some, others []Group) []Group {
	type key struct{ job, text string }
	all, at := slices.Clone(some), map[key]int{}
	for i, g := range all {
		at[key{g.Job, g.Error}] = i
	}
	for _, g := range others {
		i, known := at[key{g.Job, g.Error}]
		if !known {
			all = append(all, g)
			continue
		}
		to := &all[i]
		to.Count += g.Count
		to.Queues = slices.Compact(slices.Sorted(slices.Values(slices.Concat(to.Queues, g.Queues))))
		if to.First.IsZero() || !g.First.IsZero() && g.First.Before(to.First) {
			to.First = g.First
		}
		if g.Last.After(to.Last) {
			to.Last = g.Last
		}
	}
	slices.SortFunc(all, larger)
	return all
}

func (g *Group) add(job *chime.JobInfo) {
	g.Count++
	if i, found := slices.BinarySearch(g.Queues, job.Queue); !found {
		g.Queues = slices.Insert(g.Queues, i, job.Queue)
	}
	since := Since(job).UTC()
	if since.IsZero() {
		return
	}
	if g.First.IsZero() || since.Before(g.First) {
		g.First = since
	}
	if since.After(g.Last) {
		g.Last = since
	}
}

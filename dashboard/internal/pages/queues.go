package pages

import (
	"cmp"
	"context"
	"html/template"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/dashboard/internal/render"
	"github.com/chimejobs/chime/internal/jobfind"
	"github.com/chimejobs/chime/internal/overview"
	"github.com/chimejobs/chime/internal/plain"
	"github.com/chimejobs/chime/internal/svg"
)

const maxSort = 100_000 // of queues: no store has as many

// Queues is the list of the queues.
type Queues struct {
	Queues []QueueRow
	Of     int // how many there are that match
	Sort   string
	Text   string // that the names contain
	Newer  string // the value of from for the part of the list before this one; empty: this is the first
	Older  string // and for the one after
	First  int    // of the rows, from 1 on
	Any    bool   // there are queues at all
	Can    Can
}

// A QueueRow is a queue in a list.
type QueueRow struct {
	overview.Queue
	State   plain.State
	Workers int           // that take from it
	Unread  bool          // who works on it is not known
	Long    bool          // its oldest job has waited for long
	Hour    template.HTML // what ended well in each minute of the last hour; empty: no samples
}

// Depths are how many jobs it has in each state.
func (q QueueRow) Depths() []Depth { return depthsOf(q.Queue) }

// queueOrders are the orders of the list, by their names in the query.
var queueOrders = map[string]func(a, b *overview.Queue) int{
	"name": func(a, b *overview.Queue) int { return cmp.Compare(a.Name, b.Name) },
	"waiting": func(a, b *overview.Queue) int {
		return cmp.Or(cmp.Compare(b.Waiting, a.Waiting), cmp.Compare(a.Name, b.Name))
	},
	"running": func(a, b *overview.Queue) int {
		return cmp.Or(cmp.Compare(b.Running, a.Running), cmp.Compare(a.Name, b.Name))
	},
	"dead": func(a, b *overview.Queue) int {
		return cmp.Or(cmp.Compare(b.Dead, a.Dead), cmp.Compare(a.Name, b.Name))
	},
	"oldest": func(a, b *overview.Queue) int { return cmp.Or(older(a.Oldest, b.Oldest), cmp.Compare(a.Name, b.Name)) },
	"failed": func(a, b *overview.Queue) int {
		return cmp.Or(cmp.Compare(b.Failed, a.Failed), cmp.Compare(a.Name, b.Name))
	},
}

// older compares instants, of which a zero one comes last.
func older(a, b time.Time) int {
	if a.IsZero() != b.IsZero() {
		if a.IsZero() {
			return 1
		}
		return -1
	}
	return a.Compare(b)
}

// Queues reads the list of the queues.
func (s *Site) Queues(ctx context.Context, r *Request) (View, error) {
	sort, err := r.choice("sort", "name", "waiting", "running", "dead", "oldest", "failed")
	if err != nil {
		return View{}, err
	}
	limit, err := r.number("limit", 1, 200, 50)
	if err != nil {
		return View{}, err
	}
	from, err := r.number("from", 0, maxSort, 0)
	if err != nil {
		return View{}, err
	}
	standing, err := s.Standing(ctx)
	if err != nil {
		return View{}, err
	}
	m := &Queues{Can: r.Can, Sort: sort, Text: r.Query.Get("q"), Any: len(standing.Queues) > 0}
	rows := slices.DeleteFunc(s.queueRows(standing, queueOrders[sort]), func(q QueueRow) bool { return !strings.Contains(q.Name, m.Text) })
	m.Of, from = len(rows), min(from, len(rows))
	m.Queues, m.First = rows[from:min(from+limit, len(rows))], from+1
	if from > 0 {
		m.Newer = strconv.Itoa(max(from-limit, 0))
	}
	if from+limit < len(rows) {
		m.Older = strconv.Itoa(from + limit)
	}
	for i := range m.Queues {
		m.Queues[i].Hour = hourOf(&m.Queues[i].Queue, standing.At, r.Zone)
	}
	return View{"Queues", m}, nil
}

// queueRows are all queues in an order.
func (s *Site) queueRows(standing *Standing, order func(a, b *overview.Queue) int) []QueueRow {
	serve := map[string]int{}
	for _, w := range standing.Workers {
		for queue := range w.Queues {
			serve[queue]++
		}
	}
	rows := make([]QueueRow, 0, len(standing.Queues))
	for _, q := range standing.Queues {
		rows = append(rows, QueueRow{Queue: q, State: plain.Queue(q.QueueInfo), Long: waitsTooLong(q.QueueInfo), Workers: serve[q.Name], Unread: standing.Notes[overview.Workers] != ""})
	}
	slices.SortFunc(rows, func(a, b QueueRow) int { return order(&a.Queue, &b.Queue) })
	return rows
}

// waitsTooLong reports whether the oldest job of a queue has waited for long.
func waitsTooLong(q *chime.QueueInfo) bool {
	return !q.Oldest.IsZero() && q.Now.Sub(q.Oldest) >= waitsLong
}

// A Tally is how many jobs of a queue are in a state; it leads to them.
type Tally struct {
	Name   string // of the state, as a title
	State  string // as the list of jobs calls it
	Tone   string // of a number that is not 0; empty: none
	Count  int64
	Filter string // of the list of jobs
}

// talliesOf are how many jobs a queue has in each state.
func talliesOf(q *chime.QueueInfo) []Tally {
	filter := searchOf(q.Name, "")
	return []Tally{
		{"Waiting", "waiting", "", q.Waiting, filter}, {"Delayed", "delayed", "", q.Delayed, filter}, {"Running", "running", "", q.Running, filter},
		{"Parked", "parked", "paused", q.Parked, filter}, {"Dead", "dead", "fail", q.Dead, filter},
	}
}

// Tallies are how many jobs it has in each state.
func (q QueueRow) Tallies() []Tally { return talliesOf(q.QueueInfo) }

// hourOf draws what ended well on a queue in the last hour; nothing, if no sample says so.
func hourOf(q *overview.Queue, now time.Time, zone *time.Location) template.HTML {
	if len(q.Outs) == 0 {
		return ""
	}
	return svg.Spark{
		Title: q.Name + ", ended well in each minute of the last hour", Values: q.Outs, Tone: svg.OK, Zone: zone,
		From: now.Truncate(time.Minute).Add(-time.Duration(len(q.Outs)) * time.Minute), Step: time.Minute,
	}.SVG()
}

// searchOf finds the jobs of a queue in the list of jobs, those of one name if it is not empty.
func searchOf(queue, job string) string {
	filter := jobfind.Filter{Queue: queue, Job: jobfind.Pattern{Text: job}}
	return filter.String()
}

// Last is the last of the rows, as First is the first.
func (q *Queues) Last() int { return q.First + len(q.Queues) - 1 }

// Head is the head of a column by which the list can be sorted.
func (q *Queues) Head(sort, name string) Choice { return Choice{sort, name, q.Sort == sort} }

// Empty stands where there is no queue.
func (*Queues) Empty() render.Empty {
	return render.Empty{Text: "There is no queue: each is there when a job, a schedule or a worker names it first. This line makes one:", Line: "chime jobs enqueue resize"}
}

// limitOf says what the limit of a queue is; empty: it has none.
func limitOf(limit chime.Limit) string {
	var parts []string
	if limit.Running > 0 {
		parts = append(parts, render.Count(int64(limit.Running))+" at once")
	}
	if limit.Starts > 0 {
		parts = append(parts, render.Plural(int64(limit.Starts), "start", "starts")+" in "+limit.Per.String())
	}
	return strings.Join(parts, ", ")
}

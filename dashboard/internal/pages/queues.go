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

const maxSort = 100_000 // more queues than any store has

// Queues is the list of the queues.
type Queues struct {
	Queues []QueueRow
	Of     int // number of queues that match
	Sort   string
	Text   string // the text that the names contain
	Newer  string // the value of from for the previous part of the list; empty: this is the first part
	Older  string // the same for the next part
	First  int    // position of the first row, from 1
	Any    bool   // the store has at least one queue
	Can    Can
}

// A QueueRow is a row of a list of queues.
type QueueRow struct {
	overview.Queue
	State   plain.State
	Workers int           // number of workers that take from it
	Unread  bool          // its workers are not known
	Long    bool          // its oldest job has been waiting for too long
	Hour    template.HTML // jobs done in each minute of the last hour; empty: no samples
}

// Depths returns its number of jobs in each state.
func (q QueueRow) Depths() []Depth { return depthsOf(q.Queue) }

// queueOrders are the orders of the list, by their values in the query.
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

// older compares instants. A zero instant comes last.
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

// queueRows returns all queues in an order.
func (s *Site) queueRows(standing *Standing, order func(a, b *overview.Queue) int) []QueueRow {
	serve := map[string]int{}
	for _, w := range standing.Workers {
		for queue := range w.Queues {
			serve[queue]++
		}
	}
	served := standing.Served()
	rows := make([]QueueRow, 0, len(standing.Queues))
	for _, q := range standing.Queues {
		rows = append(rows, QueueRow{Queue: q, State: plain.Queue(q.QueueInfo, served(q.Name)), Long: waitsTooLong(q.QueueInfo), Workers: serve[q.Name], Unread: standing.Notes[overview.Workers] != ""})
	}
	slices.SortFunc(rows, func(a, b QueueRow) int { return order(&a.Queue, &b.Queue) })
	return rows
}

// waitsTooLong reports whether the oldest job of a queue has been waiting for too long.
func waitsTooLong(q *chime.QueueInfo) bool {
	return !q.Oldest.IsZero() && q.Now.Sub(q.Oldest) >= waitsLong
}

// A Tally is a queue's number of jobs in a state, with a link to them.
type Tally struct {
	Name   string // the state as a title
	State  string // the state's name in the list of jobs
	Tone   string // the colour of a number that is not 0; empty: none
	Count  int64
	Filter string // the filter in the list of jobs
	AtMost bool   // Count is the most that it may be
}

// talliesOf returns a queue's number of jobs in each state.
func talliesOf(q *chime.QueueInfo) []Tally {
	filter := searchOf(q.Name, "")
	return []Tally{
		{Name: "Waiting", State: "waiting", Count: q.Waiting, Filter: filter}, {Name: "Delayed", State: "delayed", Count: q.Delayed, Filter: filter},
		{Name: "Running", State: "running", Count: q.Running, Filter: filter, AtMost: q.Ahead < 0},
		{Name: "Parked", State: "parked", Tone: "paused", Count: q.Parked, Filter: filter}, {Name: "Dead", State: "dead", Tone: "fail", Count: q.Dead, Filter: filter},
	}
}

// Mark returns the name of the number.
func (t Tally) Mark() string {
	switch t.Name {
	case takenAhead:
		return string(chime.JobTaken)
	case ofVanished:
		return "vanished"
	}
	return t.State
}

// Tallies returns its number of jobs in each state.
func (q QueueRow) Tallies() []Tally { return talliesOf(q.QueueInfo) }

// hourOf draws the jobs of a queue that were done in the last hour. It returns nothing if there are no samples.
func hourOf(q *overview.Queue, now time.Time, zone *time.Location) template.HTML {
	if len(q.Outs) == 0 {
		return ""
	}
	return svg.Spark{
		Title: q.Name + ", jobs done in each minute of the last hour", Values: q.Outs, Tone: svg.OK, Zone: zone,
		From: now.Truncate(time.Minute).Add(-time.Duration(len(q.Outs)) * time.Minute), Step: time.Minute,
	}.SVG()
}

// searchOf returns the filter for the jobs of a queue. If name is not empty, it finds only jobs of that name.
func searchOf(queue, job string) string {
	filter := jobfind.Filter{Queue: queue, Job: jobfind.Pattern{Text: job}}
	return filter.String()
}

// Last is the position of the last row.
func (q *Queues) Last() int { return q.First + len(q.Queues) - 1 }

// Head returns the head of a column by which the list can be sorted.
func (q *Queues) Head(sort, name string) Choice { return Choice{sort, name, q.Sort == sort} }

// Empty is shown if there are no queues.
func (*Queues) Empty() render.Empty {
	return render.Empty{Text: "There are no queues. A queue is created when a job, a schedule or a worker first uses its name. This line creates one:", Line: "chime jobs enqueue resize"}
}

package top

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/cmd/chime/internal/output"
	"github.com/chimejobs/chime/internal/blocked"
	"github.com/chimejobs/chime/internal/format"
	"github.com/chimejobs/chime/internal/overview"
	words "github.com/chimejobs/chime/internal/plain"
)

// A row is a row of a panel.
type row struct {
	key     string // identifies it from poll to poll
	name    string // as stored: not printable yet
	text    string // that a filter searches
	cells   []cell
	paused  bool
	targets []Target // of an action; empty: the row has no action
}

// A cell is a text with one paint.
type cell struct {
	text  string // printable
	paint paint
}

func plain(text string) cell { return cell{output.Printable(text), normal} }

// rows returns the rows of a panel that match its filter, in the chosen order.
func (m *Model) rows(p overview.Panel) []row {
	rows := m.allRows(p)
	if filter := strings.ToLower(m.panels[p].filter); filter != "" {
		rows = slices.DeleteFunc(rows, func(r row) bool { return !strings.Contains(strings.ToLower(r.text), filter) })
	}
	return rows
}

// allRows returns all rows of a panel.
func (m *Model) allRows(p overview.Panel) []row {
	if m.shown == nil {
		return nil
	}
	return [overview.Panels]func() []row{m.queueRows, m.nextRows, m.runningRows, m.failureRows, m.workerRows}[p]()
}

// orders are the orders of each panel; the first one is the default.
var orders = [overview.Panels][]string{
	overview.Queues:   {"worst", "name", "most waiting", "oldest", "most failed"},
	overview.Next:     {"soonest", "name"},
	overview.Running:  {"longest", "job", "queue"},
	overview.Failures: {"most", "latest", "job"},
	overview.Workers:  {"name", "busiest", "oldest"},
}

// sorted sorts items by the n-th comparison, and equal ones by the first comparison.
func sorted[T any](items []T, n int, by ...func(a, b T) int) []T {
	items = slices.Clone(items)
	slices.SortStableFunc(items, func(a, b T) int { return cmp.Or(by[n](a, b), by[0](a, b)) })
	return items
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

func (m *Model) queueRows() []row {
	worst := func(a, b overview.Queue) int {
		return cmp.Or(slices.Compare(m.badness(&b), m.badness(&a)), cmp.Compare(a.Name, b.Name))
	}
	queues := sorted(m.shown.Queues, m.panels[overview.Queues].sort, worst,
		func(a, b overview.Queue) int { return cmp.Compare(a.Name, b.Name) },
		func(a, b overview.Queue) int { return cmp.Compare(b.Waiting, a.Waiting) },
		func(a, b overview.Queue) int { return older(a.Oldest, b.Oldest) },
		func(a, b overview.Queue) int { return cmp.Compare(b.QueueInfo.Failed, a.QueueInfo.Failed) })
	served := m.shown.Served()
	rows := make([]row, 0, len(queues))
	for _, q := range queues {
		oldest := cell{"", faint}
		if !q.Oldest.IsZero() {
			oldest = cell{format.Span(max(0, m.clock().Sub(q.Oldest))), normal}
		}
		in, out, failed := cell{"–", faint}, cell{"–", faint}, cell{"–", faint}
		if q.Known {
			in, out, failed = tally(format.Rate(q.In), normal), tally(format.Rate(q.Out), normal), tally(format.Rate(q.Failed), bad)
		}
		rows = append(rows, row{
			key: q.Name, name: q.Name, text: q.Name, paused: q.Paused, targets: []Target{{Name: q.Name}},
			cells: []cell{
				plain(q.Name), queueState(q, served(q.Name)), tally(format.Count(q.Waiting), normal), oldest, tally(words.Running(q.QueueInfo), running),
				tally(format.Count(q.Dead), bad), failed, in, out, tally(format.Count(q.Delayed), normal), tally(format.Count(q.Parked), late), {spark(squeeze(q.Outs, sparkCells)), faint},
			},
		})
	}
	return rows
}

// badness returns what makes a queue worse than another one, the most important first: its backlog, the failures of a minute, how long its oldest job has waited,
// and its traffic. Each has only its order of magnitude, so that rows rarely change places.
func (m *Model) badness(q *overview.Queue) []int {
	waits := time.Duration(0)
	if !q.Oldest.IsZero() {
		waits = max(0, m.clock().Sub(q.Oldest))
	}
	magnitude := func(n float64) int { return bits.Len64(uint64(max(n, 0))) }
	return []int{magnitude(float64(q.Waiting)), magnitude(q.Failed), magnitude(waits.Seconds()), magnitude(float64(q.Running)), magnitude(q.In + q.Out)}
}

const sparkCells = 15 // for the sixty values of an hour: four minutes each

// tally formats a number, faint if it is zero.
func tally(text string, p paint) cell {
	if text == "0" {
		return cell{text, faint}
	}
	return cell{text, p}
}

func queueState(q overview.Queue, served bool) cell {
	state := words.Queue(q.QueueInfo, served)
	return cell{state.String(), map[string]paint{words.Stopped: paused, words.Warning: late, words.Going: good, words.Idle: faint}[state.Symbol]}
}

func (m *Model) nextRows() []row {
	schedules := sorted(m.shown.Next, m.panels[overview.Next].sort,
		func(a, b *chime.Schedule) int { return cmp.Or(pausedLast(a, b), older(due(a), due(b))) },
		func(a, b *chime.Schedule) int { return cmp.Compare(a.Name, b.Name) })
	served := m.shown.Served()
	rows := make([]row, 0, len(schedules))
	for _, s := range schedules {
		in, at := cell{"now", good}, cell{"", faint}
		switch {
		case s.State == chime.StatePaused:
			in = cell{"‖ paused", paused}
		case !s.Next.IsZero():
			if left := due(s).Sub(m.clock()); left >= 0 {
				in = cell{format.Away(left), normal}
			} else {
				in = cell{"⚠ " + format.Age(-left) + " late", late}
			}
			at = cell{m.instant(due(s)), normal}
		}
		if why := m.blockedBy(s, served); why != "" {
			in = cell{"⚠ " + why, late}
		}
		rows = append(rows, row{
			key: s.Name, name: s.Name, text: s.Name + " " + s.JobName + " " + s.Queue, paused: s.State == chime.StatePaused, targets: []Target{{Name: s.Name}},
			cells: []cell{in, plain(s.Name), at, lastRun(s), plain(s.Queue)},
		})
	}
	return rows
}

// blockedBy returns what blocks the jobs of a live schedule, as far as the other panels show it.
func (m *Model) blockedBy(s *chime.Schedule, served func(queue string) bool) string {
	at := slices.IndexFunc(m.shown.Queues, func(q overview.Queue) bool { return q.Name == s.Queue })
	if s.State != chime.StateLive || at < 0 {
		return ""
	}
	return blocked.KindOf(m.shown.Queues[at].QueueInfo, served(s.Queue)).String()
}

// pausedLast compares schedules. Paused ones come last.
func pausedLast(a, b *chime.Schedule) int {
	switch a, b := a.State == chime.StatePaused, b.State == chime.StatePaused; {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// due returns when a schedule runs next; zero: immediately, or not while it is paused.
func due(s *chime.Schedule) time.Time {
	if s.Next.IsZero() || s.State == chime.StatePaused {
		return time.Time{}
	}
	return s.Next.Add(s.Offset)
}

// lastRun shows the outcome of a schedule's last run.
func lastRun(s *chime.Schedule) cell {
	switch s.Last.Outcome {
	case "":
		return cell{"◌ no run", faint}
	case chime.RunDone:
		return cell{"✓ done", good}
	case chime.RunFailed, chime.RunDead:
		return cell{"✕ " + string(s.Last.Outcome), bad}
	}
	return cell{"◌ " + string(s.Last.Outcome), late}
}

func (m *Model) runningRows() []row {
	jobs := sorted(m.shown.Running, m.panels[overview.Running].sort,
		func(a, b *chime.JobInfo) int {
			return cmp.Or(older(a.Started, b.Started), cmp.Compare(a.Queue, b.Queue), cmp.Compare(a.ID, b.ID))
		},
		func(a, b *chime.JobInfo) int { return cmp.Compare(a.Name, b.Name) },
		func(a, b *chime.JobInfo) int { return cmp.Compare(a.Queue, b.Queue) })
	rows := make([]row, 0, len(jobs))
	for _, j := range jobs {
		lasts := cell{"", faint}
		if !j.Started.IsZero() {
			lasts = cell{format.Span(max(0, m.clock().Sub(j.Started))), running}
		}
		state := cell{"", normal}
		if part, is := progress(j); is {
			state = cell{gauge(part), running}
		}
		if j.Cancelled {
			state = cell{"✕ cancelling", late}
		}
		rows = append(rows, row{
			key: j.Queue + "\x00" + j.ID, name: j.ID, text: j.Name + " " + j.ID + " " + j.Queue + " " + m.worker(j.Worker),
			targets: []Target{{Name: j.ID, Queue: j.Queue}},
			cells:   []cell{plain(j.Name), {output.Printable(j.ID), faint}, plain(j.Queue), lasts, plain(m.worker(j.Worker)), state},
		})
	}
	return rows
}

// progress shows the progress of a job, a number up to 1 or up to 100.
func progress(j *chime.JobInfo) (float64, bool) {
	if len(j.Progress) == 0 {
		return 0, false
	}
	var part float64
	if chime.Decode(j.Progress, &part) != nil || !(part >= 0 && part <= 100) {
		return 0, false
	}
	if part > 1 {
		part /= 100
	}
	return part, true
}

// worker returns the name of a worker for people.
func (m *Model) worker(name string) string {
	for _, w := range m.shown.Workers {
		if w.Name == name {
			return w.Address()
		}
	}
	address, _ := words.Worker(name)
	return address
}

func (m *Model) failureRows() []row {
	groups := sorted(m.shown.Failures, m.panels[overview.Failures].sort,
		func(a, b overview.Group) int {
			return cmp.Or(m.known(&a)-m.known(&b), cmp.Compare(b.Count, a.Count), cmp.Compare(a.Job, b.Job), cmp.Compare(a.Error, b.Error))
		},
		func(a, b overview.Group) int { return b.Last.Compare(a.Last) },
		func(a, b overview.Group) int { return cmp.Compare(a.Job, b.Job) })
	rows := make([]row, 0, len(groups))
	for _, g := range groups {
		text, last := plain(g.Error), cell{"", faint}
		if g.Error == "" {
			text = cell{"of jobs that ran well later, or were deleted", faint}
		}
		count := bad
		if m.known(&g) > 0 { // somebody has acknowledged them
			text, count = cell{"acknowledged: " + text.text, faint}, faint
		}
		if !g.Last.IsZero() {
			last = cell{format.Away(g.Last.Sub(m.clock())), normal}
		}
		rows = append(rows, row{
			key: g.Job + "\x00" + g.Error, name: g.Job, text: g.Job + " " + strings.Join(g.Queues, " ") + " " + g.Error, targets: targetsOf(g),
			cells: []cell{{format.Count(g.Count), count}, plain(g.Job), text, last, plain(queuesOf(g))},
		})
	}
	return rows
}

// known returns 1 for a group of failures that somebody has acknowledged, else 0.
func (m *Model) known(g *overview.Group) int {
	if m.shown.Acknowledged(g) != nil {
		return 1
	}
	return 0
}

// queuesOf names the queues of a group, in few words.
func queuesOf(g overview.Group) string {
	if n := len(g.Queues); n > 1 {
		return format.Plural(n, "queue", "queues")
	}
	return strings.Join(g.Queues, "")
}

// targetsOf returns the jobs of a group, one target for each queue and state.
func targetsOf(g overview.Group) (targets []Target) {
	for _, queue := range g.Queues {
		for _, state := range []chime.JobState{chime.JobDead, chime.JobRetrying} {
			t := Target{Name: g.Job, Queue: queue, State: state}
			for _, job := range g.Jobs {
				if job.Queue == queue && job.State == state {
					t.IDs = append(t.IDs, job.ID)
				}
			}
			if len(t.IDs) > 0 {
				targets = append(targets, t)
			}
		}
	}
	return targets
}

func (m *Model) workerRows() []row {
	workers := sorted(m.shown.Workers, m.panels[overview.Workers].sort,
		func(a, b overview.Worker) int {
			return cmp.Or(cmp.Compare(a.Address(), b.Address()), cmp.Compare(a.Name, b.Name))
		},
		func(a, b overview.Worker) int { return cmp.Compare(b.Busy, a.Busy) },
		func(a, b overview.Worker) int { return older(a.Since, b.Since) })
	rows := make([]row, 0, len(workers))
	for _, w := range workers {
		busy := "?"
		if w.Counted {
			busy = words.Busy(w.WorkerInfo)
		}
		state := cell{"", normal}
		if !w.Full.IsZero() {
			state = cell{"⚠ full for " + format.Age(m.clock().Sub(w.Full)), late}
		}
		up := cell{"", normal}
		if !w.Since.IsZero() {
			up = cell{"up " + format.Age(m.clock().Sub(w.Since)), faint}
		}
		rows = append(rows, row{
			key: w.Name, name: w.Name, text: w.Address() + " " + w.Name + " " + w.Version,
			cells: []cell{plain(w.Address()), {busy + "/" + format.Count(w.Slots) + " busy", running}, state, up},
		})
	}
	return rows
}

// instant formats a time of day in the shown zone, with the date if it is not today.
func (m *Model) instant(t time.Time) string {
	t, now := t.In(m.location()), m.clock().In(m.location())
	if t.YearDay() == now.YearDay() && t.Year() == now.Year() {
		return t.Format("15:04:05")
	}
	return t.Format("Mon 2 Jan 15:04")
}

package top

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/cmd/chime/internal/output"
	"github.com/chimejobs/chime/internal/format"
	"github.com/chimejobs/chime/internal/overview"
	words "github.com/chimejobs/chime/internal/plain"
)

// detail returns the text of the opened item, one field a line.
func (m *Model) detail() []string {
	var d fields
	switch key := m.opened.key; m.opened.panel {
	case overview.Queues:
		if i := slices.IndexFunc(m.shown.Queues, func(q overview.Queue) bool { return q.Name == key }); i >= 0 {
			m.queueDetail(&d, m.shown.Queues[i])
		}
	case overview.Next:
		if i := slices.IndexFunc(m.shown.Next, func(s *chime.Schedule) bool { return s.Name == key }); i >= 0 {
			m.scheduleDetail(&d, m.shown.Next[i])
		}
	case overview.Running:
		if i := slices.IndexFunc(m.shown.Running, func(j *chime.JobInfo) bool { return j.Queue+"\x00"+j.ID == key }); i >= 0 {
			m.jobDetail(&d, m.shown.Running[i])
		}
	case overview.Failures:
		if i := slices.IndexFunc(m.shown.Failures, func(g overview.Group) bool { return g.Job+"\x00"+g.Error == key }); i >= 0 {
			m.groupDetail(&d, m.shown.Failures[i])
		}
	case overview.Workers:
		if i := slices.IndexFunc(m.shown.Workers, func(w overview.Worker) bool { return w.Name == key }); i >= 0 {
			m.workerDetail(&d, m.shown.Workers[i])
		}
	}
	if len(d) == 0 {
		return []string{"It is no longer there."}
	}
	return d
}

// fields are lines with a name and a value.
type fields []string

func (f *fields) add(name, value string) {
	if value == "" {
		return
	}
	for line := range strings.SplitSeq(value, "\n") {
		*f = append(*f, fill(name, 16)+output.Printable(strings.ReplaceAll(line, "\t", "    ")))
		name = ""
	}
}

// moment formats an instant with how far it is from now.
func (m *Model) moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	text := t.In(m.location()).Format("Mon 2 Jan 2006 15:04:05 MST")
	return text + ", " + format.Away(t.Sub(m.clock()))
}

func (m *Model) queueDetail(d *fields, q overview.Queue) {
	d.add("queue", q.Name)
	state := words.Queue(q.QueueInfo, m.shown.Served()(q.Name))
	if q.Paused {
		d.add("state", m.paused(q.Note))
	} else {
		d.add("state", state.String())
	}
	d.add("", state.Sentence)
	d.add("limit", words.QueueLimit(q.QueueInfo))
	m.groupsDetail(d, q)
	if q.Partitions > 1 {
		d.add("partitions", format.Count(q.Partitions))
	}
	held := "running"
	if q.Ahead < 0 {
		held = "in flight"
	}
	for _, n := range []struct {
		name string
		n    int64
	}{{"waiting", q.Waiting}, {"delayed", q.Delayed}, {held, q.Running}, {"taken", max(q.Ahead, 0)}, {"vanished", q.Vanished}, {"parked", q.Parked}, {"dead", q.Dead}, {"schedules", q.Schedules}} {
		if n.n > 0 || n.name != "taken" && n.name != "vanished" {
			d.add(n.name, format.Count(n.n))
		}
	}
	d.add("oldest", m.moment(q.Oldest))
	*d = append(*d, "", "since the queue exists:")
	for _, n := range []struct {
		name string
		n    int64
	}{{"enqueued", q.Enqueued}, {"done", q.Done}, {"failed", q.QueueInfo.Failed}, {"retried", q.Retried}, {"dead", q.Died}, {"cancelled", q.Cancelled}, {"expired", q.Expired}} {
		d.add(n.name, format.Count(n.n))
	}
	if len(q.Outs) > 0 {
		*d = append(*d, "", "ended, "+m.shown.Window.Says()+":", spark(q.Outs))
	}
}

// groupsDetail adds the groups of a queue that have jobs waiting: how many may start a job, how many are blocked and why, and the oldest of their jobs.
func (m *Model) groupsDetail(d *fields, q overview.Queue) {
	if q.Groups.Waiting == 0 {
		return
	}
	switch g := m.groups; {
	case g == nil || g.queue != q.Name:
		d.add("groups", format.Count(q.Groups.MayStart)+" may start a job")
	case g.err != nil:
		d.add("groups", format.Count(q.Groups.MayStart)+" may start a job; the others are not known: "+format.FirstLine(g.err.Error()))
	default:
		counts, oldest := words.Groups(q.Groups.MayStart, g.sum)
		counts, reasons, _ := strings.Cut(counts, " (")
		d.add("groups", counts)
		d.add("", strings.TrimSuffix(reasons, ")"))
		d.add("oldest of them", oldest)
	}
}

// paused formats who paused something, when and why.
func (m *Model) paused(note chime.Note) string {
	text := "‖ paused"
	if note.By != "" {
		text += " by " + note.By
	}
	if !note.At.IsZero() {
		text += ", " + format.Away(note.At.Sub(m.clock()))
	}
	if !note.Until.IsZero() {
		text += ", ends " + format.Away(note.Until.Sub(m.clock()))
	}
	if note.Text != "" {
		text += ": " + note.Text
	}
	return text
}

func (m *Model) scheduleDetail(d *fields, s *chime.Schedule) {
	d.add("schedule", s.Name)
	if s.State == chime.StatePaused {
		d.add("state", m.paused(s.Note))
	}
	d.add("rule", s.String())
	d.add("job", s.JobName)
	d.add("queue", s.Queue)
	d.add("next", m.moment(due(s)))
	if s.Last.Outcome != "" {
		d.add("last", string(s.Last.Outcome)+", planned "+m.moment(s.Last.Planned))
	}
	if s.Last.Unfinished > 0 {
		d.add("unfinished", format.Plural(s.Last.Unfinished, "job", "jobs"))
	}
	d.add("overlap", string(s.Overlap))
	d.add("misfire", string(s.Misfire))
	d.add("owner", s.Owner)
}

func (m *Model) jobDetail(d *fields, j *chime.JobInfo) {
	state := words.JobInfo(j, chime.Reason{}, m.clock())
	d.add("job", j.Name)
	d.add("id", j.ID)
	d.add("queue", j.Queue)
	d.add("state", state.String())
	d.add("", state.Sentence)
	d.add("schedule", j.Schedule)
	d.add("started", m.moment(j.Started))
	d.add("enqueued", m.moment(j.Enqueued))
	d.add("attempt", format.Count(j.Attempt))
	d.add("worker", m.worker(j.Worker))
	if part, is := progress(j); is {
		d.add("progress", gauge(part))
	}
	if j.Cancelled {
		d.add("cancelled", "its worker was asked to stop it")
	}
	for _, f := range j.Failures {
		d.add("failed", m.moment(f.At)+": "+f.Error)
	}
}

func (m *Model) groupDetail(d *fields, g overview.Group) {
	d.add("job", g.Job)
	d.add(format.Agree(len(g.Queues), "queue", "queues"), strings.Join(g.Queues, ", "))
	d.add("error", g.Error)
	d.add("times", format.Count(g.Count))
	d.add("first", m.moment(g.First))
	d.add("last", m.moment(g.Last))
	if len(g.Jobs) == 0 {
		return
	}
	*d = append(*d, "", format.Plural(len(g.Jobs), "job", "jobs")+" whose last attempt failed with this error, the newest first:")
	for _, j := range g.Jobs {
		text := fill(string(j.State), 10) + fill(m.instant(overview.FailedAt(j)), 18) + j.ID + "  attempt " + format.Count(j.Attempt)
		if j.State == chime.JobRetrying && !j.Due.IsZero() {
			text += ", again " + format.Away(j.Due.Sub(m.clock()))
		}
		*d = append(*d, output.Printable(text+"  "+format.FirstLine(j.LastError)))
	}
}

func (m *Model) workerDetail(d *fields, w overview.Worker) {
	d.add("worker", w.Name)
	d.add("process", w.Address())
	d.add("version", w.Version)
	d.add("since", m.moment(w.Since))
	d.add("seen", m.moment(w.Seen))
	if w.Counted {
		d.add("busy", words.Busy(w.WorkerInfo)+" of "+format.Plural(w.Slots, "slot", "slots"))
	}
	var queues []string
	for _, name := range slices.Sorted(maps.Keys(w.Queues)) {
		queues = append(queues, name+" × "+format.Count(w.Queues[name]))
	}
	d.add("queues", strings.Join(queues, ", "))
	for _, j := range w.Running {
		lasts := ""
		if !j.Started.IsZero() {
			lasts = " for " + format.Span(max(0, m.clock().Sub(j.Started)))
		}
		d.add("runs", j.Name+" "+j.ID+" on "+j.Queue+lasts)
	}
}

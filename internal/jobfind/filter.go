// Package jobfind finds jobs by a filter that people type: "state:dead job:report* error:\"connection refused\" older:1h". It parses the filter,
// searches all queues for the jobs that match, and groups failed jobs by their error.
package jobfind

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/chimejobs/chime"
)

// A Filter selects jobs: all of its conditions must hold. Parse makes one of a text. The zero Filter selects all jobs.
//
//	report                the job's name begins with this, or it is the job's ID; in quotes if it contains a colon
//	state:dead            waiting, delayed, retrying, running, taken, parked, dead or done
//	queue:mail            on this queue
//	job:report            with this job name; job:report* for names that begin with this; likewise schedule: and worker:
//	group:tenant-42       it belongs to exactly this group; a done job has none
//	batch:import/7        it is a member of exactly this batch; a done job is a member of none
//	error:"timed out"     its last error contains this
//	header:tenant=acme    its header has this key with exactly this value; in quotes if they contain blanks; several must all be there
//	arg:customer=4711     its arguments have this value at this path, as order.id; arg:4711 anywhere in them; several must all be there
//	older:1h newer:3d     in its state for longer, or for less: since it ended, was taken, failed, or was enqueued
//	since:2026-11-27T14:00  in its state since this instant or later; until: since an earlier instant. With a date, a date and a time, or RFC 3339
//	attempt:>3            the attempt that runs, or is to run next; of a dead job its last. Also >=, <, <= and the number alone
//
// Only arg: reads payloads.
type Filter struct {
	Words     []string
	State     chime.JobState
	Queue     string
	Job       Pattern
	Group     string // that it belongs to
	Batch     string // of which it is a member
	Error     string
	Header    map[string]string
	Arguments []Argument
	Schedule  Pattern // that created it
	Worker    Pattern // that runs it, or on which an attempt failed
	Older     time.Duration
	Newer     time.Duration
	Since     time.Time // in its state since this instant or later; with a fixed offset, as String writes it
	Until     time.Time // in its state since before this instant
	Attempt   Range

	zone *time.Location // while the filter is read: of instants without an offset
}

// A Pattern is a name, or a prefix of names. The zero Pattern matches all names.
type Pattern struct {
	Text   string
	Prefix bool
}

func (p Pattern) means(name string) bool {
	if p.Prefix {
		return strings.HasPrefix(name, p.Text)
	}
	return p.Text == "" || p.Text == name
}

func (p Pattern) set() bool { return p.Prefix || p.Text != "" }

// A Range is a range of attempts: Min to Max. Max 0: no upper bound.
type Range struct{ Min, Max int }

func (r Range) means(n int) bool { return n >= r.Min && (r.Max == 0 || n <= r.Max) }

// Empty reports whether the filter selects all jobs.
func (f *Filter) Empty() bool { return f.String() == "" }

// String returns the filter as it may be typed; Parse reads it back.
func (f *Filter) String() string {
	var terms []string
	add := func(key, value string, set bool) {
		if set {
			terms = append(terms, key+":"+quote(value, false))
		}
	}
	pattern := func(key string, p Pattern) {
		if p.Prefix {
			terms = append(terms, key+":"+quote(p.Text, false)+"*")
			return
		}
		add(key, p.Text, p.Text != "")
	}
	for _, word := range f.Words {
		terms = append(terms, quote(word, true))
	}
	add("state", string(f.State), f.State != "")
	add("queue", f.Queue, f.Queue != "")
	pattern("job", f.Job)
	add("group", f.Group, f.Group != "")
	add("batch", f.Batch, f.Batch != "")
	add("error", f.Error, f.Error != "")
	for _, key := range slices.Sorted(maps.Keys(f.Header)) {
		add("header", key+"="+f.Header[key], true)
	}
	for _, a := range f.Arguments {
		add("arg", a.Path+"="+a.Value, true)
	}
	pattern("schedule", f.Schedule)
	pattern("worker", f.Worker)
	add("older", f.Older.String(), f.Older > 0)
	add("newer", f.Newer.String(), f.Newer > 0)
	add("since", f.Since.Format(time.RFC3339Nano), !f.Since.IsZero())
	add("until", f.Until.Format(time.RFC3339Nano), !f.Until.IsZero())
	switch r := f.Attempt; {
	case r.Min > 0 && r.Min == r.Max:
		terms = append(terms, "attempt:"+strconv.Itoa(r.Min))
	case r.Min > 0:
		terms = append(terms, "attempt:>="+strconv.Itoa(r.Min))
	case r.Max > 0:
		terms = append(terms, "attempt:<="+strconv.Itoa(r.Max))
	}
	return strings.Join(terms, " ")
}

// quote puts a text in quotes if Parse would otherwise read it as something else; word means that it is not the value of a key.
func quote(text string, word bool) string {
	if text == "" || strings.ContainsAny(text, " \t\n\r\v\f\"\\*\u0085\u00a0") || word && strings.Contains(text, ":") || strings.ContainsFunc(text, separates) {
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
	}
	return text
}

// beyond reports whether the filter has conditions that JobFilter does not contain for a state.
func (f *Filter) beyond(state chime.JobState) bool {
	return len(f.Words) > 0 || f.Job.Prefix || f.Schedule.set() || f.Worker.set() || len(f.Arguments) > 0 || f.dated() && state != chime.JobDead || f.Attempt != Range{}
}

// dated reports whether the filter has a condition on the instant since which a job is in its state.
func (f *Filter) dated() bool {
	return f.Older > 0 || f.Newer > 0 || !f.Since.IsZero() || !f.Until.IsZero()
}

// Frozen returns the filter with instants in place of ages, so that it selects the same jobs later. now is the store's clock.
func (f *Filter) Frozen(now time.Time, zone *time.Location) Filter {
	frozen := *f
	frozen.Older, frozen.Newer = 0, 0
	if at := now.Add(-f.Older); f.Older > 0 && (f.Until.IsZero() || at.Before(f.Until)) {
		frozen.Until = fixed(at.In(zone))
	}
	if at := now.Add(-f.Newer); f.Newer > 0 && at.After(f.Since) {
		frozen.Since = fixed(at.In(zone))
	}
	return frozen
}

// fixed returns an instant with its offset alone, without the name of its zone.
func fixed(t time.Time) time.Time {
	_, offset := t.Zone()
	if offset == 0 {
		return t.UTC()
	}
	return t.In(time.FixedZone("", offset))
}

// JobFilter returns the part of the filter that the store knows, for one queue and one state; now is the store's clock.
func (f *Filter) JobFilter(queue string, state chime.JobState, now time.Time) chime.JobFilter {
	filter := chime.JobFilter{Queue: queue, State: state, Group: f.Group, Batch: f.Batch, Error: f.Error, Header: f.Header}
	if !f.Job.Prefix {
		filter.Name = f.Job.Text
	}
	if state == chime.JobDead {
		exact := f.Frozen(now, time.UTC)
		filter.Before, filter.Since = exact.Until, exact.Since
	}
	if !filter.Before.IsZero() && !filter.Since.Before(filter.Before) { // nothing is in between
		filter.Since = filter.Before.Add(-time.Millisecond)
	}
	return filter
}

// Means reports whether a job matches the filter, without its error: the search decides which part of the error counts. now is the store's clock.
func (f *Filter) Means(job *chime.JobInfo, now time.Time) bool {
	for _, word := range f.Words {
		if word != job.ID && !strings.HasPrefix(job.Name, word) {
			return false
		}
	}
	return (f.State == "" || f.State == job.State) && (f.Queue == "" || f.Queue == job.Queue) && (f.Group == "" || f.Group == job.Group) && (f.Batch == "" || f.Batch == job.Batch) &&
		f.Job.means(job.Name) && f.Schedule.means(job.Schedule) && f.labelled(job) && f.ranOn(job) && f.aged(job, now) && f.Attempt.means(job.Attempt)
}

func (f *Filter) labelled(job *chime.JobInfo) bool {
	for key, want := range f.Header {
		if value, ok := job.Header[key]; !ok || value != want {
			return false
		}
	}
	return true
}

func (f *Filter) ranOn(job *chime.JobInfo) bool {
	if f.Worker.means(job.Worker) {
		return true
	}
	for _, failure := range job.Failures {
		if f.Worker.means(failure.Worker) {
			return true
		}
	}
	return false
}

func (f *Filter) aged(job *chime.JobInfo, now time.Time) bool {
	if !f.dated() {
		return true
	}
	since := Since(job)
	if since.IsZero() {
		return false
	}
	age := now.Sub(since)
	return (f.Older == 0 || age > f.Older) && (f.Newer == 0 || age <= f.Newer) && !since.Before(f.Since) && (f.Until.IsZero() || since.Before(f.Until))
}

// Since returns since when a job is in its state, as far as the store knows: when it ended, was taken, failed last, or was enqueued or planned.
// Zero: not known.
func Since(job *chime.JobInfo) time.Time {
	switch {
	case !job.Ended.IsZero():
		return job.Ended
	case !job.Started.IsZero():
		return job.Started
	case job.State == chime.JobRetrying && len(job.Failures) > 0:
		return job.Failures[len(job.Failures)-1].At
	case !job.Enqueued.IsZero():
		return job.Enqueued
	}
	return job.Planned
}

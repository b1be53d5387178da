package dashboard

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chimejobs/chime"
)

// An auditor keeps what was audited. A change of many is audited by its own goroutine too.
type auditor struct {
	mu   sync.Mutex
	seen []Action
}

func (a *auditor) add(_ context.Context, action Action) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.seen = append(a.seen, action)
}

func (a *auditor) all() []Action {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.seen)
}

func (a *auditor) last() Action {
	all := a.all()
	return all[len(all)-1]
}

// A checker is a Check that records its calls. It refuses the names of refused, or everything.
type checker struct {
	mu      sync.Mutex
	calls   []string // such as "pause schedule report"
	refused []string
	all     error // refuses everything
}

func (c *checker) check(_ context.Context, viewer Viewer, about Action, names []string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if viewer.Name == "" || about.Viewer.Name != viewer.Name || about.Remote == "" {
		return fmt.Errorf("it does not say who: %+v", about)
	}
	c.calls = append(c.calls, strings.Join(slices.DeleteFunc(append([]string{about.Act, about.Queue}, names...), func(s string) bool { return s == "" }), " "))
	for _, name := range names {
		if slices.Contains(c.refused, name) {
			return &Refusal{Status: 409, Text: name + " is not yours"}
		}
	}
	return c.all
}

// asked returns the calls since the last one.
func (c *checker) asked() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	calls := c.calls
	c.calls = nil
	return slices.Compact(calls)
}

// Each route that changes or reveals something asks Check first, with its names; if it refuses, nothing is read or changed.
func TestEachActionIsChecked(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		schedules := hourly(t, store, "report")
		before := must(schedules.Get(t.Context(), "report"))
		var audit auditor
		of := &checker{all: &Refusal{Text: "not today."}}
		d := newDashboard(t, store, Options{Write: true, Authorize: crowd(allRights), Check: of.check, Audit: audit.add})
		names := map[string]string{"{name}": "report", "{id}": "default 1", "{group}": "default a", "{queue}": "default default"}
		for route := range routesOf(d) {
			method, rest, _ := strings.Cut(route, " ")
			path, verb, _ := strings.Cut(rest, " ")
			act := "put schedule"
			for _, form := range forms {
				if form.path == path && method == "POST" {
					act = form.actions[verb].act
				}
			}
			if strings.HasSuffix(path, "/reveal") {
				act = actReveal
			}
			of.asked()
			to := "/" + strings.NewReplacer("{name}", "report", "{queue}", "default", "{id}", "1", "{group}", "a").Replace(path)
			var got *httptest.ResponseRecorder
			if method == "POST" {
				got = post(d, to, "sure", "1", "verb", verb, "do", "put", "name", "report", "tab", "cron", "of", "report")
			} else {
				got = send(d, "GET", to)
				if d.pages[path].name != "editor" {
					if calls := of.asked(); len(calls) > 0 {
						t.Errorf("%s asks %q, want nothing", route, calls)
					}
					continue
				}
			}
			want := act
			for _, value := range []string{"{name}", "{id}", "{group}", "{queue}"} {
				if strings.Contains(path, value) {
					want += " " + names[value]
					if strings.HasPrefix(path, "batches/") { // they belong to no queue
						want = act + " 1"
					}
					break
				}
			}
			if path == "preview" {
				want += " report"
			}
			wants(t, route, got, 403, "not today.")
			if calls := of.asked(); !slices.Equal(calls, []string{want}) {
				t.Errorf("%s asks %q, want %q", route, calls, want)
			}
		}
		if after := must(schedules.Get(t.Context(), "report")); after.Revision != before.Revision || len(audit.all()) > 0 {
			t.Errorf("something was done: %+v, %v", after, audit.all())
		}
		of.all = errors.New("redis at 10.0.0.7 does not answer")
		got := post(d, "/schedules/report/pause")
		wants(t, "an error", got, 403, "You may not do this.")
		lacks(t, "an error", got, "10.0.0.7")
	})
}

// Each name of a change of many is checked: if somebody has ticked a refused one, nothing is changed; of all that match a filter, the refused ones are left out.
func TestEachNameOfManyIsChecked(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		for _, name := range []string{"a", "b", "c"} {
			hourly(t, store, name)
		}
		var audit auditor
		of := &checker{refused: []string{"b", "mail-1"}}
		d := newDashboard(t, store, Options{Write: true, Authorize: as(allRights), Check: of.check, Audit: audit.add})
		state := func(name string) chime.ScheduleState {
			return must(chime.NewSchedules(store).Get(t.Context(), name)).State
		}
		wants(t, "ticked", post(d, "/schedules/bulk", "verb", "pause", "sure", "1", "id", "a", "id", "b"), 409, "b is not yours.")
		if state("a") != chime.StateLive || len(audit.all()) > 0 {
			t.Errorf("a is %v, audited %v; want nothing done", state("a"), audit.all())
		}
		got := post(d, "/schedules/bulk", "verb", "pause", "sure", "1", "all", "1")
		wants(t, "all", got, 303)
		if page := follow(t, d, "/schedules/bulk", got.Header().Get("Location")); !strings.Contains(page, "2 paused, 1 not allowed<") || !strings.Contains(page, "b is not yours") {
			t.Errorf("the page of the operation:\n%s", page)
		}
		if state("a") != chime.StatePaused || state("b") != chime.StateLive || state("c") != chime.StatePaused {
			t.Errorf("a, b, c are %v, %v, %v", state("a"), state("b"), state("c"))
		}
		if last := audit.last(); last.Act != "pause schedules" || last.Count != 2 || last.Detail != "2 of 3 paused, 0 gone, 1 not allowed: b is not yours" || last.Err != nil {
			t.Errorf("audited at the end: %+v", last)
		}
		deadJobs(t, store, 3)
		of.asked()
		got = post(d, "/jobs/bulk", "verb", "requeue", "sure", "1", "id", "mail/mail-0", "id", "mail/mail-1")
		wants(t, "jobs", got, 303)
		if page := follow(t, d, "/jobs/bulk", got.Header().Get("Location")); !strings.Contains(page, "0 requeued, 2 not allowed<") {
			t.Errorf("the page of the operation:\n%s", page)
		}
		if q, calls := mail(t, store), of.asked(); q.Dead != 3 || !slices.Equal(calls, []string{"requeue jobs", "requeue jobs mail mail-0 mail-1"}) {
			t.Errorf("%d are dead, and Check was called with %q", q.Dead, calls)
		}
	})
}

// annasDigest is the output of: printf '{"to":"anna"}' | sha256sum
const annasDigest = "b7f7ac721f60abf2f32d02fb73c79c6926af57ea6a0ddd504f84427ed6c27658"

// Somebody who may only operate runs what is defined: other arguments could be anything, so they need the right to edit.
func TestOtherArgumentsNeedTheRightToEdit(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		hourly(t, store, "report")
		operates := newDashboard(t, store, Options{Write: true, Authorize: as(View | Operate)})
		question := post(operates, "/schedules/report/trigger")
		wants(t, "the question", question, 200, "Run report now?")
		lacks(t, "the question", question, "Other arguments", `name="args"`)
		wants(t, "other arguments", post(operates, "/schedules/report/trigger", "sure", "1", "args", `{"to":"anna"}`), 403, "This needs the right to edit")
		run := post(operates, "/schedules/report/trigger", "sure", "1", "args", " ")
		wants(t, "the stored arguments", run, 303)
		if to := run.Header().Get("Location"); !strings.Contains(to, "jobs/") { // to watch it
			t.Errorf("a run leads to %q, want the page of its job", to)
		}
		var audit auditor
		edits := newDashboard(t, store, Options{Write: true, Authorize: as(View | Operate | Edit), Audit: audit.add})
		wants(t, "the question of an editor", post(edits, "/schedules/report/trigger"), 200, "Other arguments", `name="args"`)
		wants(t, "other arguments of an editor", post(edits, "/schedules/report/trigger", "sure", "1", "args", `{"to":"anna"}`), 303)
		if q := must(chime.NewQueues(store).Get(t.Context(), "default")); q.Waiting != 2 {
			t.Errorf("%d jobs wait, want 2", q.Waiting)
		}
		if last := audit.last(); last.Args != "sha256:"+annasDigest || strings.Contains(fmt.Sprint(last), "anna\"") {
			t.Errorf("audited: %+v, want the digest of the arguments and not the arguments", last)
		}
	})
}

// The audit has what a name and a verb do not tell: arguments, ranges, limits, and how far a change of many has come.
func TestTheAuditHasWhatWasChanged(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		hourly(t, store, "report")
		var audit auditor
		var lines strings.Builder
		d := newDashboard(t, store, Options{Write: true, Authorize: as(allRights), Audit: audit.add, Logger: slog.New(slog.NewTextHandler(&lines, nil))})
		deadJobs(t, store, 3)
		for _, c := range []struct {
			path   string
			fields []string
			detail string
			args   bool
		}{
			{"/schedules/report/pause", nil, "", false},
			{"/schedules/report/resume", nil, "", false},
			{"/schedules/report/trigger", []string{"args", `{"to":"anna"}`}, "", true},
			{"/queues/mail/pause", nil, "", false},
			{"/queues/mail/resume", nil, "", false},
			{"/schedules/report/backfill", []string{"from", "1999-12-31 18:00", "to", "1999-12-31 21:00", "shown", "1"}, "1999-12-31T18:00:00Z to 1999-12-31T21:00:00Z", false},
			{"/queues/mail/limit", []string{"running", "5", "starts", "10", "per", "1m"}, "running 5, starts 10 per 1m0s; before: running 0, starts 0 per 0s", false},
			{"/queues/mail/limit", []string{"running", "7"}, "running 7, starts 0 per 0s; before: running 5, starts 10 per 1m0s", false},
			{"/schedules/new", []string{"do", "put", "name", "new", "tab", "cron", "cron", "0 9 * * *", "job_name", "report", "queue", "default", "args", `{"to":"anna"}`}, "", true},
			{"/schedules/report/delete", []string{"name", "report", "waiting", "1"}, "its waiting jobs too", false},
		} {
			wants(t, c.path, post(d, c.path, append(c.fields, "sure", "1")...), 303)
			if last := audit.last(); last.Detail != c.detail || last.Count < 1 || (last.Args == "sha256:"+annasDigest) != c.args || last.Err != nil {
				t.Errorf("%s %q: audited %+v, want the detail %q", c.path, c.fields, last, c.detail)
			}
		}
		got := post(d, "/jobs/bulk", "verb", "requeue", "sure", "1", "all", "1", "filter", "state:dead")
		_ = follow(t, d, "/jobs/bulk", got.Header().Get("Location"))
		all := audit.all()
		begun, ended := all[len(all)-2], all[len(all)-1]
		if begun.Count != 3 || begun.Detail != "" || ended.Count != 3 || ended.Detail != "3 of 3 requeued, 0 gone or changed" || begun.Target != ended.Target || ended.At.Before(begun.At) {
			t.Errorf("audited %+v and %+v, want the beginning and the end", begun, ended)
		}
		if !strings.Contains(lines.String(), "args=sha256:"+annasDigest) || !strings.Contains(lines.String(), `detail="running 5, starts 10 per`) || strings.Contains(lines.String(), `to\":`) {
			t.Errorf("logged: %s", &lines)
		}
	})
}

// A change of many that stops halfway is audited with its error and with what was not reached.
func TestAChangeThatStopsHalfwayIsAudited(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		for i := range 5 {
			hourly(t, store, fmt.Sprintf("s%d", i))
		}
		var audit auditor
		seen := 0
		d := newDashboard(t, store, Options{Write: true, Authorize: as(allRights), Audit: audit.add})
		d.options.Check = func(context.Context, Viewer, Action, []string) error {
			if seen++; seen == 4 { // the verb, and three names
				go d.changer.Close()
				time.Sleep(time.Second) // fake time
			}
			return nil
		}
		wants(t, "pause", post(d, "/schedules/bulk", "verb", "pause", "sure", "1", "all", "1"), 303)
		time.Sleep(time.Minute) // fake time
		if last := audit.last(); last.Count != 3 || last.Detail != "3 of 5 paused, 0 gone, 2 not reached" || !errors.Is(last.Err, context.Canceled) {
			t.Errorf("audited: %+v", last)
		}
	})
}

// A request whose Check panics is refused.
func TestAPanicInCheckRefusesTheAction(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		hourly(t, store, "report")
		d := newDashboard(t, store, Options{Write: true, Check: func(context.Context, Viewer, Action, []string) error { panic("canary") }})
		got := post(d, "/schedules/report/pause", "sure", "1")
		wants(t, "pause", got, 403, "You may not do this.")
		lacks(t, "pause", got, "canary")
		if s := must(chime.NewSchedules(store).Get(t.Context(), "report")); s.State != chime.StateLive {
			t.Errorf("it is %v", s.State)
		}
	})
}

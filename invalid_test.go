package chime

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/recurrence"
)

// Invalid input is always an error with field, value and limit, and nothing is sent: only the check of the store may come before, for a rule that
// never fires; any other call would panic.
func TestBadInputIsAnInvalidError(t *testing.T) {
	jobs, kept := noStore{}, fitStore{}
	enqueuer, schedules, queues := quietEnqueuer(jobs, EnqueuerOptions{}), NewSchedules(asStore(kept)), NewQueues(asStore(kept))
	enqueue := func(args any, options ...EnqueueOption) error {
		_, err := enqueuer.Enqueue(t.Context(), "a", args, options...)
		return err
	}
	first := func(options EnqueuerOptions) error {
		_, err := quietEnqueuer(jobs, options).Enqueue(t.Context(), "a", nil)
		return err
	}
	put := func(name string, rec recurrence.Recurrence, options ...ScheduleOption) error {
		_, err := schedules.Put(t.Context(), name, rec, putOptions(options)...)
		scheduler := NewScheduler(asStore(kept), SchedulerOptions{})
		if again := scheduler.Schedule(name, rec, options...); errors.Is(again, &InvalidError{}) != errors.Is(err, &InvalidError{}) {
			t.Errorf("Put: %v, Schedule: %v", err, again)
		}
		return err
	}
	worker := func(options WorkerOptions) error {
		return Run(t.Context(), NewWorker(asStore(kept), options))
	}
	scheduler := func(options SchedulerOptions) error {
		return Run(t.Context(), NewScheduler(asStore(kept), options))
	}
	list := func(filter ScheduleFilter) (failed error) {
		for _, failed = range schedules.List(t.Context(), filter) {
		}
		return failed
	}
	change := func(options ...PutOption) error {
		_, err := schedules.Put(t.Context(), "a", everyMinute, options...)
		return err
	}
	heavy := Define[string]("heavy.header", Header("a", strings.Repeat("x", 4000)))
	_, tooMany := schedules.Upcoming(t.Context(), "a", 1001)
	_, none := schedules.Soonest(t.Context(), 0)
	declares := func(options SchedulerOptions) error {
		s := NewScheduler(asStore(kept), options)
		if err := s.Schedule("a", everyMinute); err != nil {
			return err
		}
		return Run(t.Context(), s)
	}
	_, noQueue := queues.Get(t.Context(), "a b")
	_, noSchedule := schedules.Get(t.Context(), "a\tb")
	_, noName := enqueuer.Enqueue(t.Context(), "größe", nil)
	_, many := enqueuer.EnqueueMany(t.Context(), []Item{{Name: "a"}, {Name: "a", Options: []EnqueueOption{Queue("a b")}}})
	var target int
	for _, c := range []struct {
		err                 error
		field, value, limit string
	}{
		{noName, "job name", "größe", "1 to 100 of A-Z a-z 0-9 _ . : -"},
		{many, "queue", "a b", "1 to 100 of"},
		{noQueue, "queue", "a b", "1 to 100 of"},
		{queues.Pause(t.Context(), ""), "queue", "", "1 to 100 of"},
		{queues.Pause(t.Context(), "a", Note{Text: strings.Repeat("x", 501)}), "Note.Text", strings.Repeat("x", 64) + "…", "at most 500 bytes"},
		{queues.Pause(t.Context(), "a", Note{By: "\xff"}), "Note.By", "\xff", "at most 100 bytes of UTF-8"},
		{queues.Limit(t.Context(), "a b", Limit{}), "queue", "a b", "1 to 100 of"},
		{queues.Limit(t.Context(), "a", Limit{Running: -1}), "Limit.Running", "-1", "0 (no limit) to 1000000"},
		{queues.Limit(t.Context(), "a", Limit{Running: 1_000_001}), "Limit.Running", "1000001", "0 (no limit) to 1000000"},
		{queues.Limit(t.Context(), "a", Limit{Starts: -1, Per: time.Second}), "Limit.Starts", "-1", "0 (no limit) to 1000000"},
		{queues.Limit(t.Context(), "a", Limit{Starts: 1_000_001, Per: time.Second}), "Limit.Starts", "1000001", "0 (no limit) to 1000000"},
		{queues.Limit(t.Context(), "a", Limit{Starts: 1}), "Limit.Per", "", "1ms to 720h"},
		{enqueue(1, Group("")), "group", "", "1 to 200 bytes of UTF-8"},
		{enqueue(1, Group("a\tb")), "group", "a\tb", "no control or format character"},
		{enqueue(1, Group(strings.Repeat("x", 201))), "group", strings.Repeat("x", 64) + "…", "1 to 200 bytes"},
		{queues.SetGroup(t.Context(), "a b", "g", GroupRule{}), "queue", "a b", "1 to 100 of"},
		{queues.SetGroup(t.Context(), "a", "", GroupRule{}), "group", "", "1 to 200 bytes"},
		{queues.SetGroup(t.Context(), "a", "g", GroupRule{Weight: 1001}), "GroupRule.Weight", "1001", "0 (not set) to 1000"},
		{queues.SetGroup(t.Context(), "a", "g", GroupRule{Weight: -1}), "GroupRule.Weight", "-1", "0 (not set) to 1000"},
		{queues.SetGroup(t.Context(), "a", "g", GroupRule{Running: -2}), "GroupRule.Running", "-2", "-1 (no limit), 0 (not set) to 1000000"},
		{queues.SetGroup(t.Context(), "a", "g", GroupRule{Ordered: On, Running: 2}), "GroupRule.Running", "2", "0 or 1, together with Ordered"},
		{queues.SetGroup(t.Context(), "a", "g", GroupRule{Ordered: On, Running: NoLimit}), "GroupRule.Running", "-1", "0 or 1, together with Ordered"},
		{queues.SetGroup(t.Context(), "a", "g", GroupRule{Ordered: 3}), "GroupRule.Ordered", "3", "0 (not set), On or Off"},
		{queues.SetGroups(t.Context(), "a", GroupRule{Starts: 1_000_001, Per: time.Second}), "GroupRule.Starts", "1000001", "0 (not set) to 1000000"},
		{queues.SetGroups(t.Context(), "a", GroupRule{Per: time.Second}), "GroupRule.Per", "1s", "together with Starts"},
		{queues.SetGroups(t.Context(), "a", GroupRule{Starts: 1}), "GroupRule.Per", "", "1ms to 720h"},
		{queues.SetGroups(t.Context(), "a", GroupRule{Starts: NoLimit, Per: time.Hour}), "GroupRule.Per", "1h0m0s", "together with Starts"},
		{queues.SetGroups(t.Context(), "a", GroupRule{Starts: 1, Per: 721 * time.Hour}), "GroupRule.Per", "721h0m0s", "1ms to 720h"},
		{queues.SetGroups(t.Context(), "a", GroupRule{Waiting: -2}), "GroupRule.Waiting", "-2", "-1 (no limit), 0 (not set) to 1000000000"},
		{queues.PauseGroup(t.Context(), "a", "g", Note{By: "\xff"}), "Note.By", "\xff", "at most 100 bytes of UTF-8"},
		{queues.ResetGroup(t.Context(), "a", " g"), "group", " g", "no space at either end"},
		{queues.ResumeGroup(t.Context(), "a", "g\n"), "group", "g\n", "no control or format character"},
		{queues.Limit(t.Context(), "a", Limit{Per: time.Second}), "Limit.Per", "1s", "together with Starts"},
		{queues.Limit(t.Context(), "a", Limit{Starts: 1, Per: time.Microsecond}), "Limit.Per", "1µs", "1ms to 720h"},
		{queues.Limit(t.Context(), "a", Limit{Starts: 1, Per: 721 * time.Hour}), "Limit.Per", "721h0m0s", "1ms to 720h"},
		{queues.Limit(t.Context(), "a", Limit{Starts: 1, Per: -time.Second}), "Limit.Per", "-1s", "1ms to 720h"},
		{noSchedule, "name", "a\tb", "1 to 200 bytes of UTF-8, no control or format character"},
		{schedules.Delete(t.Context(), " a"), "name", " a", "no space at either end"},
		{NewScheduler(asStore(kept), SchedulerOptions{}).Remove(""), "name", "", "1 to 200 bytes"},
		{put("a\u202eb", everyMinute), "name", "a\u202eb", "no control or format character"},
		{put("a", recurrence.Recurrence{}), "recurrence", "", "a Frequency, a Cron or a StartTime"},
		{put("a", recurrence.Recurrence{Cron: "0 9 * * *", TimeZone: "Mars/Olympus"}), "recurrence.timeZone", "Mars/Olympus", ""},
		{put("a", recurrence.Recurrence{Cron: "61 9 * * *"}), "recurrence.cron", "61 9 * * *", "minute 61 is out of range"},
		{put("a", everyMinute, JobName("a b")), "job name", "a b", "1 to 100 of"},
		{put("a", everyMinute, Grace(0)), "grace", "0s", "1s to 8760h"},
		{put("a", everyMinute, Overlap("both")), "overlap policy", "both", "skip, wait, cancel or allow"},
		{put("a", everyMinute, Misfire("often")), "misfire policy", "often", "run_once, skip or catch_up"},
		{put("a", everyMinute, Args(make([]byte, 2<<20))), "args", "2097152 bytes", "at most 1048576 bytes"},
		{put("a", everyMinute, nil), "an option", "", "one of this package"},
		{enqueue(make([]byte, 1<<20+1)), "args", "1048577 bytes", "at most 1048576 bytes"},
		{enqueue(strings.Repeat("x", 1<<20+1)), "args", "more", "at most 1048576 bytes"},
		{enqueue(func() {}), "args", "func()", "what can be encoded"},
		{enqueue(errors.New("x")), "args", "*errors.errorString", "a value that can be stored"},
		{enqueue(struct{ a int }{1}), "args", "struct { a int }", "a struct with exported fields"},
		{enqueue(nil, ID("r@2026-03-08T09:00:00Z")), "ID", "r@2026-03-08T09:00:00Z", "no ending like an occurrence's ID"},
		{enqueue(nil, Replace()), "replace", "without an ID", "together with ID or ArgsID"},
		{enqueue(nil, Once(time.Hour)), "once", "1h0m0s", "together with ID or ArgsID"},
		{enqueue(nil, ID("a"), Once(time.Millisecond)), "once", "1ms", "1s to 8760h0m0s"},
		{enqueue(nil, ArgsID(), Once(8761*time.Hour)), "once", "8761h0m0s", "1s to 8760h0m0s"},
		{enqueue(nil, ID("a"), Once(-1)), "once", "-1ns", "1s to 8760h0m0s"},
		{enqueue(nil, In(math.MaxInt64)), "in", time.Duration(math.MaxInt64).String(), "at most 100 years"},
		{enqueue(nil, At(time.Date(2300, 1, 1, 0, 0, 0, 0, time.UTC))), "at", "2300-01-01T00:00:00Z", "at most 100 years from now"},
		{enqueue(nil, MaxAttempts(1001)), "max attempts", "1001", "1 to 1000"},
		{enqueue(nil, Timeout(-1)), "timeout", "-1ns", "1ms to 8760h0m0s"},
		{first(EnqueuerOptions{Queue: "{x}"}), "EnqueuerOptions.Queue", "{x}", "1 to 100 of"},
		{first(EnqueuerOptions{MaxPayload: -1}), "EnqueuerOptions.MaxPayload", "-1", "0 to 67108864 bytes"},
		{first(EnqueuerOptions{SendTimeout: -1}), "EnqueuerOptions.SendTimeout", "-1ns", "0 or more"},
		{worker(WorkerOptions{Queues: map[string]int{"a b": 1}}), "queue", "a b", "1 to 100 of"},
		{worker(WorkerOptions{Queues: map[string]int{"a": 0}}), `weight of queue "a"`, "0", "1 to 32767"},
		{worker(WorkerOptions{Concurrency: -1}), "WorkerOptions.Concurrency", "-1", "1 or more"},
		{worker(WorkerOptions{SessionTTL: 1}), "WorkerOptions.SessionTTL", "1ns", "1s or more"},
		{worker(WorkerOptions{MaxCrashes: -1}), "WorkerOptions.MaxCrashes", "-1", "1 or more"},
		{worker(WorkerOptions{Defaults: []HandlerOption{MaxAttempts(0)}}), "max attempts", "0", "1 to 1000"},
		{worker(WorkerOptions{Defaults: []HandlerOption{nil}}), "an option", "", "one of this package"},
		{worker(WorkerOptions{Defaults: []HandlerOption{Backoff(nil)}}), "backoff", "", "a function"},
		{scheduler(SchedulerOptions{LeaderTTL: 1}), "SchedulerOptions.LeaderTTL", "1ns", "1s to 10m"},
		{scheduler(SchedulerOptions{SafetyTick: 1}), "SchedulerOptions.SafetyTick", "1ns", "1s to 10m"},
		{put("a", everyMinute, heavy.With(""), Header("b", strings.Repeat("x", 4000))), "header", "8002 bytes", "4096 bytes at most"},
		{enqueue(nil, OnDeath(heavy.Item("", Header("b", strings.Repeat("x", 4000))))), "header", "8002 bytes", "4096 bytes at most"},
		{enqueue(nil, OnDeath(Item{Name: "d", Options: []EnqueueOption{At(time.Now())}})), "option", "At", "an option of an attempt, Header, Keep, Queue, In, Group, SameBatch, OnDone or OnDeath"},
		{put("a", everyMinute, Spread(-1)), "spread", "-1ns", "0, or 1ms to 1m0s, the shortest time between two of its occurrences"},
		{put("a", everyMinute, Spread(time.Hour)), "spread", "1h0m0s", "0, or 1ms to 1m0s, the shortest time between two of its occurrences"},
		{put("a", everyMinute, PauseAfter(-1)), "pause after", "-1", "0 to 100"},
		{put("a", everyMinute, PauseAfter(101)), "pause after", "101", "0 to 100"},
		{put("a", everyMinute, MaxUnfinished(-1)), "max unfinished", "-1", "0 to 1000000"},
		{put("a", everyMinute, MaxUnfinished(1_000_001)), "max unfinished", "1000001", "0 to 1000000"},
		{put("a", everyMinute, KeepRuns(-1)), "keep runs", "-1", "0 to 1000"},
		{put("a", everyMinute, KeepRuns(1001)), "keep runs", "1001", "0 to 1000"},
		{put("a", everyMinute, Meta(nil)), "meta", "", "JSON"},
		{put("a", everyMinute, Meta([]byte(`{"a"`))), "meta", `{"a"`, "JSON"},
		{put("a", everyMinute, Meta([]byte(`"`+strings.Repeat("x", 4095)+`"`))), "meta", "4097 bytes", "at most 4096 bytes"},
		{change(IfRevision(0)), "revision", "0", "1 or more"},
		{change(IfRevision(7), IfAbsent()), "option", "IfAbsent", "IfAbsent or IfRevision"},
		{change(Paused(Note{Text: strings.Repeat("x", 501)})), "Note.Text", strings.Repeat("x", 64) + "…", "at most 500 bytes"},
		{change(Paused(Note{By: strings.Repeat("x", 101)})), "Note.By", strings.Repeat("x", 64) + "…", "at most 100 bytes"},
		{change(nil), "an option", "", "one of this package"},
		{schedules.Pause(t.Context(), "a", Note{Text: "\xff"}), "Note.Text", "\xff", "UTF-8"},
		{schedules.Pause(t.Context(), "a", SkipGap()), "option of Pause", "SkipGap", "IfRevision or Note"},
		{schedules.Pause(t.Context(), "a", nil), "an option", "", "one of this package"},
		{schedules.Resume(t.Context(), "a", Note{Text: "why"}), "option of Resume", "Note", "IfRevision or SkipGap"},
		{schedules.Resume(t.Context(), "a", IfRevision(-1)), "revision", "-1", "1 or more"},
		{schedules.Delete(t.Context(), "a", SkipGap()), "option of Delete", "SkipGap", "IfRevision or DeleteWaiting"},
		{schedules.Pause(t.Context(), "a", DeleteWaiting()), "option of Pause", "DeleteWaiting", "IfRevision or Note"},
		{list(ScheduleFilter{Prefix: "a\tb"}), "ScheduleFilter.Prefix", "a\tb", "no control or format character"},
		{list(ScheduleFilter{Queue: "a b"}), "ScheduleFilter.Queue", "a b", "1 to 100 of"},
		{list(ScheduleFilter{Owner: "a b"}), "ScheduleFilter.Owner", "a b", "1 to 100 of"},
		{list(ScheduleFilter{Group: " a"}), "ScheduleFilter.Group", " a", "no space at either end"},
		{list(ScheduleFilter{State: "stopped"}), "ScheduleFilter.State", "stopped", "live, paused or completed"},
		{list(ScheduleFilter{Limit: -1}), "ScheduleFilter.Limit", "-1", "1 to 500"},
		{list(ScheduleFilter{Limit: 501}), "ScheduleFilter.Limit", "501", "1 to 500"},
		{list(ScheduleFilter{After: " a"}), "ScheduleFilter.After", " a", "no space at either end"},
		{tooMany, "n", "1001", "1 to 1000"},
		{none, "n", "0", "1 to 500"},
		{scheduler(SchedulerOptions{Owner: "a", Version: 1, Prune: true}), "SchedulerOptions.Prune", "true", "a schedule that is declared"},
		{declares(SchedulerOptions{Prune: true}), "SchedulerOptions.Owner", "", "an owner"},
		{declares(SchedulerOptions{Version: 1}), "SchedulerOptions.Owner", "", "an owner"},
		{declares(SchedulerOptions{Owner: "a b"}), "SchedulerOptions.Owner", "a b", "1 to 100 of"},
		{declares(SchedulerOptions{Owner: "a", Version: -1}), "SchedulerOptions.Version", "-1", "0 or more"},
		{(&Job{Payload: []byte{1}}).Decode(target), "target of Decode", "int", "a pointer that is not nil"},
		{new(Action).UnmarshalText([]byte("done")), "action", "done", "succeeded, retried, discarded, snoozed"},
	} {
		var invalid *InvalidError
		if !errors.As(c.err, &invalid) || invalid.Field != c.field || invalid.Value != c.value || !strings.Contains(invalid.Limit, c.limit) {
			t.Errorf("got %v\nas %+v, want field %q, value %q, limit %q", c.err, invalid, c.field, c.value, c.limit)
			continue
		}
		if !errors.Is(c.err, &InvalidError{Field: c.field, Value: c.value}) || !strings.HasPrefix(c.err.Error(), "chime: ") {
			t.Errorf("%v: want an error that begins with the package and whose field errors.Is finds", c.err)
		}
		if rule := (*recurrence.Error)(nil); strings.HasPrefix(c.field, "recurrence.") && (!errors.As(c.err, &rule) || "recurrence."+rule.Field != c.field || len(recurrence.Errors(c.err)) != 1) {
			t.Errorf("%v: want an error that wraps the rule's", c.err)
		}
	}
}

func TestANilContextIsAnErrorEverywhere(t *testing.T) {
	var none context.Context
	jobs, kept := noStore{}, noStore{} // any call would panic
	enqueuer, schedules, queues := quietEnqueuer(jobs, EnqueuerOptions{}), NewSchedules(asStore(kept)), NewQueues(asStore(kept))
	kind := Define[kindArgs]("kind.ctx")
	for action, do := range map[string]func() error{
		"Run":           func() error { return Run(none, NewWorker(asStore(kept), WorkerOptions{})) },
		"Worker.Run":    func() error { return NewWorker(asStore(kept), WorkerOptions{}).Run(none) },
		"Scheduler.Run": func() error { return NewScheduler(asStore(kept), SchedulerOptions{}).Run(none) },
		"Enqueue": func() error {
			receipt, err := enqueuer.Enqueue(none, "a", nil)
			if receipt.ID == "" {
				t.Error("the receipt has no ID")
			}
			return err
		},
		"Kind.Enqueue": func() error { _, err := kind.Enqueue(none, enqueuer, kindArgs{}); return err },
		"EnqueueMany": func() error {
			receipts, err := enqueuer.EnqueueMany(none, []Item{{Name: "a"}, {Name: "b", Options: []EnqueueOption{Queue("other")}}})
			if len(receipts) != 2 || receipts[0].ID == "" || receipts[1].ID == "" {
				t.Errorf("receipts %v, want two with IDs", receipts)
			}
			return err
		},
		"Put":              func() error { _, err := schedules.Put(none, "a", everyMinute); return err },
		"Schedules.Get":    func() error { _, err := schedules.Get(none, "a"); return err },
		"Schedules.Delete": func() error { return schedules.Delete(none, "a") },
		"Schedules.Pause":  func() error { return schedules.Pause(none, "a") },
		"Schedules.Resume": func() error { return schedules.Resume(none, "a") },
		"Schedules.List": func() error {
			for _, err := range schedules.List(none, ScheduleFilter{}) {
				return err
			}
			return nil
		},
		"Schedules.Upcoming": func() error { _, err := schedules.Upcoming(none, "a", 1); return err },
		"Schedules.Soonest":  func() error { _, err := schedules.Soonest(none, 1); return err },
		"Queues.Get":         func() error { _, err := queues.Get(none, "a"); return err },
		"Queues.List":        func() error { _, err := queues.List(none); return err },
		"Queues.Pause":       func() error { return queues.Pause(none, "a") },
		"Queues.Resume":      func() error { return queues.Resume(none, "a") },
	} {
		if err := do(); !errors.Is(err, &InvalidError{Field: "ctx"}) || !strings.Contains(err.Error(), "ctx is nil") {
			t.Errorf("%s: got %v, want an error for the nil ctx", action, err)
		}
	}
}

package chime

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/recurrence"
)

func TestPutReturnsTheScheduleAsItIsStored(t *testing.T) {
	withScheduleStore(t, func(t *testing.T, store *fakeScheduleStore) {
		schedules, created := NewSchedules(asStore(store)), time.Now().UTC()
		got, err := schedules.Put(t.Context(), "report:c1", quarterHours, NoImmediateRun(), JobName("report"), Queue("low"),
			Args([]byte(`{"c":1}`)), MaxAttempts(3), Timeout(time.Minute), Overlap(OverlapWait), Misfire(MisfireSkip), Grace(5*time.Second))
		if err != nil {
			t.Fatal(err)
		}
		want := Schedule{
			Name: "report:c1", JobName: "report", Queue: "low", Recurrence: quarterHours, Payload: []byte(`{"c":1}`), Created: created, Revision: 1,
			State: protocol.StateLive, Overlap: OverlapWait, Misfire: MisfireSkip, Grace: 5 * time.Second, NoImmediateRun: true, MaxAttempts: 3, Timeout: time.Minute, KeepRuns: 20,
			Next: created.Add(15 * time.Minute), Used: 1, Counters: ScheduleCounters{Placed: 1},
		}
		type fields Schedule // without the method that prints it briefly
		if g, w := fmt.Sprintf("%+v", fields(*got)), fmt.Sprintf("%+v", fields(want)); g != w {
			t.Errorf("got  %s\nwant %s", g, w)
		}
		again, err := schedules.Put(t.Context(), "report:c1", quarterHours, NoImmediateRun(), JobName("report"), Queue("low"),
			Args([]byte(`{"c":1}`)), MaxAttempts(3), Timeout(time.Minute), Overlap(OverlapWait), Misfire(MisfireSkip), Grace(5*time.Second))
		if err != nil || again.Revision != 1 || len(store.written) != 1 {
			t.Errorf("the same again: revision %d, written %v, %v; want nothing changed", again.Revision, store.written, err)
		}
		if changed, err := schedules.Put(t.Context(), "report:c1", everyMinute); err != nil || changed.Revision != 2 || !changed.Created.Equal(created) || changed.Next.IsZero() {
			t.Errorf("changed: %+v, %v; want revision 2, the same creation, a next run", changed, err)
		}
	})
}

func TestAScheduleSaysInWordsWhenItRuns(t *testing.T) {
	s := Schedule{Name: "report", Recurrence: recurrence.Recurrence{Frequency: recurrence.Minute, Interval: 2}, Payload: []byte("hunter2")}
	if got := fmt.Sprintf("%v %v", s, &s); got != "Every 2 minutes, and once when created Every 2 minutes, and once when created" {
		t.Errorf("got %s", got)
	}
	if s.NoImmediateRun = true; s.String() != "Every 2 minutes" {
		t.Errorf("without the run at creation: got %s", s)
	}
}

func TestPutRefusesAScheduleThatWouldNeverRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFakeScheduleStore(t)
		schedules := NewSchedules(asStore(store))
		pass(29 * 24 * time.Hour) // 30 January 2000
		february := recurrence.Recurrence{Frequency: recurrence.Year, Months: []time.Month{time.February}}
		var refused *recurrence.Error
		if _, err := schedules.Put(t.Context(), "yearly", february); !errors.As(err, &refused) || refused.Code != recurrence.CodeNeverFires {
			t.Errorf("30 February: got %v, want never_fires", err)
		}
		if _, err := schedules.Put(t.Context(), "a b", everyMinute); err == nil || !strings.Contains(err.Error(), `"a b"`) {
			t.Errorf("got %v, want the name refused", err)
		}
		if len(store.written) > 0 {
			t.Errorf("%v were written", store.written)
		}
		pass(24 * time.Hour * 3)
		if _, err := schedules.Put(t.Context(), "yearly", everyMinute); err != nil {
			t.Fatal(err)
		}
		pass(24 * time.Hour * 57) // 30 March; the creation, 2 February, is what counts
		if _, err := schedules.Put(t.Context(), "yearly", february); err != nil {
			t.Errorf("2 February: %v", err)
		}
	})
}

func TestAnUnknownScheduleIsNotFound(t *testing.T) {
	schedules := NewSchedules(asStore(newFakeScheduleStore(t)))
	for act, do := range map[string]func(name string) error{
		"get":    func(name string) error { _, err := schedules.Get(t.Context(), name); return err },
		"delete": func(name string) error { return schedules.Delete(t.Context(), name) },
		"pause":  func(name string) error { return schedules.Pause(t.Context(), name) },
		"resume": func(name string) error { return schedules.Resume(t.Context(), name) },
	} {
		if err := do("nobody"); !errors.Is(err, ErrNotFound) || !strings.Contains(err.Error(), act) || !strings.Contains(err.Error(), "nobody") {
			t.Errorf("%s: got %v, want ErrNotFound, the act and the name", act, err)
		}
		if err := do("a\nb"); !errors.Is(err, &InvalidError{Field: "name", Value: "a\nb"}) {
			t.Errorf("%s of a bad name: got %v, want it refused", act, err)
		}
	}
}

func TestPauseWithdrawsTheNextRunAndResumeAppliesTheMisfirePolicy(t *testing.T) {
	for policy, want := range map[MisfirePolicy]struct{ ran, missed int }{
		MisfireRunOnce: {1, 1439}, MisfireSkip: {0, 1440}, MisfireCatchUp: {100, 1340},
	} {
		t.Run(string(policy), func(t *testing.T) {
			withScheduleStore(t, func(t *testing.T, store *fakeScheduleStore) {
				schedules := NewSchedules(asStore(store))
				if _, err := schedules.Put(t.Context(), "minutely", everyMinute, Misfire(policy)); err != nil {
					t.Fatal(err)
				}
				pass(10*time.Minute + 30*time.Second)
				if err := errors.Join(schedules.Pause(t.Context(), "minutely"), schedules.Pause(t.Context(), "minutely")); err != nil {
					t.Fatal(err)
				}
				got, err := schedules.Get(t.Context(), "minutely")
				if err != nil || got.State != protocol.StatePaused || !got.Next.IsZero() || got.Used != 11 {
					t.Errorf("paused: %+v, %v; want no next run, 11 used", got, err)
				}
				pass(24 * time.Hour)
				if len(store.ran) != 11 {
					t.Errorf("%d ran, want 11 as before the pause", len(store.ran))
				}
				if err := errors.Join(schedules.Resume(t.Context(), "minutely"), schedules.Resume(t.Context(), "minutely")); err != nil {
					t.Fatal(err)
				}
				pass(time.Second)
				f := store.schedules["minutely"]
				if got := len(store.ran) - 11; got != want.ran || int(f.stored.Missed) != want.missed {
					t.Errorf("resumed after a day: %d ran, %d missed; want %+v", got, f.stored.Missed, want)
				}
				pass(10 * time.Minute)
				if got := len(store.ran) - 11; got != want.ran+10 {
					t.Errorf("%d ran in the ten minutes after, want 10", got-want.ran)
				}
			})
		})
	}
}

func second[T any](_ T, err error) error { return err }

func TestListReturnsAllSchedulesInOrder(t *testing.T) {
	store := newFakeScheduleStore(t)
	schedules := NewSchedules(asStore(store))
	names := []string{}
	for i := range 40 {
		names = append(names, fmt.Sprintf("s%02d", i))
	}
	for _, name := range append(slices.Clone(names), "deleted1", "deleted2") {
		if _, err := schedules.Put(t.Context(), name, quarterHours); err != nil {
			t.Fatal(err)
		}
	}
	store.schedules["s07"].body = strings.Replace(store.schedules["s07"].body, `"version":1`, `"version":9`, 1)
	var got []string
	for schedule, err := range schedules.List(t.Context(), ScheduleFilter{}) {
		got = append(got, schedule.Name)
		if (err != nil) != (schedule.Name == "s07") {
			t.Errorf("%s: %v", schedule.Name, err)
		}
	}
	if !slices.Equal(got, names) {
		t.Errorf("got %v, want %v", got, names)
	}
	for range schedules.List(t.Context(), ScheduleFilter{}) {
		break
	}
	for _, err := range []error{
		schedules.Pause(t.Context(), "s11", Note{Text: "why"}), schedules.Pause(t.Context(), "s23"), second(schedules.Put(t.Context(), "s30", quarterHours, Queue("mail"))),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		filter ScheduleFilter
		want   string
	}{
		{ScheduleFilter{Prefix: "s1"}, "s10 s11 s12 s13 s14 s15 s16 s17 s18 s19"},
		{ScheduleFilter{Prefix: "s1", After: "s17"}, "s18 s19"},
		{ScheduleFilter{After: "s38x"}, "s39"},
		{ScheduleFilter{After: "s39"}, ""},
		{ScheduleFilter{Queue: "mail"}, "s30"},
		{ScheduleFilter{State: StatePaused}, "s07 s11 s23"}, // nobody knows the state of s07
		{ScheduleFilter{State: StatePaused, Prefix: "s1"}, "s11"},
		{ScheduleFilter{State: StateCompleted, Prefix: "s1"}, ""},
		{ScheduleFilter{Owner: "nobody"}, ""},
		{ScheduleFilter{Failing: true, After: "s07"}, ""},
	} {
		var got []string
		for schedule := range schedules.List(t.Context(), c.filter) {
			got = append(got, schedule.Name)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%+v: got %v, want %s", c.filter, got, c.want)
		}
	}
	store.fault = func(act string) (before, after error) { return errFake, nil }
	errs := 0
	for schedule, err := range schedules.List(t.Context(), ScheduleFilter{}) {
		if errs++; schedule != nil || !errors.Is(err, errFake) {
			t.Errorf("got %v, %v; want the error of the store alone", schedule, err)
		}
	}
	if errs != 1 {
		t.Errorf("%d errors, want one", errs)
	}
}

package scheduler_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/tests/internal/fixture"
)

var (
	everyMinute  = recurrence.Recurrence{Frequency: recurrence.Minute}
	quarterHours = recurrence.Recurrence{Frequency: recurrence.Minute, Interval: 15}
)

func TestPutReturnsTheScheduleAsItIsStored(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		schedules, created := chime.NewSchedules(f.Server.Store()), time.Now().UTC()
		put := func(rec recurrence.Recurrence, options ...chime.PutOption) *chime.Schedule {
			s, err := schedules.Put(t.Context(), "report:c1", rec, options...)
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		options := []chime.PutOption{
			chime.NoImmediateRun(), chime.JobName("report"), chime.Queue("low"), chime.Args([]byte(`{"c":1}`)), chime.MaxAttempts(3), chime.Timeout(time.Minute),
			chime.Overlap(chime.OverlapWait), chime.Misfire(chime.MisfireSkip), chime.Grace(5 * time.Second),
		}
		got := put(quarterHours, options...)
		want := chime.Schedule{
			Name: "report:c1", JobName: "report", Queue: "low", Recurrence: quarterHours, Payload: []byte(`{"c":1}`), Created: created, Revision: created.UnixMicro(),
			State: protocol.StateLive, Overlap: chime.OverlapWait, Misfire: chime.MisfireSkip, Grace: 5 * time.Second, NoImmediateRun: true, MaxAttempts: 3, Timeout: time.Minute, KeepRuns: 20,
			Next: created.Add(15 * time.Minute), Used: 1, Counters: chime.ScheduleCounters{Placed: 1},
		}
		type fields chime.Schedule // without the String method, which prints only a part
		if g, w := fmt.Sprintf("%+v", fields(*got)), fmt.Sprintf("%+v", fields(want)); g != w {
			t.Errorf("got  %s\nwant %s", g, w)
		}
		stored := f.Server.Client().HGetAll(t.Context(), "chime:{low}:schedules").String()
		if again := put(quarterHours, options...); again.Revision != got.Revision || f.Server.Client().HGetAll(t.Context(), "chime:{low}:schedules").String() != stored {
			t.Errorf("the same definition again: revision %d after %d; want no change", again.Revision, got.Revision)
		}
		if changed := put(everyMinute); changed.Revision != got.Revision+1 || !changed.Created.Equal(created) || changed.Next.IsZero() {
			t.Errorf("changed: revision %d after %d, created %v, next %v; want the next revision, the same creation, a next run", changed.Revision, got.Revision, changed.Created, changed.Next)
		}
	})
}

func TestPutRefusesAScheduleThatWouldNeverRun(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		schedules := chime.NewSchedules(f.Server.Store())
		fixture.Pass(29 * 24 * time.Hour) // 30 January 2000
		february := recurrence.Recurrence{Frequency: recurrence.Year, Months: []time.Month{time.February}}
		var refused *recurrence.Error
		if _, err := schedules.Put(t.Context(), "yearly", february); !errors.As(err, &refused) || refused.Code != recurrence.CodeNeverFires || !errors.Is(err, &chime.InvalidError{}) {
			t.Errorf("30 February: got %v, want never_fires", err)
		}
		if _, err := schedules.Put(t.Context(), "a b", everyMinute); err == nil || !strings.Contains(err.Error(), `"a b"`) {
			t.Errorf("got %v, want the name refused", err)
		}
		if keys := f.Server.Client().Keys(t.Context(), "*").Val(); len(keys) > 0 {
			t.Errorf("%v were written", keys)
		}
		fixture.Pass(24 * time.Hour * 3)
		if _, err := schedules.Put(t.Context(), "yearly", everyMinute); err != nil {
			t.Fatal(err)
		}
		fixture.Pass(24 * time.Hour * 57) // 30 March; the rule counts from its creation on 2 February
		if _, err := schedules.Put(t.Context(), "yearly", february); err != nil {
			t.Errorf("2 February: %v", err)
		}
	})
}

func TestAnUnknownScheduleIsNotFound(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		schedules := chime.NewSchedules(f.Server.Store())
		for action, do := range map[string]func(name string) error{
			"get":    func(name string) error { _, err := schedules.Get(t.Context(), name); return err },
			"delete": func(name string) error { return schedules.Delete(t.Context(), name) },
			"pause":  func(name string) error { return schedules.Pause(t.Context(), name) },
			"resume": func(name string) error { return schedules.Resume(t.Context(), name) },
		} {
			if err := do("nobody"); !errors.Is(err, chime.ErrNotFound) || !strings.Contains(err.Error(), action) || !strings.Contains(err.Error(), "nobody") {
				t.Errorf("%s: got %v, want ErrNotFound, the action and the name", action, err)
			}
			if err := do("a\nb"); !errors.Is(err, &chime.InvalidError{Field: "name", Value: "a\nb"}) {
				t.Errorf("%s of a bad name: got %v, want it refused", action, err)
			}
		}
	})
}

func TestMetaIsAPartOfTheDefinition(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		schedules := chime.NewSchedules(f.Server.Store())
		put := func(meta string) *chime.Schedule {
			s, err := schedules.Put(t.Context(), "a", everyMinute, chime.Meta(json.RawMessage(meta)))
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		first, same, other := put(`{"by": "anna"}`), put(`{ "by":"anna" }`), put(`{"by":"bert"}`)
		if string(first.Meta) != `{"by":"anna"}` || same.Revision != first.Revision || other.Revision <= first.Revision || string(other.Meta) != `{"by":"bert"}` {
			t.Errorf("put %s at %d, again at %d, and then %s at %d; want the first two equal", first.Meta, first.Revision, same.Revision, other.Meta, other.Revision)
		}
	})
}

func TestAScheduleDecodesItsArguments(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		type customer struct{ Customer string }
		schedules := chime.NewSchedules(f.Server.Store())
		kind := chime.Define[customer]("kind.decoded")
		if _, err := schedules.Put(t.Context(), "anna@example.com", everyMinute, kind.With(customer{"anna"})); err != nil {
			t.Fatal(err)
		}
		s, err := schedules.Get(t.Context(), "anna@example.com")
		if err != nil {
			t.Fatal(err)
		}
		var args customer
		if err := s.Decode(&args); err != nil || args.Customer != "anna" {
			t.Errorf("decoded %+v, %v", args, err)
		}
		if err := s.Decode(new(int)); err == nil || !strings.Contains(err.Error(), "a map does not fit int") {
			t.Errorf("into an int: %v", err)
		}
	})
}

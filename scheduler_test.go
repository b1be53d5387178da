package chime

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/schedule"
	"github.com/chimejobs/chime/internal/work"
	"github.com/chimejobs/chime/recurrence"
)

var everyMinute = recurrence.Recurrence{Frequency: recurrence.Minute}

func TestRunReturnsRefusedDeclarationsBeforeItDoesAnything(t *testing.T) {
	s := NewScheduler(asStore(noStore{}), SchedulerOptions{LeaderTTL: time.Millisecond})
	for _, err := range []error{
		s.Schedule("good", everyMinute),
		s.Remove("old"),
	} {
		if err != nil {
			t.Error(err)
		}
	}
	refused := []error{
		s.Schedule("bad name", everyMinute),
		s.Schedule("good", everyMinute),
		s.Schedule("minutes", recurrence.Recurrence{Frequency: recurrence.Hour, Minutes: []int{60}}),
		s.Schedule("grace", everyMinute, Grace(-1)),
		s.Schedule("old", everyMinute),
		s.Remove("good"),
		s.Remove("old"),
		s.Remove(""),
	}
	err := s.Run(t.Context())
	for i, want := range refused {
		if want == nil || !errors.Is(err, want) {
			t.Errorf("refusal %d: %v is not in what Run returned: %v", i, want, err)
		}
	}
	if err == nil || !strings.Contains(err.Error(), "LeaderTTL 1ms: want 1s to 10m") {
		t.Errorf("got %v; want the bad option too", err)
	}
}

func TestARefusedDeclarationNamesFieldValueAndLimit(t *testing.T) {
	hour := recurrence.Recurrence{Frequency: recurrence.Hour}
	for _, c := range []struct {
		name    string
		rec     recurrence.Recurrence
		options []ScheduleOption
		want    string
	}{
		{"", hour, nil, "name is missing"},
		{"a\tb", hour, nil, `name "a\tb" has U+0009 at byte 2`},
		{" a", hour, nil, `name " a" begins or ends with space`},
		{"a@2026-03-08T09:00:00Z", hour, nil, "ends like the ID of an occurrence"},
		{strings.Repeat("x", 201), hour, nil, "has 201 bytes: want 1 to 200 bytes"},
		{"anna@example.com", hour, nil, `job name "anna@example.com" is the schedule's name, because the option JobName is not given: want 1 to 100`},
		{"s", recurrence.Recurrence{Frequency: recurrence.Hour, Minutes: []int{60}}, nil, "60"},
		{"s", recurrence.Recurrence{Cron: "61 * * * *"}, nil, "cron"},
		{"s", recurrence.Recurrence{Cron: "0 0 30 2 *"}, nil, "cron"},
		{"s", recurrence.Recurrence{Frequency: recurrence.Hour, TimeZone: "Mars/Olympus"}, nil, "Mars/Olympus"},
		{"s", hour, []ScheduleOption{Grace(0)}, "grace 0s: want 1s to 8760h"},
		{"s", hour, []ScheduleOption{Grace(-time.Second)}, "grace -1s"},
		{"s", hour, []ScheduleOption{Queue("a b")}, `queue "a b"`},
		{"s", hour, []ScheduleOption{JobName("")}, "job name is missing"},
		{"s", hour, []ScheduleOption{MaxAttempts(0)}, "max attempts 0"},
		{"s", hour, []ScheduleOption{Timeout(0)}, "timeout 0s"},
		{"s", hour, []ScheduleOption{Overlap("both")}, `overlap policy "both"`},
		{"s", hour, []ScheduleOption{Misfire("often")}, `misfire policy "often"`},
		{"s", hour, []ScheduleOption{nil}, "an option is nil"},
		{"s", hour, []ScheduleOption{Args(func() {})}, `args "func()": want what can be encoded`},
		{"s", hour, []ScheduleOption{Args(make([]byte, defaultMaxPayload+1))}, "args 1048577 bytes (payload too large): want at most 1048576 bytes"},
		{"s", recurrence.Recurrence{}, nil, "recurrence is empty: want a Frequency, a Cron or a StartTime"},
		{"s", recurrence.Recurrence{TimeZone: "Europe/Berlin"}, []ScheduleOption{NoImmediateRun()}, "recurrence is empty"},
	} {
		if _, err := declaration(c.name, c.rec, putOptions(c.options)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.10q, %v: got %v, want an error with %q", c.name, c.rec, err, c.want)
		}
	}
	_, err := declaration("a b", recurrence.Recurrence{Cron: "x"}, []PutOption{Grace(0), Args(make([]byte, 2<<20))})
	var refused *recurrence.Error
	if !errors.As(err, &refused) || !errors.Is(err, ErrPayloadTooLarge) {
		t.Errorf("got %v: want all problems, joined, with the rule's error and ErrPayloadTooLarge", err)
	}
}

// The stored text of a schedule without options has the defaults, so that a later version's defaults change no schedule.
func TestADeclarationHasTheDefaults(t *testing.T) {
	d, err := declaration("report", recurrence.Recurrence{Cron: "0 9 * * *"}, nil)
	want := `{"version":1,"job":"report","recurrence":{"cron":"0 9 * * *"},"misfire":"run_once","grace":"1m0s"}`
	if err != nil || string(d.Body) != want || d.Overlap != "skip" || d.Queue != "default" {
		t.Errorf("got %+v with body %s, %v; want body %s, skip, default", d, d.Body, err, want)
	}
}

// The words and numbers in the application's types are those that the engines use and store.
func TestPublicConstantsEqualThoseOfTheEngines(t *testing.T) {
	words := [][2]string{
		{string(OverlapSkip), schedule.OverlapSkip}, {string(OverlapWait), schedule.OverlapWait},
		{string(OverlapCancel), schedule.OverlapCancel}, {string(OverlapAllow), schedule.OverlapAllow},
		{string(MisfireRunOnce), schedule.MisfireRunOnce}, {string(MisfireSkip), schedule.MisfireSkip}, {string(MisfireCatchUp), schedule.MisfireCatchUp},
		{string(StateLive), protocol.StateLive}, {string(StatePaused), protocol.StatePaused}, {string(StateCompleted), protocol.StateCompleted},
	}
	for _, pair := range words {
		if pair[0] != pair[1] {
			t.Errorf("the application's word is %q, the engine's %q", pair[0], pair[1])
		}
	}
	public := []int{int(Succeeded), int(Retried), int(Discarded), int(Snoozed)}
	engine := []int{int(work.Succeeded), int(work.Retried), int(work.Discarded), int(work.Snoozed)}
	if !slices.Equal(public, engine) {
		t.Errorf("actions are %v for the application and %v for the engine", public, engine)
	}
}

package schedule

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/wire"
	"github.com/chimejobs/chime/recurrence"
)

func reversed(b []byte) ([]byte, error) {
	b = bytes.Clone(b)
	slices.Reverse(b)
	return b, nil
}

// For each kind of definition: what is sealed and opened again is byte for byte what was declared, so it is compared in clear.
func TestASealedDefinitionOpensAsItWasDeclared(t *testing.T) {
	keep := 5
	death := (&wire.Envelope{Name: "after", Payload: []byte("canary")}).Encode()
	rule := recurrence.Recurrence{Cron: "30 2 * * *", TimeZone: "Europe/Berlin", NoImmediateRun: true}
	for what, change := range map[string]func(*Spec){
		"plain":      func(s *Spec) { s.Payload = nil },
		"msgpack":    func(*Spec) {},
		"JSON":       func(s *Spec) { s.Payload = []byte(`{"a":"canary","b":"<\u0026>"}`) },
		"loose JSON": func(s *Spec) { s.Payload = []byte(`{ "a": "canary" }`) },
		"a spread": func(s *Spec) {
			s.Recurrence, s.Spread = recurrence.Recurrence{Frequency: recurrence.Hour, Interval: 1}, time.Minute
		},
		"a group": func(s *Spec) { s.Group = "tenant <42>" },
		"a group and a spread": func(s *Spec) {
			s.Recurrence, s.Spread, s.Group = recurrence.Recurrence{Frequency: recurrence.Hour, Interval: 1}, time.Minute, "g"
		},
		"instants": func(s *Spec) {
			at := time.Date(2026, 11, 27, 9, 0, 0, 123456789, time.FixedZone("", 3600))
			s.Recurrence = recurrence.Recurrence{Frequency: recurrence.Day, StartTime: at, EndTime: at.AddDate(1, 0, 0).UTC(), Count: 3, NoImmediateRun: true}
		},
		"all": func(s *Spec) {
			s.KeepRuns, s.PauseAfter, s.MaxUnfinished, s.Timeout, s.MaxAttempts = &keep, 3, 7, time.Minute, 4
		},
		"meta": func(s *Spec) { s.Meta = []byte(`{"sealed":"x","version":3,"<":"\"version\":"}`) },
		"what follows": func(s *Spec) {
			s.Details = &wire.Details{OnDone: death, OnDeath: death, Header: map[string]string{"b": "1", "a": "<"}, Keep: time.Hour, Retry: wire.Retry{First: time.Second, Max: time.Hour}}
		},
	} {
		spec := Spec{JobName: "report", Recurrence: rule, Payload: []byte("\xa6canary"), Overlap: OverlapSkip, Misfire: MisfireSkip, Grace: time.Minute}
		change(&spec)
		declared, err := spec.Declare("s", "q")
		if err != nil {
			t.Fatal(err)
		}
		sealed, err := Seal(declared.Body, reversed)
		if err != nil || bytes.Contains(sealed, []byte("canary")) || bytes.Equal(sealed, declared.Body) {
			t.Fatalf("%s: sealed as %s, %v", what, sealed, err)
		}
		head := `{"revision":7,"generation":9,"state":"live","created":"2026-11-21T09:00:00.000Z","overlap":"skip",`
		stored := []byte(head + string(sealed[1:]))
		plain, is, err := Open(stored, reversed)
		if want := head + string(declared.Body[1:]); err != nil || !is || string(plain) != want {
			t.Errorf("%s: opened as\n%s, %v; want\n%s", what, plain, err, want)
		}
		if kept := KeepSealed(stored, plain, declared.Body, false); !bytes.Equal(kept, sealed) {
			t.Errorf("%s: the stored bytes are not declared again: %s", what, kept)
		}
		other, _ := (&Spec{JobName: "report", Recurrence: rule, Payload: []byte("other"), Overlap: OverlapSkip, Misfire: MisfireSkip, Grace: time.Minute}).Declare("s", "q")
		if KeepSealed(stored, plain, other.Body, true) != nil {
			t.Errorf("%s: other arguments count as the same", what)
		}
		first := spec
		first.Recurrence.NoImmediateRun = !first.Recurrence.NoImmediateRun
		if other, _ = first.Declare("s", "q"); (KeepSealed(stored, plain, other.Body, true) == nil) || KeepSealed(stored, plain, other.Body, false) != nil {
			t.Errorf("%s: only a difference in the first run is to be ignored, if that is asked for", what)
		}
		d, err := Read(stored)
		if err != nil || d.Sealed == nil || d.Payload != nil || d.Offset != offsetIn(t, declared.Body) || d.JobName != "report" || d.Group != spec.Group {
			t.Errorf("%s: without the key it is read as %+v, %v", what, d, err)
		}
		if _, err := Compile(stored); err != nil {
			t.Errorf("%s: without the key it is not planned: %v", what, err)
		}
		if text := ForLog(stored); strings.Contains(text, "yranac") {
			t.Errorf("%s: the log has %s", what, text)
		}
		broken := errors.New("no key")
		if text, is, err := Open(stored, func([]byte) ([]byte, error) { return nil, broken }); !errors.Is(err, broken) || !is || !bytes.Equal(text, stored) {
			t.Errorf("%s: without the key: %s, %v, %v", what, text, is, err)
		}
		if text, is, err := Open([]byte(head+string(declared.Body[1:])), reversed); err != nil || is || fmt.Sprint(text) != fmt.Sprint([]byte(head+string(declared.Body[1:]))) {
			t.Errorf("%s: a definition in clear is opened as %s, %v, %v", what, text, is, err)
		}
	}
}

func offsetIn(t *testing.T, body []byte) time.Duration {
	d, err := Read([]byte(`{"revision":1,"state":"live","created":"2026-11-21T09:00:00.000Z","overlap":"skip",` + string(body[1:])))
	if err != nil {
		t.Fatal(err)
	}
	return d.Offset
}

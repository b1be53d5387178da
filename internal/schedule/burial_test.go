package schedule

import (
	"errors"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/wire"
)

func TestABurialTellsWhatDiedAndWhy(t *testing.T) {
	at, planned := time.UnixMilli(1_800_000_000_000).UTC(), time.Date(2026, 3, 8, 9, 0, 0, 0, time.UTC)
	alert := wire.Envelope{Name: "alert", Payload: []byte("#billing"), MaxAttempts: 2}
	details := &wire.Details{OnDeath: alert.Encode(), Due: at.Add(-time.Hour), Header: map[string]string{"tenant": "a"}}
	failed := wire.Envelope{Name: "payout", Payload: make([]byte, 65<<10), Planned: planned, Failures: 2, LastError: "no bank", Stack: "main.go:1", Details: details}
	spec := Spec{JobName: "report", Misfire: MisfireRunOnce, Grace: time.Minute, Details: &wire.Details{OnDeath: alert.Encode()}, Payload: []byte("p")}
	declared, err := spec.Declare("nightly", "default")
	if err != nil {
		t.Fatal(err)
	}
	definition := []byte(`{"revision":1,"state":"live","created":"2026-01-01T00:00:00Z","overlap":"skip",` + string(declared.Body[1:]))
	for name, c := range map[string]struct {
		job      protocol.ExpiredJob
		schedule string
		planned  time.Time
		payload  int
		attempts int
	}{
		"a job that failed before":          {protocol.ExpiredJob{ID: "p", Body: failed.Encode(), Crashes: 2}, "", at, 0, 2},
		"an occurrence without an envelope": {protocol.ExpiredJob{ID: "nightly@2026-03-08T09:00:00Z", Definition: definition}, "nightly", planned, 1, 0},
	} {
		job := c.job
		burial, err := Bury("default", &job, at)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		follow, err := wire.DecodeEnvelope(burial.Follower.Body)
		if err != nil || follow.Name != "alert" || string(follow.Payload) != "#billing" || follow.MaxAttempts != 2 || follow.Schedule != c.schedule || follow.Details.OnDeath != nil {
			t.Fatalf("%s: %+v follows, %v", name, follow, err)
		}
		if !follow.Planned.Equal(c.planned) {
			t.Errorf("%s: what follows is planned for %v, want %v", name, follow.Planned, c.planned)
		}
		death := follow.Details.Death
		if death.Queue != "default" || death.ID != job.ID || death.Crashes != job.Crashes || !death.Ended.Equal(at) {
			t.Errorf("%s: the death is %+v", name, death)
		}
		died, err := wire.DecodeEnvelope(death.Body)
		if err != nil || died.LastError != NoWorker || died.Failures != c.attempts || len(died.Payload) != c.payload || len(died.Details.Failures) != 1 ||
			died.Stack != "" || died.Details.OnDeath != nil || !died.Details.Due.IsZero() {
			t.Errorf("%s: the job that died is %+v, %+v, %v", name, died, died.Details, err)
		}
		dead, err := wire.DecodeEnvelope(burial.Dead)
		if err != nil || dead.LastError != NoWorker || dead.Details.OnDeath == nil || name == "a job that failed before" && len(dead.Payload) != 65<<10 {
			t.Errorf("%s: the dead job is %+v, %v", name, dead, err)
		}
	}
}

func TestABurialSaysWhatAnotherProgramMayKnow(t *testing.T) {
	of := func(onDeath string) []byte {
		return (&wire.Envelope{Name: "mail", Details: &wire.Details{OnDeath: []byte(onDeath)}}).Encode()
	}
	for name, c := range map[string]struct {
		job          protocol.ExpiredJob
		waits, fails bool
	}{
		"a newer envelope":                    {protocol.ExpiredJob{ID: "j", Body: []byte("\x03\x93\xa4mail\xc4\x00\xc0")}, true, true},
		"a newer definition":                  {protocol.ExpiredJob{ID: "s@2026-03-08T09:00:00Z", Definition: []byte(`{"version":9}`)}, true, true},
		"a newer OnDeath":                     {protocol.ExpiredJob{ID: "j", Body: of("\x03\x93")}, true, true},
		"an invalid OnDeath":                  {protocol.ExpiredJob{ID: "j", Body: of("\x01x")}, false, true},
		"an invalid envelope":                 {protocol.ExpiredJob{ID: "j", Body: []byte("\x01x")}, false, false},
		"an invalid definition":               {protocol.ExpiredJob{ID: "s@2026-03-08T09:00:00Z", Definition: []byte(`x`)}, false, false},
		"an envelope without OnDeath":         {protocol.ExpiredJob{ID: "j", Body: of("")}, false, false},
		"an occurrence at an invalid instant": {protocol.ExpiredJob{ID: "s@2026-99-08T09:00:00Z", Definition: []byte(`x`)}, false, false},
	} {
		burial, err := Bury("default", &c.job, time.UnixMilli(1))
		if errors.Is(err, ErrNotHere) != c.waits || (err != nil) != c.fails || burial.Follower != nil || burial.ID != c.job.ID {
			t.Errorf("%s: %+v, error %v; want an error: %v, one that another program may not have: %v", name, burial, err, c.fails, c.waits)
		}
		if dead, err := wire.DecodeEnvelope(burial.Dead); name == "an envelope without OnDeath" && (err != nil || dead.LastError != NoWorker) {
			t.Errorf("%s: the dead job is %+v, %v; want it to contain why it died", name, dead, err)
		}
	}
}

package chime

import (
	"encoding/json"
	"errors"
	"testing"
	"time"
)

func TestALimitIsReadAsItIsWritten(t *testing.T) {
	for _, want := range []Limit{{}, {Running: 5}, {Starts: 80, Per: time.Second}, {Running: 1, Starts: 2, Per: 720 * time.Hour}} {
		text, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		got := Limit{Running: 9, Per: time.Hour}
		if err := json.Unmarshal(text, &got); err != nil || text == nil {
			t.Errorf("%s: %v", text, err)
		}
		if got.Per != want.Per || got.Starts != want.Starts {
			t.Errorf("%s is read as %+v, want %+v", text, got, want)
		}
	}
	var l Limit
	var invalid *InvalidError
	if err := json.Unmarshal([]byte(`{"starts":1,"per_ms":9223372036854775807}`), &l); !errors.As(err, &invalid) || invalid.Field != "Limit.Per" {
		t.Errorf("%+v, %v; want an error that names Limit.Per", l, err)
	}
}

// What a bulk change refuses it refuses once.
func TestABulkChangeSaysOnceWhatIsWrong(t *testing.T) {
	for _, filter := range []JobFilter{{Queue: "q", State: JobDead, Limit: -1}, {Queue: "q", State: "ready"}, {Queue: "q", State: JobRunning}} {
		b := bulk{filter: filter, states: []JobState{JobDelayed, JobDead}}
		problems, ok := b.check().(interface{ Unwrap() []error })
		if !ok || len(problems.Unwrap()) != 1 {
			t.Errorf("%+v: %v, want one error", filter, b.check())
		}
	}
}

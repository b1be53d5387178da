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
		got := Limit{Per: time.Hour} // of before: it goes
		if err := json.Unmarshal(text, &got); err != nil || got != want {
			t.Errorf("%s is read as %+v, %v; want %+v", text, got, err, want)
		}
	}
	var l Limit
	var invalid *InvalidError
	if err := json.Unmarshal([]byte(`{"starts":1,"per_ms":9223372036854775807}`), &l); !errors.As(err, &invalid) || invalid.Field != "Limit.Per" {
		t.Errorf("%+v, %v; want an error that names Limit.Per", l, err)
	}
}

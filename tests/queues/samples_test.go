package queues_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/redisstore/embedded"
)

func TestSamplesOfARangeThatMakesNoSenseAreRefused(t *testing.T) {
	server := embedded.StartInMemory()
	defer server.Close()
	queues := chime.NewQueues(server.Store())
	at := time.Date(2026, 3, 8, 9, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		what, queue, field string
		from, to           time.Time
		step               time.Duration
	}{
		{"a range that runs backwards", "mail", "to", at, at.Add(-time.Nanosecond), time.Minute},
		{"more than 25 hours by the minute", "mail", "from", at.Add(-25*time.Hour - 1), at, time.Minute},
		{"more than 92 days by the hour", "mail", "from", at.Add(-92*24*time.Hour - 1), at, time.Hour},
		{"from no time", "mail", "from", time.Time{}, at, time.Hour},
		{"another step", "mail", "step", at, at, 5 * time.Minute},
		{"no step", "mail", "step", at, at, 0},
		{"no queue", "", "queue", at, at, time.Minute},
	} {
		_, err := queues.Samples(t.Context(), c.queue, c.from, c.to, c.step)
		if invalid := (*chime.InvalidError)(nil); !errors.As(err, &invalid) || invalid.Field != c.field {
			t.Errorf("%s: %v, want an InvalidError of %q", c.what, err, c.field)
		}
	}
	if _, err := queues.Samples(t.Context(), "mail", at, at, time.Minute); !errors.Is(err, chime.ErrNotFound) {
		t.Errorf("a queue that was never used: %v", err)
	}
	if _, err := new(chime.Queues).Samples(t.Context(), "mail", at, at, time.Minute); err == nil {
		t.Error("the zero Queues has samples")
	}
}

func TestASampleAsJSON(t *testing.T) {
	s := chime.Sample{
		At: time.Date(2026, 3, 8, 9, 0, 0, 0, time.UTC), Covers: 1, Done: 3, Oldest: 1500 * time.Millisecond,
		Run: chime.Histogram{2, 1}, Jobs: []chime.JobSample{{Name: "mail", Done: 3}},
	}
	got, err := json.Marshal(s)
	const want = `{"at":"2026-03-08T09:00:00Z","covers":1,"done":3,"run":[2,1,0,0,0,0,0,0,0,0,0,0,0,0,0,0],"jobs":[{"name":"mail","done":3}],"oldest_ms":1500}`
	if err != nil || string(got) != want {
		t.Errorf("%s, %v; want %s", got, err, want)
	}
}

package chime

import (
	"errors"
	"strings"
	"testing"
	"time"

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

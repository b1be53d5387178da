package progress

import (
	"bytes"
	"testing"
	"time"

	"github.com/chimejobs/chime/cmd/chime/internal/process"
)

func TestABarIsShownAfterASecondAndThenTenTimesASecond(t *testing.T) {
	var out bytes.Buffer
	now := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	p := &process.Process{Err: &out, TellsOn: true, Now: func() time.Time { return now }}
	b := New(p, "requeue")
	for _, step := range []struct {
		after    time.Duration
		n, total int
		want     string
	}{
		{999 * time.Millisecond, 500, 2000, ""},
		{time.Millisecond, 1000, 2000, "\rrequeue  ▓▓▓▓▓▓▓▓▓▓░░░░░░░░░░  50 %  1,000 of 2,000\x1b[K"},
		{99 * time.Millisecond, 1500, 2000, ""},
		{time.Millisecond, 2000, 2000, "\rrequeue  ▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓  100 %  2,000 of 2,000\x1b[K"},
		{time.Second, 7, 0, "\rrequeue  7\x1b[K"},
	} {
		out.Reset()
		now = now.Add(step.after)
		b.Set(step.n, step.total)
		if got := out.String(); got != step.want {
			t.Errorf("%d of %d: got %q, want %q", step.n, step.total, got, step.want)
		}
	}
	out.Reset()
	b.End()
	if got := out.String(); got != "\r\x1b[K" {
		t.Errorf("the end: got %q, want the line cleared", got)
	}
}

func TestABarIsForTerminalsAndForWhatTakesLong(t *testing.T) {
	var out bytes.Buffer
	now := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	p := &process.Process{Err: &out, Now: func() time.Time { return now }}
	b := New(p, "requeue")
	now = now.Add(time.Hour)
	b.Set(1, 2)
	b.End()
	p.TellsOn = true
	b = New(p, "requeue")
	b.Set(1, 2)
	b.End()
	if out.Len() > 0 {
		t.Errorf("got %q, want nothing", out.String())
	}
}

package work

import (
	"fmt"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// Measures are taken once, five seconds after the first attempt at the earliest. Counting costs no memory.
func TestWhatWasMeasuredIsTakenOnce(t *testing.T) {
	var m measures
	now, number := time.Now(), int64(0)
	next := func() int64 { number++; return number }
	if m.due(now) || m.take(next) != nil {
		t.Error("nothing was measured, but measures are due")
	}
	mail := &ending{name: "mail", wait: 3 * time.Millisecond, run: 20 * time.Millisecond, late: true, done: true}
	failed := &ending{name: "mail", wait: -1, run: time.Hour, failed: true}
	m.attempted(mail, now)
	if n := testing.AllocsPerRun(100, func() { m.attempted(mail, now) }); n != 0 {
		t.Errorf("an attempt costs %v allocations", n)
	}
	m.attempted(failed, now)
	if m.due(now.Add(measuresWait-1)) || !m.due(now.Add(measuresWait)) {
		t.Errorf("the measures are not due after %v", measuresWait)
	}
	got := m.take(next)
	if got == nil || got.Number != 1 || len(got.Names) != 1 || got.Names[0].Done != 102 || got.Names[0].Failed != 1 {
		t.Fatalf("took %+v", got)
	}
	if got.Lateness[2] != 102 || got.Wait[2] != 102 || got.Run[4] != 102 || got.Run[15] != 1 {
		t.Errorf("took %+v, want 102 of 3 ms and 20 ms, one above five minutes whose wait is not known", got)
	}
	if m.due(now.Add(time.Hour)) || m.take(next) != nil {
		t.Error("the measures are taken twice")
	}
}

func TestNamesBeyondAHundredAreMeasuredTogether(t *testing.T) {
	var m measures
	for i := range 150 {
		for range 2 {
			m.attempted(&ending{name: fmt.Sprint("job-", i), run: time.Millisecond, done: true}, time.Now())
		}
	}
	names := map[string]int64{}
	for _, name := range m.take(func() int64 { return 1 }).Names {
		names[name.Name] = name.Done
	}
	if len(names) != protocol.MaxMeasured+1 || names[protocol.OtherNames] != 100 || names["job-99"] != 2 {
		t.Errorf("%d names, %d attempts of others: want a hundred and the others", len(names), names[protocol.OtherNames])
	}
}

func BenchmarkAttempted(b *testing.B) {
	var m measures
	e, now := &ending{name: "mail", wait: 3 * time.Millisecond, run: 20 * time.Millisecond, done: true}, time.Now()
	for b.Loop() {
		m.attempted(e, now)
	}
}

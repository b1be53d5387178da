package schedule

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/recurrence"
)

func withSpread(d time.Duration) option { return func(s *Spec) { s.Spread = d } }

// An offset never changes: a change of these numbers moves the occurrences of every schedule that has a spread.
func TestAnOffsetNeverChanges(t *testing.T) {
	for _, c := range []struct {
		name   string
		spread time.Duration
		want   time.Duration
	}{
		{"", time.Hour, 14695981039346656037 % 3_600_000 * time.Millisecond}, // the offset basis of FNV-1a
		{"a", time.Hour, 12638187200555641996 % 3_600_000 * time.Millisecond},
		{"foobar", time.Hour, 9625390261332436968 % 3_600_000 * time.Millisecond},
		{"foobar", 1500 * time.Millisecond, 9625390261332436968 % 1500 * time.Millisecond},
		{"foobar", time.Millisecond, 0},
		{"foobar", 0, 0},
	} {
		if got := offsetOf(c.name, c.spread); got != c.want {
			t.Errorf("offset of %q in %v: %v, want %v", c.name, c.spread, got, c.want)
		}
	}
}

func TestOffsetsFillTheSpreadEvenly(t *testing.T) {
	var tenths [10]int
	for i := range 1000 {
		offset := offsetOf(fmt.Sprintf("sync:tenant-%d", i), time.Hour)
		tenths[offset/(6*time.Minute)]++
	}
	for i, n := range tenths {
		if n < 60 || n > 140 {
			t.Errorf("%d of 1000 schedules have an offset in the tenth %d of the spread, want about 100: %v", n, i, tenths)
		}
	}
}

// A spread shifts when occurrences are due and nothing else: a plan with a spread gives for an instant what the plan without it gives for the
// instant that is earlier by the offset.
func TestASpreadShiftsWhatIsDue(t *testing.T) {
	created := instant(t, "2026-03-01T00:00:00Z")
	random := rand.New(rand.NewPCG(1, 2))
	misfires := []string{MisfireRunOnce, MisfireSkip, MisfireCatchUp}
	for range 2000 {
		rec := recurrence.Recurrence{Frequency: recurrence.Minute, Interval: 1 + random.IntN(50), StartTime: created}
		if random.IntN(3) == 0 {
			rec = recurrence.Recurrence{Cron: fmt.Sprintf("%d */%d * * *", random.IntN(60), 1+random.IntN(6))}
		}
		if random.IntN(4) == 0 {
			rec.Count = 1 + random.IntN(10)
		}
		options := []option{withMisfire(misfires[random.IntN(3)]), withGrace(time.Duration(1+random.IntN(300)) * time.Second)}
		plain := planFor(t, created, rec, options...)
		spread := planFor(t, created, rec, append(options, withSpread(time.Minute))...)
		if spread.Offset <= 0 || spread.Offset >= time.Minute {
			t.Fatalf("offset %v, want one of a minute", spread.Offset)
		}
		at, _ := plain.series.Next(created.Add(time.Duration(random.IntN(200_000)) * time.Second))
		cursor := protocol.Cursor{At: at, Used: random.IntN(12), Placed: random.IntN(3) > 0}
		since := at.Add(time.Duration(random.IntN(200_000_000)) * time.Millisecond)
		want := plain.Next(protocol.Owed{Cursor: cursor, Since: since})
		got := spread.Next(protocol.Owed{Cursor: cursor, Since: since.Add(spread.Offset)})
		if want.Offset = spread.Offset; fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("%+v, %s, cursor %+v, since %v: with a spread %+v\nwithout %+v", rec, plain.Misfire, cursor, since, got, want)
		}
		if got, want := spread.Runs(at, since.Add(spread.Offset)), plain.Runs(at, since); got != want {
			t.Fatalf("%+v, %s, planned %v, taken %v: with a spread it runs: %v, without %v", rec, plain.Misfire, at, since, got, want)
		}
		coming := protocol.Owed{Cursor: cursor, Since: since, Now: since}
		later := protocol.Owed{Cursor: cursor, Since: since.Add(spread.Offset), Now: since.Add(spread.Offset)}
		if got, want := fmt.Sprint(spread.Upcoming(later, cursor.Placed, 5)), fmt.Sprint(plain.Upcoming(coming, cursor.Placed, 5)); got != want {
			t.Fatalf("%+v, %s, cursor %+v, now %v: with a spread %v are upcoming, without %v", rec, plain.Misfire, cursor, since, got, want)
		}
	}
}

// A schedule that continues from now with another rule counts as missed what was due, and continues before what is planned and not due yet.
func TestAGapEndsBeforeWhatIsNotDueYet(t *testing.T) {
	created := instant(t, "2026-03-01T00:00:00Z")
	p := planFor(t, created, recurrence.Recurrence{Cron: "0 * * * *"}, withSpread(time.Hour))
	p.Offset = 40 * time.Minute
	cursor := protocol.Cursor{At: created.Add(7 * time.Hour), Used: 8, Placed: true}
	for _, c := range []struct {
		now    string
		missed int
		from   string
	}{
		{"10:20:00", 2, "09:59:59"},
		{"10:39:59.999", 2, "09:59:59"},
		{"10:40:00", 3, "10:40:00"},
		{"10:50:00.5", 3, "10:50:00"},
		{"11:00:00", 3, "10:59:59"},
	} {
		now := instant(t, "2026-03-01T"+c.now+"Z")
		missed, from := p.Gap(cursor, now)
		if got := from.Format(time.TimeOnly); missed != c.missed || got != c.from {
			t.Errorf("at %s, the cursor at 07:00, due at 40 past: %d missed, continues from %s; want %d, %s", c.now, missed, got, c.missed, c.from)
		}
	}
	first := planFor(t, created, recurrence.Recurrence{Frequency: recurrence.Hour}, withSpread(time.Hour))
	first.Offset = 40 * time.Minute
	if missed, _ := first.Gap(protocol.Cursor{}, created.Add(time.Minute)); missed != 1 {
		t.Errorf("%d missed a minute after creation, want the run at creation, which is skipped", missed)
	}
}

func TestASpreadIsAtMostThePeriod(t *testing.T) {
	start := instant(t, "2026-03-31T00:00:00Z")
	for _, c := range []struct {
		rec  recurrence.Recurrence
		want time.Duration
	}{
		{recurrence.Recurrence{Cron: "@hourly"}, time.Hour},
		{recurrence.Recurrence{Cron: "@every 90s"}, 90 * time.Second},
		{recurrence.Recurrence{Cron: "0 9 * * *", TimeZone: "America/New_York"}, 24 * time.Hour},
		{recurrence.Recurrence{Cron: "CRON_TZ=America/New_York 0 9 * * *"}, 24 * time.Hour},
		{recurrence.Recurrence{Cron: "0 9,17 * * *"}, 8 * time.Hour},
		{recurrence.Recurrence{Cron: "*/7 * * * *"}, 4 * time.Minute},
		{recurrence.Recurrence{Cron: "0 0 1 * *"}, 28 * 24 * time.Hour},
		{recurrence.Recurrence{Frequency: recurrence.Day, Interval: 3, Hours: []int{9}}, 72 * time.Hour},
		{recurrence.Recurrence{Frequency: recurrence.Week, WeekDays: []time.Weekday{time.Monday, time.Tuesday}}, 24 * time.Hour},
		{recurrence.Recurrence{Frequency: recurrence.Second}, time.Second},
		{recurrence.Recurrence{Frequency: recurrence.Year, Interval: 2}, 365 * 24 * time.Hour},
		{recurrence.Recurrence{StartTime: start}, 365 * 24 * time.Hour},
		{recurrence.Recurrence{Cron: "@hourly", EndTime: instant(t, "1999-01-01T00:00:00Z")}, 365 * 24 * time.Hour},
		{recurrence.Recurrence{Cron: "@hourly", Count: 1}, time.Hour},
	} {
		for spread, ok := range map[time.Duration]bool{0: true, time.Millisecond: true, c.want: true, c.want + 1: false, -1: false, time.Millisecond - 1: false} {
			_, err := declaration("s", c.rec, []option{withSpread(spread)})
			var bad *protocol.InvalidError
			if ok && err != nil || !ok && (!errors.As(err, &bad) || bad.Field != "spread" || bad.Value != spread.String() || !strings.Contains(bad.Limit, c.want.String())) {
				t.Errorf("%+v, a spread of %v: %v; want it accepted: %v, the limit is %v", c.rec, spread, err, ok, c.want)
			}
		}
	}
}

// A definition without a spread is as before, so that older programs read it. Older programs report that a definition with a spread is newer.
func TestADefinitionContainsItsSpread(t *testing.T) {
	hourly := recurrence.Recurrence{Cron: "@hourly"}
	plain, err := declaration("foobar", hourly, nil)
	if err != nil || !strings.HasPrefix(string(plain.Body), `{"version":1,"job":`) {
		t.Errorf("without a spread: %s, %v", plain.Body, err)
	}
	const want = `{"version":2,"spread":"1h0m0s","offsetMs":2836968,"job":`
	spread, err := declaration("foobar", hourly, []option{withSpread(time.Hour)})
	if err != nil || !strings.HasPrefix(string(spread.Body), want) {
		t.Errorf("with a spread: %s, %v; want that it begins with %s", spread.Body, err, want)
	}
	text := string(storedText(spread, "live", 3, time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)))
	if d, err := Read([]byte(text)); err != nil || d.Spread != time.Hour || d.Offset != 2836968*time.Millisecond {
		t.Errorf("read back: %+v, %v", d, err)
	}
	for _, c := range []struct{ from, to, want string }{
		{`"offsetMs":2836968`, `"offsetMs":3600000`, "offsetMs: want 0 to 3599999"},
		{`"offsetMs":2836968`, `"offsetMs":-1`, "offsetMs: want 0 to 3599999"},
		{`,"offsetMs":2836968`, ``, "offsetMs: want 0 to 3599999"},
		{`"spread":"1h0m0s",`, ``, `spread ""`},
		{`"1h0m0s"`, `"0s"`, `spread "0s"`},
		{`"1h0m0s"`, `"8761h0m0s"`, `spread "8761h0m0s"`},
	} {
		if _, err := Read([]byte(strings.Replace(text, c.from, c.to, 1))); err == nil || !strings.Contains(err.Error(), c.want) || errors.Is(err, ErrNotHere) {
			t.Errorf("%s for %s: %v, want an error that contains %s", c.to, c.from, err, c.want)
		}
	}
}

// A job of a schedule with a spread knows when it was due, also when it is retried. Other jobs need no memory for that.
func TestAJobKnowsWhenItWasDue(t *testing.T) {
	created := instant(t, "2026-03-01T00:00:00Z")
	plain, spread := planFor(t, created, recurrence.Recurrence{Cron: "@hourly"}), planFor(t, created, recurrence.Recurrence{Cron: "@hourly"}, withSpread(time.Hour))
	at := created.Add(time.Hour)
	if job := plain.Job("s", at); job.Details != nil || !job.Due().Equal(at) {
		t.Errorf("without a spread: %+v, due %v", job, job.Due())
	}
	job := spread.Job("s", at)
	if !job.Due().Equal(at.Add(spread.Offset)) || spread.Details != nil {
		t.Errorf("with a spread: due %v, want %v; the plan's own details %+v, want none", job.Due(), at.Add(spread.Offset), spread.Details)
	}
}

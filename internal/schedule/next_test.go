package schedule

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/recurrence"
)

// planFor returns a plan as the store gives it to a worker.
func planFor(t testing.TB, created time.Time, rec recurrence.Recurrence, options ...option) *Plan {
	t.Helper()
	declared, err := declaration("s", rec, options)
	if err != nil {
		t.Fatal(err)
	}
	head, err := json.Marshal(map[string]any{"revision": 7, "state": "live", "created": created.UTC().Format(time.RFC3339), "overlap": declared.Overlap})
	if err != nil {
		t.Fatal(err)
	}
	p, err := Compile([]byte(strings.TrimSuffix(string(head), "}") + "," + string(declared.Body[1:])))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func instant(t testing.TB, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func TestNextPlacesWhatFollowsTheCursor(t *testing.T) {
	const created = "2026-03-01T12:00:30Z"
	minute := recurrence.Recurrence{Frequency: recurrence.Minute, StartTime: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)}
	for _, c := range []struct {
		name    string
		rec     recurrence.Recurrence
		options []option
		cursor  string // empty: nothing is placed yet
		changed bool   // a change or a pause has set the cursor
		since   string
		want    string // instants of the day, HH:MM:SS
		missed  int
	}{
		{name: "first, no start: at creation", rec: recurrence.Recurrence{Frequency: recurrence.Hour}, since: created, want: "12:00:30"},
		{name: "first, no start, not at creation", rec: recurrence.Recurrence{Frequency: recurrence.Hour}, options: []option{noImmediateRun()}, since: created, want: "13:00:30"},
		{name: "first, start in the past", rec: minute, since: created, want: "12:01:00"},
		{name: "first, cron never at creation", rec: recurrence.Recurrence{Cron: "0 13 * * *"}, since: created, want: "13:00:00"},
		{name: "taken in time", rec: minute, cursor: "2026-03-01T12:05:00Z", since: "2026-03-01T12:05:59Z", want: "12:06:00"},
		{name: "taken at the next one's instant is in time", rec: minute, cursor: "2026-03-01T12:05:00Z", since: "2026-03-01T12:06:00Z", want: "12:06:00"},
		{name: "late: the missed instants are skipped", rec: minute, cursor: "2026-03-01T12:05:00Z", since: "2026-03-01T12:08:30Z", want: "12:09:00", missed: 3},
		{name: "late, skip", rec: minute, options: []option{withMisfire(MisfireSkip)}, cursor: "2026-03-01T12:05:00Z", since: "2026-03-01T12:08:30Z", want: "12:09:00", missed: 3},
		{name: "late, catch up", rec: minute, options: []option{withMisfire(MisfireCatchUp)}, cursor: "2026-03-01T12:05:00Z", since: "2026-03-01T12:08:30Z", want: "12:06:00"},
		{name: "late by less than an option's grace", rec: recurrence.Recurrence{Frequency: recurrence.Hour, StartTime: minute.StartTime}, options: []option{withGrace(10 * time.Minute)}, cursor: "2026-03-01T12:00:00Z", since: "2026-03-01T12:09:00Z", want: "13:00:00"},
		{name: "after a pause the gap is judged when it is taken", rec: minute, cursor: "2026-03-01T12:05:10Z", changed: true, since: "2026-03-01T14:00:00Z", want: "12:06:00"},
		{name: "the end", rec: recurrence.Recurrence{Frequency: recurrence.Minute, StartTime: minute.StartTime, EndTime: time.Date(2026, 3, 1, 12, 5, 0, 0, time.UTC)}, cursor: "2026-03-01T12:05:00Z", since: "2026-03-01T12:05:01Z", want: ""},
		{name: "once", rec: recurrence.Recurrence{StartTime: minute.StartTime}, cursor: created, since: created, want: ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := planFor(t, instant(t, created), c.rec, c.options...)
			owed := protocol.Owed{Name: "s", Since: instant(t, c.since)}
			if c.cursor != "" {
				owed.Cursor = protocol.Cursor{At: instant(t, c.cursor), Used: 1, Placed: !c.changed}
			}
			got := p.Next(owed)
			var texts []string
			for _, at := range got.Instants {
				texts = append(texts, at.UTC().Format("15:04:05"))
			}
			if strings.Join(texts, " ") != c.want || got.Missed != c.missed {
				t.Errorf("got %q, %d missed; want %q, %d missed", strings.Join(texts, " "), got.Missed, c.want, c.missed)
			}
			if got.Revision != 7 || got.Cursor != owed.Cursor {
				t.Errorf("placement %+v: want the revision and the cursor from which it was computed", got)
			}
		})
	}
}

func TestCatchUpPlacesTheOldestOfTheNewestWithinTheWindow(t *testing.T) {
	created := instant(t, "2026-03-01T00:00:00Z")
	at := instant(t, "2026-03-02T00:00:00Z")
	for _, c := range []struct {
		what   string
		rec    recurrence.Recurrence
		placed bool // the cursor is at an occurrence that was taken late and runs too
		since  time.Duration
		next   time.Duration // from the cursor to the placed instant
		missed int
	}{
		{"180 minutes, and the one at the cursor is the hundredth", recurrence.Recurrence{Frequency: recurrence.Minute}, true, 3*time.Hour + 30*time.Second, 82 * time.Minute, 81},
		{"180 minutes of a pause", recurrence.Recurrence{Frequency: recurrence.Minute}, false, 3*time.Hour + 30*time.Second, 81 * time.Minute, 80},
		{"two days of hours: those of the last 24", recurrence.Recurrence{Frequency: recurrence.Hour}, true, 48*time.Hour + time.Minute, 25 * time.Hour, 24},
		{"few", recurrence.Recurrence{Frequency: recurrence.Hour}, true, 5 * time.Hour, time.Hour, 0},
	} {
		c.rec.StartTime = created
		p := planFor(t, created, c.rec, withMisfire(MisfireCatchUp))
		got := p.Next(protocol.Owed{Cursor: protocol.Cursor{At: at, Placed: c.placed}, Since: at.Add(c.since)})
		if len(got.Instants) != 1 || !got.Instants[0].Equal(at.Add(c.next)) || got.Missed != c.missed || got.CaughtUp != 1 {
			t.Errorf("%s: %v, %d missed, %d caught up; want %v, %d missed, 1 caught up", c.what, got.Instants, got.Missed, got.CaughtUp, at.Add(c.next), c.missed)
		}
	}
	p := planFor(t, created, recurrence.Recurrence{Frequency: recurrence.Hour, StartTime: created}, withMisfire(MisfireCatchUp))
	if p.Runs(at, at.Add(48*time.Hour)) {
		t.Error("an occurrence older than the window is run")
	}
}

func TestAChangeCountsWhatTheOldRuleWouldHaveRun(t *testing.T) {
	created := instant(t, "2026-03-01T00:00:00Z")
	p := planFor(t, created, recurrence.Recurrence{Frequency: recurrence.Hour, Count: 10})
	for _, c := range []struct {
		what   string
		state  string
		cursor protocol.Cursor
		want   int
	}{
		{"after an occurrence", protocol.StateLive, protocol.Cursor{At: created.Add(2 * time.Hour), Used: 3, Placed: true}, 3},
		{"after a pause", protocol.StatePaused, protocol.Cursor{At: created.Add(2*time.Hour + time.Minute), Used: 3}, 3},
		{"nothing was placed yet: the run at creation too", protocol.StateLive, protocol.Cursor{}, 6},
		{"placed in the future", protocol.StateLive, protocol.Cursor{At: created.Add(6 * time.Hour), Used: 7, Placed: true}, 0},
		{"no run is left", protocol.StateLive, protocol.Cursor{At: created.Add(2 * time.Hour), Used: 10, Placed: true}, 0},
		{"completed", protocol.StateCompleted, protocol.Cursor{At: created.Add(2 * time.Hour), Used: 3, Placed: true}, 0},
	} {
		p.State = c.state
		if got, _ := p.Gap(c.cursor, created.Add(5*time.Hour+time.Minute)); got != c.want {
			t.Errorf("%s: %d missed until 05:01, want %d", c.what, got, c.want)
		}
	}
}

// A schedule is taken at random instants, in time and late, for thousands of occurrences. Under every policy each instant of the rule is placed
// once or counted as missed, in order, and nothing else is placed.
func TestEveryInstantIsPlacedOnceOrCounted(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, misfire := range []string{MisfireRunOnce, MisfireSkip, MisfireCatchUp} {
		for _, rec := range []recurrence.Recurrence{
			{Frequency: recurrence.Second, Interval: 7},
			{Frequency: recurrence.Minute, Interval: 15},
			{Cron: "*/20 9-17 * * 1-5", TimeZone: "America/New_York"},
			{Frequency: recurrence.Day, Hours: []int{1, 2}, Minutes: []int{30}, TimeZone: "Europe/Berlin"},
			{Frequency: recurrence.Month, MonthDays: []int{-1, 31}},
		} {
			t.Run(fmt.Sprintf("%s, %s", misfire, rec), func(t *testing.T) {
				created := time.Date(2026, 3, 20, 10, 0, 0, 0, time.UTC)
				p := planFor(t, created, rec, withMisfire(misfire))
				placed, missed := simulate(p, created, 3000, random)
				last := placed[len(placed)-1]
				matches := 0
				seen := map[int64]bool{}
				for _, at := range placed {
					if seen[at.Unix()] {
						t.Fatalf("%v was placed twice", at)
					}
					seen[at.Unix()] = true
				}
				for at := range p.series.Between(created.Add(time.Nanosecond), last.Add(time.Nanosecond)) {
					matches++
					delete(seen, at.Unix())
				}
				delete(seen, created.Unix()) // the immediate run
				if len(seen) > 0 {
					t.Errorf("%d instants were placed that the rule does not have", len(seen))
				}
				after := len(placed)
				if placed[0].Equal(created) {
					after--
				}
				if after+missed != matches {
					t.Errorf("%d placed and %d missed of %d instants", after, missed, matches)
				}
			})
		}
	}
}

// simulate takes placed occurrences in their order, each at a random instant, and places what follows the cursor.
func simulate(p *Plan, created time.Time, steps int, random *rand.Rand) (placed []time.Time, missed int) {
	now := created
	owed := protocol.Owed{Since: now}
	var cursor time.Time
	for range steps {
		next := p.Next(owed)
		missed += next.Missed
		if len(next.Instants) == 0 {
			break
		}
		placed = append(placed, next.Instants...)
		cursor = next.Instants[len(next.Instants)-1]
		if cursor.After(now) {
			now = cursor
		}
		// usually at once, sometimes minutes or hours late
		switch random.IntN(10) {
		case 0:
			now = now.Add(time.Duration(random.Int64N(int64(3 * time.Hour))))
		case 1, 2:
			now = now.Add(time.Duration(random.Int64N(int64(3 * time.Minute))))
		default:
			now = now.Add(time.Duration(random.Int64N(int64(time.Second))))
		}
		owed = protocol.Owed{Cursor: protocol.Cursor{At: cursor, Placed: true}, Since: now}
	}
	return placed, missed
}

func TestADefinitionOfANewerVersionIsRefused(t *testing.T) {
	_, err := Compile([]byte(`{"revision":1,"state":"live","created":"2026-01-01T00:00:00Z","overlap":"skip","version":5,"job":"x","recurrence":{"frequency":"fortnight"}}`))
	if err == nil || !strings.Contains(err.Error(), "newer") {
		t.Errorf("got %v, want that a newer version wrote it", err)
	}
}

func TestADefinitionKeepsItsArguments(t *testing.T) {
	created := time.Date(2026, 3, 20, 10, 0, 0, 0, time.UTC)
	for _, payload := range []string{`{"a":1}`, `{"a": 1}`, "\x81\xa1a\x01", `"<b>"`, "", "null", "\xff"} {
		p := planFor(t, created, recurrence.Recurrence{Cron: "@daily"}, withArgs([]byte(payload)))
		if string(p.Payload) != payload {
			t.Errorf("payload %q, want %q", p.Payload, payload)
		}
	}
}

package schedules_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/tests/internal/fixture"
)

// A spreadBench runs jobs "sync" and records them.
type spreadBench struct {
	*fixture.Fixture
	schedules *chime.Schedules

	mu       sync.Mutex
	attempts []chime.Job
	late     map[string]time.Duration
	fail     bool          // the first attempt of each job fails
	slow     time.Duration // the first job takes this long and then fails; 0: it is like the others
	due      map[string]time.Time
}

func onSpreadBench(t *testing.T, scenario func(t *testing.T, b *spreadBench)) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		b := &spreadBench{Fixture: f, schedules: chime.NewSchedules(f.Server.Store()), late: map[string]time.Duration{}, due: map[string]time.Time{}}
		w := f.Worker(chime.WorkerOptions{Observers: []*chime.Observer{{Begun: func(jobs []chime.JobEvent) {
			b.mu.Lock()
			defer b.mu.Unlock()
			for _, job := range jobs {
				b.due[job.ID] = job.Due
			}
		}}}})
		w.Handle("sync", func(_ context.Context, job *chime.Job) error {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.attempts = append(b.attempts, *job)
			if b.slow > 0 && len(b.attempts) == 1 {
				b.mu.Unlock()
				fixture.Pass(b.slow)
				b.mu.Lock()
				return errors.New("no")
			}
			b.late[fmt.Sprintf("%s/%d", job.ID, job.Attempt)] = job.Lateness()
			if b.fail && job.Attempt == 1 {
				return chime.RetryAfter(time.Minute, errors.New("no"))
			}
			return nil
		})
		stop := f.Start(w)
		scenario(t, b)
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func (b *spreadBench) put(name string, rec recurrence.Recurrence, options ...chime.PutOption) *chime.Schedule {
	b.T.Helper()
	s, err := b.schedules.Put(b.T.Context(), name, rec, append([]chime.PutOption{chime.JobName("sync")}, options...)...)
	if err != nil {
		b.T.Fatal(err)
	}
	return s
}

// ran returns the planned instants of the attempts so far, and when each began.
func (b *spreadBench) ran() (all []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, job := range b.attempts {
		all = append(all, job.Planned.Format("15:04:05")+" at "+job.Started.Format("15:04:05"))
	}
	return all
}

func (b *spreadBench) want(what string, want ...string) {
	b.T.Helper()
	if got := b.ran(); !slices.Equal(got, want) {
		b.T.Errorf("%s: ran %v, want %v", what, got, want)
	}
}

var hourlyCron = recurrence.Recurrence{Cron: "@hourly"}

// The offset of "g" in an hour: its FNV-1a hash is 12638185001532385574.
const (
	offsetOfG = 6*time.Minute + 25*time.Second + 574*time.Millisecond
	gAt       = ":06:25"
)

// A spread occurrence begins at its planned instant plus an offset. Its planned instant does not change, and neither it nor its retry counts as
// late because of the offset.
func TestASpreadOccurrenceIsDueAtItsOffset(t *testing.T) {
	onSpreadBench(t, func(t *testing.T, b *spreadBench) {
		b.fail = true
		s := b.put("g", hourlyCron, chime.Spread(time.Hour))
		if s.Spread != time.Hour || s.Offset != offsetOfG || !s.Next.Equal(time.Now()) {
			t.Errorf("put: spread %v, offset %v, next %v; want an hour, %v, now", s.Spread, s.Offset, s.Next, offsetOfG)
		}
		plain := b.put("plain", hourlyCron)
		other := b.put("c", hourlyCron, chime.Spread(time.Hour))
		if plain.Offset != 0 || other.Offset == s.Offset {
			t.Errorf("offsets: %v without a spread, %v and %v with one", plain.Offset, s.Offset, other.Offset)
		}
		soonest, err := b.schedules.Soonest(t.Context(), 2)
		if err != nil || len(soonest) != 2 || soonest[0].Name != "g" {
			t.Errorf("soonest: %v, %v; want the one that is due first", soonest, err)
		}
		fixture.Pass(10 * time.Minute)
		for key, want := range map[string]time.Duration{
			"g@2000-01-01T00:00:00Z/1": 0, "g@2000-01-01T00:00:00Z/2": time.Minute,
		} {
			b.mu.Lock()
			got, ok := b.late[key]
			b.mu.Unlock()
			if !ok || got < want || got > want+50*time.Millisecond {
				t.Errorf("%s was %v late, ran: %v; want %v", key, got, ok, want)
			}
		}
		b.mu.Lock()
		if due := b.due["g@2000-01-01T00:00:00Z"]; !due.Equal(time.Date(2000, 1, 1, 0, 6, 25, 574e6, time.UTC)) {
			t.Errorf("the observer's event is due at %v", due)
		}
		b.mu.Unlock()
		if _, err := b.schedules.Trigger(t.Context(), "g"); err != nil {
			t.Fatal(err)
		}
		fixture.Pass(time.Second)
		b.mu.Lock()
		defer b.mu.Unlock()
		if last := b.attempts[len(b.attempts)-1]; last.Schedule != "g" || last.Lateness() > time.Second || last.Planned.Minute() != 10 {
			t.Errorf("a manual run was planned for %v and %v late", last.Planned, last.Lateness())
		}
	})
}

// An occurrence whose planned instant has passed but which is not due yet runs once, even if its schedule is changed before it is due.
func TestAnOccurrenceThatIsNotDueYetIsNeitherLostNorDoubled(t *testing.T) {
	note := chime.Note{Text: "why"}
	for what, action := range map[string]func(b *spreadBench){
		"a change": func(b *spreadBench) { b.put("g", hourlyCron, chime.Spread(time.Hour), chime.Args(1)) },
		"another rule": func(b *spreadBench) {
			b.put("g", recurrence.Recurrence{Cron: "0 */2 * * *"}, chime.Spread(time.Hour))
			b.put("g", hourlyCron, chime.Spread(time.Hour))
		},
		"a move":            func(b *spreadBench) { b.put("g", hourlyCron, chime.Spread(time.Hour), chime.Queue("other")) },
		"a pause":           func(b *spreadBench) { b.pause(); b.resume() },
		"a pause, skipping": func(b *spreadBench) { b.pause(note); b.resume(chime.SkipGap()) },
		"all": func(b *spreadBench) {
			b.pause(note)
			b.put("g", hourlyCron, chime.Spread(time.Hour), chime.Args(1))
			b.put("g", hourlyCron, chime.Spread(time.Hour), chime.Args(1), chime.Queue("other"))
			b.resume(chime.SkipGap())
			b.put("g", recurrence.Recurrence{Cron: "0 * * * *"}, chime.Spread(time.Hour))
			b.put("g", hourlyCron, chime.Spread(time.Hour))
		},
	} {
		t.Run(what, func(t *testing.T) {
			onSpreadBench(t, func(t *testing.T, b *spreadBench) {
				other := b.Worker(chime.WorkerOptions{Queues: map[string]int{"other": 1}})
				other.Handle("sync", func(_ context.Context, job *chime.Job) error {
					b.mu.Lock()
					defer b.mu.Unlock()
					b.attempts = append(b.attempts, *job)
					return nil
				})
				stop := b.Start(other)
				b.put("g", hourlyCron, chime.Spread(time.Hour))
				fixture.Pass(2*time.Hour + 3*time.Minute) // the occurrence of 02:00 is placed, and due two minutes later
				action(b)
				fixture.Pass(57 * time.Minute)
				b.want(what, "00:00:00 at 00"+gAt, "01:00:00 at 01"+gAt, "02:00:00 at 02"+gAt)
				if err := stop(); err != nil {
					b.T.Error(err)
				}
			})
		})
	}
}

func (b *spreadBench) pause(options ...chime.ChangeOption) {
	b.T.Helper()
	if err := b.schedules.Pause(b.T.Context(), "g", options...); err != nil {
		b.T.Fatal(err)
	}
}

func (b *spreadBench) resume(options ...chime.ChangeOption) {
	b.T.Helper()
	if err := b.schedules.Resume(b.T.Context(), "g", options...); err != nil {
		b.T.Fatal(err)
	}
}

// The rule may not contain the instant of the run at creation. A change or a pause before this run is due does not lose it.
func TestTheRunAtCreationIsSpreadToo(t *testing.T) {
	daily := recurrence.Recurrence{Frequency: recurrence.Day, Hours: []int{2}}
	for what, action := range map[string]func(b *spreadBench){
		"nothing":  func(*spreadBench) {},
		"a change": func(b *spreadBench) { b.put("g", daily, chime.Spread(time.Hour), chime.Args(1)) },
		"a pause":  func(b *spreadBench) { b.pause(); b.resume() },
		"a move": func(b *spreadBench) {
			b.put("g", daily, chime.Spread(time.Hour), chime.Queue("other"))
			b.put("g", daily, chime.Spread(time.Hour))
		},
	} {
		t.Run(what, func(t *testing.T) {
			onSpreadBench(t, func(t *testing.T, b *spreadBench) {
				fixture.Pass(30 * time.Minute)
				b.put("g", daily, chime.Spread(time.Hour))
				fixture.Pass(time.Minute)
				action(b)
				fixture.Pass(3 * time.Hour)
				b.want(what, "00:30:00 at 00:36:25", "02:30:00 at 02:36:25")
				if s, err := b.schedules.Get(b.T.Context(), "g"); err != nil || s.Counters.Missed != 0 || s.Counters.Placed != 3 {
					b.T.Errorf("%+v, %v; want none missed, three placed", s, err)
				}
			})
		})
	}
}

// A pause misses only the instants that become due during it.
func TestAPauseMissesOnlyInstantsThatBecomeDueDuringIt(t *testing.T) {
	for _, c := range []struct {
		what    string
		resume  []chime.ChangeOption
		misfire chime.MisfirePolicy
		want    []string
		missed  int64
	}{
		{"skipped", []chime.ChangeOption{chime.SkipGap()}, chime.MisfireRunOnce, []string{"04:00:00 at 04" + gAt}, 3},
		{"run once", nil, chime.MisfireRunOnce, []string{"01:00:00 at 04:02:00", "04:00:00 at 04" + gAt}, 2},
		{"missed", nil, chime.MisfireSkip, []string{"04:00:00 at 04" + gAt}, 3},
		{"caught up", nil, chime.MisfireCatchUp, []string{"01:00:00 at 04:02:00", "02:00:00 at 04:02:00", "03:00:00 at 04:02:00", "04:00:00 at 04" + gAt}, 0},
	} {
		t.Run(c.what, func(t *testing.T) {
			onSpreadBench(t, func(t *testing.T, b *spreadBench) {
				b.put("g", hourlyCron, chime.Spread(time.Hour), chime.Misfire(c.misfire))
				fixture.Pass(time.Hour + 2*time.Minute) // the occurrence of 01:00 is planned, and not due
				b.pause()
				fixture.Pass(3 * time.Hour)
				b.resume(c.resume...)
				fixture.Pass(time.Hour)
				b.want(c.what, append([]string{"00:00:00 at 00" + gAt}, c.want...)...)
				if s, err := b.schedules.Get(b.T.Context(), "g"); err != nil || s.Counters.Missed != c.missed {
					b.T.Errorf("%+v, %v; want %d missed", s.Counters, err, c.missed)
				}
			})
		})
	}
}

// Only runs use up the run count of a rule, even if occurrences are withdrawn and placed again.
func TestASpreadScheduleKeepsItsCount(t *testing.T) {
	onSpreadBench(t, func(t *testing.T, b *spreadBench) {
		rec := recurrence.Recurrence{Cron: "@hourly", Count: 3, EndTime: time.Date(2000, 1, 1, 5, 0, 0, 0, time.UTC)}
		b.put("g", rec, chime.Spread(time.Hour))
		for i := range 3 {
			fixture.Pass(time.Minute)
			b.put("g", rec, chime.Spread(time.Hour), chime.Args(i))
			fixture.Pass(59 * time.Minute)
		}
		fixture.Pass(5 * time.Hour)
		b.want("three of five", "00:00:00 at 00"+gAt, "01:00:00 at 01"+gAt, "02:00:00 at 02"+gAt)
		if s, err := b.schedules.Get(b.T.Context(), "g"); err != nil || s.State != chime.StateCompleted || s.Used != 3 {
			b.T.Errorf("%s with %d used, %v; want completed with 3", s.State, s.Used, err)
		}
		if times, err := b.schedules.Upcoming(b.T.Context(), "g", 3); err != nil || len(times) != 0 {
			b.T.Errorf("upcoming %v, %v; want none", times, err)
		}
	})
}

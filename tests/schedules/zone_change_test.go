package schedules_test

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/tests/internal/fixture"
	"github.com/chimejobs/chime/tests/internal/hookstore"
)

// An otherZone places occurrences as a process whose time zone data are ahead of those here.
type otherZone struct {
	*hookstore.Store
	ahead time.Duration
}

func (s otherZone) Protocol() protocol.Store { return s }

func (s otherZone) Place(ctx context.Context, placements []protocol.Placement) []protocol.PlaceAnswer {
	for i := range placements {
		for j := range placements[i].Instants {
			placements[i].Instants[j] = placements[i].Instants[j].Add(-s.ahead)
		}
	}
	return s.Store.Place(ctx, placements)
}

// An occurrence that was planned too early, with old time zone data, runs once, at the right time. The history has the planned one as missed, with
// the reason, and it uses up no run of a count. An occurrence that was planned too late runs once, late.
func TestAnOccurrenceOfOldZoneDataRunsOnce(t *testing.T) {
	for _, c := range []struct {
		what    string
		ahead   time.Duration
		options []chime.PutOption
		count   int
		first   string
		missed  int
	}{
		{"an hour ahead", time.Hour, nil, 0, "2000-01-02T08:00:00Z", 1},
		{"two minutes ahead", 2 * time.Minute, nil, 0, "2000-01-02T08:00:00Z", 1},
		{"with a count", time.Hour, nil, 1, "2000-01-02T08:00:00Z", 1},
		{"MisfireSkip", time.Hour, []chime.PutOption{chime.Misfire(chime.MisfireSkip)}, 0, "2000-01-02T08:00:00Z", 1},
		{"MisfireCatchUp", time.Hour, []chime.PutOption{chime.Misfire(chime.MisfireCatchUp)}, 0, "2000-01-02T08:00:00Z", 1},
		{"an hour behind", -time.Hour, nil, 0, "2000-01-02T09:00:00Z", 0},
		{"the same data", 0, nil, 0, "2000-01-02T08:00:00Z", 0},
	} {
		fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
			time.Sleep(10 * time.Hour) // fake time: the first run is on the next day
			old := chime.NewSchedules(otherZone{f.Hooked(), c.ahead})
			daily := recurrence.Recurrence{Frequency: recurrence.Day, Hours: []int{9}, Minutes: []int{0}, TimeZone: "Europe/Berlin", Count: c.count}
			if _, err := old.Put(t.Context(), "invoice", daily, append(c.options, chime.JobName("j"), chime.NoImmediateRun())...); err != nil {
				t.Fatal(err)
			}
			var log fixture.LogBuffer
			var ran []string
			work := func(from, to string) { // workers cost time while they live
				begin, err := time.Parse(time.RFC3339, from)
				end, err2 := time.Parse(time.RFC3339, to)
				if err != nil || err2 != nil {
					t.Fatal(err, err2)
				}
				time.Sleep(time.Until(begin)) // fake time
				worker := f.Worker(chime.WorkerOptions{Logger: log.Logger()})
				worker.Handle("j", func(_ context.Context, job *chime.Job) error {
					ran = append(ran, job.Planned.UTC().Format(time.RFC3339))
					if late := time.Since(job.Planned); late > time.Second {
						t.Errorf("%s: %s ran %v late", c.what, job.ID, late)
					}
					return nil
				})
				stop := f.Start(worker)
				time.Sleep(time.Until(end)) // fake time
				if err := stop(); err != nil {
					t.Error(err)
				}
			}
			work("2000-01-02T06:59:00Z", "2000-01-02T07:01:00Z")
			work("2000-01-02T07:57:00Z", "2000-01-02T08:01:00Z")
			work("2000-01-02T08:59:00Z", "2000-01-02T09:01:00Z")
			work("2000-01-03T07:59:00Z", "2000-01-03T08:01:00Z")
			want := []string{c.first, "2000-01-03T08:00:00Z"}[:cmp.Or(c.count, 2)]
			if !slices.Equal(ran, want) {
				t.Errorf("%s: ran at %v, want %v", c.what, ran, want)
			}
			missed := 0
			for _, run := range runsOf(t, chime.NewSchedules(f.Server.Store()), "invoice") {
				if strings.HasPrefix(run, "missed 0 planned with other time zone data: it runs at 2000-01-02T09:00:00+01:00") {
					missed++
				}
			}
			if missed != c.missed || log.Count("schedule.replanned") != c.missed {
				t.Errorf("%s: %d in the history, %d lines, want %d: %s", c.what, missed, log.Count("schedule.replanned"), c.missed, log.String())
			}
		})
	}
}

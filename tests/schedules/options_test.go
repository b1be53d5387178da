package schedules_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/tests/internal/fixture"
)

// The Options of a schedule always produce the same definition again: the revision does not change, and a change of the
// rule keeps the options.
func TestTheOptionsOfAStoredScheduleMakeItAgain(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		schedules, dice := chime.NewSchedules(f.Server.Store()), rand.New(rand.NewPCG(7, 7))
		alert := chime.Define[string]("alert.options", chime.MaxAttempts(3), chime.Header("of", "the kind"))
		all := []func() chime.PutOption{
			func() chime.PutOption {
				return chime.Args([]any{map[string]any{"b": 1, "a": "<&>"}, json.RawMessage(`{"x":[1, 2]}`), []byte("\x00raw"), "text", 7}[dice.IntN(5)])
			},
			func() chime.PutOption { return chime.Queue([]string{"mail", "late"}[dice.IntN(2)]) },
			func() chime.PutOption {
				return chime.Overlap([]chime.OverlapPolicy{chime.OverlapSkip, chime.OverlapWait, chime.OverlapCancel, chime.OverlapAllow}[dice.IntN(4)])
			},
			func() chime.PutOption {
				return chime.Misfire([]chime.MisfirePolicy{chime.MisfireRunOnce, chime.MisfireSkip, chime.MisfireCatchUp}[dice.IntN(3)])
			},
			func() chime.PutOption { return chime.Grace(time.Second + time.Duration(dice.Int64N(1e15))) },
			func() chime.PutOption { return chime.Spread(time.Hour) },
			func() chime.PutOption { return chime.NoImmediateRun() },
			func() chime.PutOption { return chime.MaxAttempts(1 + dice.IntN(1000)) },
			func() chime.PutOption { return chime.Timeout(time.Millisecond + time.Duration(dice.Int64N(1e15))) },
			func() chime.PutOption { return chime.KeepRuns(dice.IntN(1001)) },
			func() chime.PutOption { return chime.PauseAfter(1 + dice.IntN(100)) },
			func() chime.PutOption { return chime.MaxUnfinished(1 + dice.IntN(100)) },
			func() chime.PutOption { return chime.Meta(json.RawMessage(`{"by": "<anna>", "n":[1, 2]}`)) },
			func() chime.PutOption { return chime.Keep(time.Second + time.Duration(dice.Int64N(1e15))) },
			func() chime.PutOption { return chime.Retry(chime.Fixed(90 * time.Second)) },
			func() chime.PutOption { return chime.Retry(chime.Exponential(time.Second, time.Hour)) },
			func() chime.PutOption { return chime.Header("trace", "0af7 \"<é>\"") },
			func() chime.PutOption { return chime.Header("tenant", "") },
			func() chime.PutOption { return chime.OnDeath(alert.Item("it died", chime.Timeout(time.Minute))) },
		}
		for i := range 300 {
			name := fmt.Sprint("s", i%20)
			options := []chime.PutOption{chime.JobName("j")}
			for _, option := range all {
				if dice.IntN(2) == 0 {
					options = append(options, option())
				}
			}
			put, err := schedules.Put(t.Context(), name, recurrence.Recurrence{Cron: "0 9 * * *"}, options...)
			if err != nil {
				t.Errorf("put: %v", err)
				return
			}
			again, err := schedules.Put(t.Context(), name, put.Recurrence, put.Options()...)
			if err != nil || again.Revision != put.Revision || !reflect.DeepEqual(again, put) {
				t.Errorf("put again with its options: %v\n%s\nwant\n%s", err, shown(again), shown(put))
				return
			}
			rule := recurrence.Recurrence{Cron: "0 10 * * *"}
			before := f.Stored(name).Definition
			if _, err := schedules.Put(t.Context(), name, rule, append(put.Options(), chime.IfRevision(put.Revision))...); err != nil {
				t.Error(err)
			}
			_, was, _ := strings.Cut(string(before), `"version":`)
			_, is, _ := strings.Cut(string(f.Stored(name).Definition), `"version":`)
			if want := strings.Replace(was, "0 9 * * *", "0 10 * * *", 1); is != want {
				t.Errorf("another rule: got\n%s\nwant\n%s", is, want)
			}
		}
	})
}

func shown(s *chime.Schedule) string {
	text, err := json.Marshal(s)
	return fmt.Sprint(string(text), err)
}

// Get returns everything that Put takes: a program that uses only the exported fields puts the same definition again.
func TestAScheduleShowsAllOptionsOfItsPut(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		schedules := chime.NewSchedules(f.Server.Store())
		rule := recurrence.Recurrence{Frequency: recurrence.Week, Interval: 2, StartTime: time.Date(2100, 3, 8, 9, 0, 0, 0, time.UTC), Count: 7}
		alert := chime.Item{Name: "alert", Args: map[string]int{"n": 1}, Options: []chime.EnqueueOption{
			chime.MaxAttempts(3), chime.Timeout(time.Minute), chime.Retry(chime.Exponential(time.Second, time.Hour)), chime.Header("of", "it"), chime.Keep(time.Hour),
		}}
		if _, err := schedules.Put(t.Context(), "s", rule, chime.JobName("j"), chime.Queue("mail"), chime.Args(json.RawMessage(`{"x":[1, 2]}`)),
			chime.Overlap(chime.OverlapWait), chime.Misfire(chime.MisfireCatchUp), chime.Grace(9*time.Second), chime.Spread(time.Minute), chime.NoImmediateRun(),
			chime.MaxAttempts(4), chime.Timeout(2*time.Hour), chime.Retry(chime.Fixed(90*time.Second)), chime.Header("tenant", "c1"), chime.Keep(3*time.Hour),
			chime.Meta(json.RawMessage(`{"rest":1}`)), chime.PauseAfter(5), chime.KeepRuns(6), chime.OnDeath(alert), chime.Paused(chime.Note{Text: "wait", By: "anna"})); err != nil {
			t.Error(err)
			return
		}
		s, err := schedules.Get(t.Context(), "s")
		if err != nil {
			t.Error(err)
			return
		}
		job, err := s.OnDeathJob()
		if err != nil || job.Name != "alert" || job.Queue != "mail" || s.Note.By != "anna" || s.State != chime.StatePaused {
			t.Errorf("%+v, %v; OnDeath is %+v", s, err, job)
			return
		}
		onDeath := chime.Item{Name: job.Name, Args: job.Payload, Options: []chime.EnqueueOption{chime.MaxAttempts(job.MaxAttempts), chime.Timeout(job.Timeout), chime.Retry(job.Retry), chime.Keep(job.Keep)}}
		for key, value := range job.Header {
			onDeath.Options = append(onDeath.Options, chime.Header(key, value))
		}
		options := []chime.PutOption{
			chime.JobName(s.JobName), chime.Queue(s.Queue), chime.Args(s.Payload), chime.Overlap(s.Overlap), chime.Misfire(s.Misfire), chime.Grace(s.Grace), chime.Spread(s.Spread),
			chime.MaxAttempts(s.MaxAttempts), chime.Timeout(s.Timeout), chime.Retry(s.Retry), chime.Keep(s.Keep), chime.Meta(s.Meta), chime.PauseAfter(s.PauseAfter),
			chime.KeepRuns(s.KeepRuns), chime.OnDeath(onDeath), chime.Paused(s.Note),
		}
		if s.NoImmediateRun {
			options = append(options, chime.NoImmediateRun())
		}
		for key, value := range s.Header {
			options = append(options, chime.Header(key, value))
		}
		again, err := schedules.Put(t.Context(), "s", s.Recurrence, options...)
		if err != nil || again.Revision != s.Revision {
			t.Errorf("put again: %+v, %v; want revision %d: the same", again, err, s.Revision)
		}
		if _, err := schedules.Put(t.Context(), "none", rule, chime.JobName("j")); err != nil {
			t.Error(err)
		}
		none, err := schedules.Get(t.Context(), "none")
		if err != nil {
			t.Error(err)
			return
		}
		if job, err := none.OnDeathJob(); job != nil || err != nil {
			t.Errorf("without OnDeath: %+v, %v; want none", job, err)
		}
	})
}

// A newer version of chime may have written the OnDeath job. This version cannot read it, but must not lose it.
func TestAnOnDeathOfANewerVersionIsCarriedOver(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		schedules := chime.NewSchedules(f.Server.Store())
		if _, err := schedules.Put(t.Context(), "s", fixture.Minutely, chime.OnDeath(chime.Item{Name: "alert"})); err != nil {
			t.Error(err)
		}
		text := string(f.Stored("s").Definition)
		_, rest, _ := strings.Cut(text, `"body":"`)
		encoded, _, _ := strings.Cut(rest, `"`)
		body, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil || len(body) == 0 {
			t.Errorf("the body of the death in %s: %v", text, err)
			return
		}
		body[0] = 99
		newer := strings.Replace(text, encoded, base64.StdEncoding.EncodeToString(body), 1)
		if err := f.Server.Client().HSet(t.Context(), "chime:{default}:schedules", "s", newer).Err(); err != nil {
			t.Error(err)
		}
		seen, err := schedules.Get(t.Context(), "s")
		if err != nil || seen.OnDeath != "alert" {
			t.Errorf("%v, %v; want alert", seen, err)
			return
		}
		if job, err := seen.OnDeathJob(); err == nil || job.Name != "alert" || job.Err == nil {
			t.Errorf("the job of a newer version: %+v, %v; want its name and an error", job, err)
		}
		if _, err := schedules.Put(t.Context(), "s", seen.Recurrence, seen.Options()...); err != nil || string(f.Stored("s").Definition) != newer {
			t.Errorf("%s, %v; want it unchanged\n%s", f.Stored("s").Definition, err, newer)
		}
	})
}

// A schedule and its jobs show all options of the job.
func TestAllOptionsOfAJobAreShown(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		schedules := chime.NewSchedules(f.Server.Store())
		s, err := schedules.Put(t.Context(), "s", recurrence.Recurrence{Cron: "0 9 * * *"}, chime.Header("tenant", "c1"), chime.Keep(time.Hour),
			chime.Retry(chime.Exponential(time.Second, time.Minute)), chime.OnDeath(chime.Item{Name: "alert"}))
		if err != nil {
			t.Error(err)
			return
		}
		want := `"header":{"tenant":"c1"},"retry":{"first_ms":1000,"max_ms":60000},"on_death":"alert",`
		if text := shown(s); s.Keep != time.Hour || s.Retry != chime.Exponential(time.Second, time.Minute) || !strings.Contains(text, want) || !strings.Contains(text, `"keep_ms":3600000`) {
			t.Errorf("the schedule is %s, want it with %s", text, want)
		}
		job, err := chime.NewJobs(f.Server.Store()).Get(t.Context(), "default", "s@"+s.Next.Format(time.RFC3339))
		if err != nil {
			t.Error(err)
			return
		}
		text, err := json.Marshal(job)
		if err != nil || job.Keep != s.Keep || job.Retry != s.Retry || job.OnDeath != "alert" || job.Header["tenant"] != "c1" ||
			!strings.Contains(string(text), want) || !strings.Contains(string(text), `"keep_ms":3600000`) {
			t.Errorf("the job is %s, %v; want it with %s", text, err, want)
		}
	})
}

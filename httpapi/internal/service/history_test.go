package service

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/httpapi/action"
	"github.com/chimejobs/chime/httpapi/internal/problem"
	"github.com/chimejobs/chime/httpapi/internal/resource"
)

// An hourly job. The first run is done. The second fails, is retried and dies, and its error action is done. Then a manual run snoozes once.
func TestTheHistoryHasEachExecution(t *testing.T) {
	onService(t, Options{}, func(t *testing.T, f *fixture) {
		f.work()
		retries := 1
		f.put(report, with(job(hourly), func(j *resource.Job) {
			j.Action.ErrorAction = post()
			j.Action.RetryPolicy = &action.RetryPolicy{Interval: action.Interval(time.Minute), Count: &retries}
		}))
		f.set(func() {
			f.fail = func(j *chime.Job) error {
				j.Note("example.com answered 500")
				switch {
				case j.Death != nil:
					return nil
				case strings.Contains(j.ID, "#") && j.Attempt == 1 && j.Started.Sub(j.Planned) < time.Minute:
					return chime.Snooze(2 * time.Minute)
				case j.Planned.Hour() == 1:
					return errors.New("500")
				}
				return nil
			}
		})
		time.Sleep(2 * time.Hour) // fake time
		id, err := f.RunJob(t.Context(), report, "")
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Minute) // fake time
		all, next, err := f.History(t.Context(), report, HistoryPage{Top: 100})
		if err != nil || next != 0 {
			t.Fatalf("then %d, %v", next, err)
		}
		var got []string
		for _, e := range all {
			got = append(got, fmt.Sprintf("%s %s %s retry %d manual %v", e.Action, e.Status, e.Outcome, e.Retry, e.Manual))
			if e.Message != "example.com answered 500" || e.End.IsZero() || e.Fence == 0 {
				t.Errorf("%+v", e)
			}
		}
		want := []string{
			"MainAction Completed done retry 0 manual true", "MainAction Postponed snoozed retry 0 manual true",
			"ErrorAction Completed done retry 0 manual false", "MainAction Failed dead retry 1 manual false", "MainAction Failed failed retry 0 manual false",
			"MainAction Completed done retry 0 manual false",
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("history\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		if all[0].Occurrence != id || all[5].Occurrence != "demo:report@2000-01-01T00:30:00Z" || !all[5].Expected.Equal(time.Date(2000, 1, 1, 0, 30, 0, 0, time.UTC)) {
			t.Errorf("occurrences %s, %s", all[0].Occurrence, all[5].Occurrence)
		}
		var paged []Execution
		for page := (HistoryPage{Top: 4}); ; {
			found, next, err := f.History(t.Context(), report, page)
			if err != nil {
				t.Fatal(err)
			}
			paged = append(paged, found...)
			if page.Before = next; next == 0 {
				break
			}
		}
		if fmt.Sprint(paged) != fmt.Sprint(all) {
			t.Errorf("read in pages %v, want %v", paged, all)
		}
		if failed, _, err := f.History(t.Context(), report, HistoryPage{Top: 10, Skip: 1, Status: "failed"}); err != nil || len(failed) != 1 || failed[0].Outcome != chime.RunFailed {
			t.Errorf("the second failed execution: %v, %v", failed, err)
		}
		_, _, err = f.History(t.Context(), jobIn("demo", 1), HistoryPage{Top: 1})
		wantCode(t, "of a missing job", err, problem.NotFound)
	})
}

func TestAHistoryShowsNothingOlderThanTheRetention(t *testing.T) {
	onService(t, Options{Retention: 2 * time.Hour}, func(t *testing.T, f *fixture) {
		f.work()
		f.put(report, job(hourly))
		time.Sleep(3 * time.Hour) // fake time; the runs are at half past
		all, _, err := f.History(t.Context(), report, HistoryPage{Top: 100})
		if err != nil || len(all) != 2 {
			t.Errorf("%d executions are shown, %v; want those of the last two hours", len(all), err)
		}
	})
}

// The application decides what clients read of the notes and errors of its handlers.
func TestMessagesAreRedacted(t *testing.T) {
	hides := Options{RedactError: func(schedule, text string) string { return schedule + ": " + strings.ReplaceAll(text, "canary", "***") }}
	for _, end := range []func(*chime.Job) error{
		func(j *chime.Job) error { j.Note("a canary"); return nil },
		func(*chime.Job) error { return chime.Discard(errors.New("a canary")) },
	} {
		onService(t, hides, func(t *testing.T, f *fixture) {
			f.work()
			f.set(func() { f.fail = end })
			f.put(report, job(`{"frequency": "hour"}`))
			time.Sleep(time.Minute) // fake time
			all, _, err := f.History(t.Context(), report, HistoryPage{Top: 10})
			if err != nil || len(all) != 1 || !strings.HasPrefix(all[0].Message, "demo:report: ") || strings.Contains(all[0].Message, "canary") {
				t.Errorf("the history is %+v, %v", all, err)
			}
		})
	}
}

// Notes, and the errors of handlers that have written no note.
func TestTheMessagesOfAJobAreBounded(t *testing.T) {
	for name, row := range map[string]struct {
		runs int
		end  func(*chime.Job) error
	}{
		"notes":  {100, func(j *chime.Job) error { j.Note(strings.Repeat("x", 2000)); return nil }},
		"errors": {500, func(*chime.Job) error { return chime.Discard(errors.New(strings.Repeat("x", 2000))) }},
	} {
		onService(t, Options{}, func(t *testing.T, f *fixture) {
			f.work()
			f.set(func() { f.fail = row.end })
			f.put(report, with(job(`{"frequency": "second"}`), func(j *resource.Job) { j.KeepRuns = row.runs }))
			time.Sleep(time.Duration(row.runs+10) * time.Second) // fake time
			all, _, err := f.History(t.Context(), report, HistoryPage{Top: 1000})
			if err != nil || len(all) != row.runs {
				t.Errorf("%s: %d executions, %v; want %d", name, len(all), err, row.runs)
				return
			}
			size, bare := 0, 0
			for _, e := range all {
				size += len(e.Message)
				if e.Message == "" {
					bare++
				} else if bare > 0 {
					t.Errorf("%s: an older execution has a message, and a newer one has none", name)
				}
			}
			if size > maxMessages || bare == 0 || all[0].Message == "" {
				t.Errorf("%s: messages of %d bytes, %d without", name, size, bare)
			}
		})
	}
}

// Missed occurrences are in the history too, in their order.
func TestMissedOccurrencesArePostponed(t *testing.T) {
	onService(t, Options{}, func(t *testing.T, f *fixture) {
		f.put(report, with(job(`{"frequency": "hour"}`), func(j *resource.Job) { j.Misfire, j.Grace = chime.MisfireSkip, time.Minute }))
		time.Sleep(150 * time.Minute) // fake time
		f.work()
		time.Sleep(time.Hour) // fake time
		all, _, err := f.History(t.Context(), report, HistoryPage{Top: 10})
		if err != nil || len(all) < 2 || all[0].Status != "Completed" || all[len(all)-1].Status != "Postponed" {
			t.Fatalf("%+v, %v; want the missed ones below the one that ran", all, err)
		}
		for i, e := range all {
			if e.Fence == 0 || i > 0 && e.Fence >= all[i-1].Fence {
				t.Errorf("entry %d has the number %d", i, e.Fence)
			}
		}
	})
}

package story

import (
	"fmt"
	"math"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/recurrence"
)

// put stores a schedule.
func (s *player) put(name string, rule recurrence.Recurrence, options ...chime.PutOption) {
	s.t.Helper()
	_, err := s.schedules.Put(s.t.Context(), name, rule, append([]chime.PutOption{chime.NoImmediateRun()}, options...)...)
	s.check(err)
}

// found creates the first schedules of the company.
func (s *player) found() {
	finance := chime.Meta(mustJSON(map[string]string{"team": "finance"}))
	s.put("invoices", recurrence.Recurrence{Frequency: recurrence.Month, MonthDays: []int{-1}, Hours: []int{18}, Minutes: []int{0}, Seconds: []int{0}},
		chime.JobName("send-invoices"), chime.Queue("mail"), chime.MaxAttempts(5), chime.Retry(chime.Fixed(2*time.Minute)), finance)
	s.put("cleanup", recurrence.Recurrence{Cron: "0 2 * * *", TimeZone: "Europe/Berlin"})
	s.put("backup", recurrence.Recurrence{Cron: "30 2 * * *", TimeZone: "Europe/Berlin"}, chime.KeepRuns(60))
	s.put("digest", recurrence.Recurrence{Frequency: recurrence.Week, WeekDays: []time.Weekday{time.Monday, time.Tuesday, time.Wednesday, time.Thursday, time.Friday},
		Hours: []int{8}, Minutes: []int{0}, Seconds: []int{0}, TimeZone: "America/New_York"}, chime.Queue("mail"))
	s.put("newsletter", recurrence.Recurrence{Frequency: recurrence.Month, MonthlyOccurrences: []recurrence.NthWeekday{{Day: time.Tuesday, N: 2}},
		Hours: []int{10}, Minutes: []int{0}, Seconds: []int{0}, TimeZone: "Europe/Berlin"}, chime.Queue("mail"))
	s.put("migrate accounts", recurrence.Recurrence{Frequency: recurrence.Day, Interval: 1, Hours: []int{4}, Minutes: []int{0}, Seconds: []int{0}, Count: 3}, chime.JobName("migrate"))
}

// connect creates the schedule of a later system.
func (s *player) connect() {
	s.put("sync-crm", recurrence.Recurrence{Cron: "0 * * * *"}, chime.KeepRuns(340), chime.MaxAttempts(1))
}

// events does the actions of people before an instant, in the weeks that are skipped.
func (s *player) events(next time.Time) {
	for _, event := range []struct {
		at time.Time
		do func()
	}{
		{time.Date(2026, 11, 18, 9, 12, 0, 0, time.UTC), func() {
			s.check(s.schedules.Pause(s.t.Context(), "cleanup", chime.Note{Text: "migration of the archive", By: "anna"}))
		}},
	} {
		if now := time.Now(); event.at.After(now) && event.at.Before(next) {
			until(event.at)
			event.do()
		}
	}
}

// deploy creates the schedules that were new on the last day.
func (s *player) deploy() {
	s.put("report", recurrence.Recurrence{Frequency: recurrence.Minute, Interval: 15, StartTime: time.Date(2026, 3, 8, 9, 0, 0, 0, time.UTC)}, chime.KeepRuns(120))
	for _, tenant := range []string{"acme", "globex", "initech", "umbrella"} {
		s.put(tenant+"/export", recurrence.Recurrence{Frequency: recurrence.Minute, Interval: 30, StartTime: time.Date(2026, 11, 19, 0, 0, 0, 0, time.UTC)}, chime.JobName("export"), chime.Queue("exports"),
			chime.Args(map[string]string{"tenant": tenant}))
	}
	s.put("black friday prices", recurrence.Recurrence{StartTime: time.Date(2026, 11, 26, 23, 0, 0, 0, time.UTC), TimeZone: "Europe/Berlin"}, chime.JobName("prices"))
	s.check(s.queues.Limit(s.t.Context(), "exports", chime.Limit{Running: 1})) // so exports of the same instant are late
}

func (s *player) enqueue(name string, args any, options ...chime.EnqueueOption) {
	s.t.Helper()
	_, err := s.enqueuer.Enqueue(s.t.Context(), name, args, options...)
	s.check(err)
}

// traffic enqueues the customers' jobs, a varying number every five seconds, and lets time pass.
func (s *player) traffic() {
	s.put("heartbeat", recurrence.Recurrence{Frequency: recurrence.Minute, Interval: 5, StartTime: time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)}, chime.KeepRuns(100))
	until(At.Add(-75 * time.Minute))
	s.enqueue("transcode", "talk.mov", chime.Queue("media"), chime.ID("upload-7781"))
	for i := range 2 {
		s.enqueue("fax", "+49 30 1234", chime.ID(fmt.Sprintf("fax-%d", i+1))) // no worker has a handler for it any more
	}
	for i := range 6 {
		s.enqueue("remind", letter{9000 + i, "ada@example.com", "trial-ends"}, chime.Queue("crm"), chime.In(time.Duration(i+2)*time.Hour)) // a queue without workers
	}
	letters, pictures := 0, 0
	for begun := time.Now(); time.Now().Before(At.Add(-12 * time.Second)); time.Sleep(5 * time.Second) { // fake time
		var items []chime.Item
		wave := 1 + math.Sin(time.Since(begun).Minutes()/7)
		for range 1 + int(wave*2) {
			letters++
			items = append(items, chime.Item{Name: "send", Args: letter{letters, fmt.Sprintf("user%d@example.com", letters), "receipt"}, Options: []chime.EnqueueOption{chime.Queue("mail")}})
		}
		for range 2 + int(wave*3) {
			pictures++
			items = append(items, chime.Item{Name: "resize", Args: picture{pictures, 640}, Options: []chime.EnqueueOption{chime.MaxAttempts(1 + pictures%3), chime.Retry(chime.Fixed(40 * time.Minute))}})
		}
		if pictures%5 == 0 {
			items = append(items, chime.Item{Name: "thumbnail", Args: picture{pictures, 64}, Options: []chime.EnqueueOption{chime.Queue("media")}})
		}
		_, err := s.enqueuer.EnqueueMany(s.t.Context(), items)
		s.check(err)
		if paused := time.Since(diskMoves); paused >= 0 && paused < 5*time.Second {
			s.check(s.queues.Pause(s.t.Context(), "media", chime.Note{Text: "the disk is being moved", By: "anna"}))
		}
	}
	s.enqueue("import", map[string]string{"file": "prices.csv"}, chime.ID("prices-2026-11"))
}

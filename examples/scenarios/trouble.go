package main

import (
	"context"
	"errors"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/recurrence"
)

var halfHourly = recurrence.Recurrence{Cron: "*/30 * * * *"}

// takes is a handler that works for a while, and stops when its ctx ends.
func takes(how func(*chime.Job) time.Duration) chime.Handler {
	return func(ctx context.Context, job *chime.Job) error {
		select {
		case <-time.After(how(job)):
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func outage(s *stage) {
	s.schedule("run-once", halfHourly, "MisfireRunOnce, the default")
	s.schedule("skip", halfHourly, "MisfireSkip", chime.Misfire(chime.MisfireSkip))
	s.schedule("catch-up", halfHourly, "MisfireCatchUp; a run takes 10 minutes", chime.Misfire(chime.MisfireCatchUp))
	s.work["catch-up"] = takes(func(*chime.Job) time.Duration { return 10 * time.Minute })
	s.until(time.January, 17, 1, 45)
	s.start()
	s.until(time.January, 17, 2, 45)
	s.note("the program stops")
	s.stop()
	s.until(time.January, 17, 5, 45)
	s.note("the program starts again")
	s.start()
	s.until(time.January, 17, 7, 55)
}

func overlap(s *stage) {
	long := takes(func(job *chime.Job) time.Duration {
		if job.Planned.Minute() == 0 {
			return 75 * time.Minute
		}
		return 10 * time.Minute
	})
	for _, one := range []struct {
		name   string
		policy chime.OverlapPolicy
		why    string
	}{
		{"skip", chime.OverlapSkip, "OverlapSkip, the default"},
		{"wait", chime.OverlapWait, "OverlapWait"},
		{"cancel", chime.OverlapCancel, "OverlapCancel"},
		{"allow", chime.OverlapAllow, "OverlapAllow"},
	} {
		s.work[one.name] = long
		s.schedule(one.name, at("0,30 9 * * *"), one.why, chime.Overlap(one.policy))
	}
	s.until(time.January, 17, 8, 45)
	s.note("the run of 09:00 will take 75 minutes, the run of 09:30 ten minutes")
	s.start()
	s.until(time.January, 17, 11, 0)
}

func failures(s *stage) {
	s.schedule("bank", recurrence.Recurrence{Cron: "0 * * * *"}, "MaxAttempts(3), RetryAfter(10 min)", chime.MaxAttempts(3))
	s.schedule("printer", recurrence.Recurrence{Cron: "30 * * * *"}, "same as the bank", chime.MaxAttempts(3))
	s.work["bank"] = func(_ context.Context, job *chime.Job) error {
		if job.Attempt < 3 {
			return chime.RetryAfter(10*time.Minute, errors.New("no answer"))
		}
		return nil
	}
	s.work["printer"] = func(context.Context, *chime.Job) error {
		return chime.RetryAfter(10*time.Minute, errors.New("no printer"))
	}
	s.until(time.January, 17, 8, 45)
	s.start()
	s.until(time.January, 17, 10, 25)
}

func processes(s *stage) {
	s.schedule("mail", recurrence.Recurrence{Cron: "*/10 * * * *"}, "")
	s.until(time.January, 17, 8, 55)
	s.note("three processes start")
	for range 3 {
		s.start()
	}
	s.until(time.January, 17, 9, 35)
	s.note("two of them stop, the leader among them")
	for _, stop := range s.programs[:2] {
		stop()
	}
	s.programs = s.programs[2:]
	s.until(time.January, 17, 10, 5)
}

package main

import (
	"context"
	"errors"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/recurrence"
)

// at is a cron line in Berlin.
func at(cron string) recurrence.Recurrence {
	return recurrence.Recurrence{Cron: cron, TimeZone: "Europe/Berlin"}
}

func deployment(s *stage) {
	s.until(time.January, 17, 7, 30)
	s.owner = chime.SchedulerOptions{Owner: "billing", Version: 1, Prune: true}
	s.schedule("digest", at("0 8-18/2 * * *"), "version 1")
	s.schedule("old", at("0 9 * * *"), "version 1 only")
	s.start()
	first := s.declared
	s.until(time.January, 17, 11, 30)

	s.note("version 2 is deployed: digest moves, old is gone from the program")
	s.declared, s.owner.Version = nil, 2
	s.schedule("digest", at("30 8-18/2 * * *"), "version 2")
	s.start()
	s.until(time.January, 17, 13, 0)

	s.note("a process of version 1 starts once more: it changes nothing")
	s.declared, s.owner.Version = first, 1
	s.start()
	s.until(time.January, 18, 9, 30)
}

func pause(s *stage) {
	for _, name := range []string{"resumed", "skip-gap"} {
		s.schedule(name, at("0 * * * *"), "")
	}
	s.until(time.January, 17, 8, 30)
	s.start()
	s.until(time.January, 17, 9, 30)
	s.note("both are paused: the supplier moves house")
	for _, name := range []string{"resumed", "skip-gap"} {
		s.check(s.schedules.Pause(s.t.Context(), name, chime.Note{Text: "the supplier moves house", By: "anna"}))
	}
	s.until(time.January, 17, 12, 30)
	s.note("resumed: Resume; skip-gap: Resume with SkipGap()")
	s.check(s.schedules.Resume(s.t.Context(), "resumed"))
	s.check(s.schedules.Resume(s.t.Context(), "skip-gap", chime.SkipGap()))
	s.until(time.January, 17, 14, 30)
}

func editors(s *stage) {
	s.start()
	s.until(time.January, 13, 7, 30)
	put := func(cron string, options ...chime.PutOption) (*chime.Schedule, error) {
		return s.schedules.Put(s.t.Context(), "weekday-report", at(cron), append(options, chime.JobName("report"))...)
	}
	seen, err := put("0 8 * * *")
	s.check(err)
	s.show(seen.Name, seen.Recurrence, "put at run time")
	s.until(time.January, 13, 8, 30)
	_, err = put("0 9 * * *", chime.IfRevision(seen.Revision))
	s.check(err)
	s.note("anna moves it to 09:00")
	_, err = put("0 17 * * *", chime.IfRevision(seen.Revision))
	var conflict *chime.ConflictError
	if !errors.As(err, &conflict) {
		s.t.Fatalf("two changes of one revision: %v", err)
	}
	s.note("bert, who still has the old page, gets a conflict: it is %q now", conflict.Schedule.Recurrence.Cron)
	s.until(time.January, 13, 17, 30)
}

func trigger(s *stage) {
	s.schedule("report", at("0 10 * * *"), "")
	s.work["report"] = takes(func(*chime.Job) time.Duration { return 20 * time.Minute })
	s.until(time.January, 17, 8, 0)
	s.start()
	s.until(time.January, 17, 9, 50)
	for _, who := range []string{"anna clicks", "anna's browser sends it again"} {
		receipt, err := s.schedules.Trigger(context.Background(), "report", chime.ID("request-17"))
		s.check(err)
		s.note("%s: %s, existing %v", who, receipt.ID, receipt.Existing)
	}
	s.until(time.January, 17, 10, 30)
}

package main

import (
	_ "embed"
	"encoding/json"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/recurrence"
)

//go:embed calendars.json
var calendarsJSON []byte

// calendars are read from JSON in the form of Azure Scheduler.
func calendars(s *stage) {
	var all []struct {
		Name, About string
		Job         recurrence.Recurrence
	}
	s.check(json.Unmarshal(calendarsJSON, &all))
	for _, one := range all {
		s.schedule(one.Name, one.Job, "")
	}
	s.until(time.January, 28, 0, 30)
	s.note("the program starts: a rule without a start runs at once")
	s.start()
	s.until(time.February, 1, 1, 0)
}

func months(s *stage) {
	s.schedule("payroll", recurrence.Recurrence{
		Frequency: recurrence.Month, Hours: []int{18}, Minutes: []int{0}, TimeZone: "Europe/Berlin",
		MonthlyOccurrences: []recurrence.NthWeekday{{Day: time.Friday, N: -1}},
	}, "", chime.NoImmediateRun())
	s.schedule("invoices", recurrence.Recurrence{
		Frequency: recurrence.Month, MonthDays: []int{-1}, Hours: []int{23}, Minutes: []int{30}, TimeZone: "Europe/Berlin",
	}, "", chime.NoImmediateRun())
	for _, end := range []time.Month{time.January, time.February, time.March} {
		s.until(end, 25, 12, 0)
		s.note("the program starts")
		s.start()
		s.until(end+1, 1, 0, 0)
		s.note("the program stops; nothing is due until the 25th")
		s.stop()
	}
}

func office(s *stage) {
	s.schedule("sync", at("*/15 9-16 * * 1-5"), "")
	s.until(time.January, 21, 16, 0) // a Friday
	s.start()
	s.until(time.January, 24, 9, 20)
}

// clocks: in 2000 Berlin put its clocks forward on 26 March and back on 29 October.
func clocks(s *stage) {
	s.schedule("nightly", at("30 2 * * *"), "")
	s.schedule("every-8-hours", at("0 */8 * * *"), "")
	s.until(time.March, 25, 0, 30)
	s.start()
	s.until(time.March, 27, 3, 0)
	s.note("seven months pass")
	s.stop()
	for _, d := range s.declared { // the months in between are not part of this story
		s.check(s.schedules.Delete(s.t.Context(), d.name))
	}
	s.until(time.October, 28, 0, 30)
	s.start()
	s.until(time.October, 30, 3, 0)
}

func zones(s *stage) {
	s.start()
	for customer, zone := range map[string]string{"anna": "Europe/Berlin", "bill": "America/New_York", "chie": "Asia/Tokyo"} {
		rule := recurrence.Recurrence{Cron: "0 9 * * *", TimeZone: zone}
		_, err := s.schedules.Put(s.t.Context(), "report/"+customer, rule, chime.JobName("report"))
		s.check(err)
	}
	for schedule, err := range s.schedules.List(s.t.Context(), chime.ScheduleFilter{Prefix: "report/"}) {
		s.check(err)
		s.show(schedule.Name, schedule.Recurrence, "put at run time")
	}
	s.until(time.January, 14, 12, 0)
}

func course(s *stage) {
	s.schedule("course", recurrence.Recurrence{
		StartTime: time.Date(2000, 1, 8, 7, 0, 0, 0, time.UTC), Frequency: recurrence.Day, Interval: 2, Count: 10,
		EndTime: time.Date(2000, 1, 21, 12, 0, 0, 0, time.UTC), TimeZone: "Europe/Berlin",
	}, "created on 12 January")
	s.start()
	s.until(time.January, 22, 12, 0)
	schedule, err := s.schedules.Get(s.t.Context(), "course")
	s.check(err)
	s.note("the schedule is %s, %d of 10 runs are used", schedule.State, schedule.Used)
}

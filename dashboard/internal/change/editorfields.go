package change

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/chimejobs/chime/dashboard/internal/builder"
	"github.com/chimejobs/chime/dashboard/internal/render"
)

// pairs are the choices of a select: values with what they are called.
func pairs(texts ...string) []render.Pair {
	var all []render.Pair
	for ; len(texts) >= 2; texts = texts[2:] {
		all = append(all, render.Pair{Value: texts[0], Name: texts[1]})
	}
	return all
}

// builderFields are those of a frequency rule; weekdays and months are ticked besides.
var builderFields = []render.Field{
	{Name: builder.Frequency, Label: "Frequency", Kind: "select", Choices: pairs(
		"", "once, at the start", "second", "second", "minute", "minute", "hour", "hour", "day", "day", "week", "week", "month", "month", "year", "year")},
	{Name: builder.Interval, Label: "Interval", Kind: "number", Hint: "Every n-th of them. Empty: each."},
	{Name: builder.Hours, Label: "Hours", Hint: "0 to 23, as 9, 12-17."},
	{Name: builder.Minutes, Label: "Minutes", Hint: "0 to 59, as 0, 30."},
	{Name: builder.Seconds, Label: "Seconds", Hint: "0 to 59. Empty: that of the start."},
	{Name: builder.MonthDays, Label: "Days of the month", Hint: "With frequency month. 1 to 31; -1 is the last day, -2 the one before it."},
	{Name: builder.MonthlyOccurrences, Label: "Weekdays of the month", Hint: "With frequency month: last friday, 2nd monday, every sunday."},
}

var cronFields = []render.Field{
	{Name: builder.Cron, Label: "Cron text", Required: true, Hint: "Minute, hour, day of the month, month, day of the week; or @daily, @every 90m."},
}

// rangeFields are what every rule may have.
var rangeFields = []render.Field{
	{Name: builder.Zone, Label: "Time zone", Hint: "As Europe/Berlin. Empty: UTC."},
	{Name: builder.Start, Label: "Start", Hint: "As 2026-11-21T09:00, on the clock of its zone, or with an offset. Empty: its creation."},
	{Name: builder.End, Label: "End", Hint: "The last instant that may run. Empty: none."},
	{Name: builder.Count, Label: "Count", Kind: "number", Hint: "How many runs in all. Empty: endless."},
}

var optionFields = []render.Field{
	{Name: "job_name", Label: "Job", Hint: "Empty: as the schedule is called."},
	{Name: "queue", Label: "Queue", Hint: "Empty: default."},
	{Name: "no_immediate_run", Label: "When created", Kind: "select", Choices: pairs("", "run as the rule says", "1", "wait for the first instant")},
	{Name: "overlap", Label: "If one still runs", Kind: "select", Choices: pairs("skip", "skip: drop the new one", "wait", "wait: run it after", "cancel", "cancel: end the running one", "allow", "allow: run both")},
	{Name: "misfire", Label: "If it is late", Kind: "select", Choices: pairs("run_once", "run_once: run it late, once", "skip", "skip: leave it out", "catch_up", "catch_up: run all that were missed")},
	{Name: "grace", Label: "Grace", Hint: "How late is late: 1s to 365d. Empty: 1m."},
	{Name: "spread", Label: "Spread", Hint: "It is due up to so long after its instant. Empty: 0."},
	{Name: "pause_after", Label: "Pause after", Kind: "number", Hint: "So many failures in a row. Empty: never."},
	{Name: "keep_runs", Label: "Keep runs", Kind: "number", Hint: "How many runs its history keeps."},
	{Name: "max_attempts", Label: "Attempts", Kind: "number", Hint: "1 to 1000. Empty: the handler's."},
	{Name: "timeout", Label: "Timeout", Hint: "Of an attempt, as 90s or 2h. Empty: the handler's."},
	{Name: "retry_first", Label: "First wait", Hint: "After the first failure. Empty: the handler's."},
	{Name: "retry_max", Label: "Longest wait", Hint: "Each wait is twice as long, up to this. Empty: all are as long as the first."},
	{Name: "keep", Label: "Keep results", Hint: "As 1h. Empty: they are not kept."},
	{Name: "header", Label: "Header", Hint: `Of each job, a JSON object of texts, as {"tenant": "a"}.`},
	{Name: "meta", Label: "Meta", Kind: "textarea", Hint: "JSON that goes with the schedule."},
}

// A Tick is a box to be ticked.
type Tick struct {
	Name, Value, Label string
	On                 bool
}

// A Ticks is a row of boxes.
type Ticks struct {
	Name, Label string
	Boxes       []Tick
	Error       string
}

// ticks are the boxes of weekdays and months.
func ticks(fields url.Values, wrong map[string]string) []Ticks {
	days := Ticks{Name: builder.WeekDays, Label: "Weekdays, with frequency week", Error: wrong[builder.WeekDays]}
	for i := range 7 {
		day := time.Weekday((i + 1) % 7).String()
		value := strings.ToLower(day)
		days.Boxes = append(days.Boxes, Tick{builder.WeekDays, value, day[:3], slices.Contains(fields[builder.WeekDays], value)})
	}
	months := Ticks{Name: builder.Months, Label: "Months, with frequency month or year", Error: wrong[builder.Months]}
	for month := time.January; month <= time.December; month++ {
		value := strconv.Itoa(int(month))
		months.Boxes = append(months.Boxes, Tick{builder.Months, value, month.String()[:3], slices.Contains(fields[builder.Months], value)})
	}
	return []Ticks{days, months}
}

// filled is fields with what was typed, and what is wrong with it. A mistake that is shown is taken out of wrong.
func filled(fields []render.Field, values url.Values, wrong map[string]string) []render.Field {
	all := slices.Clone(fields)
	for i := range all {
		all[i].Value, all[i].Error = values.Get(all[i].Name), wrong[all[i].Name]
		delete(wrong, all[i].Name)
	}
	return all
}

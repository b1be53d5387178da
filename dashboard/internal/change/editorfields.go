package change

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/dashboard/internal/builder"
	"github.com/chimejobs/chime/dashboard/internal/render"
)

// pairs returns the choices of a select: values with their labels.
func pairs(texts ...string) []render.Pair {
	var all []render.Pair
	for ; len(texts) >= 2; texts = texts[2:] {
		all = append(all, render.Pair{Value: texts[0], Name: texts[1]})
	}
	return all
}

// builderFields are the fields of a frequency rule. Weekdays and months are boxes to tick.
var builderFields = []render.Field{
	{Name: builder.Frequency, Label: "Frequency", Kind: "select", Choices: pairs(
		"", "once, at the start", "second", "second", "minute", "minute", "hour", "hour", "day", "day", "week", "week", "month", "month", "year", "year")},
	{Name: builder.Interval, Label: "Interval", Kind: "number", Placeholder: "1", Hint: "Every n-th one. Empty: each one."},
	{Name: builder.Hours, Label: "Hours", Placeholder: "9, 12-17", Hint: "0 to 23."},
	{Name: builder.Minutes, Label: "Minutes", Placeholder: "0, 30", Hint: "0 to 59."},
	{Name: builder.Seconds, Label: "Seconds", Placeholder: "0", Hint: "0 to 59. Empty: the second of the start."},
	{Name: builder.MonthDays, Label: "Days of the month", Placeholder: "1, 15, -1", For: "month", Hint: "1 to 31; -1 is the last day, -2 the day before it. Only for frequency month."},
	{Name: builder.MonthlyOccurrences, Label: "Weekdays of the month", Placeholder: "last friday, 2nd monday", For: "month", Hint: "Also every sunday. Only for frequency month."},
}

// likes are rules to start from. likeFields has the fields of each of them.
var likes = pairs("minutes", "Every 15 minutes", "hour", "Every hour", "day", "Every day at 9", "workdays", "Monday to Friday", "week", "Every Monday", "month", "Last day of the month")

var likeFields = map[string]url.Values{
	"minutes":  {builder.Frequency: {"minute"}, builder.Interval: {"15"}},
	"hour":     {builder.Frequency: {"hour"}, builder.Minutes: {"0"}, builder.Seconds: {"0"}},
	"day":      {builder.Frequency: {"day"}, builder.Hours: {"9"}, builder.Minutes: {"0"}, builder.Seconds: {"0"}},
	"workdays": {builder.Frequency: {"week"}, builder.WeekDays: {"monday", "tuesday", "wednesday", "thursday", "friday"}, builder.Hours: {"9"}, builder.Minutes: {"0"}, builder.Seconds: {"0"}},
	"week":     {builder.Frequency: {"week"}, builder.WeekDays: {"monday"}, builder.Hours: {"9"}, builder.Minutes: {"0"}, builder.Seconds: {"0"}},
	"month":    {builder.Frequency: {"month"}, builder.MonthDays: {"-1"}, builder.Hours: {"9"}, builder.Minutes: {"0"}, builder.Seconds: {"0"}},
}

// like returns the fields with the builder's rule replaced by one of likes.
func like(fields url.Values, name string) (url.Values, error) {
	said, found := likeFields[name]
	if !found {
		return nil, &chime.InvalidError{Field: "like", Value: fmt.Sprintf("%.20q", name), Limit: strings.Join(slices.Sorted(maps.Keys(likeFields)), ", ")}
	}
	fields = maps.Clone(fields)
	for _, field := range builderFields {
		delete(fields, field.Name)
	}
	delete(fields, builder.WeekDays)
	delete(fields, builder.Months)
	maps.Copy(fields, said)
	return fields, nil
}

var cronFields = []render.Field{
	{Name: builder.Cron, Label: "Cron text", Required: true, Hint: "Minute, hour, day of the month, month, day of the week; or @daily, @every 90m."},
}

// rangeFields are the fields that every rule may have. Times are texts, because a browser's time field has no offset, and without one the repeated
// hour in autumn is ambiguous.
var rangeFields = []render.Field{
	{Name: builder.Zone, Label: "Time zone", Placeholder: "Europe/Berlin", Hint: "Empty: UTC."},
	{Name: builder.Start, Label: "Start", Placeholder: "2026-11-21T09:00", Hint: "In its time zone, or with an offset. Empty: its creation."},
	{Name: builder.End, Label: "End", Placeholder: "2027-01-31T18:00", Hint: "The last instant that may run. Empty: no end."},
	{Name: builder.Count, Label: "Count", Kind: "number", Hint: "Total number of runs. Empty: no limit."},
}

// jobFields are the fields of the job that is enqueued.
var jobFields = []render.Field{
	{Name: "job_name", Label: "Job", Hint: "Empty: the name of the schedule."},
	{Name: "queue", Label: "Queue", Placeholder: "default", Hint: "Empty: default."},
	{Name: "group", Label: "Group", Placeholder: "tenant-42", Hint: "Of its jobs in the queue. Empty: none."},
}

// A Group has fields that most users do not change. Its summary shows their values while it is closed.
type Group struct {
	ID, Label, Summary string
	Open               bool
	Fields             []render.Field
}

var optionGroups = []Group{
	{ID: "runs", Label: "Overlap, lateness and failures", Fields: []render.Field{
		{Name: "overlap", Label: "If the previous one still runs", Kind: "select", Choices: pairs("skip", "skip: drop the new one", "wait", "wait: run it afterwards", "cancel", "cancel: cancel the running one", "allow", "allow: run both")},
		{Name: "misfire", Label: "If it is late", Kind: "select", Choices: pairs("run_once", "run_once: run it late, once", "skip", "skip: do not run it", "catch_up", "catch_up: run all missed ones")},
		{Name: "no_immediate_run", Label: "When created", Kind: "select", Choices: pairs("", "run if the rule says so", "1", "wait for the first instant")},
		{Name: "grace", Label: "Grace", Placeholder: "1m", Hint: "An occurrence taken later than this is missed: 1s to 365d. Empty: 1m."},
		{Name: "spread", Label: "Spread", Placeholder: "30s", Hint: "Occurrences are due up to this long after their planned time. Empty: 0."},
		{Name: "pause_after", Label: "Pause after", Kind: "number", Hint: "Number of consecutive dead jobs. Empty: never."},
	}},
	{ID: "attempts", Label: "Attempts, history and meta", Fields: []render.Field{
		{Name: "max_attempts", Label: "Attempts", Kind: "number", Hint: "1 to 1000. Empty: the handler's value."},
		{Name: "timeout", Label: "Timeout", Placeholder: "90s", Hint: "Of each attempt. Empty: the handler's value."},
		{Name: "retry_first", Label: "First wait", Placeholder: "10s", Hint: "After the first failure. Empty: the handler's value."},
		{Name: "retry_max", Label: "Longest wait", Placeholder: "1h", Hint: "Each wait is twice as long as the previous one, up to this. Empty: all waits are as long as the first."},
		{Name: "keep_runs", Label: "Keep runs", Kind: "number", Hint: "Number of runs in its history."},
		{Name: "keep", Label: "Keep results", Placeholder: "1h", Hint: "Empty: they are not kept."},
		{Name: "header", Label: "Header", Placeholder: `{"tenant": "a"}`, Hint: "Of each job: a JSON object with texts as values."},
		{Name: "meta", Label: "Meta", Kind: "textarea", Hint: "JSON that is stored with the schedule."},
	}},
}

// groups returns the groups with the typed values. A group with an error is open.
func groups(values url.Values, wrong map[string]string) []Group {
	all := slices.Clone(optionGroups)
	for i := range all {
		g := &all[i]
		g.Fields = filled(g.Fields, values, wrong)
		var said []string
		for _, field := range g.Fields {
			g.Open = g.Open || field.Error != ""
			value := strings.Join(strings.Fields(field.Value), " ")
			if j := slices.IndexFunc(field.Choices, func(c render.Pair) bool { return c.Value == value }); j > 0 {
				_, after, found := strings.Cut(field.Choices[j].Name, ": ")
				if !found {
					after = field.Choices[j].Name
				}
				said = append(said, strings.ToLower(field.Label)+" "+after)
			} else if j < 0 && value != "" {
				said = append(said, fmt.Sprintf("%s %.40s", strings.ToLower(field.Label), value))
			}
		}
		g.Summary = cmp.Or(strings.Join(said, ", "), "default values")
	}
	return all
}

// A Tick is a box to tick.
type Tick struct {
	Name, Value, Label string
	On                 bool
}

// A Ticks is a row of boxes.
type Ticks struct {
	Name, Label string
	For         string // as in render.Field
	Boxes       []Tick
	Error       string
}

// ticks returns the boxes of weekdays and months.
func ticks(fields url.Values, wrong map[string]string) []Ticks {
	days := Ticks{Name: builder.WeekDays, Label: "Weekdays, with frequency week", For: "week", Error: wrong[builder.WeekDays]}
	for i := range 7 {
		day := time.Weekday((i + 1) % 7).String()
		value := strings.ToLower(day)
		days.Boxes = append(days.Boxes, Tick{builder.WeekDays, value, day[:3], slices.Contains(fields[builder.WeekDays], value)})
	}
	months := Ticks{Name: builder.Months, Label: "Months, with frequency month or year", For: "year", Error: wrong[builder.Months]}
	for month := time.January; month <= time.December; month++ {
		value := strconv.Itoa(int(month))
		months.Boxes = append(months.Boxes, Tick{builder.Months, value, month.String()[:3], slices.Contains(fields[builder.Months], value)})
	}
	return []Ticks{days, months}
}

// filled returns the fields with the typed values and their errors. It removes these errors from wrong.
func filled(fields []render.Field, values url.Values, wrong map[string]string) []render.Field {
	all := slices.Clone(fields)
	for i := range all {
		all[i].Value, all[i].Error = values.Get(all[i].Name), wrong[all[i].Name]
		delete(wrong, all[i].Name)
	}
	return all
}

package builder_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/chimejobs/chime/dashboard/internal/builder"
	"github.com/chimejobs/chime/recurrence"
)

func read(t *testing.T, text string) recurrence.Recurrence {
	t.Helper()
	parse := recurrence.Cron
	if strings.HasPrefix(text, "{") {
		parse = func(text string) (recurrence.Recurrence, error) { return recurrence.Parse([]byte(text)) }
	}
	rule, err := parse(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return rule
}

// again converts a rule to fields and back.
func again(t *testing.T, rule recurrence.Recurrence, fields url.Values) recurrence.Recurrence {
	t.Helper()
	text, mistakes := builder.Rule(fields)
	if len(mistakes) > 0 {
		t.Fatalf("%v: %v", rule, mistakes)
	}
	return read(t, string(text))
}

func TestARuleComesBackFromItsFields(t *testing.T) {
	for _, text := range []string{
		`{}`,
		`{"startTime": "2026-12-01T09:00", "timeZone": "Asia/Kathmandu"}`,
		`{"frequency": "second", "interval": 30}`,
		`{"frequency": "minute", "interval": 15, "count": 7, "startTime": "2026-01-01", "endTime": "2027-01-01"}`,
		`{"frequency": "hour", "schedule": {"minutes": [0, 15, 30, 45], "seconds": [5]}}`,
		`{"frequency": "day", "interval": 2, "schedule": {"hours": [5, 9, 10, 11, 12], "minutes": [30]}, "timeZone": "Europe/Berlin"}`,
		`{"frequency": "week", "schedule": {"weekDays": ["monday", "friday"], "hours": [10, 22]}}`,
		`{"frequency": "month", "schedule": {"monthDays": [1, 15, -1, -2], "months": [1, 6]}}`,
		`{"frequency": "month", "schedule": {"monthlyOccurrences": [{"day": "friday", "occurrence": -1}, {"day": "monday", "occurrence": 2}, {"day": "sunday"}, {"day": "sunday", "occurrence": -2}]}}`,
		`{"frequency": "year", "schedule": {"months": [3, 9]}}`,
		`{"startTime": "2026-10-25T02:30:00+01:00", "frequency": "day", "timeZone": "Europe/Berlin"}`, // the second pass of the hour
	} {
		rule := read(t, text)
		fields, why := builder.Of(rule)
		if why != "" {
			t.Errorf("%s: the fields cannot express it: %s", text, why)
			continue
		}
		if got := again(t, rule, fields); !got.Equal(rule) {
			t.Errorf("%s: came back as %v from %v", text, got, fields)
		}
	}
}

func TestUnsupportedPartsForFieldsAreNamed(t *testing.T) {
	for text, want := range map[string]string{
		"0 9 * * *": "cron",
		`{"frequency": "month", "schedule": {"weekDays": [], "monthDays": [1, 2, 3], "positions": [-1]}}`:                                                    "positions",
		`{"frequency": "day", "only": {"weekDays": ["monday"]}, "except": {"dates": ["2026-12-25"]}, "shift": "next", "shiftBy": 2, "clockChanges": "skip"}`: "clockChanges, except, only, shift, shiftBy",
		`{"frequency": "year", "schedule": {"days": {"weeks": 20}}}`:                                                                                         "days",
		`{"frequency": "week", "schedule": {"weekDays": ["monday"], "weekStart": "sunday"}}`:                                                                 "weekStart",
		`{"startTime": "2026-01-05", "also": ["2026-02-05"]}`:                                                                                                "also",
	} {
		if _, why := builder.Of(read(t, text)); why != "the rule has "+want {
			t.Errorf("%s: got %q, want %q", text, why, want)
		}
	}
}

// Rules that both cron text and fields can express have the same runs in both forms, across every clock change.
func TestCronTextAndFieldsAreOneRule(t *testing.T) {
	created := time.Date(2026, 11, 23, 22, 30, 17, 0, time.UTC)
	for _, text := range []string{
		"* * * * *", "*/15 * * * *", "30 5 * * *", "30 2 * * *", "15,45 1-3 * * *", "0 9-17 * * 1-5", "0 * * * *", "10 * * * *", "0 */2 * * *", "0 9 1,15 * *", "0 0 29 2 *",
		"0 9 * jan Mon", "5 4 * 1,6 *", "0 9 * * 7", "0 9 * * sun-tue", "@hourly", "@daily", "@weekly", "@monthly", "@yearly", "0/20 3/6 * * *", "0 9 ? * *", "0 9 31 * *",
	} {
		for _, zone := range []string{"", "Europe/Berlin", "Australia/Lord_Howe"} {
			cron := read(t, text)
			cron.TimeZone = zone
			same, why := builder.FromCron(cron)
			if why != "" {
				t.Errorf("%s: is not a rule of fields: %s", text, why)
				continue
			}
			if fields, why := builder.Of(same); why != "" || !again(t, same, fields).Equal(same) {
				t.Errorf("%s: %v does not come back from its fields: %s", text, same, why)
			}
			back, why := builder.CronText(same, true)
			if why != "" {
				t.Errorf("%s: %v is not a cron text: %s", text, same, why)
				continue
			}
			third := read(t, back)
			third.TimeZone = zone
			want := runs(t, cron, created)
			for _, other := range []recurrence.Recurrence{same, third} {
				if got := runs(t, other, created); !slices.Equal(got, want) {
					t.Errorf("%s in %q: %v has other runs", text, zone, other)
				}
			}
		}
	}
}

// runs returns the runs of a rule after its creation.
func runs(t *testing.T, rule recurrence.Recurrence, created time.Time) []time.Time {
	t.Helper()
	series, err := rule.Series(created)
	if err != nil {
		t.Fatalf("%v: %v", rule, err)
	}
	var all []time.Time
	for run := range series.Between(created.Add(time.Second), created.AddDate(1, 0, 0)) {
		if all = append(all, run); len(all) == 20_000 {
			break
		}
	}
	return all
}

func TestUnsupportedPartsForCronTextAreNamed(t *testing.T) {
	for text, want := range map[string]string{
		`{}`:                      "runs once",
		`{"frequency": "second"}`: "frequency second",
		`{"frequency": "year", "schedule": {"hours": [1], "minutes": [1], "seconds": [0]}}`:                                                                "frequency year",
		`{"frequency": "minute", "interval": 15, "schedule": {"seconds": [0]}}`:                                                                            "interval",
		`{"frequency": "day", "schedule": {"hours": [5], "minutes": [30]}}`:                                                                                "second 0",
		`{"frequency": "day", "schedule": {"hours": [5], "seconds": [0]}}`:                                                                                 "from its start",
		`{"frequency": "week", "schedule": {"hours": [5], "minutes": [0], "seconds": [0]}}`:                                                                "from its start",
		`{"frequency": "month", "schedule": {"monthDays": [-1], "hours": [5], "minutes": [0], "seconds": [0]}}`:                                            "from the end",
		`{"frequency": "month", "schedule": {"monthDays": [13], "monthlyOccurrences": [{"day": "friday"}], "hours": [5], "minutes": [0], "seconds": [0]}}`: "match both",
		`{"frequency": "month", "schedule": {"monthlyOccurrences": [{"day": "friday", "occurrence": 1}], "hours": [5], "minutes": [0], "seconds": [0]}}`:   "last Friday",
	} {
		if got, why := builder.CronText(read(t, text), true); got != "" || !strings.Contains(why, want) {
			t.Errorf("%s: got %q, %q, want %q", text, got, why, want)
		}
	}
	rule := read(t, `{"frequency": "day", "schedule": {"hours": [5], "minutes": [30], "seconds": [0]}}`)
	if _, why := builder.CronText(rule, false); !strings.Contains(why, "once when created") {
		t.Errorf("a rule with a run at creation: %q", why)
	}
	if _, why := builder.FromCron(read(t, "0 9 1 * 1")); !strings.Contains(why, "or the weekday") {
		t.Errorf("either of two days: %q", why)
	}
}

func TestMistakesAreBesideTheirFields(t *testing.T) {
	for _, c := range []struct{ field, value, want string }{
		{builder.Hours, "nine", `"nine" is not a number`},
		{builder.Hours, "17-9", "is not a number"},
		{builder.Interval, "2.5", "not a whole number"},
		{builder.Count, "x", "not a whole number"},
		{builder.Months, "March", "is not a number"},
		{builder.MonthlyOccurrences, "6th friday", "such as last friday"},
	} {
		_, mistakes := builder.Rule(url.Values{builder.Frequency: {"day"}, c.field: {c.value}})
		if len(mistakes) != 1 || mistakes[0].Field != c.field || !strings.Contains(mistakes[0].Text, c.want) {
			t.Errorf("%s %s: got %v", c.field, c.value, mistakes)
		}
	}
	text, _ := builder.Rule(url.Values{builder.Frequency: {"day"}, builder.Hours: {"24"}, builder.Zone: {"Mars/Olympus"}})
	_, err := recurrence.Parse(text)
	found := map[string]bool{}
	for _, mistake := range builder.Wrong(err, builder.Frequency) {
		found[mistake.Field] = true
	}
	if !found[builder.Hours] || !found[builder.Zone] {
		t.Errorf("error %v is shown at field %v", err, found)
	}
	if _, mistakes := builder.CronRule(url.Values{builder.Cron: {"61 * * * *"}}); len(mistakes) != 1 || mistakes[0].Field != builder.Cron {
		t.Errorf("cron text: %v", mistakes)
	}
	if _, mistakes := builder.CronRule(url.Values{builder.Cron: {"TZ=Asia/Tokyo 1 * * * *"}, builder.Zone: {"Europe/Berlin"}}); len(mistakes) != 1 || mistakes[0].Field != builder.Zone {
		t.Errorf("two zones: %v", mistakes)
	}
}

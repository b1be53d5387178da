package recurrence

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	_ "time/tzdata"
)

// fileCase is one entry of the files in testdata; the README there describes them.
type fileCase struct {
	ID, Code, Reason, Catches, Now string
	Job                            json.RawMessage
	JSON, Expect                   string
}

func casesOf(t *testing.T, name string) (cases []fileCase) {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	if strings.HasSuffix(name, "l") {
		for line := range strings.Lines(string(data)) {
			var c fileCase
			if err := json.Unmarshal([]byte(line), &c); err != nil {
				t.Fatal(err)
			}
			cases = append(cases, c)
		}
		return cases
	}
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	return cases
}

// codesOf returns the codes of an error, joined by spaces.
func codesOf(err error) string {
	var codes []string
	for _, e := range Errors(err) {
		codes = append(codes, string(e.Code))
	}
	return strings.Join(codes, " ")
}

func TestEveryInvalidCaseIsRefusedWithItsCode(t *testing.T) {
	for _, c := range casesOf(t, "invalid_cases.json") {
		_, err := Parse(c.Job)
		if got := codesOf(err); got != c.Code {
			t.Errorf("%s %s: got codes %q, want %q: %s", c.ID, c.Reason, got, c.Code, c.Job)
		}
	}
}

func TestEveryExtraCaseIsReadOrRefusedAsExpected(t *testing.T) {
	for _, c := range casesOf(t, "extra_cases.json") {
		text, want := c.JSON, c.Code
		switch {
		case text == "":
			text = string(c.Job)
		case !strings.HasPrefix(c.Expect, "decodes"):
			want = c.Expect
		}
		_, err := Parse([]byte(text))
		if got := codesOf(err); got != want {
			t.Errorf("%s %s: got codes %q, want %q: %s", c.ID, c.Catches, got, want, text)
		}
	}
}

func TestEveryValidCaseRoundTripsThroughCanonicalJSON(t *testing.T) {
	for _, name := range []string{"seed_cases.json", "random_cases.jsonl", "tz_cases.json"} {
		for _, c := range casesOf(t, name) {
			r, err := Parse(c.Job)
			if err != nil {
				t.Errorf("%s %s: refused: %v: %s", name, c.ID, err, c.Job)
				continue
			}
			checkRoundTrip(t, r)
		}
	}
}

func TestParseGivesThisCanonicalJSON(t *testing.T) {
	for _, c := range []struct{ claim, text, canonical string }{
		{"an empty object runs once", `{}`, `{}`},
		{"null alone is not set either", `null`, `{}`},
		{"a start alone runs once", `{"startTime":"2026-03-08"}`, `{"startTime":"2026-03-08T00:00:00Z"}`},
		{"a start in a time zone", `{"startTime":"2026-03-08","timeZone":"Europe/Berlin"}`, `{"startTime":"2026-03-07T23:00:00Z","timeZone":"Europe/Berlin"}`},
		{"the job form", `{"startTime":"2026-03-08","recurrence":{"frequency":"day"}}`, `{"startTime":"2026-03-08T00:00:00Z","frequency":"day"}`},
		{"the successor's form", `{"startTime":"2026-03-08","frequency":"day"}`, `{"startTime":"2026-03-08T00:00:00Z","frequency":"day"}`},
		{"the start within the recurrence", `{"recurrence":{"frequency":"day","startTime":"2026-03-08"}}`, `{"startTime":"2026-03-08T00:00:00Z","frequency":"day"}`},
		{"one start is null", `{"startTime":null,"recurrence":{"frequency":"day","startTime":"2026-03-08"}}`, `{"startTime":"2026-03-08T00:00:00Z","frequency":"day"}`},
		{"properties", `{"properties":{"recurrence":{"frequency":"day"}}}`, `{"frequency":"day"}`},
		{"properties around the successor's form", `{"id":1,"properties":{"frequency":"day","state":"on"}}`, `{"frequency":"day"}`},
		{"null properties", `{"properties":null,"recurrence":{"frequency":"day"}}`, `{"frequency":"day"}`},
		{"Azure's other keys are skipped", `{"id":"a","Name":["b",{"c":[null]}],"TYPE":1.5e3,"action":{"x":{"x":{}}},"state":true,"status":null,"recurrence":{"frequency":"day"}}`, `{"frequency":"day"}`},
		{"a recurrence not set", `{"recurrence":null,"frequency":"day"}`, `{"frequency":"day"}`},
		{"an empty array is not set", `{"startTime":[],"recurrence":[],"frequency":"day","count":[],"schedule":[]}`, `{"frequency":"day"}`},
		{"a key that is not set does not conflict", `{"interval":null,"recurrence":{"frequency":"day"}}`, `{"frequency":"day"}`},
		{"null is not set", `{"frequency":"day","interval":null,"count":null,"endTime":null,"schedule":null,"timeZone":null,"cron":null}`, `{"frequency":"day"}`},
		{"an empty schedule is not set", `{"frequency":"day","schedule":{}}`, `{"frequency":"day"}`},
		{"a schedule without values is not set", `{"frequency":"day","schedule":{"minutes":null,"monthDays":[],"weekDays":null}}`, `{"frequency":"day"}`},
		{"keys and words in any case", `{"FREQUENCY":"WEEK","Schedule":{"WEEKDAYS":["MonDay"]}}`, `{"frequency":"week","schedule":{"weekDays":["monday"]}}`},
		{"escapes in keys and words", `{"\u0066requency":"d\u0061y"}`, `{"frequency":"day"}`},
		{"an adverb", `{"frequency":"Monthly"}`, `{"frequency":"month"}`},
		{"a plural", `{"frequency":"Hours"}`, `{"frequency":"hour"}`},
		{"single values for arrays", `{"frequency":"month","schedule":{"minutes":0,"hours":5,"monthDays":-1,"monthlyOccurrences":{"day":"friday"},"months":2}}`,
			`{"frequency":"month","schedule":{"minutes":[0],"hours":[5],"monthDays":[-1],"monthlyOccurrences":[{"day":"friday"}],"months":[2]}}`},
		{"a single weekday", `{"frequency":"week","schedule":{"weekDays":"sunday"}}`, `{"frequency":"week","schedule":{"weekDays":["sunday"]}}`},
		{"singular elements", `{"frequency":"day","schedule":{"minute":[15],"hour":5}}`, `{"frequency":"day","schedule":{"minutes":[15],"hours":[5]}}`},
		{"the article's misspelling", `{"frequency":"month","schedule":{"monthlyOccurences":[{"DAY":"Friday","Occurrence":-1}]}}`,
			`{"frequency":"month","schedule":{"monthlyOccurrences":[{"day":"friday","occurrence":-1}]}}`},
		{"order and duplicates", `{"frequency":"month","schedule":{"hours":[17,5,17],"monthDays":[15,-1,1,-31],"monthlyOccurrences":[{"day":"sunday","occurrence":1},{"day":"monday","occurrence":2},{"day":"monday"},{"day":"monday","occurrence":-1},{"day":"monday","occurrence":null}]}}`,
			`{"frequency":"month","schedule":{"hours":[5,17],"monthDays":[-31,-1,1,15],"monthlyOccurrences":[{"day":"monday","occurrence":-1},{"day":"monday"},{"day":"monday","occurrence":2},{"day":"sunday","occurrence":1}]}}`},
		{"weeks begin on Monday", `{"frequency":"week","schedule":{"weekDays":["sunday","saturday","monday"]}}`, `{"frequency":"week","schedule":{"weekDays":["monday","saturday","sunday"]}}`},
		{"all fields in the order of the table", `{"timeZone":"Europe/Berlin","schedule":{"months":[1],"minutes":[1]},"endTime":"2027-01-01T01:00","count":3,"interval":2,"frequency":"year","startTime":"2026-07-01T02:00"}`,
			`{"startTime":"2026-07-01T00:00:00Z","frequency":"year","interval":2,"count":3,"endTime":"2027-01-01T00:00:00Z","schedule":{"minutes":[1],"months":[1]},"timeZone":"Europe/Berlin"}`},
		{"an end at the start", `{"startTime":"2026-03-08T00:00:00.9Z","frequency":"day","endTime":"2026-03-08T00:00:00.1Z"}`,
			`{"startTime":"2026-03-08T00:00:00Z","frequency":"day","endTime":"2026-03-08T00:00:00Z"}`},
		{"the largest of each", `{"frequency":"minute","interval":1000,"count":2147483647,"schedule":{"minutes":59,"hours":23}}`,
			`{"frequency":"minute","interval":1000,"count":2147483647,"schedule":{"minutes":[59],"hours":[23]}}`},
		{"cron", `{"recurrence":{"cron":"0 5 * * 1-5","count":2,"schedule":{}}}`, `{"count":2,"cron":"0 5 * * 1-5"}`},
		{"a start in the zone of the cron prefix", `{"cron":"TZ=Europe/Berlin 0 5 * * *","startTime":"2026-07-01T00:00"}`, `{"startTime":"2026-06-30T22:00:00Z","cron":"TZ=Europe/Berlin 0 5 * * *"}`},
	} {
		r, err := Parse([]byte(c.text))
		if err != nil {
			t.Errorf("%s: %s is refused: %v", c.claim, c.text, err)
			continue
		}
		if got := marshal(t, r); got != c.canonical {
			t.Errorf("%s: %s\n got %s\nwant %s", c.claim, c.text, got, c.canonical)
		}
		checkRoundTrip(t, r)
	}
}

func TestParseRefusesWithCodeFieldAndValue(t *testing.T) {
	for _, c := range []struct{ text, want string }{ // want: code field value, joined
		// The text as a whole.
		{``, `syntax||`},
		{`  `, `syntax||`},
		{`{`, `syntax||`},
		{`{"frequency":"day"`, `syntax||`},
		{`{"frequency":"day",}`, `syntax||}`},
		{`{"frequency" "day"}`, `syntax||"day"}`},
		{`{frequency:"day"}`, `syntax||frequency:"day"}`},
		{`{"frequency":"day"} {}`, `syntax||{}`},
		{`{"frequency":"day"}x`, `syntax||x`},
		{"\ufeff{}", "syntax||\ufeff{}"},
		{`{"count":01}`, `syntax||1}`},
		{`{"count":+1}`, `syntax||+1}`},
		{`{"count":.5}`, `syntax||.5}`},
		{`{"count":1.}`, `syntax||}`},
		{`{"count":1e}`, `syntax||}`},
		{`{"count":nul}`, `syntax||nul}`},
		{`{"count":"\x"}`, `syntax||x"}`},
		{`{"count":"\u12g4"}`, `syntax||g4"}`},
		{"{\"count\":\"\n\"}", "syntax||\n\"}"},
		{"{\"count\":\"\xff\"}", "syntax||\ufffd\"}"},
		{`[1]`, `syntax||[1]`},
		{`"day"`, `syntax||day`},
		{`5`, `syntax||5`},
		{`{"recurrence":"day"}`, `syntax|recurrence|day`},
		{`{"properties":5}`, `syntax|properties|5`},
		{`{"frequency":"day","schedule":"daily"}`, `syntax|schedule|daily`},
		{`{"name":"` + strings.Repeat("x", 64<<10) + `"}`, `syntax||`},
		{`{"name":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `}`, `syntax||` + strings.Repeat("[", 64)},

		// Keys.
		{`{"freqency":"day"}`, `unknown_field|freqency|day`},
		{`{"recurrence":{"frequency":"day","name":"x"}}`, `unknown_field|name|x`},
		{`{"frequency":"day","schedule":{"weekDay":1}}`, `unknown_field|schedule.weekDay|1`},
		{`{"frequency":"month","schedule":{"monthlyOccurrences":[{"day":"friday"},{"day":"friday","nth":1}]}}`, `unknown_field|schedule.monthlyOccurrences[1].nth|1`},
		{`{"properties":{"properties":{}}}`, `unknown_field|properties|{}`},
		{`{"frequency":"wee` + "\u212a" + `"}`, "frequency_unknown|frequency|wee\u212a"},
		{`{"frequency":"day","Frequency":"day"}`, `duplicate_field|frequency|day`},
		{`{"frequency":null,"frequency":"day"}`, `duplicate_field|frequency|day`},
		{`{"frequency":"day","schedule":{"minute":1,"minutes":2}}`, `duplicate_field|schedule.minutes|2`},
		{`{"frequency":"month","schedule":{"monthlyOccurences":[],"monthlyOccurrences":[{"day":"friday"}]}}`, `duplicate_field|schedule.monthlyOccurrences|[{"day":"friday"}]`},
		{`{"startTime":"2026-01-01","recurrence":{"frequency":"day","startTime":"2026-01-02"}}`, `duplicate_field|startTime|2026-01-02`},
		{`{"recurrence":{"frequency":"day","startTime":"2026-01-02"},"startTime":"2026-01-01"}`, `duplicate_field|startTime|2026-01-01`},
		{`{"name":1,"NAME":2}`, `duplicate_field|name|2`},
		{`{"frequency":"day","recurrence":{"frequency":"day"}}`, `conflict|frequency|day`},
		{`{"timeZone":"UTC","recurrence":{"frequency":"day"}}`, `conflict|timeZone|UTC`},
		{`{"properties":{"recurrence":{"frequency":"day"}},"startTime":"2026-01-01"}`, `conflict|startTime|2026-01-01`},

		// Times.
		{`{"startTime":1767225600}`, `time_syntax|startTime|1767225600`},
		{`{"startTime":"2013-01-09T09:30:00-08:00Z"}`, `time_syntax|startTime|2013-01-09T09:30:00-08:00Z`},
		{`{"startTime":"2026-02-30"}`, `time_value|startTime|2026-02-30`},
		{`{"startTime":"1899-12-31T23:59:59Z"}`, `time_range|startTime|1899-12-31T23:59:59Z`},
		{`{"startTime":"2199-12-31T23:00-05:00"}`, `time_range|startTime|2199-12-31T23:00-05:00`},
		{`{"frequency":"day","endTime":"9999-12-31T23:00-02:00"}`, `time_range|endTime|9999-12-31T23:00-02:00`},
		{`{"startTime":"2026-01-02","frequency":"day","endTime":"2026-01-01"}`, `end_before_start|endTime|2026-01-01`},
		{`{"timeZone":"Local"}`, `timezone_unknown|timeZone|Local`},
		{`{"timeZone":""}`, `timezone_unknown|timeZone|`},
		{`{"timeZone":" "}`, `timezone_unknown|timeZone| `},
		{`{"timeZone":1}`, `timezone_unknown|timeZone|1`},
		{`{"timeZone":"W. Europe Standard Time"}`, `timezone_unknown|timeZone|W. Europe Standard Time`},
		{`{"timeZone":"right/UTC"}`, `timezone_unknown|timeZone|right/UTC`},
		{`{"timeZone":"../Europe/Berlin"}`, `timezone_unknown|timeZone|../Europe/Berlin`},

		// How often.
		{`{"recurrence":{}}`, `frequency_missing|frequency|`},
		{`{"recurrence":{"startTime":"2026-01-01"}}`, `frequency_missing|frequency|`},
		{`{"count":2}`, `frequency_missing|frequency|`},
		{`{"endTime":"2027-01-01"}`, `frequency_missing|frequency|`},
		{`{"schedule":{"hours":5}}`, `frequency_missing|frequency|`},
		{`{"frequency":""}`, `frequency_unknown|frequency|`},
		{`{"frequency":3}`, `frequency_unknown|frequency|3`},
		{`{"frequency":["day"]}`, `frequency_unknown|frequency|["day"]`},
		{`{"frequency":"day","interval":"2"}`, `interval_type|interval|2`},
		{`{"frequency":"day","interval":2.0}`, `interval_type|interval|2.0`},
		{`{"frequency":"day","interval":1e2}`, `interval_type|interval|1e2`},
		{`{"frequency":"day","interval":[2]}`, `interval_type|interval|[2]`},
		{`{"frequency":"day","interval":0}`, `interval_range|interval|0`},
		{`{"frequency":"day","interval":-0}`, `interval_range|interval|-0`},
		{`{"frequency":"day","interval":549}`, `interval_range|interval|549`},
		{`{"frequency":"second","interval":1001}`, `interval_range|interval|1001`},
		{`{"frequency":"year","interval":99999999999999999999}`, `interval_range|interval|99999999999999999999`},
		{`{"frequency":"day","count":true}`, `count_type|count|true`},
		{`{"frequency":"day","count":0}`, `count_range|count|0`},
		{`{"frequency":"day","count":-99999999999999999999}`, `count_range|count|-99999999999999999999`},
		{`{"cron":""}`, `cron_syntax|cron|`},
		{`{"cron":5}`, `cron_syntax|cron|5`},
		{`{"cron":"0 5 * *"}`, `cron_syntax|cron|0 5 * *`},
		{`{"cron":"0 5 * * *","interval":2}`, `cron_conflict|cron|0 5 * * *`},
		{`{"cron":"0 5 * * *","schedule":{"minutes":2}}`, `cron_conflict|cron|0 5 * * *`},
		{`{"cron":"TZ=UTC 0 5 * * *","timeZone":"UTC"}`, `cron_conflict|cron|TZ=UTC 0 5 * * *`},
		{`{"cron":"TZ=Local 0 5 * * *"}`, `timezone_unknown|cron|Local`},

		// The elements.
		{`{"frequency":"day","schedule":{"minutes":[0,60,-1]}}`, `minutes_range|schedule.minutes[1]|60; minutes_range|schedule.minutes[2]|-1`},
		{`{"frequency":"day","schedule":{"minute":60}}`, `minutes_range|schedule.minutes|60`},
		{`{"frequency":"day","schedule":{"minutes":[[0]]}}`, `minutes_type|schedule.minutes[0]|[0]`},
		{`{"frequency":"day","schedule":{"minutes":[1.5,null]}}`, `minutes_type|schedule.minutes[0]|1.5; minutes_type|schedule.minutes[1]|null`},
		{`{"frequency":"day","schedule":{"hours":24}}`, `hours_range|schedule.hours|24`},
		{`{"frequency":"day","schedule":{"hours":{}}}`, `hours_type|schedule.hours|{}`},
		{`{"frequency":"week","schedule":{"weekDays":[1]}}`, `weekdays_type|schedule.weekDays[0]|1`},
		{`{"frequency":"week","schedule":{"weekDays":"mon"}}`, `weekdays_value|schedule.weekDays|mon`},
		{`{"frequency":"day","schedule":{"weekDays":"monday"}}`, `weekdays_frequency|schedule.weekDays|monday`},
		{`{"frequency":"month","schedule":{"monthDays":[0,32]}}`, `monthdays_range|schedule.monthDays[0]|0; monthdays_range|schedule.monthDays[1]|32`},
		{`{"frequency":"month","schedule":{"monthDays":"last"}}`, `monthdays_type|schedule.monthDays|last`},
		{`{"frequency":"year","schedule":{"monthDays":1}}`, `monthdays_frequency|schedule.monthDays|1`},
		{`{"frequency":"month","schedule":{"monthlyOccurrences":[null]}}`, `occurrences_type|schedule.monthlyOccurrences[0]|null`},
		{`{"frequency":"month","schedule":{"monthlyOccurrences":{"day":"friday","occurrence":"1"}}}`, `occurrences_type|schedule.monthlyOccurrences.occurrence|1`},
		{`{"frequency":"month","schedule":{"monthlyOccurrences":[{"day":5}]}}`, `occurrence_day|schedule.monthlyOccurrences[0].day|5`},
		{`{"frequency":"month","schedule":{"monthlyOccurrences":[{}]}}`, `occurrence_day|schedule.monthlyOccurrences[0].day|`},
		{`{"frequency":"day","schedule":{"days":[5,{},{"times":"09:00"},{"weekDays":"noday"}]}}`,
			`filter_type|schedule.days[0]|5; filter_empty|schedule.days[1]|{}; unknown_field|schedule.days[2].times|09:00; weekdays_value|schedule.days[3].weekDays|noday`},
		{`{"frequency":"week","schedule":{"weekStart":"noday"}}`, `weekstart_value|schedule.weekStart|noday`},
		{`{"frequency":"week","schedule":{"weekStart":1}}`, `weekstart_value|schedule.weekStart|1`},
		{`{"cron":"0 9 * * *","schedule":{"weekStart":"sunday"}}`, `cron_conflict|cron|0 9 * * *`},
		{`{"cron":"0 9 * * *","schedule":{"days":{"weeks":1}}}`, `cron_conflict|cron|0 9 * * *`},
		{`{"frequency":"day","also":{"frequency":"week","schedule":{"days":{"months":13}}}}`, `months_range|also.schedule.days.months|13`},
		{`{"frequency":"day","schedule":{"days":{"dates":"02-29","yearDays":61}}}`, `never_fires|schedule|`},
		{`{"frequency":"day","schedule":{"days":[` + strings.Repeat(`{"weeks":1},`, 32) + `{"weeks":1}]}}`, `filter_size|schedule.days|[{"weeks":1},{"weeks":1},{"weeks":1},{"weeks":1},{"weeks":1},{"w`},
		{`{"frequency":"day","only":{"weeks":["1",54,0],"yearDays":[367,1.5],"yearlyOccurrences":[{"day":"friday","occurrence":54},{"day":1},5]}}`,
			`weeks_type|only.weeks[0]|1; weeks_range|only.weeks[1]|54; weeks_range|only.weeks[2]|0; yeardays_range|only.yearDays[0]|367; yeardays_type|only.yearDays[1]|1.5; ` +
				`occurrence_range|only.yearlyOccurrences[0].occurrence|54; occurrence_day|only.yearlyOccurrences[1].day|1; occurrences_type|only.yearlyOccurrences[2]|5`},
		{`{"frequency":"month","schedule":{"monthlyOccurrences":[{"day":"friday","occurrence":6}]}}`, `occurrence_range|schedule.monthlyOccurrences[0].occurrence|6`},
		{`{"frequency":"year","schedule":{"monthlyOccurrences":{"day":"friday"}}}`, `occurrences_frequency|schedule.monthlyOccurrences|{"day":"friday"}`},
		{`{"frequency":"month","schedule":{"months":[0,13]}}`, `months_range|schedule.months[0]|0; months_range|schedule.months[1]|13`},
		{`{"frequency":"month","schedule":{"months":["june"]}}`, `months_type|schedule.months[0]|june`},
		{`{"frequency":"week","schedule":{"months":[6]}}`, `months_frequency|schedule.months|[6]`},

		// Several errors, in the order of the text.
		{`{"schedule":{"hours":[24],"x":1,"minutes":"0"},"count":0,"frequency":"eon","startTime":"?"}`,
			`hours_range|schedule.hours[0]|24; unknown_field|schedule.x|1; minutes_type|schedule.minutes|0; count_range|count|0; frequency_unknown|frequency|eon; time_syntax|startTime|?`},
		{`{"frequency":"` + strings.Repeat("é", 70) + `"}`, `frequency_unknown|frequency|` + strings.Repeat("é", 64)},
	} {
		_, err := Parse([]byte(c.text))
		if got := describeErrors(err); got != c.want {
			t.Errorf("%.200s\n got %s\nwant %s", c.text, got, c.want)
		}
	}
}

// describeErrors returns code|field|value of each error.
func describeErrors(err error) string {
	var parts []string
	for _, e := range Errors(err) {
		parts = append(parts, string(e.Code)+"|"+e.Field+"|"+e.Value)
	}
	return strings.Join(parts, "; ")
}

func TestErrorsAsFindsAnErrorInsideAnotherStruct(t *testing.T) {
	var config struct {
		Jobs []struct {
			Name string
			When Recurrence
		}
	}
	err := json.Unmarshal([]byte(`{"jobs":[{"name":"a","when":{"frequency":"day","count":3}},{"when":null},{"when":{"frequency":"day","count":0}}]}`), &config)
	var refused *Error
	if !errors.As(err, &refused) || refused.Code != CodeCountRange || refused.Field != "count" {
		t.Fatalf("got %v, want an *Error with count_range for count", err)
	}
	if first := config.Jobs[0].When; !first.Equal(Recurrence{Frequency: Day, Count: 3}) {
		t.Errorf("the first job decodes as %+v", first)
	}
	if second := config.Jobs[1].When; !second.Equal(Recurrence{}) {
		t.Errorf("null decodes as %+v", second)
	}
}

func TestUnmarshalReplacesARecurrenceAndNullLeavesIt(t *testing.T) {
	r := Recurrence{Frequency: Day}
	if err := json.Unmarshal([]byte("null"), &r); err != nil || r.Frequency != Day {
		t.Errorf("got %+v, %v", r, err)
	}
	if err := json.Unmarshal([]byte(`{"frequency":"week"}`), &r); err != nil || !r.Equal(Recurrence{Frequency: Week}) {
		t.Errorf("another text must replace the whole value, got %+v, %v", r, err)
	}
}

func TestMustParsePanicsWithTheError(t *testing.T) {
	defer func() {
		var refused *Error
		if err, _ := recover().(error); !errors.As(err, &refused) {
			t.Errorf("recovered %v, want an *Error", err)
		}
	}()
	MustParse(`{"frequency":"eon"}`)
}

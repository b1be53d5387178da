package contract_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	_ "time/tzdata"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/chimejobs/chime/recurrence"
)

// docs/recurrence.schema.json is the JSON Schema of the canonical form of a rule. These tests hold it against the parser in both directions. They are
// here because a validator of JSON Schema is a dependency that the library must not have.

const (
	schemaFile = "../../docs/recurrence.schema.json"
	cases      = "../../recurrence/testdata/"
)

func recurrenceSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(read(t, schemaFile)))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler() // it also checks the document by the meta-schema of 2020-12
	compiler.AssertFormat()
	if err := compiler.AddResource("recurrence.schema.json", document); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("recurrence.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// validate returns why the schema refuses a JSON text.
func validate(t *testing.T, schema *jsonschema.Schema, text []byte) error {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return schema.Validate(value)
}

// A schemaCase is an entry of a file of recurrence/testdata.
type schemaCase struct {
	ID, Code        string
	Job, Recurrence json.RawMessage
	JSON            string
}

func schemaCases(t *testing.T, name string) (list []schemaCase) {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(read(t, cases+name)))
	if strings.HasSuffix(name, ".json") {
		if err := decoder.Decode(&list); err != nil {
			t.Fatal(name, err)
		}
		return list
	}
	for decoder.More() {
		var c schemaCase
		if err := decoder.Decode(&c); err != nil {
			t.Fatal(name, err)
		}
		list = append(list, c)
	}
	return list
}

func TestTheRecurrenceSchemaAcceptsWhatTheParserWrites(t *testing.T) {
	schema := recurrenceSchema(t)
	read := 0
	for _, name := range []string{
		"seed_cases.json", "random_cases.jsonl", "tz_cases.json", "extra_cases.json", "invalid_cases.json",
		"calendar_cases.json", "calendar_corners.json", "calendar_imports.json",
	} {
		for _, c := range schemaCases(t, name) {
			for _, text := range [][]byte{c.Job, c.Recurrence, []byte(c.JSON)} {
				rule, err := recurrence.Parse(text)
				if err != nil {
					continue
				}
				canonical, err := json.Marshal(rule)
				if err != nil {
					t.Fatal(err)
				}
				if err := validate(t, schema, canonical); err != nil {
					t.Errorf("%s %s: the parser writes %s, the schema refuses it: %v", name, c.ID, canonical, err)
				}
				read++
			}
		}
	}
	if read < 1200 {
		t.Errorf("%d rules were compared: this test reads the cases wrongly", read)
	}
}

// Each field of a rule and of a filter has a property, and the parser knows each property.
func TestTheRecurrenceSchemaHasTheFieldsOfARule(t *testing.T) {
	type object struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	var document struct {
		object
		Defs struct{ Schedule, Filter, DayFilter, Addition object } `json:"$defs"`
	}
	if err := json.Unmarshal(read(t, schemaFile), &document); err != nil {
		t.Fatal(err)
	}
	named := func(value any) (names []string) {
		for field := range reflect.TypeOf(value).Fields() {
			name := strings.ToLower(field.Name[:1]) + field.Name[1:]
			names = append(names, strings.Replace(name, "noImmediateRun", "immediateRun", 1))
		}
		return names
	}
	rule, schedule, filter := document.Properties, document.Defs.Schedule.Properties, document.Defs.Filter.Properties
	for _, name := range named(recurrence.Recurrence{}) {
		if (rule[name] == nil) == (schedule[name] == nil) {
			t.Errorf("the schema must have %s in a rule or in its schedule", name)
		}
	}
	for _, name := range named(recurrence.Filter{}) {
		if filter[name] == nil || (document.Defs.DayFilter.Properties[name] == nil) != (name == "times") {
			t.Errorf("the schema must have %s in a filter, and in one of days unless it is times", name)
		}
	}
	for form, properties := range map[string]map[string]json.RawMessage{
		`{"%s":null}`: rule, `{"frequency":"day","schedule":{"%s":null}}`: schedule, `{"frequency":"day","only":{"months":1,"%s":null}}`: filter,
		`{"frequency":"day","schedule":{"days":{"%s":null}}}`: document.Defs.DayFilter.Properties, `{"frequency":"day","also":{"%s":null}}`: document.Defs.Addition.Properties,
	} {
		for name := range properties {
			_, err := recurrence.Parse([]byte(fmt.Sprintf(form, name)))
			for _, e := range recurrence.Errors(err) {
				if e.Code == recurrence.CodeUnknownField {
					t.Errorf("the schema has %s, which the parser does not know: %v", name, e)
				}
			}
		}
	}
}

// The page shows rules in the canonical form, so that its readers may copy them into a form that checks the schema.
func TestTheRecurrenceSchemaAcceptsTheRulesOfTheCalendarPage(t *testing.T) {
	schema := recurrenceSchema(t)
	blocks := strings.Split(string(read(t, "../../docs/calendar.md")), "\n```json\n")[1:]
	for _, block := range blocks {
		text, _, _ := strings.Cut(block, "```")
		if err := validate(t, schema, []byte(text)); err != nil {
			t.Errorf("docs/calendar.md shows %s: %v", text, err)
		}
	}
	if len(blocks) < 40 {
		t.Errorf("%d rules were found: this test reads the page wrongly", len(blocks))
	}
}

// notInTheSchema are the mistakes that no schema of this form can find, with the reason.
var notInTheSchema = map[recurrence.Code]string{
	recurrence.CodeNeverFires:      "it takes a calendar",
	recurrence.CodeTimeZoneUnknown: "the list of zones is data",
	recurrence.CodeCronSyntax:      "it takes a parser of cron text",
	recurrence.CodeEndBeforeStart:  "it compares two fields",
	recurrence.CodeConflict:        "it is about the form of an Azure job",
	recurrence.CodeDuplicateField:  "a JSON value has each key once",
	recurrence.CodeFilterSize:      "a budget of the compiled calendar; the numbers of items are in the schema",
}

// caseNotInTheSchema are such mistakes of a code that is in the schema otherwise.
var caseNotInTheSchema = map[string]string{
	"i01": "the object recurrence of an Azure job is empty; the canonical form does not have this object",
	"x25": "a range that ends before it begins compares two dates",
}

// The invalid cases are brought into the canonical form, apart from their mistakes: one object, arrays in place of single values, full times.
func TestTheRecurrenceSchemaRefusesWhatItCan(t *testing.T) {
	schema := recurrenceSchema(t)
	refused := 0
	for _, name := range []string{"invalid_cases.json", "extra_cases.json", "calendar_cases.json", "calendar_corners.json"} {
		for _, c := range schemaCases(t, name) {
			if c.Code == "" || c.Job == nil {
				continue
			}
			if _, err := recurrence.Parse(c.Job); err == nil || notInTheSchema[recurrence.Code(c.Code)]+caseNotInTheSchema[c.ID] != "" {
				continue
			}
			text, ok := canonicalShape(c.Job)
			if !ok {
				continue
			}
			if validate(t, schema, text) == nil {
				t.Errorf("%s %s: the parser refuses it with %s, the schema accepts it: %s", name, c.ID, c.Code, text)
			}
			refused++
		}
	}
	if refused < 60 {
		t.Errorf("%d rules were compared: this test reads the cases wrongly", refused)
	}
}

// canonicalShape returns a job as one object with arrays where the canonical form has them; false for a text that is no object.
func canonicalShape(job []byte) ([]byte, bool) {
	var top map[string]any
	if json.Unmarshal(job, &top) != nil || top == nil {
		return nil, false
	}
	if nested, ok := top["recurrence"].(map[string]any); ok {
		delete(top, "recurrence")
		maps.Copy(top, nested)
	}
	shape(top)
	text, err := json.Marshal(top)
	return text, err == nil
}

var listFields = []string{
	"minutes", "hours", "weekDays", "monthDays", "monthlyOccurrences", "months", "seconds", "positions", "days", "weeks", "yearDays", "yearlyOccurrences",
	"only", "except", "also", "dates", "times",
}

func shape(object map[string]any) {
	for key, value := range object {
		if slices.Contains(listFields, key) {
			if _, is := value.([]any); !is {
				value = []any{value}
				object[key] = value
			}
		}
		switch value := value.(type) {
		case map[string]any:
			shape(value)
		case []any:
			for i, item := range value {
				if text, is := item.(string); is && key == "also" {
					item = map[string]any{"startTime": text}
					value[i] = item
				}
				if inner, is := item.(map[string]any); is {
					shape(inner)
				}
			}
		case string:
			if key == "startTime" || key == "endTime" {
				object[key] = fullTime(value)
			}
		}
	}
}

// fullTime completes a date, and a time without seconds or without Z. Another text remains as it is.
func fullTime(text string) string {
	const form = "2026-01-02T15:04:05Z"
	for _, n := range []int{len("2026-01-02"), len("2026-01-02T15:04"), len("2026-01-02T15:04:05")} {
		if len(text) == n {
			return text + "T00:00:00Z"[max(0, n-len("2026-01-02")):len(form)-len("2026-01-02")]
		}
	}
	return text
}

// Each line is a part of a rule at a limit. The first part is within it, for the parser and for the schema; the others are beyond it, for both.
func TestTheRecurrenceSchemaHasTheLimitsOfTheParser(t *testing.T) {
	schema := recurrenceSchema(t)
	for _, line := range schemaLimits {
		for i, part := range line.parts {
			text := []byte(fmt.Sprintf(line.rule, part))
			rule, parsed := recurrence.Parse(text)
			valid := validate(t, schema, text)
			if within := i < line.within; (parsed == nil) != within || (valid == nil) != within {
				t.Errorf("%s: within the limits %v; the parser: %v; the schema: %v", text, within, parsed, valid)
			}
			if parsed != nil {
				continue
			}
			if canonical, _ := json.Marshal(rule); !sameJSON(canonical, text) {
				t.Errorf("%s is not in the canonical form, which is %s", text, canonical)
			}
		}
	}
}

func sameJSON(a, b []byte) bool {
	var first, second any
	return json.Unmarshal(a, &first) == nil && json.Unmarshal(b, &second) == nil && fmt.Sprint(first) == fmt.Sprint(second)
}

// A schemaLimit is a rule with %s in place of a part. The first parts are within its limits, the others are not.
type schemaLimit struct {
	rule   string
	within int
	parts  []string
}

var schemaLimits = slices.Concat(
	[]schemaLimit{
		{`{"startTime":%s}`, 3, []string{`"1900-01-01T00:00:00Z"`, `"2199-12-31T23:59:59Z"`, `"2024-02-29T00:00:00Z"`,
			`"1899-12-31T23:59:59Z"`, `"2200-01-01T00:00:00Z"`, `"2024-02-30T00:00:00Z"`, `"2023-02-29T00:00:00Z"`, `"2024-01-01T24:00:00Z"`, `"2024-13-01T00:00:00Z"`, `1`, `true`}},
		{`{"frequency":"day","startTime":"2026-01-01T00:00:00Z","endTime":%s}`, 2, []string{`"2026-01-01T00:00:00Z"`, `"9999-12-31T23:59:59Z"`, `"2026-04-31T00:00:00Z"`, `"10000-01-01T00:00:00Z"`, `5`}},
		{`{"frequency":%s}`, 7, []string{`"second"`, `"minute"`, `"hour"`, `"day"`, `"week"`, `"month"`, `"year"`, `"fortnight"`, `3`, `true`}},
		{`{"frequency":"day","count":%s}`, 2, []string{`1`, `2147483647`, `0`, `-1`, `2147483648`, `1.5`, `"1"`}},
		{`{"frequency":"day","timeZone":%s}`, 2, []string{`"Europe/Berlin"`, `"UTC"`, `""`, `1`}},
		{`{"frequency":"day","immediateRun":%s}`, 1, []string{`false`, `0`, `"false"`}},
		{`{"frequency":"day","clockChanges":%s}`, 2, []string{`"skip"`, `"shown"`, `"twice"`, `1`}},
		{`{"frequency":"day","except":[{"weekDays":["sunday"]}],"shift":%s}`, 6,
			[]string{`"next"`, `"previous"`, `"nearest"`, `"nextInMonth"`, `"previousInMonth"`, `"nearestInMonth"`, `"later"`, `1`}},
		{`{"cron":%s}`, 2, []string{`"0 9 * * 1-5"`, `"@daily"`, `""`, `5`}},
		{`{%s}`, 6, []string{`"frequency":"day"`, `"cron":"0 9 * * *"`, `"startTime":"2026-01-01T00:00:00Z"`, ``,
			`"startTime":"2026-01-01T00:00:00Z","endTime":"2026-06-01T00:00:00Z","count":2,"also":[{"startTime":"2026-02-01T00:00:00Z"}]`,
			`"startTime":"2026-01-01T00:00:00Z","immediateRun":false`,
			`"interval":2`, `"schedule":{"hours":[9]}`, `"only":[{"months":[1]}]`, `"except":[{"months":[1]}]`, `"clockChanges":"skip"`, `"immediateRun":false`,
			`"count":2`, `"startTime":"2026-01-01T00:00:00Z","count":2`, `"endTime":"2026-01-01T00:00:00Z"`, `"also":[{"startTime":"2026-02-01T00:00:00Z"}]`,
			`"frequency":"day","cron":"0 9 * * *"`, `"interval":1,"cron":"0 9 * * *"`, `"schedule":{"hours":[9]},"cron":"0 9 * * *"`,
			`"frequency":"day","every":1`, `"frequency":"day","schedule":{"hour_":[1]}`, `"frequency":"day","only":[{"hours":[1]}]`, `"frequency":"day","except":[{}]`,
			`"frequency":"day","only":[5]`, `"frequency":"day","except":["sunday"]`}},
		{`{"frequency":"hour",%s}`, 2, []string{`"interval":1000`, `"only":[{"times":["09:00/17:59"]}]`, `"interval":1001`, `"clockChanges":"skip"`, `"except":[{"months":[1]}],"shift":"next"`}},
		{`{"frequency":"day",%s}`, 2, []string{`"interval":548`, `"only":[{"months":[1]}],"shift":"next"`, `"interval":549`, `"interval":0`, `"shift":"next"`,
			`"only":[{"months":[1]}],"shift":"next","also":[{"frequency":"hour"}]`, `"only":[{"months":[1]}],"shift":"next","also":[{"frequency":"week","schedule":{"positions":[1]}}]`}},
		{`{"frequency":"day",%s}`, 6, []string{`"shiftBy":1`, `"shiftBy":31`, `"shiftBy":-1`, `"shiftBy":-31`, `"only":[{"months":[1]}],"shift":"next","shiftBy":-2`, `"shiftBy":2,"also":[{"cron":"0 9 * * *"}]`,
			`"shiftBy":32`, `"shiftBy":-32`, `"shiftBy":1.5`, `"shiftBy":"2"`, `"shiftBy":[1]`, `"shiftBy":2,"also":[{"frequency":"hour"}]`, `"also":[{"frequency":"week","shiftBy":1}]`}},
		{`{%s}`, 2, []string{`"frequency":"week","schedule":{"positions":[2]},"shiftBy":-1`, `"cron":"0 9 * * *","shiftBy":3`,
			`"frequency":"hour","shiftBy":1`, `"startTime":"2026-01-01T00:00:00Z","shiftBy":1`}},
		{`{"frequency":"day","except":[{"dates":[%s]}]}`, 8, []string{`"easter"`, `"easter-2"`, `"easter+70"`, `"easter-70"`, `"orthodoxEaster"`, `"orthodoxEaster+1"`, `"easter-2/easter+1"`, `"orthodoxEaster-2/orthodoxEaster"`,
			`"easter+71"`, `"easter-71"`, `"easter2"`, `"easter-"`, `"easter-2/04-06"`, `"easter/orthodoxEaster"`, `"2026-easter"`, `"pentecost"`}},
		{`{"frequency":"week",%s}`, 3, []string{`"interval":78`, `"schedule":{"weekDays":["monday","sunday"]}`, `"schedule":{"positions":[-7,7]}`,
			`"interval":79`, `"schedule":{"weekDays":["someday"]}`, `"schedule":{"weekDays":[1]}`, `"schedule":{"positions":[8]}`, `"schedule":{"positions":[0]}`,
			`"schedule":{"positions":[1]},"except":[{"months":[1]}],"shift":"next"`}},
		{`{"frequency":"month",%s}`, 2, []string{`"interval":18`, `"schedule":{"positions":[-31,31]}`, `"interval":19`, `"schedule":{"positions":[32]}`, `"schedule":{"positions":[-32]}`}},
		{`{"frequency":"year",%s}`, 2, []string{`"interval":1000`, `"schedule":{"positions":[-366,366]}`, `"interval":1001`, `"schedule":{"positions":[367]}`, `"schedule":{"positions":["1"]}`}},
		{`{"frequency":"week","also":[%s]}`, 4, []string{`{"startTime":"2026-02-01T00:00:00Z"}`, `{"frequency":"day","interval":2}`, `{"cron":"0 9 * * *"}`,
			`{"startTime":"2026-02-01T00:00:00Z","frequency":"year","endTime":"2029-02-01T00:00:00Z","schedule":{"hours":[1]}}`,
			`{}`, `5`, `{"interval":2}`, `{"endTime":"2029-02-01T00:00:00Z"}`, `{"startTime":"2026-02-01T00:00:00Z","interval":2}`, `{"frequency":"day","count":1}`,
			`{"frequency":"day","timeZone":"UTC"}`, `{"frequency":"day","shift":"next"}`, `{"frequency":"day","only":[{"months":[1]}]}`, `{"frequency":"day","also":[{"cron":"0 9 * * *"}]}`,
			`{"frequency":"day","immediateRun":false}`, `{"frequency":"day","clockChanges":"skip"}`, `{"frequency":"month","interval":19}`}},
		{`{"frequency":"day","except":[{"dates":[%s]}]}`, 11, []string{`"2000-02-29"`, `"2096-02-29"`, `"2026-12-25"`, `"1900-01-01"`, `"2199-12-31"`, `"12-25"`, `"02-29"`, `"2026-12-20/2027-01-03"`, `"12-20/01-03"`, `"2024-02-29"`, `"04-30","12-24"`,
			`"2026-02-29"`, `"2100-02-29"`, `"2024-02-30"`, `"04-31"`, `"13-01"`, `"00-01"`, `"1899-12-31"`, `"2200-01-01"`, `"12-25/2026-01-01"`, `"2026-1-1"`, `"25.12."`, `1225`}},
		{`{"frequency":"day","except":[{"times":[%s]}]}`, 6, []string{`"09:00"`, `"23:59"`, `"09:00:30"`, `"02:00/03:59"`, `"22:00/05:59"`, `"00:00/23:59:58"`, `"24:00"`, `"9:00"`, `"09:60"`, `"09:00:60"`, `"09:00-10:00"`, `9`}},
	},
	elementLimits(`{"frequency":"day","schedule":{"%s":[%%s]}}`, "minutes", 0, 59),
	elementLimits(`{"frequency":"day","schedule":{"%s":[%%s]}}`, "hours", 0, 23),
	elementLimits(`{"frequency":"day","schedule":{"%s":[%%s]}}`, "seconds", 0, 59),
	elementLimits(`{"frequency":"month","schedule":{"%s":[%%s]}}`, "monthDays", -31, 31),
	elementLimits(`{"frequency":"year","schedule":{"%s":[%%s]}}`, "months", 1, 12),
	elementLimits(`{"frequency":"hour","only":[{"%s":[%%s]}]}`, "monthDays", -31, 31),
	elementLimits(`{"frequency":"hour","only":[{"%s":[%%s]}]}`, "months", 1, 12),
	elementLimits(`{"frequency":"hour","only":[{"%s":[%%s]}]}`, "weeks", -53, 53),
	elementLimits(`{"frequency":"hour","only":[{"%s":[%%s]}]}`, "yearDays", -366, 366),
	elementLimits(`{"frequency":"year","schedule":{"days":[{"%s":[%%s]}]}}`, "weeks", -53, 53),
	elementLimits(`{"frequency":"year","schedule":{"days":[{"%s":[%%s]}]}}`, "yearDays", -366, 366),
	occurrenceLimits(`{"frequency":"hour","except":[{"yearlyOccurrences":[%s]}]}`, 53),
	occurrenceLimits(`{"frequency":"year","schedule":{"days":[{"yearlyOccurrences":[%s]}]}}`, 53),
	[]schemaLimit{
		{`{"frequency":"day","schedule":{%s}}`, 3, []string{`"days":[{"weekDays":["monday"],"dates":["12-24"]}]`, `"weekStart":"sunday"`, `"days":[{"months":[1]}],"weekStart":"tuesday"`,
			`"days":[{}]`, `"days":[5]`, `"days":[{"times":["09:00"]}]`, `"days":[{"hours":[9]}]`, `"weekStart":"someday"`, `"weekStart":1`}},
		{`{"frequency":"day","also":[{"frequency":"week","schedule":{%s}}]}`, 2, []string{`"days":[{"months":[1]}]`, `"weekStart":"sunday"`, `"days":[{"times":["09:00"]}]`, `"weekStart":7`}},
	},
	occurrenceLimits(`{"frequency":"month","schedule":{"monthlyOccurrences":[%s]}}`, 5),
	occurrenceLimits(`{"frequency":"hour","except":[{"monthlyOccurrences":[%s]}]}`, 5),
	frequencyLimits("weekDays", `"monday"`, "week"),
	frequencyLimits("monthDays", `1`, "month"),
	frequencyLimits("monthlyOccurrences", `{"day":"monday"}`, "month"),
	frequencyLimits("months", `1`, "month", "year"),
	frequencyLimits("positions", `1`, "week", "month", "year"),
	sizeLimits(),
)

// elementLimits are the limits of a list of numbers. Zero is not one of them if low is negative.
func elementLimits(rule, name string, low, high int) []schemaLimit {
	beyond := []string{fmt.Sprint(low - 1), fmt.Sprint(high + 1), `"1"`, `1.5`, `null`, `[1]`, `true`}
	if low < 0 {
		beyond = append(beyond, "0")
	}
	return []schemaLimit{{fmt.Sprintf(rule, name), 3, slices.Concat([]string{fmt.Sprint(low), fmt.Sprint(high), fmt.Sprintf("%d,%d", low, high)}, beyond)}}
}

func occurrenceLimits(rule string, high int) []schemaLimit {
	nth := func(n int) string { return fmt.Sprintf(`{"day":"friday","occurrence":%d}`, n) }
	return []schemaLimit{{rule, 4, []string{`{"day":"friday"}`, nth(-1), nth(high), nth(-high),
		nth(0), nth(high + 1), nth(-high - 1), `{}`, `{"occurrence":1}`, `{"day":"someday"}`, `{"day":5}`, `{"day":"friday","occurrence":"1"}`, `{"day":"friday","n":1}`, `5`}}}
}

// frequencyLimits are the frequencies that an element of a schedule goes with.
func frequencyLimits(element, value string, with ...string) []schemaLimit {
	line := schemaLimit{rule: `{"frequency":"%s","schedule":{"` + element + `":[` + value + `]}}`, within: len(with), parts: slices.Clone(with)}
	for _, frequency := range []string{"second", "minute", "hour", "day", "week", "month", "year"} {
		if !slices.Contains(with, frequency) {
			line.parts = append(line.parts, frequency)
		}
	}
	return []schemaLimit{line}
}

// sizeLimits are the largest numbers of items.
func sizeLimits() []schemaLimit {
	list := func(n int, item func(i int) string) string {
		items := make([]string, n)
		for i := range items {
			items[i] = item(i)
		}
		slices.Sort(items)
		return strings.Join(items, ",")
	}
	filter := func(i int) string { return fmt.Sprintf(`{"dates":["20%02d-01-01"]}`, i) }
	date := func(i int) string { return fmt.Sprintf(`"2%03d-%02d-01"`, i/12+20, i%12+1) }
	clock := func(i int) string { return fmt.Sprintf(`"%02d:%02d"`, i/60, i%60) }
	return []schemaLimit{
		{`{"frequency":"day","only":[%s]}`, 1, []string{list(32, filter), list(33, filter)}},
		{`{"frequency":"day","except":[%s]}`, 1, []string{list(32, filter), list(33, filter)}},
		{`{"frequency":"day","schedule":{"days":[%s]}}`, 1, []string{list(32, filter), list(33, filter)}},
		{`{"frequency":"day","except":[{"dates":[%s]}]}`, 1, []string{list(1000, date), list(1001, date)}},
		{`{"frequency":"day","except":[{"times":[%s]}]}`, 1, []string{list(100, clock), list(101, clock)}},
	}
}

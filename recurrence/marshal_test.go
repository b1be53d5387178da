package recurrence

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"
)

func marshal(t *testing.T, r Recurrence) string {
	t.Helper()
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatalf("%+v has no JSON: %v", r, err)
	}
	return string(text)
}

// checkRoundTrip checks that Parse reads the canonical JSON of a valid rule back as the same rule.
func checkRoundTrip(t *testing.T, r Recurrence) {
	t.Helper()
	if err := r.Validate(); err != nil {
		t.Errorf("%+v is read but not valid: %v", r, err)
		return
	}
	text := marshal(t, r)
	back, err := Parse([]byte(text))
	if err != nil {
		t.Errorf("%s is refused: %v", text, err)
		return
	}
	if !back.Equal(r) || !r.Equal(back) {
		t.Errorf("%s comes back as %s", text, marshal(t, back))
	}
	again, err := Parse([]byte(marshal(t, back)))
	if err != nil || !reflect.DeepEqual(again, back) {
		t.Errorf("%s is not stable: %+v, then %+v, %v", text, back, again, err)
	}
}

func TestEqualIgnoresOrderDuplicatesLocationAndFractions(t *testing.T) {
	start := time.Date(2026, 7, 1, 12, 0, 0, 999, time.UTC)
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	rule := Recurrence{StartTime: start, Frequency: Week, WeekDays: []time.Weekday{time.Monday, time.Sunday}, Hours: []int{}}
	same := Recurrence{StartTime: start.In(berlin).Truncate(time.Second), Frequency: Week, WeekDays: []time.Weekday{time.Sunday, time.Monday, time.Sunday}}
	if !rule.Equal(same) {
		t.Errorf("%s and %s are not equal", marshal(t, rule), marshal(t, same))
	}
	for _, other := range []Recurrence{
		{},
		{StartTime: start.Add(time.Second), Frequency: Week, WeekDays: same.WeekDays},
		{StartTime: start, Frequency: Week, WeekDays: same.WeekDays[:1]},
		{StartTime: start, Frequency: Week, WeekDays: same.WeekDays, TimeZone: "UTC"},
		{StartTime: start, Frequency: Week, WeekDays: same.WeekDays, Hours: []int{0}},
	} {
		if rule.Equal(other) {
			t.Errorf("%s and %s are equal", marshal(t, rule), marshal(t, other))
		}
	}
}

func TestMarshalDoesNotChangeTheRule(t *testing.T) {
	r := Recurrence{Frequency: Day, Hours: []int{17, 5, 17}}
	marshal(t, r)
	if !reflect.DeepEqual(r.Hours, []int{17, 5, 17}) {
		t.Errorf("Hours is now %v", r.Hours)
	}
}

func TestParseRefusesTheJSONOfAnInvalidRule(t *testing.T) {
	r := Recurrence{Frequency: 9, WeekDays: []time.Weekday{9, -1}, MonthlyOccurrences: []NthWeekday{{Day: 8, N: 7}}}
	if err := json.Unmarshal([]byte(marshal(t, r)), &r); err == nil {
		t.Error("the text of an invalid rule is accepted")
	}
}

package recurrence

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestAnErrorNamesFieldReasonValueAndCode(t *testing.T) {
	e := newError(CodeMinutesRange, "schedule.minutes[2]", "60", "must be 0 to %d", 59)
	if got, want := e.Error(), `recurrence: schedule.minutes[2]: must be 0 to 59, got "60" (minutes_range)`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	text, err := json.Marshal(e)
	if want := `{"code":"minutes_range","field":"schedule.minutes[2]","value":"60","reason":"must be 0 to 59"}`; err != nil || string(text) != want {
		t.Errorf("got  %s, %v\nwant %s", text, err, want)
	}
}

func TestErrorsFindsEachErrorInWrappedAndJoinedErrors(t *testing.T) {
	a, b, c := &Error{Code: "a"}, &Error{Code: "b"}, &Error{Code: "c"}
	err := fmt.Errorf("outer: %w", errors.Join(a, errors.New("other"), fmt.Errorf("inner: %w", errors.Join(b, c))))
	if got := codesOf(err); got != "a b c" {
		t.Errorf("got %q", got)
	}
	if got := Errors(nil); got != nil {
		t.Errorf("of nil: %v", got)
	}
	if got := Errors(errors.New("other")); got != nil {
		t.Errorf("of another error: %v", got)
	}
}

func TestAtMostAHundredErrorsAreReturned(t *testing.T) {
	_, err := Parse([]byte(`{"frequency":"day","schedule":{"minutes":[` + strings.Repeat("60,", 20000) + `60]}}`))
	if list := Errors(err); len(list) != 100 || list[99].Field != "schedule.minutes[99]" {
		t.Errorf("got %d errors, the last for %s", len(list), list[len(list)-1].Field)
	}
}

func TestAValueIsCutAt64Characters(t *testing.T) {
	for value, want := range map[string]string{
		"short":                          "short",
		strings.Repeat("ü", 64):          strings.Repeat("ü", 64),
		strings.Repeat("ü", 65):          strings.Repeat("ü", 64),
		"\xff" + strings.Repeat("a", 99): "\ufffd" + strings.Repeat("a", 63),
	} {
		if got := newError("", "", value, "").Value; got != want {
			t.Errorf("%q: got %q, want %q", value, got, want)
		}
	}
}

func TestFrequencyConvertsToAndFromItsWord(t *testing.T) {
	for f, word := range map[Frequency]string{0: "", Second: "second", Minute: "minute", Hour: "hour", Day: "day", Week: "week", Month: "month", Year: "year"} {
		text, err := f.MarshalText()
		if f.String() != word || err != nil || string(text) != word {
			t.Errorf("%d: got %q, %q, %v, want %q", f, f.String(), text, err, word)
		}
		back := Frequency(99)
		if err := back.UnmarshalText(text); err != nil || back != f {
			t.Errorf("%q reads as %d, %v, want %d", text, back, err, f)
		}
	}
	if _, err := Frequency(8).MarshalText(); codesOf(err) != "frequency_unknown" {
		t.Errorf("8 has text: %v", err)
	}
	for word, want := range map[string]Frequency{"DAILY": Day, "weeks": Week, "Monthly": Month, "yearly": Year, "secondly": Second} {
		var f Frequency
		if err := f.UnmarshalText([]byte(word)); err != nil || f != want {
			t.Errorf("%s reads as %v, %v", word, f, err)
		}
	}
}

package recurrence

import "testing"

func TestAShiftConvertsToAndFromItsWord(t *testing.T) {
	for s, word := range map[Shift]string{
		ShiftDrop: "drop", ShiftNext: "next", ShiftPrevious: "previous", ShiftNearest: "nearest",
		ShiftNextInMonth: "nextInMonth", ShiftPreviousInMonth: "previousInMonth", ShiftNearestInMonth: "nearestInMonth",
	} {
		text, err := s.MarshalText()
		if s.String() != word || err != nil || string(text) != word {
			t.Errorf("%d: got %q, %q, %v, want %q", s, s.String(), text, err, word)
		}
		back := Shift(99)
		if err := back.UnmarshalText(text); err != nil || back != s {
			t.Errorf("%q reads as %d, %v, want %d", text, back, err, s)
		}
	}
	for word, want := range map[string]Shift{
		"": ShiftDrop, "NEXTINMONTH": ShiftNextInMonth, "Following": ShiftNext, "preceding": ShiftPrevious,
		"modifiedFollowing": ShiftNextInMonth, "modifiedPreceding": ShiftPreviousInMonth,
	} {
		got := Shift(99)
		if err := got.UnmarshalText([]byte(word)); err != nil || got != want {
			t.Errorf("%q reads as %v, %v, want %v", word, got, err, want)
		}
	}
}

func TestAnUnknownShiftIsRefused(t *testing.T) {
	if _, err := Shift(7).MarshalText(); describeErrors(err) != "shift_value|shift|Shift(7)" {
		t.Errorf("7 has text: %v", err)
	}
	s := ShiftNext
	if err := s.UnmarshalText([]byte("later")); describeErrors(err) != "shift_value|shift|later" || s != ShiftNext {
		t.Errorf("later reads as %v, %v, want an error and no change", s, err)
	}
}

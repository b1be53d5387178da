package recurrence

import "testing"

func TestClockChangesConvertToAndFromTheirWord(t *testing.T) {
	for c, word := range map[ClockChanges]string{ClockOnce: "once", ClockSkip: "skip", ClockShown: "shown"} {
		text, err := c.MarshalText()
		if c.String() != word || err != nil || string(text) != word {
			t.Errorf("%d: got %q, %q, %v, want %q", c, c.String(), text, err, word)
		}
		back := ClockChanges(99)
		if err := back.UnmarshalText(text); err != nil || back != c {
			t.Errorf("%q reads as %d, %v, want %d", text, back, err, c)
		}
	}
	for word, want := range map[string]ClockChanges{"": ClockOnce, "Shown": ClockShown} {
		got := ClockChanges(99)
		if err := got.UnmarshalText([]byte(word)); err != nil || got != want {
			t.Errorf("%q reads as %v, %v, want %v", word, got, err, want)
		}
	}
}

func TestUnknownClockChangesAreRefused(t *testing.T) {
	if _, err := ClockChanges(3).MarshalText(); describeErrors(err) != "clockchanges_value|clockChanges|ClockChanges(3)" {
		t.Errorf("3 has text: %v", err)
	}
	c := ClockSkip
	if err := c.UnmarshalText([]byte("twice")); describeErrors(err) != "clockchanges_value|clockChanges|twice" || c != ClockSkip {
		t.Errorf("twice reads as %v, %v, want an error and no change", c, err)
	}
}

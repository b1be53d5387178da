package recurrence

import "testing"

func TestEveryCalendarCaseIsReadOrRefusedAsExpected(t *testing.T) {
	read, refused := 0, 0
	for _, c := range casesOf(t, "calendar_cases.json") {
		r, err := Parse(c.Job)
		if c.Code != "" {
			refused++
			if got := codesOf(err); got != c.Code {
				t.Errorf("%s %s: got codes %q, want %q: %s", c.ID, c.Reason, got, c.Code, c.Job)
			}
			continue
		}
		read++
		if err != nil {
			t.Errorf("%s: refused: %v: %s", c.ID, err, c.Job)
			continue
		}
		checkRoundTrip(t, r)
	}
	if read != 400 || refused != 40 {
		t.Errorf("%d cases to be read and %d to be refused, want 400 and 40", read, refused)
	}
}

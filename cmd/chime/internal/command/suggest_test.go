package command

import "testing"

func TestTheNearestNameIsSuggested(t *testing.T) {
	names := []string{"report", "reports/daily", "invoices", "Cleanup", "ab"}
	for name, want := range map[string]string{
		"repotr": `; did you mean "report"?`, "reprt": `; did you mean "report"?`, "invoice": `; did you mean "invoices"?`,
		"cleanup": `; did you mean "Cleanup"?`, "reports/dayly": `; did you mean "reports/daily"?`, "mail": "", "": `; did you mean "ab"?`, "xyz": "",
	} {
		if got := didYouMean(name, names); got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
}

func TestHowFarNamesAreApart(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"a", "", 1}, {"kitten", "sitting", 3}, {"ab", "ba", 1}, {"grün", "grun", 1}, {"report", "report", 0}, {"aaaaaaaaaaaaaaa", "b", 9}} {
		if got := distance(c.a, c.b, 9); got != c.want {
			t.Errorf("%s, %s: got %d, want %d", c.a, c.b, got, c.want)
		}
		if got := distance(c.b, c.a, 9); got != c.want {
			t.Errorf("%s, %s: got %d, want %d", c.b, c.a, got, c.want)
		}
	}
}

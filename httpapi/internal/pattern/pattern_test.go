package pattern

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
)

// A pattern matches like the regular expression that has .* for each *.
func TestAPatternMatchesLikeItsRegularExpression(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	word := func(letters string, most int) string {
		text := make([]byte, random.IntN(most+1))
		for i := range text {
			text[i] = letters[random.IntN(len(letters))]
		}
		return string(text)
	}
	matched := 0
	for range 20_000 {
		entry, text := word("ab.*", 6), word("ab.", 7)
		want := regexp.MustCompile(`^(?s:` + strings.ReplaceAll(regexp.QuoteMeta(entry), `\*`, `.*`) + `)$`).MatchString(text)
		if got := Match(entry, text); got != want {
			t.Fatalf("%q matches %q: got %v, want %v", entry, text, got, want)
		}
		if want {
			matched++
		}
	}
	if matched < 500 {
		t.Errorf("%d of the texts match: the test tries too few", matched)
	}
}

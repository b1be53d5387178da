package redisstore

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	lua "github.com/yuin/gopher-lua"

	"github.com/chimejobs/chime/internal/long"
	"github.com/chimejobs/chime/internal/protocol"
)

// loadDays loads the function of scripts/lib/history.lua that counts days, as a global of a state.
func loadDays(t *testing.T) *lua.LState {
	t.Helper()
	state := lua.NewState()
	t.Cleanup(state.Close)
	code := read("scripts/lib/strings.lua") + "local function whole(n) return string.format('%d', n) end\n" + read("scripts/lib/history.lua") +
		"count_days = entries().count_days"
	if err := state.DoString(code); err != nil {
		t.Fatal(err)
	}
	return state
}

// countDays calls the function that counts days.
func countDays(t *testing.T, state *lua.LState, text, other string, counts string) string {
	t.Helper()
	if err := state.DoString(fmt.Sprintf("return count_days(%q, %q, { %s })", text, other, counts)); err != nil {
		t.Fatal(err)
	}
	defer state.Pop(1)
	return state.ToString(-1)
}

// The days of a schedule are those that a plain list counts, in any order and in any number of texts; of more than 35 the oldest are removed.
func TestDaysAreCountedAsAPlainListDoes(t *testing.T) {
	state := loadDays(t)
	random := rand.New(rand.NewPCG(1, 35))
	for range long.Seeds(10, 40) {
		texts, want, newest := [2]string{}, dayCounts{}, int64(20000)
		for range 30 {
			var counts []string
			for range 1 + random.IntN(4) {
				newest += []int64{0, 0, 0, 1, 1, 2, 40}[random.IntN(7)] * int64(random.IntN(2))
				day := newest - random.Int64N(40)*random.Int64N(2)
				if want[day] == nil {
					want[day] = &protocol.DayRecord{Day: time.Unix(day*86400, 0).UTC()}
				}
				letter, n := "DFSM"[random.IntN(4)], 1+random.IntN(3)*random.IntN(500)
				*map[byte]*int{'D': &want[day].Done, 'F': &want[day].Failed, 'S': &want[day].Skipped, 'M': &want[day].Missed}[letter] += n
				counts = append(counts, fmt.Sprintf("{ %d, '%c', %d }", day, letter, n))
			}
			which := random.IntN(2)
			texts[which] = countDays(t, state, texts[which], "", strings.Join(counts, ", "))
			got := dayCounts{}
			got.add(texts[0])
			got.add(texts[1])
			if !slices.Equal(got.records(), want.records()) {
				t.Fatalf("after %v days are %v, want %v; the texts are %q", counts, got.records(), want.records(), texts)
			}
		}
		both := dayCounts{}
		both.add(countDays(t, state, texts[0], texts[1], ""))
		if !slices.Equal(both.records(), want.records()) {
			t.Fatalf("both texts are %v, want %v", both.records(), want.records())
		}
	}
}

// The days of a schedule are small: at most 150 bytes for one that runs up to once a quarter of an hour and fails on one day of seven.
func TestDaysAreSmall(t *testing.T) {
	state := loadDays(t)
	size := func(day func(i int) string) int {
		var counts []string
		for i := range protocol.MaxDays {
			counts = append(counts, strings.ReplaceAll(day(i), "day", fmt.Sprint(20000+i)))
		}
		return len(countDays(t, state, "", "", strings.Join(counts, ", ")))
	}
	failing := func(a, b string) func(int) string {
		return func(i int) string {
			if i%7 == 3 {
				return b
			}
			return a
		}
	}
	for _, c := range []struct {
		what string
		most int
		day  func(int) string
	}{
		{"daily, well", 12, failing("{ day, 'D', 1 }", "{ day, 'D', 1 }")},
		{"quarters, failing on five days", 80, failing("{ day, 'D', 96 }", "{ day, 'D', 95 }, { day, 'F', 2 }")},
		{"every second, all different", 710, func(i int) string {
			return fmt.Sprintf("{ day, 'D', %d }, { day, 'F', %d }, { day, 'S', %d }, { day, 'M', %d }", 80000+i, 50000+i, 50000+2*i, 50000+3*i)
		}},
		{"minutes, each day another number of failures", 230, func(i int) string { return fmt.Sprintf("{ day, 'D', %d }, { day, 'F', %d }", 1400-i, 1+i) }},
	} {
		n := size(c.day)
		t.Logf("%s: %d bytes", c.what, n)
		if n > c.most {
			t.Errorf("%s: %d bytes, want %d at most", c.what, n, c.most)
		}
	}
}

// A text of days that was edited by hand causes no error.
func FuzzDays(f *testing.F) {
	f.Add("ffk.14.13F1.~5.2S1M1")
	f.Fuzz(func(t *testing.T, text string) {
		days := dayCounts{}
		days.add(text)
		if n := len(days.records()); n > protocol.MaxDays {
			t.Errorf("%d days", n)
		}
	})
}

package long

import (
	"fmt"
	"slices"
	"testing"
)

// A walk takes its first seeds always, and all others by eight numbers in a row; without a number it takes all.
func TestEightNumbersTakeAllSeeds(t *testing.T) {
	taken := map[uint64]int{}
	for n := range uint64(share) {
		seeds := draw(30, 400, 1000+n, true)
		even := 0
		for _, seed := range seeds {
			even += int(1 - seed%2)
		}
		if !slices.IsSorted(seeds) || len(seeds) > 30+420/share || even < len(seeds)/3 || even > len(seeds)*2/3 {
			t.Errorf("number %d: %v, of which %d are even; want at most %d seeds in order, and half of them even", n, seeds, even, 30+420/share)
		}
		for _, seed := range seeds {
			taken[seed]++
		}
	}
	for seed := range uint64(400) {
		if want := map[bool]int{true: share, false: 1}[seed < 30]; taken[seed] != want {
			t.Errorf("seed %d is taken %d times, want %d", seed, taken[seed], want)
		}
	}
	if seeds := draw(30, 400, 0, false); len(seeds) != 400 {
		t.Errorf("without a number %d seeds, want 400", len(seeds))
	}
}

// The tests of each file take everything once in eight numbers in a row, and not all files by the same number.
func TestEightNumbersTakeAllHours(t *testing.T) {
	for n := range uint64(share) {
		files := 0
		for i := range 100 {
			file := fmt.Sprintf("/src/chime/tests/jobs/file%d_test.go", i)
			times := 0
			for next := range uint64(share) {
				if isDrawn(file, 70+n+next) {
					times++
				}
			}
			if times != 1 {
				t.Errorf("%s is taken %d times by eight numbers from %d, want once", file, times, 70+n)
			}
			if isDrawn(file, 70+n) {
				files++
			}
		}
		if files < 4 || files > 25 {
			t.Errorf("number %d takes %d of 100 files, want about an eighth", 70+n, files)
		}
	}
	for text, want := range map[string]bool{"": false, "few": false, "all": false, "few:all": false, "12": true, "few:12": true} {
		if _, drawn := numberOf(text); drawn != want {
			t.Errorf("CHIME_SEEDS=%q is a number: %v, want %v", text, drawn, want)
		}
	}
}

// A test with alternatives takes each of them once in as many numbers as there are alternatives, and not all tests take the same one.
func TestNumbersInARowPickAllAlternatives(t *testing.T) {
	for _, n := range []int{1, 3, 5} {
		first := map[int]bool{}
		for i := range 50 {
			name, picked := fmt.Sprintf("TestNumber%d", i), map[int]bool{}
			for number := range uint64(n) {
				picked[pick(name, n, 1<<28-2+number)] = true
			}
			if len(picked) != n {
				t.Errorf("%s takes %v by %d numbers in a row, want each of %d alternatives", name, picked, n, n)
			}
			first[pick(name, n, 7)] = true
		}
		if len(first) != n {
			t.Errorf("of %d alternatives 50 tests take only %v", n, first)
		}
	}
}

package command

import (
	"fmt"
	"strings"
)

// didYouMean returns `; did you mean "report"?` with the name that is most similar to an unknown one, or nothing if no name is similar.
func didYouMean(name string, names []string) string {
	nearest, least := "", max(2, len([]rune(name))/4)+1
	for _, other := range names {
		if d := distance(strings.ToLower(name), strings.ToLower(other), least); d < least {
			nearest, least = other, d
		}
	}
	if nearest == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", nearest)
}

// firstLetter returns the prefix of the names that are compared first for a suggestion.
func firstLetter(name string) string {
	for _, c := range name {
		return string(c)
	}
	return ""
}

// distance returns how many letters have to be inserted, removed, replaced or swapped to turn one text into the other, at most most.
func distance(a, b string, most int) int {
	x, y := []rune(a), []rune(b)
	if len(x)-len(y) >= most || len(y)-len(x) >= most {
		return most
	}
	before, last, row := make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range last {
		last[j] = j
	}
	for i := range x {
		row[0] = i + 1
		for j := range y {
			cost := 1
			if x[i] == y[j] {
				cost = 0
			}
			row[j+1] = min(last[j]+cost, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && x[i] == y[j-1] && x[i-1] == y[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, before
	}
	return min(last[len(y)], most)
}

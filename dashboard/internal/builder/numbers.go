package builder

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// maxNumbers is larger than the maximum of any element of a rule.
const maxNumbers = 400

// readNumbers reads a list of numbers such as "9, 12-17". Negative numbers count from the end.
func readNumbers(text string) ([]int, error) {
	var all []int
	for _, part := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' }) {
		first, last, err := numberRange(part)
		if err != nil {
			return nil, err
		}
		for n := first; n <= last && len(all) < maxNumbers; n++ {
			all = append(all, n)
		}
	}
	return all, nil
}

func numberRange(part string) (first, last int, err error) {
	if n, err := strconv.Atoi(part); err == nil {
		return n, n, nil
	}
	dash := strings.LastIndex(part, "-")
	if dash > 0 {
		low, errLow := strconv.Atoi(part[:dash])
		high, errHigh := strconv.Atoi(part[dash+1:])
		if errLow == nil && errHigh == nil && low >= 0 && low <= high {
			return low, high, nil
		}
	}
	return 0, 0, fmt.Errorf("%.20q is not a number; use numbers and ranges, such as 9, 12-17", part)
}

// writeNumbers writes numbers in the form of readNumbers. Three or more consecutive numbers become a range.
func writeNumbers(numbers []int) string {
	return joinRanges(numbers, ", ")
}

func joinRanges(numbers []int, between string) string {
	numbers = slices.Compact(slices.Sorted(slices.Values(numbers)))
	var parts []string
	for len(numbers) > 0 {
		n := 1
		for n < len(numbers) && numbers[n] == numbers[0]+n && numbers[0] >= 0 {
			n++
		}
		if n < 3 {
			n = 1
			parts = append(parts, strconv.Itoa(numbers[0]))
		} else {
			parts = append(parts, fmt.Sprintf("%d-%d", numbers[0], numbers[n-1]))
		}
		numbers = numbers[n:]
	}
	return strings.Join(parts, between)
}

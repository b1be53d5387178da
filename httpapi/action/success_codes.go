package action

import (
	"fmt"
	"strconv"
	"strings"
)

// codeRange is a range of statuses that count as success, both ends included.
type codeRange struct{ from, to int }

const (
	minSuccess, maxSuccess = 200, 499
	maxSuccessCodes        = 20
)

// parseCodes reads a status, such as "204", or a range of statuses, such as "200-299".
func parseCodes(text string) (codeRange, error) {
	first, last, isRange := strings.Cut(text, "-")
	if !isRange {
		last = first
	}
	from, err := strconv.ParseUint(first, 10, 16)
	if err != nil || len(first) != 3 {
		return codeRange{}, fmt.Errorf("want a status, such as 204, or a range, such as 200-299")
	}
	to, err := strconv.ParseUint(last, 10, 16)
	if err != nil || len(last) != 3 {
		return codeRange{}, fmt.Errorf("want a status, such as 204, or a range, such as 200-299")
	}
	if from < minSuccess || to > maxSuccess || from > to {
		return codeRange{}, fmt.Errorf("want statuses from %d to %d", minSuccess, maxSuccess)
	}
	return codeRange{int(from), int(to)}, nil
}

// succeeds reports whether a status counts as success. Invalid codes match nothing.
func (r *Request) succeeds(status int) bool {
	if len(r.SuccessCodes) == 0 {
		return status >= 200 && status <= 299
	}
	for _, text := range r.SuccessCodes {
		if codes, err := parseCodes(text); err == nil && codes.from <= status && status <= codes.to {
			return true
		}
	}
	return false
}

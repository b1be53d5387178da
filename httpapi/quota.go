package httpapi

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// TokenQuotas returns the quotas in the lines of tokens, for [Options]: the fields after the collections of a line bound what the collections that its name
// owns use together, whoever calls them:
//
//	ci 2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae admin ci-* collections=500 unfinished=256MiB
//
// The number of collections is 1 to 10,000, the size of unfinished runs 1KiB to 1024GiB. If several lines of a name have the same quota, the largest counts;
// without one the default does. The errors are those of [Tokens].
func TokenQuotas(lines string) (func(owner string) Quota, error) {
	if _, err := Tokens(lines); err != nil {
		return nil, err
	}
	quotas := map[string]Quota{}
	for line := range strings.Lines(lines) {
		fields := strings.Fields(line)
		if len(fields) < 5 || fields[0][0] == '#' {
			continue
		}
		q, _ := readQuota(fields[4:]) // no error: Tokens has read it
		of := quotas[fields[0]]
		of.Collections, of.UnfinishedBytes = max(of.Collections, q.Collections), max(of.UnfinishedBytes, q.UnfinishedBytes)
		quotas[fields[0]] = of
	}
	return func(owner string) Quota { return quotas[owner] }, nil
}

const (
	maxOwned      = 10_000
	maxUnfinished = 1 << 40
)

// readQuota reads the fields of a line after its collections.
func readQuota(fields []string) (q Quota, err error) {
	for _, field := range fields {
		name, value, _ := strings.Cut(field, "=")
		switch {
		case name == "collections" && q.Collections == 0:
			if q.Collections, err = strconv.Atoi(value); err != nil || q.Collections < 1 || q.Collections > maxOwned {
				return q, fmt.Errorf("%.40q: want collections=1 to collections=10000", field)
			}
		case name == "unfinished" && q.UnfinishedBytes == 0:
			if q.UnfinishedBytes, err = readSize(value); err != nil {
				return q, fmt.Errorf("%.40q: want unfinished=1KiB to unfinished=1024GiB", field)
			}
		default:
			return q, fmt.Errorf("%.40q: want collections=NUMBER or unfinished=SIZE, each once", field)
		}
	}
	return q, nil
}

// readSize reads a number of KiB, MiB or GiB.
func readSize(text string) (int64, error) {
	for i, unit := range []string{"KiB", "MiB", "GiB"} {
		digits, ok := strings.CutSuffix(text, unit)
		n, err := strconv.ParseInt(digits, 10, 32)
		if size := n << (10 * (i + 1)); ok && err == nil && n > 0 && size <= maxUnfinished {
			return size, nil
		}
	}
	return 0, errors.New("no size")
}

// Package sample reads and writes the samples of a partition in the format of Redis: the entries of its streams of minutes and hours, and
// the sums of what workers have measured. Its callers pass the names of the keys.
package sample

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
)

// fieldNames are the fields of an entry that count jobs: see scripts/samples/sample.lua. The first ones are changes.
const (
	fieldNames = "edfrxksmzwlbpg"
	changes    = 9
)

// numbersOf are the numbers of a sample in the order of fieldNames.
func numbersOf(s *protocol.Sample) [len(fieldNames)]*int64 {
	return [...]*int64{
		&s.Enqueued, &s.Done, &s.Failed, &s.Retried, &s.Died, &s.Cancelled, &s.Skipped, &s.Missed, &s.Expired, &s.Waiting, &s.Delayed, &s.Running, &s.Parked, &s.Dead,
	}
}

// Parse reads an entry. A field that cannot be read counts as 0; ok is false if the entry's ID is not an instant.
func Parse(message redis.XMessage) (s protocol.Sample, ok bool) {
	ms, _, _ := strings.Cut(message.ID, "-")
	at, err := strconv.ParseInt(ms, 10, 64)
	if err != nil {
		return s, false
	}
	s.At, s.Covers = time.UnixMilli(at).UTC(), 1
	numbers := numbersOf(&s)
	for field, value := range message.Values {
		text, _ := value.(string)
		if field == "M" {
			parseMeasured(text, &s)
			continue
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 0 {
			continue
		}
		switch i := strings.Index(fieldNames, field); {
		case field == "c":
			s.Covers = int(min(max(n, 1), 1<<31-1))
		case field == "o":
			s.Oldest = time.Duration(min(n, protocol.MaxDelay.Milliseconds())) * time.Millisecond
		case len(field) == 1 && i >= 0:
			*numbers[i] = n
		}
	}
	return s, true
}

// parseMeasured reads the measurements of workers from the fields and texts of …:measured: see scripts/lib/measured.lua.
func parseMeasured(text string, s *protocol.Sample) {
	parts := strings.Split(text, "\t")
	for i := 0; i+1 < len(parts); i += 2 {
		field := parts[i]
		var sums protocol.MeasuredName
		addSums(parts[i+1], &sums)
		switch {
		case field == "L":
			s.Lateness = sums.Run
		case field == "W":
			s.Wait = sums.Run
		case field == "R":
			s.Run = sums.Run
		case strings.HasPrefix(field, "n"):
			sums.Name = field[1:]
			mergeNames(s, []protocol.MeasuredName{sums})
		}
	}
}

// formatMeasured is the inverse of parseMeasured.
func formatMeasured(s *protocol.Sample) string {
	var parts []string
	add := func(field, text string) {
		if text != "" {
			parts = append(parts, field, text)
		}
	}
	add("L", durationsText(&s.Lateness))
	add("W", durationsText(&s.Wait))
	add("R", durationsText(&s.Run))
	for i := range s.Names {
		add("n"+s.Names[i].Name, nameText(&s.Names[i]))
	}
	return strings.Join(parts, "\t")
}

// Hour returns the fields and values of the entry of an hour: the sum of the changes in its entries by the minute, which come newest first,
// and the depths of the newest one. It returns nothing if there are no entries.
func Hour(newestFirst []redis.XMessage) []any {
	var hour protocol.Sample
	var from time.Time
	for _, message := range slices.Backward(newestFirst) {
		entry, ok := Parse(message)
		if !ok {
			continue
		}
		if from.IsZero() {
			from = entry.At.Add(-time.Duration(entry.Covers-1) * time.Minute)
		}
		hour.At, hour.Oldest = entry.At, entry.Oldest
		sums := numbersOf(&hour)
		for i, n := range numbersOf(&entry) {
			if i < changes {
				*n += *sums[i]
			}
			*sums[i] = *n
		}
		hour.Lateness.Merge(&entry.Lateness)
		hour.Wait.Merge(&entry.Wait)
		hour.Run.Merge(&entry.Run)
		mergeNames(&hour, entry.Names)
	}
	if from.IsZero() {
		return nil
	}
	fields := []any{"w", hour.Waiting} // one, so that an entry has any
	for i, n := range numbersOf(&hour) {
		if field := fieldNames[i : i+1]; *n > 0 && field != "w" {
			fields = append(fields, field, *n)
		}
	}
	if covers := hour.At.Truncate(time.Hour).Sub(from.Truncate(time.Hour))/time.Hour + 1; covers > 1 {
		fields = append(fields, "c", int64(covers))
	}
	if hour.Oldest > 0 {
		fields = append(fields, "o", hour.Oldest.Milliseconds())
	}
	if text := formatMeasured(&hour); text != "" {
		fields = append(fields, "M", text)
	}
	return fields
}

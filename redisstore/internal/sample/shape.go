package sample

import (
	"fmt"
	"hash/fnv"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// appendShape appends a shape to the arguments of a script.
func appendShape(args []any, s *protocol.MeasuredShape) []any {
	hash := fnv.New64a()
	_, _ = io.WriteString(hash, s.Shape)
	return append(args, fmt.Sprintf("%s\t%016x", s.Name, hash.Sum64()), fmt.Sprintf("%d %d %d", s.Count, s.First.UnixMilli(), s.Last.UnixMilli()), s.Version, s.ID, s.Shape)
}

// ParseShape reads a field of …:shapes and its value; false: it cannot be read. A part of a list that cannot be read is skipped.
func ParseShape(field, value string) (s protocol.ErrorShape, ok bool) {
	name, _, named := strings.Cut(field, "\t")
	parts := strings.SplitN(value, "\t", 5)
	if !named || len(parts) != 5 {
		return s, false
	}
	var numbers [3]int64
	for i, text := range strings.SplitN(parts[0], " ", len(numbers)) {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 0 {
			return s, false
		}
		numbers[i] = n
	}
	s.Name, s.Count, s.First, s.Last = name, numbers[0], time.UnixMilli(numbers[1]).UTC(), time.UnixMilli(numbers[2]).UTC()
	s.ID, s.Shape = parts[3], parts[4]
	s.Hours, s.Versions = map[time.Time]int64{}, map[string]int64{}
	counts(parts[1], ":", func(key string, n int64) {
		if hour, err := strconv.ParseInt(key, 10, 64); err == nil && hour >= 0 && hour < 1<<31 {
			s.Hours[time.Unix(hour*3600, 0).UTC()] += n
		}
	})
	counts(parts[2], "=", func(version string, n int64) { s.Versions[version] += n })
	return s, true
}

// counts calls add for each entry of a list "<key><sep><count>,…".
func counts(list, sep string, add func(key string, n int64)) {
	for entry := range strings.SplitSeq(list, ",") {
		key, number, found := strings.Cut(entry, sep)
		if n, err := strconv.ParseInt(number, 10, 64); found && err == nil && n >= 0 {
			add(key, n)
		}
	}
}

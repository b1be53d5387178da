package sample

import (
	"strconv"
	"strings"

	"github.com/chimejobs/chime/internal/protocol"
)

// AppendMeasured appends measurements to the arguments of a script, in the formats of scripts/lib/shapes.lua and scripts/lib/measured.lua.
func AppendMeasured(args []any, m *protocol.Measured) []any {
	args = append(args, len(m.Shapes))
	for i := range m.Shapes {
		args = appendShape(args, &m.Shapes[i])
	}
	args = append(args, durationsText(&m.Lateness), durationsText(&m.Wait), durationsText(&m.Run))
	for i := range m.Names {
		args = append(args, m.Names[i].Name, nameText(&m.Names[i]))
	}
	return args
}

// The keys of the sums of a job name, in addition to the numbers of the buckets: see scripts/lib/sums.lua.
const (
	keyDone   = "d"
	keyFailed = "f"
)

func nameText(name *protocol.MeasuredName) string {
	text := appendSum(nil, keyDone, name.Done)
	text = appendSum(text, keyFailed, name.Failed)
	return string(appendDurations(text, &name.Run))
}

func durationsText(d *protocol.Durations) string { return string(appendDurations(nil, d)) }

func appendDurations(text []byte, d *protocol.Durations) []byte {
	for i, n := range d {
		text = appendSum(text, strconv.Itoa(i), n)
	}
	return text
}

func appendSum(text []byte, key string, n int64) []byte {
	if n == 0 {
		return text
	}
	if len(text) > 0 {
		text = append(text, ' ')
	}
	return strconv.AppendInt(append(append(text, key...), ':'), n, 10)
}

// addSums adds a text of sums. A part that cannot be read counts as 0.
func addSums(text string, to *protocol.MeasuredName) {
	for sum := range strings.SplitSeq(text, " ") {
		key, number, _ := strings.Cut(sum, ":")
		n, err := strconv.ParseInt(number, 10, 64)
		if err != nil || n < 0 {
			continue
		}
		switch key {
		case keyDone:
			to.Done += n
		case keyFailed:
			to.Failed += n
		default:
			if i, err := strconv.Atoi(key); err == nil && i >= 0 && i < len(to.Run) {
				to.Run[i] += n
			}
		}
	}
}

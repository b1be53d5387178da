package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
)

// A sample is one figure of one round: a line of a recording.
type sample struct {
	Measure string  `json:"measure"`
	Figure  string  `json:"figure"`
	Unit    string  `json:"unit,omitempty"`
	Less    bool    `json:"less_is_better,omitempty"`
	Peer    string  `json:"peer"`
	Round   int     `json:"round"`
	Value   float64 `json:"value"`
	Over    bool    `json:"over,omitempty"` // where the measure gave up: it would have been more
}

// A recording is what runs told: the conditions of each, and their samples in the order in which they were taken.
type recording struct {
	conditions []conditions
	samples    samples
}

// A header is the line that tells the conditions of the samples that follow it.
type header struct {
	Conditions conditions `json:"conditions"`
}

// writeLine writes a header or a sample as a line of JSON.
func writeLine(w io.Writer, l any) error { return json.NewEncoder(w).Encode(l) }

// read adds the lines of r to the recording.
func (rec *recording) read(r io.Reader) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		var h header
		var one sample
		switch {
		case exactly(lines.Bytes(), &h) == nil && h.Conditions.Date != "":
			rec.conditions = append(rec.conditions, h.Conditions)
		case exactly(lines.Bytes(), &one) == nil && one.Measure != "" && one.Figure != "" && one.Peer != "":
			rec.samples = append(rec.samples, one)
		default:
			return fmt.Errorf("line %d is neither conditions nor a sample", n)
		}
	}
	return lines.Err()
}

// exactly decodes JSON that has no other fields than v.
func exactly(text []byte, v any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	return decoder.Decode(v)
}

// readRecording reads recorded files as if they were of one run.
func readRecording(files ...string) (recording, error) {
	var rec recording
	for _, name := range files {
		file, err := os.Open(name)
		if err != nil {
			return recording{}, err
		}
		err = rec.read(file)
		file.Close()
		if err != nil {
			return recording{}, fmt.Errorf("%s: %w", name, err)
		}
	}
	return rec, nil
}

// samples are all that has been told so far.
type samples []sample

// A spread is the median and the extremes of the values of all rounds.
type spread struct {
	median, least, most float64
	rounds              int
	measured            int // rounds that did not give up; the values of the others are the greatest
}

// spreadOf returns the spread of the values of a figure of a peer; ok is false where there are none.
func (s samples) spreadOf(measure, figure, peer string) (spread, bool) {
	var values []float64
	measured := 0
	for _, one := range s {
		if one.Measure == measure && one.Figure == figure && one.Peer == peer {
			values = append(values, one.Value)
			if !one.Over {
				measured++
			}
		}
	}
	if len(values) == 0 {
		return spread{}, false
	}
	slices.Sort(values)
	middle := len(values) / 2
	median := values[middle]
	if len(values)%2 == 0 {
		median = (values[middle-1] + values[middle]) / 2
	}
	return spread{median, values[0], values[len(values)-1], len(values), measured}, true
}

// bound is what stands before a value that is only known to be exceeded: the least where no round has measured, the median
// where half of them gave up, the most where any did.
func (s spread) bound(gaveUp int) string {
	if s.rounds-s.measured >= gaveUp {
		return "> "
	}
	return ""
}

// distinct lists what of the samples gives, in the order of its first appearance.
func distinct[K comparable](s samples, of func(sample) K) []K {
	var all []K
	met := map[K]bool{}
	for _, one := range s {
		if k := of(one); !met[k] {
			met[k] = true
			all = append(all, k)
		}
	}
	return all
}

// write writes the recording as it was read.
func (rec recording) write(w io.Writer) error {
	for _, c := range rec.conditions {
		if err := writeLine(w, header{c}); err != nil {
			return err
		}
	}
	for _, s := range rec.samples {
		if err := writeLine(w, s); err != nil {
			return err
		}
	}
	return nil
}

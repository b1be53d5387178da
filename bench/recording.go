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
	Over    bool    `json:"over,omitempty"` // the measure stopped at this value: the real value is greater

	run int // of the recording: its place among the conditions, from 1
}

// A recording has the conditions of each run, and its samples in the order in which they were taken.
type recording struct {
	conditions []conditions
	samples    samples
}

// A header is the line that has the conditions of the samples that follow it.
type header struct {
	Conditions conditions `json:"conditions"`
}

// writeLine writes a header or a sample as a line of JSON.
func writeLine(w io.Writer, l any) error { return json.NewEncoder(w).Encode(l) }

// read appends the lines of r to the recording.
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
			if one.run = len(rec.conditions); one.run == 0 {
				return fmt.Errorf("line %d: a sample before any conditions", n)
			}
			rec.samples = append(rec.samples, one)
		default:
			return fmt.Errorf("line %d is neither conditions nor a sample", n)
		}
	}
	return lines.Err()
}

// exactly decodes JSON and refuses fields that v does not have.
func exactly(text []byte, v any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	return decoder.Decode(v)
}

// readRecording reads recorded files as if they were one. A file may hold several runs, one appended to the other, as long as each
// measures something else.
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
	return rec, rec.check()
}

// check refuses a measure with samples of two runs: the machine differs between runs, and repeating a run until a figure is good would mislead.
// It also refuses a figure that is recorded twice in a round.
func (rec recording) check() error {
	type place struct {
		measure, figure, peer string
		round                 int
	}
	of, seen := map[string]int{}, map[place]bool{}
	for _, s := range rec.samples {
		if run, ok := of[s.Measure]; ok && run != s.run {
			return fmt.Errorf("%s was measured in run %d and again in run %d: a measure is of one run", s.Measure, run, s.run)
		}
		of[s.Measure] = s.run
		at := place{s.Measure, s.Figure, s.Peer, s.Round}
		if seen[at] {
			return fmt.Errorf("%s: %s of %s is recorded twice in round %d", s.Measure, s.Figure, s.Peer, s.Round)
		}
		seen[at] = true
	}
	return nil
}

// even refuses a measure whose peers have different rounds, because a document compares their medians.
func (rec recording) even() error {
	rounds := map[string]map[string]map[int]bool{} // of each peer of each measure
	for _, s := range rec.samples {
		if rounds[s.Measure] == nil {
			rounds[s.Measure] = map[string]map[int]bool{}
		}
		if rounds[s.Measure][s.Peer] == nil {
			rounds[s.Measure][s.Peer] = map[int]bool{}
		}
		rounds[s.Measure][s.Peer][s.Round] = true
	}
	for _, s := range rec.samples {
		for peer, its := range rounds[s.Measure] {
			if !its[s.Round] {
				return fmt.Errorf("%s: %s took part in round %d and %s did not: its peers have the same rounds", s.Measure, s.Peer, s.Round, peer)
			}
		}
	}
	return nil
}

// samples are all that has been recorded so far.
type samples []sample

// A spread is the median and the extremes of the values of all rounds.
type spread struct {
	median, least, most float64
	rounds              int
	measured            int // rounds that did not give up; the values of the others are the greatest
}

// spreadOf returns the spread of the values of a figure of a peer; ok is false if there are no values.
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
	return spread{medianOf(values), values[0], values[len(values)-1], len(values), measured}, true
}

// bound is written before a value of which only a lower bound is known: the least if all rounds gave up, the median if half of them did, the most if
// any did.
func (s spread) bound(gaveUp int) string {
	if s.rounds-s.measured >= gaveUp {
		return "> "
	}
	return ""
}

// middle is the median.
func (s spread) middle() string { return s.bound((s.rounds+1)/2) + quantity(s.median) }

// String is the median and, where rounds differ, the least and the most.
func (s spread) String() string {
	text := s.middle()
	if least, most := s.bound(s.rounds)+quantity(s.least), s.bound(1)+quantity(s.most); least != most {
		text += " (" + least + "–" + most + ")"
	}
	return text
}

// distinct lists the values of a function of the samples, each once, in the order of their first appearance.
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

// write writes the recording in the form that read reads: the conditions of each run before its samples.
func (rec recording) write(w io.Writer) error {
	for i, c := range rec.conditions {
		if err := writeLine(w, header{c}); err != nil {
			return err
		}
		for _, s := range rec.samples {
			if max(s.run, 1) != i+1 { // the current run has no number
				continue
			}
			if err := writeLine(w, s); err != nil {
				return err
			}
		}
	}
	return nil
}

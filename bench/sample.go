package main

import (
	"encoding/json"
	"io"
	"slices"
)

// A sample is one figure of one round, a line of the -json output.
type sample struct {
	Measure string  `json:"measure"`
	Figure  string  `json:"figure"`
	Unit    string  `json:"unit,omitempty"`
	Less    bool    `json:"less_is_better,omitempty"`
	Peer    string  `json:"peer"`
	Round   int     `json:"round"`
	Value   float64 `json:"value"`
}

// samples are all that a run has told so far.
type samples []sample

// write appends the samples to w, one JSON object a line.
func (s samples) write(w io.Writer) error {
	encoder := json.NewEncoder(w)
	for _, one := range s {
		if err := encoder.Encode(one); err != nil {
			return err
		}
	}
	return nil
}

// A spread is the median and the extremes of some values.
type spread struct{ median, least, most float64 }

// spreadOf returns the spread of the values of a figure of a peer; ok is false where there are none.
func (s samples) spreadOf(measure, figure, peer string) (spread, bool) {
	var values []float64
	for _, one := range s {
		if one.Measure == measure && one.Figure == figure && one.Peer == peer {
			values = append(values, one.Value)
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
	return spread{median, values[0], values[len(values)-1]}, true
}

package main

import (
	"fmt"
	"slices"
	"strings"
)

// A comparison is how many times better chime was than a peer: the median, the minimum and the maximum of the rounds' ratios. Both ran a round
// within minutes of each other, so the ratio does not depend on the speed of the machine at that time.
type comparison struct {
	median, least, most float64
	over                bool // the median is a bound: the peer gave up in half of the rounds
}

// turn is the run and the round of a sample.
type turn struct{ run, round int }

// compare compares chime with a peer round by round; ok is false if no round has both, or if the figure describes the machine.
func (s samples) compare(measure, figure, peer string, less bool) (c comparison, ok bool) {
	ratios, gaveUp := s.ratios(measure, figure, peer, less)
	if len(ratios) == 0 {
		return c, false
	}
	slices.Sort(ratios)
	return comparison{medianOf(ratios), ratios[0], ratios[len(ratios)-1], 2*gaveUp >= len(ratios)}, true
}

// ratios has chime's ratio in each round that has both, and gaveUp is the number of these rounds in which the peer gave up.
func (s samples) ratios(measure, figure, peer string, less bool) (ratios []float64, gaveUp int) {
	if slices.Contains(ofTheMachine, figure) {
		return nil, 0
	}
	own := map[turn]float64{}
	for _, one := range s {
		if one.Measure == measure && one.Figure == figure && one.Peer == chimePeer.name() {
			own[turn{one.run, one.Round}] = one.Value
		}
	}
	for _, one := range s {
		chime, both := own[turn{one.run, one.Round}]
		if !both || one.Measure != measure || one.Figure != figure || one.Peer != peer {
			continue
		}
		if less && chime == 0 || !less && one.Value == 0 {
			return nil, 0 // a ratio to zero has no meaning
		}
		ratios = append(ratios, ratio(chime, one.Value, less))
		if one.Over {
			gaveUp++
		}
	}
	return ratios, gaveUp
}

// ofTheMachine are figures of the machine, not of a library.
var ofTheMachine = []string{"p99 of a bare timer"}

// ratio is how many times better chime's value is than the peer's.
func ratio(chime, peer float64, less bool) float64 {
	if less {
		return peer / chime
	}
	return chime / peer
}

// String is the median.
func (c comparison) String() string {
	if c.over {
		return "> " + times(c.median)
	}
	return times(c.median)
}

// ranged is the median and, where the rounds differ, the least and the most.
func (c comparison) ranged() string {
	least, most := times(c.least), times(c.most)
	if least == most {
		return c.String()
	}
	return fmt.Sprintf("%s (%s–%s)", c, strings.TrimSuffix(least, " ×"), strings.TrimSuffix(most, " ×"))
}

// medianOf returns the median of ascending values.
func medianOf(ascending []float64) float64 {
	middle := len(ascending) / 2
	if len(ascending)%2 == 0 {
		return (ascending[middle-1] + ascending[middle]) / 2
	}
	return ascending[middle]
}

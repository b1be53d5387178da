package timeline

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"testing"
	"time"
)

var begin = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

func minutes(n int) time.Time { return begin.Add(time.Duration(n) * time.Minute) }

func TestNoTwoRunsOfALaneOverlap(t *testing.T) {
	row := Row{Occurrences: []Occurrence{
		{Planned: minutes(0), Started: minutes(0), Ended: minutes(30)},
		{Planned: minutes(10), Started: minutes(10), Ended: minutes(40)},
		{Planned: minutes(20), Outcome: Missed},
		{Planned: minutes(30), Started: minutes(30), Ended: minutes(35)},
		{Planned: minutes(32), Started: minutes(32), Ended: minutes(50)},
	}}
	if of, n := row.lanes(); n != 3 || !slices.Equal(of, []int{0, 1, 0, 0, 2}) {
		t.Errorf("%d lanes, %v", n, of)
	}
	if _, n := (Row{}).lanes(); n != 1 {
		t.Errorf("an empty row has %d lanes, want 1", n)
	}
}

func TestAPictureIsXMLAndAlwaysTheSame(t *testing.T) {
	chart := Chart{
		Title: `"<a & b>"`, From: begin, To: minutes(120), Spans: []Span{{minutes(10), minutes(20), "<down>"}},
		Rows: []Row{{Name: "<name>", Remark: "&", Occurrences: []Occurrence{
			{Planned: minutes(5), Started: minutes(5), Ended: minutes(6)},
			{Planned: minutes(10), Started: minutes(30), Ended: minutes(31), Outcome: Late},
			{Planned: minutes(40), Started: minutes(40), Ended: minutes(41), Outcome: CutShort},
			{Planned: minutes(50), Outcome: Dropped},
			{Planned: minutes(60), Outcome: Missed},
		}}},
	}
	drawn := chart.SVG()
	if !bytes.Equal(drawn, chart.SVG()) {
		t.Error("drawn twice, it is not the same")
	}
	for decoder := xml.NewDecoder(bytes.NewReader(drawn)); ; {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("%v\n%s", err, drawn)
		}
	}
}

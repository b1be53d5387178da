package wire

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

func TestAnEnvelopeKeepsItsLastFiveFailures(t *testing.T) {
	var d Details
	for i := range 7 {
		before := d.Failures
		d.AddFailure(Failure{At: time.UnixMilli(int64(i)).UTC(), Worker: "w", Error: fmt.Sprint(i)})
		if len(before) > 0 && before[len(before)-1].Error != fmt.Sprint(i-1) {
			t.Fatalf("adding failure %d changed the failures of another envelope: %v", i, before)
		}
	}
	got, err := DecodeEnvelope((&Envelope{Name: "a", Details: &d}).Encode())
	if err != nil {
		t.Fatal(err)
	}
	var stored []string
	for _, f := range got.Details.Failures {
		stored = append(stored, f.Error)
	}
	if fmt.Sprint(stored) != "[2 3 4 5 6]" {
		t.Errorf("after seven failures the envelope has %v, want the last five", stored)
	}
}

func TestAFailureIsCutTo500BytesAndEscaped(t *testing.T) {
	d := &Details{Failures: []Failure{{At: time.UnixMilli(0), Worker: "w\x00", Error: "\x1b" + strings.Repeat("x", 1<<20)}}}
	got, err := DecodeEnvelope((&Envelope{Name: "a", Details: d}).Encode())
	if err != nil {
		t.Fatal(err)
	}
	f := got.Details.Failures[0]
	if len(f.Error) != 500 || !strings.HasPrefix(f.Error, `\x1b`) || f.Worker != `w\x00` {
		t.Errorf("stored in %d bytes as %.10q… of worker %q, want 500 bytes, escaped", len(f.Error), f.Error, f.Worker)
	}
}

func TestDetailsOutOfRangeAreRefused(t *testing.T) {
	for name, form := range map[string]detailsForm{
		"a failure in year 5000":   {Failures: []failureForm{{At: 1 << 47}}},
		"a negative retry":         {Retry: []int64{-1, 5}},
		"a retry of 200 years":     {Retry: []int64{1, int64(2 * protocol.MaxDelay / time.Millisecond)}},
		"results kept 200 years":   {Keep: int64(2 * protocol.MaxDelay / time.Millisecond)},
		"a death on no queue":      {Death: &deathForm{ID: "a"}},
		"a death with a long ID":   {Death: &deathForm{Queue: "q", ID: strings.Repeat("x", 513)}},
		"a prior on no queue":      {Prior: &priorForm{ID: "a"}},
		"a prior with a long ID":   {Prior: &priorForm{Queue: "q", ID: strings.Repeat("x", 513)}},
		"a negative In":            {In: -1},
		"an In of 200 years":       {In: int64(2 * protocol.MaxDelay / time.Millisecond)},
		"an invalid queue":         {Queue: "a b"},
		"enqueued before the dawn": {Enqueued: -1 << 47},
		"due before it is planned": {Offset: -1},
	} {
		element, err := Encode(form)
		if err != nil {
			t.Fatal(err)
		}
		if d, err := decodeDetails(element); err == nil {
			t.Errorf("%s was read as %+v, want an error", name, d)
		}
	}
	for _, element := range [][]byte{nil, {0xc1}, {0x81}, {0xdf, 0xff, 0xff, 0xff, 0xff}, {0x81, 0xa1, 'f', 1}} {
		if d, err := decodeDetails(element); err == nil {
			t.Errorf("% x was read as %+v, want an error", element, d)
		}
	}
}

// Delayed jobs have no other detail: they use separate code, which writes and reads the same.
func TestADelayedJobsDetailsAreReadOnBothWays(t *testing.T) {
	for _, ms := range []int64{1, -1, 127, 128, 1780000000000, -1780000000000} {
		short := (&Details{Enqueued: time.UnixMilli(ms)}).encode()
		long, err := EncodeStable(detailsForm{Enqueued: ms})
		if err != nil {
			t.Fatal(err)
		}
		for _, element := range [][]byte{short, long} {
			if d, err := decodeDetails(element); err != nil || d.Enqueued.UnixMilli() != ms {
				t.Errorf("%d, written as % x, is read as %+v, %v", ms, element, d, err)
			}
		}
	}
}

// A job that is to be handled alone keeps that, also if nothing else is set beside the instant at which it was enqueued.
func TestDetailsKeepThatAJobIsHandledAlone(t *testing.T) {
	for _, d := range []*Details{{Alone: true}, {Alone: true, Enqueued: time.UnixMilli(5).UTC()}} {
		got, err := DecodeEnvelope((&Envelope{Name: "a", Details: d}).Encode())
		if err != nil || got.Details == nil || !got.Details.Alone || !got.Details.Enqueued.Equal(d.Enqueued) {
			t.Errorf("%+v is read as %+v, %v", d, got.Details, err)
		}
	}
}

package chime

import (
	"strings"
	"testing"
	"time"
)

func TestLatenessIsNeverNegative(t *testing.T) {
	planned := time.Unix(1000, 0)
	for _, test := range []struct {
		job  Job
		want time.Duration
	}{
		{Job{Planned: planned, Started: planned.Add(time.Second)}, time.Second},
		{Job{Planned: planned, Started: planned.Add(-time.Second)}, 0},
		{Job{Started: planned}, 0},
		{Job{Planned: planned}, 0},
	} {
		if got := test.job.Lateness(); got != test.want {
			t.Errorf("planned %v, started %v: %v late, want %v", test.job.Planned, test.job.Started, got, test.want)
		}
	}
}

func TestOnlyPayloadsThatNeverDecodeDiscardTheJob(t *testing.T) {
	for _, c := range []struct {
		payload []byte
		target  any
		want    Action
	}{
		{[]byte{0xc1}, new(any), Discarded},
		{[]byte(`{"a":1}`), new([]string), Discarded},
		{[]byte{0x80}, nil, Retried},
		{[]byte{0x80}, struct{}{}, Retried},
	} {
		err := (&Job{Payload: c.payload}).Decode(c.target)
		if err == nil || OutcomeOf(err).Action != c.want {
			t.Errorf("decode %q into %T: %v, want an error that has the job %v", c.payload, c.target, err, c.want)
		}
	}
}

func TestEncodeIsTheOtherHalfOfDecode(t *testing.T) {
	type args struct {
		Customer string `json:"customer"`
	}
	payload, err := Encode(args{"c1"})
	if err != nil {
		t.Fatal(err)
	}
	var got args
	if err := (&Job{Payload: payload}).Decode(&got); err != nil || got.Customer != "c1" {
		t.Errorf("decoded %+v, %v", got, err)
	}
	if _, err := Encode(func() {}); err == nil || !strings.HasPrefix(err.Error(), "chime: encode func(): ") {
		t.Errorf("encode a function: %v, want an error that names its type", err)
	}
}

package wire

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// chainOf returns the details of a job that this many jobs follow, one after the other.
func chainOf(n int) *Details {
	var d Details
	for range n {
		e := Envelope{Name: "next", Details: &d}
		d = Details{OnDone: e.Encode(), Queue: "q"}
	}
	return &d
}

func TestTheGroupsOfFollowersAreFound(t *testing.T) {
	last := Envelope{Name: "last", Details: &Details{Group: "c"}}
	elsewhere := Envelope{Name: "elsewhere", Details: &Details{Group: "b", Queue: "mail", OnDone: last.Encode()}}
	first := Envelope{Name: "next", Details: &Details{Group: "a", OnDeath: elsewhere.Encode()}}
	chain, err := (&Details{OnDone: first.Encode()}).Followers()
	if err != nil || fmt.Sprint(chain.Groups) != "[{ a} {mail b} {mail c}]" {
		t.Errorf("%+v, %v", chain, err)
	}
}

func TestFollowersAreCounted(t *testing.T) {
	newer := (&Envelope{Name: "next"}).Encode()
	newer[0] = 9
	for name, c := range map[string]struct {
		details  *Details
		n, depth int
		queues   string
		err      error
	}{
		"no details":         {nil, 0, 0, "[]", nil},
		"none":               {&Details{}, 0, 0, "[]", nil},
		"a chain":            {chainOf(3), 3, 3, "[q q]", nil},
		"as deep as may be":  {chainOf(16), 16, 16, "[q q q q q q q q q q q q q q q]", nil},
		"too deep":           {chainOf(1000), 17, 17, "[q q q q q q q q q q q q q q q q]", errDepth},
		"both ends":          {&Details{OnDone: chainOf(1).OnDone, OnDeath: chainOf(2).OnDone}, 3, 2, "[q]", nil},
		"of a newer version": {&Details{OnDone: newer, OnDeath: chainOf(1).OnDone}, 2, 1, "[]", ErrNewerVersion},
	} {
		chain, err := c.details.Followers()
		if chain.Jobs != c.n || chain.Depth != c.depth || fmt.Sprint(chain.Queues) != c.queues || len(chain.Groups) != 0 || !errors.Is(err, c.err) {
			t.Errorf("%s: %+v, %v; want %d, %d, %s, %v", name, chain, err, c.n, c.depth, c.queues, c.err)
		}
	}
}

// What follows has the job before it, without the jobs before and after that one, and without a long payload.
func TestWhatFollowsHasTheJobBeforeIt(t *testing.T) {
	ended := time.UnixMilli(1_800_000_000_000).UTC()
	next := Envelope{Name: "next", Payload: []byte("own"), MaxAttempts: 2, Details: &Details{In: time.Minute, Queue: "q", OnDone: []byte("after"), Header: map[string]string{"a": "b"}}}
	job := Envelope{Name: "job", Payload: make([]byte, MaxPriorPayload), Failures: 2, Details: &Details{
		OnDone: next.Encode(), OnDeath: next.Encode(), Keep: time.Hour, Prior: &Prior{Queue: "q", ID: "x"}, Death: &Death{Queue: "q", ID: "y"},
	}}
	result := &Result{Name: "job", Ended: ended, Value: []byte("value")}
	for _, end := range []string{protocol.EndDone, protocol.EndDead} {
		for _, schedule := range []string{"", "s"} {
			var f *protocol.Follower
			var err error
			if end == protocol.EndDone {
				f, err = FollowDone(&job, Prior{Queue: "q", ID: "j", Crashes: 1}, result, schedule)
			} else {
				f, err = FollowDeath(&job, Death{Queue: "q", ID: "j", Crashes: 1, Ended: ended}, schedule)
			}
			if err != nil || f.In != time.Minute {
				t.Fatal(f, err)
			}
			got, err := DecodeEnvelope(f.Body)
			if err != nil {
				t.Fatal(err)
			}
			d := got.Details
			if got.Name != "next" || string(got.Payload) != "own" || got.MaxAttempts != 2 || got.Schedule != schedule || !d.Enqueued.Equal(ended) || string(d.OnDone) != "after" ||
				d.Header["a"] != "b" || d.In != time.Minute || d.Queue != "" || (d.Prior != nil) != (end == protocol.EndDone) || (d.Death != nil) != (end == protocol.EndDead) {
				t.Errorf("%s: %+v, %+v follows", end, got, d)
			}
			if schedule == "" && !got.Planned.Equal(ended.Add(time.Minute)) {
				t.Errorf("%s: it is planned for %v", end, got.Planned)
			}
			var body []byte
			if end == protocol.EndDone {
				body = d.Prior.Body
				if r, err := DecodeResult(d.Prior.Result); err != nil || string(r.Value) != "value" || d.Prior.ID != "j" || d.Prior.Crashes != 1 {
					t.Errorf("%+v, %v", r, err)
				}
			} else {
				body = d.Death.Body
			}
			prior, err := DecodeEnvelope(body)
			if err != nil || len(prior.Payload) != MaxPriorPayload || prior.Failures != 2 || prior.Details.Keep != time.Hour || prior.Details.OnDone != nil || prior.Details.OnDeath != nil ||
				prior.Details.Prior != nil || prior.Details.Death != nil {
				t.Errorf("%s: the job before it is %+v, %+v, %v", end, prior.Name, prior.Details, err)
			}
		}
	}
	if job.Details.OnDone == nil || !bytes.Equal(job.Details.OnDeath, next.Encode()) {
		t.Error("the job that has ended was changed")
	}
}

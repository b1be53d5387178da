package work

import (
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// calling returns a caller with a lane's call under way. The call requests four jobs, two of them ahead.
func calling(now time.Time) (*caller, *lane) {
	c := newCaller("a", nil)
	l := newLane(protocol.Partition{Queue: "default"}, &share{weight: 1})
	l.liveOn(c)
	c.addWork(l, l.call("w", time.Second, 4, 2, true, false, nil, now), 1)
	c.send(now)
	<-c.requests // run's part
	return c, l
}

func TestTheSlotsOfACallAreReservedUntilItIsLate(t *testing.T) {
	now := time.Now()
	c, l := calling(now)
	for after, want := range map[time.Duration]int{0: 4, minLate - 1: 4, minLate: 0, time.Hour: 0} {
		if jobs, _ := l.reserved(now.Add(after)); jobs != want {
			t.Errorf("%v after the call was sent %d slots are reserved, want %d", after, jobs, want)
		}
	}
	if _, ahead := l.reserved(now); ahead != 2 {
		t.Errorf("%d of the jobs are taken ahead, want 2", ahead)
	}
	now = now.Add(time.Second)
	c.received(&reply{}, true, now)
	l.answered(&protocol.WorkAnswer{Err: errNoAnswer}, now)
	if jobs, _ := l.reserved(now); jobs != 0 {
		t.Errorf("after a failure %d slots are reserved, want none", jobs)
	}
	now = now.Add(time.Minute)
	c.addWork(l, l.again(time.Now()), 1)
	if c.send(now); !c.busy() {
		t.Fatal("the call is not sent again")
	}
	if jobs, _ := l.reserved(now); jobs != 0 {
		t.Errorf("%d slots are reserved for a call that is sent again, want none", jobs)
	}
}

// A distant node always takes long: its calls keep their slots as long as they usually take.
func TestACallIsLateOnlyIfTheNodesCallsUsuallyTakeLess(t *testing.T) {
	now := time.Now()
	c, _ := calling(now)
	for range 100 {
		now = now.Add(time.Second)
		c.received(&reply{}, false, now)
		c.draft = request{closed: []closing{{}}}
		c.send(now)
		<-c.requests
	}
	if late := c.lateAt().Sub(now); late < 3900*time.Millisecond || late > 4*time.Second {
		t.Errorf("a call that usually takes 1 s is late after %v, want about 4 s", late)
	}
}

func TestAWakeUpDuringACallHasTheNodesLanesAskedAgain(t *testing.T) {
	now := time.Now()
	c, _ := calling(now)
	c.noteWakeup()
	var r reply
	if c.received(&r, false, now); !r.again {
		t.Error("the answer may be older than the wake-up, but no new call is made for the lanes")
	}
	if c.noteWakeup(); c.again {
		t.Error("a wake-up between two calls causes two calls for the lanes")
	}
}

func TestLeavingThatFailedIsRepeated(t *testing.T) {
	now := time.Now()
	l := newLane(protocol.Partition{Queue: "default"}, &share{weight: 1})
	l.liveOn(newCaller("a", nil))
	l.passOn()
	l.failed(now)
	if l.open(now) {
		t.Error("it leaves again at once")
	}
	if at := l.nextAt(false, time.Second, now); at.Before(now.Add(25*time.Millisecond)) || at.After(now.Add(50*time.Millisecond)) {
		t.Errorf("it leaves again after %v, want 25 to 50 ms", at.Sub(now))
	}
	if !l.open(now.Add(time.Second)) || !l.passesOn() {
		t.Error("a second later the wake-up is not passed on")
	}
	if l.left(); l.passesOn() {
		t.Error("the wake-up is passed on twice")
	}
}

package work

import (
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// connectedWakeup returns the wakeup of a worker whose subscription is confirmed.
func connectedWakeup() (*wakeup, time.Time) {
	now := time.Now()
	w := newWakeup(now)
	w.signal(protocol.Signal{Connected: true})
	return &w, now
}

func TestTakingBeginsWithTheSubscriptionOrAfterThreeSeconds(t *testing.T) {
	now := time.Now()
	w := newWakeup(now)
	if w.ready(now.Add(3*time.Second - 1)) {
		t.Error("taking begins without a subscription")
	}
	if at := w.nextAt(now); !at.Equal(now.Add(3 * time.Second)) {
		t.Errorf("the next thing to do is at %v, want after 3 s", at.Sub(now))
	}
	if !w.ready(now.Add(3 * time.Second)) {
		t.Error("taking does not begin after 3 s")
	}
	if hungry := w.signal(protocol.Signal{Connected: true}); !hungry || !w.ready(now) || !w.nextAt(now).IsZero() {
		t.Error("taking does not begin with the subscription")
	}
}

func TestOnlyAWakeUpOrASubscriptionMakesLanesHungry(t *testing.T) {
	for _, test := range []struct {
		signal protocol.Signal
		want   bool
	}{
		{protocol.Signal{Wake: true}, true}, {protocol.Signal{Connected: true}, true},
		{protocol.Signal{Alarm: time.Now()}, false}, {protocol.Signal{Replaced: "a"}, false}, {protocol.Signal{Elect: true}, false},
	} {
		w, _ := connectedWakeup()
		if got := w.signal(test.signal); got != test.want {
			t.Errorf("%+v makes lanes hungry: %v, want %v", test.signal, got, test.want)
		}
	}
}

func TestAWakeUpThatIsOfNoUseIsPassedOn(t *testing.T) {
	for _, test := range []struct {
		name            string
		worth, draining bool
		want            bool
	}{
		{"a call is worth making", true, false, false},
		{"no slot is free", false, false, true},
		{"the worker drains, which passes on anyway", false, true, false},
	} {
		w, now := connectedWakeup()
		w.signal(protocol.Signal{Wake: true})
		w.use(1, test.worth, true, test.draining, now)
		if leave, pass := w.leaves(false, now); leave != test.want || pass != test.want {
			t.Errorf("%s: leaves %v and passes on %v, want %v", test.name, leave, pass, test.want)
		}
		if leave, _ := w.leaves(false, now); leave {
			t.Errorf("%s: it leaves a second time", test.name)
		}
		if w.use(1, false, true, false, now); w.pass {
			t.Errorf("%s: one wake-up counts twice", test.name)
		}
	}
}

func TestAWorkerWithoutAFreeSlotLeavesTheSleepingWorkers(t *testing.T) {
	w, now := connectedWakeup()
	w.use(0, true, true, false, now)
	if leave, _ := w.leaves(false, now); leave {
		t.Error("it leaves at once, want a millisecond later")
	}
	if at := w.nextAt(now); !at.Equal(now.Add(leaveAfter)) {
		t.Errorf("the next thing to do is at %v, want after %v", at.Sub(now), leaveAfter)
	}
	now = now.Add(leaveAfter)
	w.use(0, true, true, false, now) // does not restart the millisecond
	if leave, pass := w.leaves(false, now); !leave || pass {
		t.Errorf("after a millisecond: leaves %v and passes on %v, want yes and no", leave, pass)
	}
	w.left()
	if leave, _ := w.leaves(false, now); leave || !w.nextAt(now).IsZero() {
		t.Error("it leaves again after it has left")
	}
	w.use(0, true, true, false, now)
	w.use(1, true, true, false, now) // a slot is free again
	if leave, _ := w.leaves(false, now.Add(time.Hour)); leave {
		t.Error("it leaves with a free slot")
	}
	w.use(0, true, false, false, now) // on no list
	if leave, _ := w.leaves(false, now.Add(time.Hour)); leave {
		t.Error("it leaves although it is not listed")
	}
}

func TestTheEarliestAlarmIsKeptAndIsDueOnce(t *testing.T) {
	w, now := connectedWakeup()
	if w.alarmDue(now.Add(time.Hour)) {
		t.Error("an alarm is due although none was kept")
	}
	for _, in := range []time.Duration{time.Minute, time.Second, time.Hour} {
		w.keepAlarm(now.Add(in), now)
	}
	if at := w.nextAt(now); !at.Equal(now.Add(time.Second)) {
		t.Errorf("the next thing to do is after %v, want the earliest alarm after 1s", at.Sub(now))
	}
	if w.alarmDue(now.Add(time.Second - 1)) {
		t.Error("the alarm is due too early")
	}
	if !w.alarmDue(now.Add(time.Second)) || w.alarmDue(now.Add(time.Hour)) {
		t.Error("the alarm is not due at its instant, or a second time")
	}
	w.use(1, false, true, false, now) // it counts as a wake-up
	if _, pass := w.leaves(false, now); !pass {
		t.Error("a job that is due and cannot be taken here is not passed on")
	}
	w.keepAlarm(now.Add(-time.Hour), now)
	if at := w.nextAt(now); !at.Equal(now) {
		t.Errorf("an alarm of the past is due after %v, want now", at.Sub(now))
	}
}

func TestADrainPassesTheAlarmOn(t *testing.T) {
	w, now := connectedWakeup()
	if w.handOver(); w.pass {
		t.Error("without an alarm another worker is woken")
	}
	w.keepAlarm(now.Add(time.Minute), now)
	w.handOver()
	if leave, pass := w.leaves(true, now); !leave || !pass {
		t.Errorf("leaves %v and passes on %v, want both", leave, pass)
	}
}

func TestASafetyPollComesBeforeTheRegistrationEnds(t *testing.T) {
	for range 1000 {
		if d := safetyPoll(); d < 10*time.Second || d >= protocol.IdleRetention-time.Second {
			t.Fatalf("a safety poll comes after %v, want 10 s to a second before %v", d, protocol.IdleRetention)
		}
	}
}

package storesuite

import (
	"fmt"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

func (s *Suite) TestTheSameLimitAgainForgetsNoStart(t *testing.T) {
	s.onEveryServer(t, func(b *Bench) {
		b.Limit(protocol.QueueLimit{Starts: 3, Per: time.Hour})
		for i := range 9 {
			b.Enqueue(Job(fmt.Sprint("j", i)))
		}
		b.Want("taken at once", fmt.Sprint(len(b.Take("s", 9))), "3")
		b.Limit(protocol.QueueLimit{Starts: 3, Per: time.Hour})
		b.Want("after the same limit", fmt.Sprint(len(b.Take("s", 9))), "0")
		b.Limit(protocol.QueueLimit{Running: 100, Starts: 5, Per: 24 * time.Hour})
		b.Want("after a limit with two more starts", fmt.Sprint(len(b.Take("s", 9))), "2")
		b.Limit(protocol.QueueLimit{Running: 100})
		b.Want("without a rate", fmt.Sprint(len(b.Take("s", 2))), "2")
		b.Limit(protocol.QueueLimit{Running: 8, Starts: 5, Per: time.Hour})
		b.Want("under a new limit", fmt.Sprint(len(b.Take("s", 9))), "1")
	})
}

// The clock of a server steps back an hour while all starts are used: the next one comes after Per, not after an hour.
func (s *Suite) TestAClockThatStepsBackHoldsUpNoStart(t *testing.T) {
	s.onServersWith(t, SettableClock, func(b *Bench) {
		now := time.Date(2026, 3, 8, 9, 0, 0, 0, time.UTC)
		b.SetClock(now)
		b.Limit(protocol.QueueLimit{Starts: 1, Per: time.Second})
		b.Enqueue(Job("a"), Job("b"))
		b.Want("taken", IDs(b.Take("s", 5)), "a")
		now = now.Add(-time.Hour)
		b.SetClock(now)
		answer := b.Work("s", protocol.WorkCall{Take: 5, Sleep: true})
		if len(answer.Taken) > 0 || answer.Next <= time.Second || answer.Next > time.Second+time.Millisecond {
			b.Fatalf("took %q at once, and the next start is in %v; want none, and a second, rounded up", IDs(answer.Taken), answer.Next)
		}
		b.SetClock(now.Add(answer.Next))
		b.Want("taken when it comes", IDs(b.Take("s", 5)), "b")
	})
}

// If nothing waits, plain commands answer a poll, with the same limit state as the script.
func (s *Suite) TestAPollOfAnEmptyQueueReportsTheStateOfItsLimit(t *testing.T) {
	for limit, want := range map[protocol.QueueLimit]protocol.LimitState{
		{}: protocol.Unlimited, OneAtOnce: protocol.LimitFull, OneAnHour: protocol.LimitSpent, {Running: 2}: protocol.LimitOpen,
		{Starts: 1000, Per: time.Second}: protocol.LimitOpen,
	} {
		s.onEveryServer(t, func(b *Bench) {
			b.Limit(limit)
			b.Enqueue(Job("a"))
			b.Take("busy", 1)
			since := b.Sleeping("s")
			for name, now := range map[string]time.Time{"commands": since.Add(time.Millisecond), "script": {}} {
				if poll := b.Poll("s", since, now); poll.Limit != want || poll.More {
					b.Errorf("%+v, polled by %s: %+v, want limit state %d", limit, name, poll.WaitHint, want)
				}
			}
		})
	}
}

//go:build real && unix

package real_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/anishathalye/porcupine"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/recurrence"
)

// A scheduleCall is an operation on a schedule.
type scheduleCall struct {
	verb, name string
	value      int   // of a put: its arguments, which no other put has
	revision   int64 // of a put: only this revision is changed; 0: any
	beside     bool  // of a deletion: another deletion or a put of this name overlaps it
}

// A scheduleReply is what an operation has returned.
type scheduleReply struct {
	found, conflict, paused bool
	revision                int64
	value                   int
}

// A scheduleState is what one schedule is at a moment.
type scheduleState struct {
	exists, paused bool
	revision       int64 // 0: not known, because the outcome of the last change was not
	least          int64 // the revision is at least this
	value          int
}

func (s scheduleState) top() int64 { return max(s.revision, s.least) }

// scheduleModel is a register with revisions, which grow with every change, also if the schedule is deleted and created again.
var scheduleModel = porcupine.Model{
	Partition: byName(func(input any) string { return input.(scheduleCall).name }),
	Init:      func() any { return scheduleState{} },
	Step: func(state, input, output any) (bool, any) {
		s, call := state.(scheduleState), input.(scheduleCall)
		reply, known := output.(scheduleReply)
		return s.after(call, reply, known)
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v: %+v", input, output) },
}

// after returns whether a reply is possible in a state, and the next state. known is false if the outcome is unknown: then the operation was carried out.
func (s scheduleState) after(call scheduleCall, reply scheduleReply, known bool) (bool, scheduleState) {
	changed := s
	changed.revision, changed.least = 0, s.top()+1
	switch call.verb {
	case "put":
		changed.exists, changed.value, changed.paused = true, call.value, s.exists && s.paused
		matches := call.revision == 0 || s.exists && (s.revision == call.revision || s.revision == 0 && call.revision >= s.least)
		switch {
		case !known:
			if !matches {
				return true, s
			}
			return true, changed
		case reply.conflict:
			return call.revision != 0 && (!s.exists || s.revision == 0 || s.revision != call.revision), s
		}
		return matches && reply.revision > s.top(), changed // it returns what it reads a moment later, which may have changed again
	case "get":
		if !known || !reply.found {
			return !known || !s.exists, s
		}
		fits := s.exists && reply.value == s.value && reply.paused == s.paused && (reply.revision == s.revision || s.revision == 0 && reply.revision >= s.least)
		s.revision = reply.revision
		return fits, s
	case "delete":
		gone := scheduleState{least: s.top()}
		if known && !reply.found {
			return !s.exists, s
		}
		// Of several deletions at one time each returns that it was there, and a put that creates it is seen before it is done.
		return !known || s.exists || call.beside, gone
	}
	// pause and resume
	if !s.exists {
		return !known || !reply.found, s
	}
	if known && !reply.found {
		return false, s
	}
	if paused := call.verb == "pause"; s.paused != paused {
		s.paused, s.revision, s.least = paused, 0, s.top() // the revision may have grown
	}
	return true, s
}

// noteOverlaps notes which deletions overlap another deletion or a put of the same name. One with an unknown outcome may still be under way.
func (l *linear) noteOverlaps() {
	for i, o := range l.operations {
		call := o.Input.(scheduleCall)
		if call.verb != "delete" {
			continue
		}
		for j, other := range l.operations {
			c := other.Input.(scheduleCall)
			changes := c.name == call.name && (c.verb == "put" || c.verb == "delete")
			call.beside = call.beside || i != j && changes && other.Call <= o.Return && other.Return >= o.Call
		}
		l.operations[i].Input = call
	}
}

// A put that names another queue is left out: it first moves the schedule as it is, and then changes it, so others may see it in between.
func TestSchedulesAreLinearizable(t *testing.T) {
	onEachServer(t, func(t *testing.T, address string) {
		judgeSchedules(t, address, 60, "put", "put", "put if", "put if", "delete", "pause", "resume", "get", "get", "get")
	})
}

// Several clients read a schedule, and save a change of what they have read: each revision is changed once.
func TestAPutWithARevisionIsACompareAndSet(t *testing.T) {
	onEachServer(t, func(t *testing.T, address string) {
		judgeSchedules(t, address, 60, "put", "put if", "put if", "put if", "put if", "put if", "put if", "get")
	})
}

// judgeSchedules records a history of n operations of each of four clients, and judges it.
func judgeSchedules(t *testing.T, address string, n int, verbs ...string) {
	rule := recurrence.Recurrence{Cron: "0 0 1 1 *"}
	l := linearlyOn(t, address, 4, n, func(ctx context.Context, l *linear, c *linearClient) {
		schedules := chime.NewSchedules(c.store)
		call := scheduleCall{name: fmt.Sprintf("schedule-%d-%d", l.epoch(40), c.random.IntN(2)), verb: verbs[c.random.IntN(len(verbs))]}
		ctx, cancel := c.briefly(ctx)
		defer cancel()
		switch call.verb {
		case "put":
			call.value = 1 + c.random.IntN(1<<40)
		case "put if":
			call.verb, call.value = "put", 1+c.random.IntN(1<<40)
			if s, err := schedules.Get(ctx, call.name); err == nil {
				call.revision = s.Revision
			}
		}
		l.record(c.number, call, func() any {
			var s *chime.Schedule
			var err error
			dials := c.dials.Load()
			switch call.verb {
			case "put":
				options := []chime.PutOption{chime.Args(call.value), chime.NoImmediateRun()}
				if call.revision != 0 {
					options = append(options, chime.IfRevision(call.revision))
				}
				s, err = schedules.Put(ctx, call.name, rule, options...)
			case "get":
				s, err = schedules.Get(ctx, call.name)
			case "delete":
				err = schedules.Delete(ctx, call.name)
			case "pause":
				err = schedules.Pause(ctx, call.name)
			case "resume":
				err = schedules.Resume(ctx, call.name)
			}
			conflict := &chime.ConflictError{}
			switch {
			case errors.Is(err, chime.ErrNotFound) && call.verb == "put":
				return anUnknown{} // it may have been put, and deleted before the call read what it returns
			case (errors.Is(err, chime.ErrNotFound) || errors.As(err, &conflict)) && c.dials.Load() != dials:
				return anUnknown{} // it may have been carried out, and refused when the client sent it again, because others had changed the schedule
			case errors.Is(err, chime.ErrNotFound):
				return scheduleReply{}
			case errors.As(err, &conflict) && call.revision != 0:
				return scheduleReply{conflict: true}
			case err != nil:
				return anUnknown{}
			case s == nil:
				return scheduleReply{found: true}
			}
			reply := scheduleReply{found: true, paused: s.State == chime.StatePaused, revision: s.Revision}
			if err := s.Decode(&reply.value); err != nil {
				l.t.Error(err)
			}
			return reply
		})
	})
	l.noteOverlaps()
	l.judge(scheduleModel)
}

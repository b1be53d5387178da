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
		if !known || reply.found {
			return true, gone // it may not exist: of several deletions at one time each returns that it was there
		}
		return !s.exists, s
	}
	// pause and resume
	if known && !reply.found || !s.exists {
		return !s.exists, s
	}
	if paused := call.verb == "pause"; s.paused != paused {
		s.paused, s.revision, s.least = paused, 0, s.top() // the revision may have grown
	}
	return true, s
}

// A put that names another queue is left out: it first moves the schedule as it is, and then changes it, so others may see it in between.
func TestSchedulesAreLinearizable(t *testing.T) {
	rule := recurrence.Recurrence{Cron: "0 0 1 1 *"}
	l := linearly(t, 4, 40, func(ctx context.Context, l *linear, c *linearClient) {
		schedules := chime.NewSchedules(c.store)
		call := scheduleCall{name: fmt.Sprintf("schedule-%d", c.random.IntN(2))}
		ctx, cancel := c.briefly(ctx)
		defer cancel()
		switch c.random.IntN(10) {
		case 0, 1:
			call.verb, call.value = "put", 1+c.random.IntN(1<<40)
		case 2, 3:
			call.verb, call.value = "put", 1+c.random.IntN(1<<40)
			if s, err := schedules.Get(ctx, call.name); err == nil {
				call.revision = s.Revision
			}
		case 4:
			call.verb = "delete"
		case 5:
			call.verb = "pause"
		case 6:
			call.verb = "resume"
		default:
			call.verb = "get"
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
	l.judge(scheduleModel)
}

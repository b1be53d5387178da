//go:build real && unix

package real_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/chimejobs/chime"
)

// An idCall is an operation on the job of an ID, which no worker takes.
type idCall struct {
	verb, id string
}

// An idReply is what an operation has returned.
type idReply struct {
	existing bool // of enqueue and once
	done     bool // of cancel: the job was removed
}

// An idState is what the queue has of one ID.
type idState struct {
	exists bool
	barred bool // by Once
	void   bool // it was cancelled while it waited, and not enqueued since: cancelling it again changes nothing and is done too
}

var idModel = porcupine.Model{
	Partition: byName(func(input any) string { return input.(idCall).id }),
	Init:      func() any { return idState{} },
	Step: func(state, input, output any) (bool, any) {
		s, call := state.(idState), input.(idCall)
		reply, known := output.(idReply)
		switch call.verb {
		case "enqueue", "once":
			existing := s.exists || call.verb == "once" && s.barred
			if !existing {
				s = idState{exists: true, barred: s.barred || call.verb == "once"}
			}
			return !known || reply.existing || !existing, s // if the reply is lost and the call repeated, it finds its own job
		case "cancel":
			if !s.exists {
				return !known || !reply.done || s.void, s
			}
			return !known || reply.done, idState{void: true} // it also lifts what Once bars
		}
		return false, s
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v: %+v", input, output) },
}

// Jobs.Delete is left out: it works in steps, and first reads which jobs there are.
func TestIDsAreLinearizable(t *testing.T) {
	l := linearly(t, 4, 60, func(ctx context.Context, l *linear, c *linearClient) {
		// an enqueuer remembers unknown outcomes, and takes the next call with that ID for a repetition: each operation has its own
		enqueuer, jobs := chime.NewEnqueuer(c.store, chime.EnqueuerOptions{Logger: slog.New(slog.DiscardHandler)}), chime.NewJobs(c.store)
		call := idCall{id: fmt.Sprintf("job-%d", c.random.IntN(3)), verb: []string{"enqueue", "once", "once", "cancel", "cancel"}[c.random.IntN(5)]}
		ctx, cancel := c.briefly(ctx)
		defer cancel()
		l.record(c.number, call, func() any {
			var reply idReply
			var err error
			switch call.verb {
			case "enqueue", "once":
				options := []chime.EnqueueOption{chime.ID(call.id)}
				if call.verb == "once" {
					options = append(options, chime.Once(time.Hour))
				}
				var receipt chime.Receipt
				receipt, err = enqueuer.Enqueue(ctx, "job", nil, options...)
				reply.existing = receipt.Existing
			case "cancel":
				var result chime.CancelResult
				result, err = jobs.Cancel(ctx, "default", call.id)
				reply.done = result == chime.CancelDone
				if errors.Is(err, chime.ErrNotFound) {
					err = nil
				}
			}
			if err != nil {
				return anUnknown{}
			}
			return reply
		})
	})
	l.judge(idModel)
}

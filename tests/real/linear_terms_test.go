//go:build real && unix

package real_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// A termCall is an operation of a candidate.
type termCall struct {
	verb      string
	candidate string
}

// A termReply is the answer to a candidate.
type termReply struct {
	leading bool
	leader  string
	term    int64
}

// A termState is the holder of each term. A lease may lapse at any moment.
type termState struct {
	leader string
	term   int64
}

// anybody is the leader of a term that nobody has seen.
const anybody = "?"

// termModel says that a term has one leader, and that terms grow.
var termModel = porcupine.Model{
	Init: func() any { return termState{} },
	Step: func(state, input, output any) (bool, any) {
		s, call := state.(termState), input.(termCall)
		reply, known := output.(termReply)
		switch {
		case !known:
			return true, s // a later operation sees its term
		case call.verb == "resign":
			return true, s
		case reply.leader == "" && reply.term > s.term:
			return true, termState{leader: anybody, term: reply.term} // the outcome of an operation that led in this term is unknown
		case reply.leader == "":
			return reply.term == s.term, s
		case reply.leading && reply.leader != call.candidate:
			return false, s
		case reply.term == s.term:
			return reply.leader == s.leader || s.leader == anybody, termState{leader: reply.leader, term: s.term}
		}
		return reply.term > s.term, termState{leader: reply.leader, term: reply.term}
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v: %+v", input, output) },
}

func TestTermsOfLeadersAreLinearizable(t *testing.T) {
	l := linearly(t, 4, 80, func(ctx context.Context, l *linear, c *linearClient) {
		store := c.store.Protocol()
		call := termCall{verb: []string{"lead", "lead", "lead", "resign", "leader"}[c.random.IntN(5)], candidate: fmt.Sprintf("candidate-%d", c.number)}
		ctx, cancel := c.briefly(ctx)
		defer cancel()
		l.record(c.number, call, func() any {
			switch call.verb {
			case "resign":
				if err := store.Resign(ctx, call.candidate); err != nil {
					return anUnknown{}
				}
				return termReply{}
			case "leader":
				leads, err := store.Leader(ctx)
				if err != nil {
					return anUnknown{}
				}
				return termReply{leader: leads.Leader, term: leads.Term}
			}
			leads, err := store.Lead(ctx, call.candidate, time.Duration(5+c.random.IntN(20))*time.Millisecond)
			if err != nil {
				return anUnknown{}
			}
			return termReply{leading: leads.Leading, leader: leads.Leader, term: leads.Term}
		})
	})
	l.judge(termModel)
}

package redisstore

import (
	"context"
	"errors"

	"github.com/chimejobs/chime/internal/protocol"
)

var declareScript = load("declare")

const (
	maxDeclareBytes  = protocol.MaxBytes / 2 // of definitions in a call: the answer carries them back
	maxMovesFollowed = 8                     // how often a call follows a schedule that others move meanwhile
)

// Declare creates schedules, changes them, and moves those that are declared for another queue now. The same declaration again,
// by anybody, changes nothing. Each declaration has its own answer: one that fails holds up no other.
func (s *store) Declare(ctx context.Context, declarations []protocol.Declaration) []protocol.DeclareAnswer {
	answers := make([]protocol.DeclareAnswer, len(declarations))
	remaining := make([]int, len(declarations))
	for i := range remaining {
		remaining[i] = i
	}
	if err := s.registerQueues(ctx, declarations); err != nil {
		return declareFailed(answers, remaining, err)
	}
	for range maxMovesFollowed {
		registered, err := s.registerAndMove(ctx, declarations, remaining, answers)
		if err != nil {
			return declareFailed(answers, remaining, err)
		}
		remaining, err = s.declareRegistered(ctx, declarations, registered, answers)
		if err != nil {
			return declareFailed(answers, remaining, err)
		}
		if len(remaining) == 0 {
			return answers
		}
	}
	return declareFailed(answers, remaining, errors.New("redisstore: declare: other processes keep moving it to another queue"))
}

func declareFailed(answers []protocol.DeclareAnswer, which []int, err error) []protocol.DeclareAnswer {
	for _, i := range which {
		answers[i].Err = err
	}
	return answers
}

// registerQueues writes the queues of declarations into the registry. Of a few declarations it leaves the queues that this process
// knows to registerAndMove, which saves a round trip.
func (s *store) registerQueues(ctx context.Context, declarations []protocol.Declaration) error {
	if s.bad != nil {
		return s.bad
	}
	register := s.registerQueue
	if len(declarations) <= maxRegisterPlainly {
		register = s.Partitions
	}
	seen := map[string]bool{}
	for i := range declarations {
		if queue := declarations[i].Queue; !seen[queue] {
			seen[queue] = true
			if _, err := register(ctx, queue); err != nil {
				return err
			}
		}
	}
	return nil
}

// registerAndMove writes the queues of new schedules into the registry, and moves the schedules that live in another queue. It
// returns those that now live in the queue they are declared for; a move that failed is an error in the schedule's answer.
func (s *store) registerAndMove(ctx context.Context, declarations []protocol.Declaration, which []int, answers []protocol.DeclareAnswer) (registered []int, err error) {
	queues, err := s.registerSchedules(ctx, declarations, which, len(declarations) <= maxRegisterPlainly)
	if err != nil {
		return nil, err
	}
	for j, i := range which {
		if from := queues.text(j); from != declarations[i].Queue {
			owed, err := s.move(ctx, declarations[i].Name, from, declarations[i].Queue)
			if err != nil {
				answers[i].Err = err
				continue
			}
			answers[i].Owed = owed
		}
		registered = append(registered, i)
	}
	return registered, nil
}

// declareRegistered declares schedules in the queue that the registry has for them. It returns those that have moved away
// meanwhile.
func (s *store) declareRegistered(ctx context.Context, declarations []protocol.Declaration, registered []int, answers []protocol.DeclareAnswer) (moved []int, err error) {
	groups := map[protocol.Partition][]int{}
	for _, i := range registered {
		partition, err := s.partitionOf(ctx, declarations[i].Queue, declarations[i].Name)
		if err != nil {
			return registered, err
		}
		answers[i].Partition = partition
		groups[partition] = append(groups[partition], i)
	}
	var calls []call
	var batches [][]int
	for partition, members := range groups {
		k := s.keys.partition(partition)
		for _, batch := range declareBatches(declarations, members) {
			args := make([]any, 0, 3*len(batch))
			for _, i := range batch {
				args = append(args, declarations[i].Name, declarations[i].Overlap, declarations[i].Body)
			}
			calls = append(calls, newCall(&declareScript, []string{k.schedules, k.cursors, k.owed, k.due, k.state, k.jobs, k.crashes}, args))
			batches = append(batches, batch)
		}
	}
	if len(calls) == 0 {
		return nil, nil
	}
	for b, cmd := range s.run(ctx, s.client, calls...) {
		values, err := list("declare", declarations[batches[b][0]].Name, cmd)
		for j, i := range batches[b] {
			if err != nil {
				answers[i].Err = err
				continue
			}
			if status := values.number(1 + 5*j); status == 3 {
				moved = append(moved, i)
				continue
			}
			readDeclared(values, 1+5*j, &declarations[i], &answers[i])
		}
	}
	elsewhere, err := s.confirmRegistered(ctx, declarations, registered, answers)
	return append(moved, elsewhere...), err
}

// declareBatches splits members into calls within the limits of one.
func declareBatches(declarations []protocol.Declaration, members []int) [][]int {
	var batches [][]int
	start, bytes := 0, 0
	for j, i := range members {
		size := len(declarations[i].Body)
		if j > start && (j-start == protocol.MaxDeclared || bytes+size > maxDeclareBytes) {
			batches = append(batches, members[start:j])
			start, bytes = j, 0
		}
		bytes += size
	}
	return append(batches, members[start:])
}

// readDeclared reads the five values that the script answers for one schedule.
func readDeclared(values reply, at int, declared *protocol.Declaration, answer *protocol.DeclareAnswer) {
	answer.New, answer.Changed = values.number(at) == 1, values.number(at) == 2
	if answer.Changed {
		answer.Old = []byte(values.text(at + 1))
	}
	answer.Stored = []byte(values.text(at + 2))
	h, _ := parseHead(values.text(at + 2))
	answer.Created, answer.Revision = h.created, h.revision
	if values.number(at+4) == 1 {
		answer.Owed = &protocol.Owed{
			Partition: answer.Partition, Name: declared.Name, Definition: answer.Stored,
			Cursor: parseCursor(values.text(at + 3)), Since: values.now(), Now: values.now(),
		}
	}
}

// confirmRegistered writes the registry again for schedules that another process deleted while they were declared. It returns
// those that live in another queue by now.
func (s *store) confirmRegistered(ctx context.Context, declarations []protocol.Declaration, registered []int, answers []protocol.DeclareAnswer) (elsewhere []int, err error) {
	var written []int
	for _, i := range registered {
		if answers[i].New || answers[i].Changed {
			written = append(written, i)
		}
	}
	if len(written) == 0 {
		return nil, nil
	}
	queues, err := s.registerSchedules(ctx, declarations, written, false)
	if err != nil {
		return registered, err
	}
	for j, i := range written {
		if queues.text(j) != declarations[i].Queue {
			elsewhere = append(elsewhere, i)
		}
	}
	return elsewhere, nil
}

package redisstore

import (
	"context"
	"errors"

	"github.com/chimejobs/chime/internal/protocol"
)

var declareScript = load("declare")

const (
	declareBatch = 100       // schedules a script
	declareBytes = 512 << 10 // of definitions a script
	moveRounds   = 8         // how often a declaration follows a schedule that others move meanwhile
)

// Declare creates or changes schedules, and moves those whose queue is another now.
func (s *store) Declare(ctx context.Context, declarations []protocol.Declaration) []protocol.DeclareAnswer {
	answers := make([]protocol.DeclareAnswer, len(declarations))
	pending := make([]int, len(declarations))
	for i := range pending {
		pending[i] = i
	}
	if err := s.registerQueues(ctx, declarations); err != nil {
		return declareFailed(answers, pending, err)
	}
	for range moveRounds {
		here, err := s.bringHere(ctx, declarations, pending, answers)
		if err != nil {
			return declareFailed(answers, pending, err)
		}
		pending, err = s.declareHere(ctx, declarations, here, answers)
		if err != nil {
			return declareFailed(answers, pending, err)
		}
		if len(pending) == 0 {
			return answers
		}
	}
	return declareFailed(answers, pending, errors.New("redisstore: declare: others keep moving it to another queue"))
}

func declareFailed(answers []protocol.DeclareAnswer, pending []int, err error) []protocol.DeclareAnswer {
	for _, i := range pending {
		answers[i].Err = err
	}
	return answers
}

// registerQueues writes the queues of declarations into the registry. For a few declarations a queue that this process knows is
// left to bringHere, which saves a round trip.
func (s *store) registerQueues(ctx context.Context, declarations []protocol.Declaration) error {
	if s.bad != nil {
		return s.bad
	}
	register := s.registerQueue
	if len(declarations) <= registerAlone {
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

// bringHere writes where new schedules live, and moves those that live elsewhere. It returns the ones that now live in the
// queue they are declared for; a move that failed is told in its answer.
func (s *store) bringHere(ctx context.Context, declarations []protocol.Declaration, pending []int, answers []protocol.DeclareAnswer) (here []int, err error) {
	homes, err := s.register(ctx, declarations, pending, len(declarations) <= registerAlone)
	if err != nil {
		return nil, err
	}
	for j, i := range pending {
		if from := homes.text(j); from != declarations[i].Queue {
			owed, err := s.move(ctx, declarations[i].Name, from, declarations[i].Queue)
			if err != nil {
				answers[i].Err = err
				continue
			}
			answers[i].Owed = owed
		}
		here = append(here, i)
	}
	return here, nil
}

// declareHere declares each in the partition it lives in and returns those that have moved away meanwhile.
func (s *store) declareHere(ctx context.Context, declarations []protocol.Declaration, here []int, answers []protocol.DeclareAnswer) (again []int, err error) {
	groups := map[protocol.Partition][]int{}
	for _, i := range here {
		partition, err := s.home(ctx, declarations[i].Queue, declarations[i].Name)
		if err != nil {
			return here, err
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
				args = append(args, declarations[i].Name, string(declarations[i].Overlap), declarations[i].Body)
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
				again = append(again, i)
				continue
			}
			readDeclared(values, 1+5*j, &declarations[i], &answers[i])
		}
	}
	elsewhere, err := s.confirmHomes(ctx, declarations, here, answers)
	return append(again, elsewhere...), err
}

// declareBatches splits members so that no script touches too much.
func declareBatches(declarations []protocol.Declaration, members []int) [][]int {
	var batches [][]int
	start, bytes := 0, 0
	for j, i := range members {
		size := len(declarations[i].Body)
		if j > start && (j-start == declareBatch || bytes+size > declareBytes) {
			batches = append(batches, members[start:j])
			start, bytes = j, 0
		}
		bytes += size
	}
	return append(batches, members[start:])
}

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

// confirmHomes writes the registry again for schedules that somebody deleted while they were declared, and returns those
// that the registry says live elsewhere.
func (s *store) confirmHomes(ctx context.Context, declarations []protocol.Declaration, here []int, answers []protocol.DeclareAnswer) (elsewhere []int, err error) {
	var written []int
	for _, i := range here {
		if answers[i].New || answers[i].Changed {
			written = append(written, i)
		}
	}
	if len(written) == 0 {
		return nil, nil
	}
	homes, err := s.register(ctx, declarations, written, false)
	if err != nil {
		return here, err
	}
	for j, i := range written {
		if homes.text(j) != declarations[i].Queue {
			elsewhere = append(elsewhere, i)
		}
	}
	return elsewhere, nil
}

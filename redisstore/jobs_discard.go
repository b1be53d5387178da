package redisstore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"

	"github.com/chimejobs/chime/internal/protocol"
)

var discardScript = scripts.Load("jobs/discard")

const (
	// discardTries is how often a call is sent if its caller did not know all sessions: new sessions begin all the time.
	discardTries = 100

	purgeUnderWay = 2 // the script's answer

	askAgain = protocol.Changed('l') // of a job that did not fit into its call
)

var errUnsettled = errors.New("sessions begin faster than they can be looked up: try again")

// CancelJob cancels a job, wherever it is. result is kept; nil: none.
func (s *store) CancelJob(ctx context.Context, queue, id string, result *protocol.Result) (protocol.CancelResult, error) {
	became, err := s.discard(ctx, "cancel", queue, []string{id}, result)
	if err != nil {
		return 0, fmt.Errorf("%w (job %q)", err, id)
	}
	if became[0] == protocol.ChangeGone {
		return 0, protocol.ErrNotFound
	}
	return protocol.CancelResult(became[0]), nil
}

// Removals returns where the jobs that CancelJob and DeleteJobs remove are passed on.
func (s *store) Removals() *protocol.Removals { return &s.removals }

// DeleteJobs removes jobs that no worker holds.
func (s *store) DeleteJobs(ctx context.Context, queue string, ids []string) ([]protocol.Changed, error) {
	return s.discard(ctx, "delete", queue, ids, nil)
}

// discard ends jobs of a queue. Its answers are in the order of the IDs; after an error the answers for jobs that it did not reach are 0.
func (s *store) discard(ctx context.Context, act, queue string, ids []string, result *protocol.Result) ([]protocol.Changed, error) {
	became := make([]protocol.Changed, len(ids))
	of, err := s.byPartition(ctx, queue, ids)
	if err != nil {
		return became, err
	}
	for index, positions := range of {
		d := discarding{store: s, act: act, partition: protocol.Partition{Queue: queue, Index: index}, ids: ids, result: result, became: became}
		if err := d.run(ctx, positions); err != nil {
			return became, err
		}
	}
	return became, nil
}

// byPartition groups the positions of IDs by partition.
func (s *store) byPartition(ctx context.Context, queue string, ids []string) (map[int][]int, error) {
	found, err := s.queues.lookUp(ctx, queue)
	if err != nil {
		return nil, err
	}
	if err := found[0].err; err != nil {
		return nil, err
	}
	if found[0].partitions == 0 {
		return nil, fmt.Errorf("redisstore: queue %q: %w", queue, protocol.ErrNotFound)
	}
	of := make(map[int][]int)
	for i, id := range ids {
		index := protocol.PartitionOf(id, found[0].partitions)
		of[index] = append(of[index], i)
	}
	return of, nil
}

// A discarding ends jobs of one partition.
type discarding struct {
	store     *store
	act       string
	partition protocol.Partition
	ids       []string
	result    *protocol.Result // of the one job, if it is cancelled; nil: none is kept
	became    []protocol.Changed
	whereabouts
}

// run ends the jobs at these positions, in as many calls as needed.
func (d *discarding) run(ctx context.Context, positions []int) error {
	tries := 0
	for len(positions) > 0 {
		if err := d.look(ctx, d.store.jobs(d.partition), idsAt(d.ids, positions), d.act == "delete"); err != nil {
			return failure(d.act+" jobs of", d.partition.Queue, err)
		}
		some := positions[:min(len(positions), max(1, maxLookedUp/(1+len(d.sessions)+len(d.lists))))]
		letters, complete, err := d.call(ctx, some)
		switch {
		case err != nil:
			return err
		case !complete:
			if tries++; tries == discardTries {
				return failure(d.act+" jobs of", d.partition.Queue, errUnsettled)
			}
			continue
		}
		var again []int
		for i, at := range some {
			switch d.became[at] = protocol.Changed(letters[i]); d.became[at] {
			case askAgain:
				d.became[at], again = 0, append(again, at)
			case protocol.ChangeDone, protocol.Changed(protocol.CancelAsked):
				d.store.removals.Note(d.partition, d.ids[at])
			}
		}
		positions = append(again, positions[len(some):]...)
	}
	return nil
}

// call sends one call; complete is false if the script did nothing, because a session or a list has begun.
func (d *discarding) call(ctx context.Context, positions []int) (letters string, complete bool, err error) {
	k := d.store.keys.partition(d.partition)
	keys := []string{
		k.state, k.sessions, k.jobs, k.due, k.ready, k.dead, k.crashes, k.open, k.behind, k.schedules, k.cursors, k.owed,
		k.counters, k.runs, k.callers, k.idle, k.unhandled, k.stale, k.results, k.kept, k.last, k.history, k.once, k.after, k.line, k.places, k.turns, k.groups, k.grules, k.opens, k.batches, k.reports,
	}
	args := []any{d.act, rand.Text(), d.store.keys.wake(), len(d.sessions), len(d.lists), len(positions), d.mark}
	for _, session := range d.sessions {
		keys, args = append(keys, k.inflight(session)), append(args, session)
	}
	for _, list := range d.lists {
		keys, args = append(keys, k.parked(list)), append(args, list)
	}
	for _, at := range positions {
		args = append(args, d.ids[at], d.shared[d.ids[at]])
	}
	if d.result != nil {
		args = append(args, d.result.Keep.Milliseconds(), d.partition.Queue, d.result.Body)
	}
	values, err := d.store.runOne(ctx, d.act+" jobs of", d.partition.Queue, newCall(&discardScript, keys, args))
	if err != nil || values.number(1) == 0 {
		return "", false, err
	}
	if values.number(1) == purgeUnderWay {
		_, err := d.store.finishPurge(ctx, d.partition)
		return "", false, err
	}
	if letters = values.text(3); letters != "" {
		return letters, true, nil
	}
	return repeated(int(values.number(2)), len(positions)), true, nil
}

// repeated is the answer to a call with n jobs that the client has sent twice: it is known how many the first one changed, but not
// which.
func repeated(changed, n int) string {
	changed = min(changed, n)
	return strings.Repeat(string(rune(protocol.ChangeDone)), changed) + strings.Repeat(string(rune(protocol.ChangeGone)), n-changed)
}

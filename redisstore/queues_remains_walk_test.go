package redisstore

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

// For all calls while the queue is deleted: it is deleted exactly if no job is on it and no worker holds one, and then it starts
// again; else nothing has changed. Later jobs run as on any queue, and an old call, repeated, adds nothing.
func TestRandomDeletionsOfAQueueLoseNoJob(t *testing.T) {
	seeds, steps := storesuite.WalkSize(3, 300)
	for _, seed := range seeds {
		onServersWith(t, randomCalls, func(b *bench) {
			w := &deletionWalk{cancelWalk: &cancelWalk{
				bench: b, seed: seed, random: rand.New(rand.NewPCG(seed, 21)), lives: map[string]*jobLife{}, barred: map[string]bool{}, deleted: map[string]bool{},
				held: map[string]map[string]protocol.TakenJob{}, sessions: map[string]int{},
			}}
			for step := range steps {
				switch w.random.IntN(6) {
				case 0:
					w.deleteQueue()
				case 1:
					w.clear(w.random.IntN(2) == 0)
					w.deleteQueue()
				default:
					w.step()
				}
				w.check()
				w.VerifiedNowAndThen(step)
			}
			w.drain()
			if w.deleted == 0 || w.refused == 0 || w.ended == 0 {
				w.fatal("the queue was deleted %d times, with %d open sessions, refused %d times; want each", w.deleted, w.ended, w.refused)
			}
		})
	}
}

type deletionWalk struct {
	*cancelWalk
	deleted, refused, ended int // ended: sessions that a deletion has ended
}

// clear removes all jobs that are not held, and ends sessions, or settles their jobs.
func (w *deletionWalk) clear(settles bool) {
	for _, worker := range []string{"w0", "w1", "w2"} {
		if !settles {
			w.crash(worker)
			continue
		}
		session := w.session(worker)
		for _, id := range slices.Sorted(maps.Keys(w.held[session])) {
			job := w.held[session][id]
			w.note("%s has done %s", session, id)
			w.Settle(session, protocol.Settlement{ID: id, Fence: job.Fence, Kind: protocol.SettleBack})
			delete(w.held[session], id)
			w.released(id)
		}
	}
	ids := slices.Sorted(maps.Keys(w.lives))
	w.note("delete %v", ids)
	for _, id := range ids {
		if w.lives[id].session == "" {
			delete(w.lives, id)
			delete(w.barred, id)
		}
	}
	if len(ids) > 0 {
		w.bulk(w.store.DeleteJobs(w.Context(), "default", ids))
	}
}

func (w *deletionWalk) deleteQueue() {
	sessions := int64(0) // that hold jobs
	for _, session := range w.client.ZRange(w.Context(), w.keys().sessions, 0, -1).Val() {
		if w.client.HLen(w.Context(), w.keys().inflight(session)).Val() > 1 {
			sessions++
		}
	}
	where := map[string]int64{}
	for _, place := range w.look().where {
		where[place]++
	}
	before := w.kept("s", "mail")
	remains, err := w.store.DeleteQueue(w.Context(), "default")
	w.note("delete the queue: %+v, %v", remains, err)
	if err != nil {
		w.fatal("deleting the queue: %v", err)
	}
	want := protocol.QueueRemains{Waiting: where["waiting"], Delayed: where["due"], Dead: where["dead"], Sessions: sessions}
	remains.Parked = min(remains.Parked, where["parked"]) // names, not jobs
	want.Parked = remains.Parked
	if remains != want || (where["parked"] > 0) != (remains.Parked > 0) {
		w.fatal("there is %+v, want %+v and %d parked", remains, want, where["parked"])
	}
	if remains != (protocol.QueueRemains{}) {
		if after := w.kept("s", "mail"); before != after {
			w.fatal("a refused deletion has changed\n%s\nto\n%s", before, after)
		}
		w.refused++
		return
	}
	w.deleted++
	for _, worker := range []string{"w0", "w1", "w2"} {
		session := w.session(worker)
		if w.Numbers[session] == 0 {
			continue // it does not exist
		}
		w.ended++
		if answer := w.Try(session, protocol.WorkCall{Take: 1}); !errors.Is(answer.Err, protocol.ErrSessionLost) {
			w.fatal("%s was open when the queue was deleted, and continues: %+v", session, answer)
		}
		w.sessions[worker]++
		delete(w.held, session)
	}
	if left := w.left("default", 1); left != "" {
		w.fatal("%s are left", left)
	}
	if queues := w.queues(); len(queues) > 0 {
		w.fatal("the registry has %v", queues)
	}
	w.barred, w.done, w.cancelled = map[string]bool{}, 0, 0
	if w.Callers > 0 && w.random.IntN(2) == 0 { // the last call of an enqueuer comes again
		w.Callers--
		w.Enqueue(storesuite.Own("late"))
	} else if _, err := w.store.Partitions(w.Context(), "default"); err != nil {
		w.fatal("%v", err)
	}
	if _, err := w.store.queues.register(w.Context(), "default"); err != nil {
		w.fatal("%v", err)
	}
	w.note("begun again: %s", fmt.Sprint(w.queues()))
}

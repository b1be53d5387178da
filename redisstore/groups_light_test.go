package redisstore

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

// A busy call notes the ends of flights and the starts of most groups without a table for each (all.light and all.idle of scripts/lib/light.lua). It does not do so
// for groups that have a rule of their own. So an own rule for each group that is the same as the queue's turns it off, and changes nothing else.

// For random jobs of few and of many groups, settled and taken in calls of all sizes, a queue gives the same jobs out as one whose groups have the queue's rule
// as their own, in the same order, and has the same groups afterwards: without rules, and with limits.
func TestGroupsWithoutOwnRulesGetTheSameTurns(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		for seed, c := range []struct {
			groups int
			large  bool
			rule   string // of the queue
		}{{150, false, ""}, {9, true, ""}, {150, true, ""}, {40, false, "0 1 0 0 0 0 0"}, {150, true, "0 1 0 0 0 0 0"}, {40, false, "0 3 0 0 0 0 0"}, {40, false, "0 0 7 3600000 0 0 0"}, {9, false, "0 4 60 3600000 0 0 0"}} {
			dice, groups, large, rule := rand.New(rand.NewPCG(uint64(seed), 7)), c.groups, c.large, c.rule
			var both [2]*lightQueue
			for i := range both {
				both[i] = &lightQueue{bench: b, at: protocol.Partition{Queue: fmt.Sprintf("q%d.%d", seed, i)}, session: fmt.Sprintf("s%d.%d", seed, i), fences: map[string]int64{}}
			}
			for i, q := range both {
				keys, set := b.store.keys.partition(q.at), []any{}
				if rule != "" {
					set = append(set, "\x01*", rule)
				}
				for group := range i * groups {
					set = append(set, fmt.Sprint("g", group), "1 0 0 0 0 0 0")
				}
				if len(set) > 0 {
					b.client.HSet(b.Context(), keys.grules, set...)
					b.client.HSet(b.Context(), keys.state, "grules", fmt.Sprint(len(set)/2, " 1"))
				}
			}
			var held []string
			n := 0
			for step := range 25 {
				var items []protocol.EnqueueItem
				for range dice.IntN(60) {
					item := storesuite.Job(fmt.Sprint("j", n))
					if n++; large {
						item.Body = append(item.Body, strings.Repeat("x", 30<<10)...)
					}
					item.Group = fmt.Sprint("g", dice.IntN(groups))
					items = append(items, item)
				}
				dice.Shuffle(len(held), func(i, j int) { held[i], held[j] = held[j], held[i] })
				ends := dice.IntN(len(held) + 1)
				take := []int{0, 1, 3, 10, 40, 100}[dice.IntN(6)]
				var taken [2]string
				for i, q := range both {
					q.enqueue(items)
					taken[i] = strings.Join(q.work(held[:ends], take), " ")
					if i == 1 && taken[0] != taken[1] {
						b.Fatalf("seed %d, step %d: took %s without own rules, %s with them", seed, step, taken[0], taken[1])
					}
				}
				held = append(held[ends:], strings.Fields(taken[0])...)
				if without, with := both[0].groups(), both[1].groups(); without != with {
					b.Fatalf("seed %d, step %d: the groups are\n%s\nwithout own rules, and with them\n%s", seed, step, without, with)
				}
			}
		}
	})
}

// A lightQueue is a queue whose jobs belong to groups, with one worker.
type lightQueue struct {
	*bench
	at           protocol.Partition
	session      string
	calls, taken int64
	fences       map[string]int64
}

func (q *lightQueue) enqueue(items []protocol.EnqueueItem) {
	q.Helper()
	if len(items) == 0 {
		return
	}
	q.calls++
	if answer := q.store.Enqueue(q.Context(), []protocol.EnqueueCall{{Partition: q.at, Caller: "enqueuer " + q.session, Number: q.calls, Items: items}})[0]; answer.Err != nil {
		q.Fatal(answer.Err)
	}
}

// work settles jobs as done and takes others.
func (q *lightQueue) work(ends []string, take int) (ids []string) {
	q.Helper()
	if q.taken++; take == 0 && len(ends) == 0 && q.taken == 1 {
		q.taken-- // there is no session yet
		return nil
	}
	call := protocol.WorkCall{Partition: q.at, Session: q.session, Number: q.taken, Worker: q.session, TTL: time.Minute, Take: take}
	for _, id := range ends {
		call.Settle = append(call.Settle, protocol.Settlement{ID: id, Fence: q.fences[id], Kind: protocol.SettleDone})
	}
	answer := q.store.Work(q.Context(), []protocol.WorkCall{call})[0]
	if answer.Err != nil || len(answer.Refused) > 0 {
		q.Fatal(answer.Err, answer.Refused)
	}
	for _, job := range answer.Taken {
		ids, q.fences[job.ID] = append(ids, job.ID), job.Fence
	}
	if len(ids) == 0 && len(q.fences) == 0 {
		q.taken = 0 // the session was not created
	}
	return ids
}

// groups formats the order of turns with the shares, and of each group in it the place, the flights and the weight.
func (q *lightQueue) groups() string {
	keys, text := q.store.keys.partition(q.at), ""
	for _, z := range q.client.ZRangeWithScores(q.Context(), keys.turns, 0, -1).Val() {
		tag, name, _ := strings.Cut(z.Member.(string), "\t")
		entry := strings.Fields(q.client.HGet(q.Context(), keys.groups, name).Val())
		if len(entry) < 3 || entry[2] != tag || q.client.ZLexCount(q.Context(), keys.line, "["+name+"\t", "("+name+"\n").Val() == 0 {
			q.Errorf("%s is in turns with %q, and its entry is %q; want the same tag, and jobs in line", name, tag, entry)
			continue
		}
		text += fmt.Sprintf("%s:%v:%s:%s ", name, z.Score, entry[0], entry[1])
	}
	state := strings.Fields(q.client.HGet(q.Context(), keys.state, "groups").Val())
	if len(state) > 3 {
		text += "W " + state[1] + " F " + state[2]
	}
	return fmt.Sprintf("%s, %d of %d in all", text, q.client.HLen(q.Context(), keys.groups).Val(), q.client.ZCard(q.Context(), keys.line).Val())
}

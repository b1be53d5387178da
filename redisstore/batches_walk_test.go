package redisstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/batchmodel"
	"github.com/chimejobs/chime/internal/long"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
	"github.com/chimejobs/chime/internal/wire"
)

// A batchSystem is a bench as a batchmodel.System. A session of the walk is another session of the store in each of its takes.
type batchSystem struct {
	*bench
	protocol.BatchStore
	trips    *outboxWalk
	now      time.Time
	sessions map[batchSession]*storeSession // that hold jobs
	made     int
	opened   map[string]bool
	follows  map[string]string // ID of a job that follows another one → its batch
	last     func()
}

type batchSession struct {
	place protocol.Partition
	name  string // of the walk
	store string
}

type storeSession struct{ number int64 }

// A batch ends once, when nothing is left of it, and is done if all its members are, whatever stops, comes late or is lost.
func TestRandomCallsEndEachBatchOnce(t *testing.T) {
	seeds, steps := storesuite.WalkSize(90, 240)
	calls, ends := 0, 0
	for _, seed := range seeds {
		onServersWith(t, randomCalls|settableClock, func(b *bench) {
			ops := batchmodel.Operations(seed, steps)
			w := batchmodel.NewWalk(newBatchSystem(b, seed), batchmodel.Mode(seed%3))
			if err := w.Run(ops); err != nil {
				b.Fatalf("seed %d: %v", seed, err)
			}
			calls, ends = calls+w.Calls, ends+w.Ends
		})
	}
	t.Logf("%d calls, %d batches have ended", calls, ends)
}

// In each order of the calls of two processes a batch ends once.
func TestABatchEndsOnceInEachOrderOfTheCalls(t *testing.T) {
	every := long.Seeds(211, 3)
	onServersWith(t, randomCalls, func(b *bench) {
		played := 0
		for _, scene := range batchmodel.Scenes {
			for i, order := range scene.Orders() {
				if i%every != 0 {
					continue
				}
				b.flush()
				if err := scene.Play(newBatchSystem(b, 1), order); err != nil {
					b.Fatalf("%s, order %v: %v", scene.Name, order, err)
				}
				played++
			}
		}
		b.Logf("%d orders", played)
	})
}

func newBatchSystem(b *bench, seed uint64) *batchSystem {
	partitions := map[string]int{}
	for _, queue := range batchmodel.Queues {
		partitions[queue] = 2
	}
	b.use(newStore(b.client, Options{Namespace: string(b.store.keys), Partitions: partitions}))
	s := &batchSystem{
		bench: b, BatchStore: b.store, now: b.serverTime(), sessions: map[batchSession]*storeSession{}, follows: map[string]string{}, opened: map[string]bool{},
		trips: &outboxWalk{bench: b, random: rand.New(rand.NewPCG(seed, 42)), added: map[protocol.Partition]map[string]int{}},
	}
	for range 3 {
		s.trips.carriers = append(s.trips.carriers, map[[2]protocol.Partition]*outboxTrip{})
	}
	for _, p := range s.places() {
		s.trips.added[p] = map[string]int{}
		if _, err := b.store.Partitions(b.Context(), p.Queue); err != nil {
			b.Fatal(err)
		}
	}
	return s
}

func (s *batchSystem) places() (all []protocol.Partition) {
	for _, queue := range batchmodel.Queues {
		all = append(all, batchmodel.Partitions(queue)...)
	}
	return all
}

func batchBody(batch string) []byte {
	e := wire.Envelope{Name: "walk"}
	if batch != "" {
		e.Details = &wire.Details{Batch: batch}
	}
	return e.Encode()
}

func (s *batchSystem) OpenBatch(ctx context.Context, def protocol.BatchDefinition) (protocol.BatchRecord, bool, error) {
	s.opened[def.ID] = true
	return s.BatchStore.OpenBatch(ctx, def)
}

func (s *batchSystem) FillBatch(ctx context.Context, calls []protocol.FillCall) []protocol.FillAnswer {
	for c := range calls {
		calls[c].Items = slices.Clone(calls[c].Items)
		for i := range calls[c].Items {
			calls[c].Items[i].Body = batchBody(calls[c].Batch)
		}
	}
	return s.BatchStore.FillBatch(ctx, calls)
}

func (s *batchSystem) EndBatch(ctx context.Context, id string, end protocol.BatchEnding) (protocol.BatchRecord, bool, error) {
	end.Done, end.Ended = &protocol.Follower{Queue: end.Done.Queue, Body: batchBody("")}, &protocol.Follower{Queue: end.Ended.Queue, Body: batchBody("")}
	return s.BatchStore.EndBatch(ctx, id, end)
}

func (s *batchSystem) Add(p protocol.Partition, id string) {
	s.made++
	call := protocol.EnqueueCall{Partition: p, Caller: fmt.Sprint("plain", s.made), Number: 1, Items: []protocol.EnqueueItem{{ID: id, Own: true, Body: batchBody("")}}}
	s.fatal(s.store.Enqueue(s.Context(), []protocol.EnqueueCall{call})[0].Err)
}

func (s *batchSystem) fatal(err error) {
	s.Helper()
	if err != nil && !errors.Is(err, protocol.ErrNotFound) {
		s.Fatal(err)
	}
}

func (s *batchSystem) Take(p protocol.Partition, name string, most int) (flights []batchmodel.Flight) {
	s.made++
	session := batchSession{p, name, fmt.Sprintf("%s-%d", name, s.made)}
	call := protocol.WorkCall{Partition: p, Worker: "w", Session: session.store, Number: 1, TTL: longest, Take: most, Suspect: true}
	answer := s.store.Work(s.Context(), []protocol.WorkCall{call})[0]
	for n := 0; n < 20 && answer.Err == nil && len(answer.Taken) == 0 && answer.More; n++ { // it has ended members of a cancelled batch
		answer = s.store.Work(s.Context(), []protocol.WorkCall{call})[0]
	}
	s.fatal(answer.Err)
	for _, job := range answer.Taken {
		e, err := wire.DecodeEnvelope(job.Body)
		s.fatal(err)
		f := batchmodel.Flight{Place: p, Session: session.store, ID: job.ID, Fence: job.Fence}
		if e.Details != nil {
			f.Batch = e.Details.Batch
		}
		flights = append(flights, f)
	}
	if len(flights) > 0 {
		s.sessions[session] = &storeSession{1}
	}
	return flights
}

// sessionOf returns the session of a flight; nil: it was reaped.
func (s *batchSystem) sessionOf(f batchmodel.Flight) *storeSession {
	name, _, _ := strings.Cut(f.Session, "-")
	return s.sessions[batchSession{f.Place, name, f.Session}]
}

func (s *batchSystem) Settle(f batchmodel.Flight, how batchmodel.Settlement) bool {
	settled := protocol.Settlement{ID: f.ID, Fence: f.Fence, Kind: protocol.SettleDone, Batch: f.Batch}
	switch how.Fate {
	case batchmodel.Dead:
		settled.Kind = protocol.SettleDead
	case batchmodel.Left:
		settled.Kind, settled.Failed = protocol.SettleLater, true
		settled.Delay = time.Second
	case batchmodel.Done:
		if how.Next != "" {
			settled.Follower = &protocol.Follower{Body: batchBody(how.Batch), Batch: how.Batch}
			if how.Next != f.Place.Queue {
				settled.Follower.Queue = how.Next
			}
		}
	}
	session := s.sessionOf(f)
	number := int64(1 << 40)
	if session != nil {
		session.number++
		number = session.number
	}
	call := protocol.WorkCall{Partition: f.Place, Worker: "w", Session: f.Session, Number: number, TTL: longest, Settle: []protocol.Settlement{settled}}
	send := func() protocol.WorkAnswer { return s.store.Work(s.Context(), []protocol.WorkCall{call})[0] }
	answer := send()
	s.last = func() { send() }
	if session != nil && answer.Err != nil && !errors.Is(answer.Err, protocol.ErrSessionLost) {
		s.Fatal(answer.Err)
	}
	held := answer.Err == nil && len(answer.Refused) == 0
	if held && settled.Follower != nil {
		s.follows[batchmodel.FollowerID(f)] = how.Batch
	}
	return held
}

func (s *batchSystem) SettleAgain() {
	if s.last != nil {
		s.last()
	}
}

func (s *batchSystem) Reap(p protocol.Partition, name string) {
	cut, _, _ := strings.Cut(name, "-")
	for session := range s.sessions {
		if session.place != p || session.name != cut {
			continue
		}
		delete(s.sessions, session)
		k, lapse := s.store.keys.partition(p), s.serverTime().Add(-time.Second).Truncate(time.Millisecond)
		if s.client.ZScore(s.Context(), k.sessions, session.store).Err() != nil {
			continue // it has ended
		}
		s.client.ZAdd(s.Context(), k.sessions, redisZ(float64(lapse.UnixMilli()), session.store))
		for range 10 {
			answer := s.store.Reap(s.Context(), []protocol.ReapCall{{Partition: p, Session: session.store, Seen: lapse, Seed: int64(s.made)}})[0]
			s.fatal(answer.Err)
			if answer.Done {
				break
			}
		}
	}
}

func (s *batchSystem) Cancel(p protocol.Partition, id string) {
	_, err := s.store.CancelJob(s.Context(), p.Queue, id, nil)
	s.fatal(err)
}

func (s *batchSystem) Delete(p protocol.Partition, id string) {
	_, err := s.store.DeleteJobs(s.Context(), p.Queue, []string{id})
	s.fatal(err)
}

func (s *batchSystem) Requeue(p protocol.Partition, id string) {
	found, err := s.store.FindJobs(s.Context(), p.Queue, []string{id})
	s.fatal(err)
	job := protocol.RequeuedJob{ID: id}
	if found[0].State == protocol.JobDead {
		job.Read, job.Body = found[0].Body, found[0].Body
	}
	_, err = s.store.RequeueJobs(s.Context(), p.Queue, []protocol.RequeuedJob{job})
	s.fatal(err)
}

func (s *batchSystem) Replace(p protocol.Partition, id string) {
	body := s.client.HGet(s.Context(), s.store.keys.partition(p).jobs, id).Val()
	e, err := wire.DecodeEnvelope([]byte(body))
	if err != nil || e.Details == nil {
		return
	}
	s.made++
	call := protocol.ReplaceCall{Partition: p, Token: fmt.Sprint("replace", s.made), Batch: e.Details.Batch, Item: protocol.EnqueueItem{ID: id, Own: true, Body: batchBody(e.Details.Batch)}}
	_, err = s.store.Replace(s.Context(), call)
	s.fatal(err)
}

func (s *batchSystem) Purge(queue string) {
	for _, p := range batchmodel.Partitions(queue) {
		done, err := s.store.BeginPurge(s.Context(), p)
		for err == nil && done.More {
			done, err = s.store.PurgeStep(s.Context(), p)
		}
		s.fatal(err)
	}
}

func (s *batchSystem) Carry(from, to protocol.Partition, carrier, step int) {
	s.trips.random = rand.New(rand.NewPCG(uint64(step), 43))
	s.trips.notes, s.trips.late = nil, nil
	switch step % 3 {
	case 0:
		s.addressAll(from, 1+step%4)
	case 1:
		s.trips.advanceTrip(s.trips.carriers[carrier], from, to)
	default:
		s.trips.carryTrip(s.trips.carriers[carrier], from, to)
	}
}

// addressAll puts entries of a source into the lines of their targets, at most this number of each line, and returns how many.
func (s *batchSystem) addressAll(from protocol.Partition, most int) (moved int) {
	lines, err := s.store.ReadOutbox(s.Context(), from, "")
	s.fatal(err)
	for _, line := range lines.Lines {
		var to []protocol.Addressed
		for _, member := range line.Members[:min(most, len(line.Members))] {
			to = append(to, protocol.Addressed{Member: member, Index: protocol.PartitionOf(protocol.NewOutboxEntry(member, "").ID, 2)})
		}
		if len(to) > 0 {
			n, err := s.store.AddressOutbox(s.Context(), from, line.Line, to)
			s.fatal(err)
			moved += n
		}
	}
	return moved
}

func (s *batchSystem) CarryAll() {
	sources := s.places()
	for id := range s.opened {
		if home := protocol.Home(protocol.HomeOf(id)); !slices.Contains(sources, home) {
			sources = append(sources, home)
		}
	}
	carrier := map[[2]protocol.Partition]*outboxTrip{}
	for range 2 {
		for _, from := range sources {
			for s.addressAll(from, protocol.MaxItems) > 0 {
			}
			for _, to := range s.places() {
				if from == to || !from.IsHome() && from.Index != to.Index {
					continue
				}
				trip := s.trips.trip(carrier, from, to)
				for turn := 0; ; turn++ {
					answer, err := s.store.Carry(s.Context(), from, to, "", nil)
					s.fatal(err)
					trip.mark, trip.asked = answer.Mark, time.Time{}
					s.trips.advanceTrip(carrier, from, to)
					if len(trip.batch.Entries) == 0 {
						break
					}
					s.trips.carryTrip(carrier, from, to)
					if turn > 1000 {
						s.Fatalf("the line from %s to %s does not come to rest", from.Path(), to.Path())
					}
				}
			}
		}
	}
	s.trips.notes, s.trips.late = nil, nil
}

func (s *batchSystem) Save(p protocol.Partition) (back func()) {
	prefix := s.store.keys.partition(p).prefix
	has := func(key string) bool { return strings.HasPrefix(key, prefix) }
	saved := s.slotSnapshot(has)
	return func() {
		s.goBack(has, saved)
		for session := range s.sessions {
			if session.place == p {
				delete(s.sessions, session)
			}
		}
		s.endSessions(p)
	}
}

// endSessions ends the sessions that a partition has: no process knows the numbers of their calls.
func (s *batchSystem) endSessions(p protocol.Partition) {
	for _, name := range s.client.ZRange(s.Context(), s.store.keys.partition(p).sessions, 0, -1).Val() {
		short, _, _ := strings.Cut(name, "-")
		s.sessions[batchSession{p, short, name}] = &storeSession{1 << 30}
	}
}

func (s *batchSystem) Advance(by time.Duration) {
	if s.now = s.now.Add(by); s.SetClock != nil {
		s.SetClock(s.now)
	}
}

func (s *batchSystem) See() batchmodel.Sight {
	sight := batchmodel.Sight{Members: map[protocol.Partition]map[batchmodel.Job]batchmodel.Fate{}, Batches: map[string]batchmodel.Status{}, Callbacks: map[string]bool{}}
	var places []batchPlace
	_, err := s.client.Pipelined(s.Context(), func(p redis.Pipeliner) error {
		for _, at := range s.places() {
			k := s.store.keys.partition(at)
			places = append(places, batchPlace{at, p.HGetAll(s.Context(), k.jobs), p.ZRange(s.Context(), k.dead, 0, -1), p.ZRange(s.Context(), k.outbox, 0, -1), p.HGetAll(s.Context(), k.batches)})
		}
		for id := range s.opened {
			at := protocol.Home(protocol.HomeOf(id))
			places = append(places, batchPlace{at: at, outbox: p.ZRange(s.Context(), s.store.keys.partition(at).outbox, 0, -1)})
		}
		return nil
	})
	s.fatal(err)
	for _, p := range places {
		p.see(s, sight)
	}
	for id := range s.opened {
		if r, err := s.store.GetBatch(s.Context(), id); err == nil {
			sight.Batches[id] = batchmodel.Status{Sealed: !r.Sealed.IsZero(), Cancelled: r.State == protocol.BatchCancelled, Ended: !r.Ended.IsZero(), Done: !r.Done.IsZero(), Known: batchmodel.Known(&r)}
		} else {
			s.fatal(err)
		}
	}
	return sight
}

// A batchPlace is what a partition or a home has.
type batchPlace struct {
	at     protocol.Partition
	jobs   *redis.MapStringStringCmd // nil: a home
	dead   *redis.StringSliceCmd
	outbox *redis.StringSliceCmd
	counts *redis.MapStringStringCmd // nil: a home
}

func (p *batchPlace) see(s *batchSystem, sight batchmodel.Sight) {
	for _, member := range p.outbox.Val() {
		parts := strings.SplitN(member, "\t", 4)
		id := parts[len(parts)-1]
		sight.Note(p.at, batchmodel.Job{Batch: s.follows[id], ID: id}, batchmodel.Away)
	}
	if p.jobs == nil {
		return
	}
	for batch, text := range p.counts.Val() {
		if fields := strings.Fields(text); len(fields) > 8 && strings.Contains(fields[8], "x") {
			sight.Mark(p.at, batch)
		}
	}
	for id, body := range p.jobs.Val() {
		j, fate := batchmodel.Job{ID: id}, batchmodel.Left
		if e, err := wire.DecodeEnvelope([]byte(body)); err != nil {
			s.Fatalf("%s in %s: %v", id, p.at.Path(), err)
		} else if e.Details != nil {
			j.Batch = e.Details.Batch
		}
		if slices.Contains(p.dead.Val(), id) {
			fate = batchmodel.Dead
		}
		sight.Note(p.at, j, fate)
	}
}

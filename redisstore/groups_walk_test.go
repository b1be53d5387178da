package redisstore

import (
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/groupmodel"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

// A groupQueue is the default queue of a bench as a groupmodel.Queue. Its clock is a number of years ahead of the walk's, because a server's must not be
// before 2000.
//
// A session of the walk that has vanished, and takes again, is another session of the store. A job that crashes a third time is settled as dead before its
// session is reaped, as a worker would do when it takes it again.
type groupQueue struct {
	*bench
	queues *chime.Queues

	now        int64
	sessions   map[string]int               // session of the walk → how many it was
	calls      map[string]protocol.WorkCall // session of the store → its last call
	flights    []groupFlight                // by number, from 1
	numbers    map[int64]int                // fence → number
	crashes    map[string]int               // job ID → how often it has crashed
	follows    map[string]bool              // job IDs: another job follows the flight
	sleepers   map[string]bool              // sessions of the store
	own        map[string]chime.GroupRule
	keys       map[string]bool
	listed     map[string]*chime.GroupInfo // nil: they have changed
	registered bool                        // the sleepers were registered after the last call
	every      int                         // the keys are audited after this number of operations
	made       int                         // operations
}

type groupFlight struct {
	session string
	fence   int64
}

// ahead is how far the clock of the server is ahead of the walk's.
const ahead = 40 * 365 * 24 * time.Hour

func newGroupQueue(b *bench, every int) *groupQueue {
	return &groupQueue{
		bench: b, queues: chime.NewQueues(New(b.client, Options{Namespace: string(b.store.keys)})), sessions: map[string]int{}, calls: map[string]protocol.WorkCall{},
		flights: make([]groupFlight, 1), numbers: map[int64]int{}, crashes: map[string]int{}, follows: map[string]bool{}, sleepers: map[string]bool{},
		own: map[string]chime.GroupRule{}, keys: map[string]bool{}, every: every,
	}
}

// at sets the clock, and notes that groups may change.
func (q *groupQueue) at(now int64) {
	if now != q.now {
		q.now = now
		q.SetClock(time.UnixMilli(now).Add(ahead))
	}
	q.listed, q.registered = nil, false
}

// instant returns an instant of the server in milliseconds of the walk, rounded up.
func (q *groupQueue) instant(t time.Time) int64 {
	return (t.Add(-ahead).UnixMicro() + 999) / 1000
}

func (q *groupQueue) item(i groupmodel.Item) protocol.EnqueueItem {
	if i.Group != "" {
		q.keys[i.Group] = true
	}
	return protocol.EnqueueItem{
		ID: i.ID, Own: true, Group: i.Group, In: time.Duration(i.Delay) * time.Millisecond, Once: time.Duration(i.Once) * time.Millisecond,
		Body: []byte("\x01" + strconv.Itoa(i.Body)),
	}
}

func (q *groupQueue) Enqueue(i groupmodel.Item, now int64) groupmodel.Receipt {
	return q.EnqueueMany([]groupmodel.Item{i}, now)[0]
}

func (q *groupQueue) EnqueueMany(items []groupmodel.Item, now int64) []groupmodel.Receipt {
	q.at(now)
	receipts := make([]groupmodel.Receipt, len(items))
	for first := 0; first < len(items); first += protocol.MaxItems {
		some := items[first:min(first+protocol.MaxItems, len(items))]
		call := protocol.EnqueueCall{Partition: storesuite.DefaultPartition, Caller: "walk"}
		for _, i := range some {
			call.Items = append(call.Items, q.item(i))
		}
		q.Callers++
		call.Number = q.Callers
		answer := q.store.Enqueue(q.Context(), []protocol.EnqueueCall{call})[0]
		if answer.Err != nil {
			q.Fatal(answer.Err)
		}
		for i := range some {
			switch receipts[first+i] = groupmodel.Accepted; {
			case answer.Full != nil && answer.Full[i] != nil:
				receipts[first+i] = groupmodel.Full
			case answer.Existing != nil && answer.Existing[i]:
				receipts[first+i] = groupmodel.Existing
			default:
				delete(q.crashes, some[i].ID)
			}
		}
	}
	return receipts
}

func (q *groupQueue) Replace(i groupmodel.Item, now int64) groupmodel.Receipt {
	q.at(now)
	held := q.heldBy(i.ID)
	q.Callers++
	became, err := q.store.Replace(q.Context(), protocol.ReplaceCall{Partition: storesuite.DefaultPartition, Token: fmt.Sprint("replace", q.Callers), Item: q.item(i)})
	switch {
	case err != nil:
		q.Fatal(err)
	case became == protocol.ReplaceStayed:
		return groupmodel.Existing
	case held:
		q.follows[i.ID] = true
	default:
		delete(q.crashes, i.ID)
	}
	if became == protocol.ReplaceAdded {
		return groupmodel.Accepted
	}
	return groupmodel.Replaced
}

func (q *groupQueue) keys_() partitionKeys { return q.bench.keys() }

// heldBy reports whether a session holds a job.
func (q *groupQueue) heldBy(id string) bool {
	var found []*redis.BoolCmd
	_, _ = q.client.Pipelined(q.Context(), func(p redis.Pipeliner) error {
		for name := range q.sessions {
			found = append(found, p.HExists(q.Context(), q.keys_().inflight(q.session(name)), id))
		}
		return nil
	})
	return slices.ContainsFunc(found, (*redis.BoolCmd).Val)
}

// session returns the session of the store that is a session of the walk now.
func (q *groupQueue) session(name string) string { return fmt.Sprint(name, "-", q.sessions[name]) }

// longest is the longest life of a session: the walk decides when one vanishes.
const longest = 1000 * time.Hour

func (q *groupQueue) Take(name string, n int, now int64) groupmodel.Taken {
	return q.take(name, protocol.WorkCall{Take: n, Sleep: true, TTL: longest}, now)
}

func (q *groupQueue) TakeServing(name string, n int, now int64) groupmodel.Taken {
	return q.take(name, protocol.WorkCall{Take: n, Sleep: true, TTL: longest, Serve: []string{"mail"}}, now)
}

func (q *groupQueue) take(name string, call protocol.WorkCall, now int64) (taken groupmodel.Taken) {
	q.at(now)
	q.sessions[name] += 0
	session, n := q.session(name), call.Take
	if len(q.sleepers) > 0 { // the others keep no alarm, so that the answer has the next instant
		var others []any
		for sleeper := range q.sleepers {
			others = append(others, "w-"+sleeper)
		}
		q.client.ZRem(q.Context(), q.keys_().idle, others...)
	}
	delete(q.sleepers, session)
	due := q.suspectsDue()
	answer := q.Work(session, call)
	q.calls[session] = call
	taken.Flights = q.fly(session, answer.Taken)
	if len(taken.Flights) == 1 && q.crashes[taken.Flights[0].ID] == 2 {
		for id, at := range q.suspectsDue() {
			if at != due[id] && at > 0 {
				taken.Apart = append(taken.Apart, groupmodel.Apart{ID: id, Due: at})
			}
		}
	}
	if len(taken.Flights) < n {
		switch {
		case answer.More:
			taken.Next, taken.More = now+1, true
		case answer.Next > 0:
			taken.Next = q.instant(answer.Now.Add(answer.Next))
		default:
			taken.Next = now + 13_000 // the longest safety poll
		}
		if !answer.More {
			q.sleepers[session] = true
		}
	}
	q.sleep(false)
	return taken
}

// suspectsDue returns the instants at which suspects are due, 0 for one that is not delayed.
func (q *groupQueue) suspectsDue() map[string]int64 {
	var suspects []string
	for id, n := range q.crashes {
		if n == 2 {
			suspects = append(suspects, id)
		}
	}
	if len(suspects) == 0 {
		return nil
	}
	due := map[string]int64{}
	for i, ms := range q.client.ZMScore(q.Context(), q.keys_().due, suspects...).Val() {
		if ms > 0 {
			due[suspects[i]] = int64(ms) - ahead.Milliseconds()
		}
	}
	return due
}

// fly notes flights.
func (q *groupQueue) fly(session string, jobs []protocol.TakenJob) (flights []groupmodel.Flight) {
	for _, job := range jobs {
		number := q.numbers[job.Fence]
		if number == 0 {
			number = len(q.flights)
			q.numbers[job.Fence], q.flights = number, append(q.flights, groupFlight{session, job.Fence})
		}
		body, err := strconv.Atoi(strings.TrimPrefix(string(job.Body), "\x01"))
		if err != nil {
			q.Fatalf("the body of %s is %q", job.ID, job.Body)
		}
		flights = append(flights, groupmodel.Flight{ID: job.ID, Number: number, Body: body})
	}
	return flights
}

func (q *groupQueue) TakeAgain(name string, now int64) []groupmodel.Flight {
	q.at(now)
	session := q.session(name)
	answer := q.Repeat(session, q.calls[session])
	if answer.Err != nil {
		q.Fatal(answer.Err)
	}
	return q.fly(session, answer.Taken)
}

// settle ends a flight, and reports whether the store accepted that.
func (q *groupQueue) settle(f groupmodel.Flight, now int64, s protocol.Settlement) bool {
	q.at(now)
	flight := q.flights[f.Number]
	s.ID, s.Fence = f.ID, flight.fence
	answer := q.Try(flight.session, protocol.WorkCall{Settle: []protocol.Settlement{s}, TTL: longest})
	if errors.Is(answer.Err, protocol.ErrSessionLost) {
		return false
	}
	if answer.Err != nil {
		q.Fatal(answer.Err)
	}
	if len(answer.Refused) > 0 {
		return false
	}
	q.landed(f.ID)
	return true
}

// landed notes that a flight has ended.
func (q *groupQueue) landed(id string) {
	if q.follows[id] {
		delete(q.follows, id)
		delete(q.crashes, id)
	}
}

func (q *groupQueue) Done(f groupmodel.Flight, now int64) bool {
	return q.settle(f, now, protocol.Settlement{Kind: protocol.SettleDone})
}

func (q *groupQueue) Fail(f groupmodel.Flight, after, now int64) bool {
	return q.settle(f, now, protocol.Settlement{Kind: protocol.SettleLater, Delay: time.Duration(after) * time.Millisecond, Failed: true})
}

func (q *groupQueue) Snooze(f groupmodel.Flight, after, now int64) bool {
	return q.settle(f, now, protocol.Settlement{Kind: protocol.SettleLater, Delay: time.Duration(after) * time.Millisecond})
}

func (q *groupQueue) Dead(f groupmodel.Flight, now int64) bool {
	return q.settle(f, now, protocol.Settlement{Kind: protocol.SettleDead})
}

func (q *groupQueue) Park(f groupmodel.Flight, now int64) bool {
	return q.settle(f, now, protocol.Settlement{Kind: protocol.SettlePark, Name: "mail"})
}

func (q *groupQueue) Back(f groupmodel.Flight, now int64) bool {
	return q.settle(f, now, protocol.Settlement{Kind: protocol.SettleBack, Unbegun: true})
}

// Serve is not in these walks: a store serves parked jobs in a take, see TakeServing.
func (q *groupQueue) Serve(int64) int { panic("Serve is left out") }

func (q *groupQueue) Crash(name string, now int64) {
	q.at(now)
	session := q.session(name)
	delete(q.sleepers, session)
	q.client.ZRem(q.Context(), q.keys_().idle, "w-"+session)
	if q.client.HLen(q.Context(), q.keys_().inflight(session)).Val() > 1 {
		q.client.ZAddXX(q.Context(), q.keys_().sessions, redisZ(float64(time.UnixMilli(now).Add(ahead-time.Millisecond).UnixMilli()), session))
	} else {
		q.sessions[name]++ // a session without jobs leaves nothing to reap
	}
}

func (q *groupQueue) Reap(name string, most int, now int64) (reaped []groupmodel.Reaped) {
	q.at(now)
	session, k := q.session(name), q.keys_()
	before := q.client.HGetAll(q.Context(), k.inflight(session)).Val()
	delete(before, self)
	if len(before) == 0 {
		return nil
	}
	cancelled := map[string]bool{}
	var begun []string
	for id, value := range before {
		if cancelled[id] = strings.HasPrefix(value, "!"); !cancelled[id] && !q.follows[id] {
			begun = append(begun, id)
		}
	}
	order := slices.SortedFunc(maps.Keys(before), func(a, b string) int {
		x, _, _ := parseHeld(before[a])
		y, _, _ := parseHeld(before[b])
		return int(x - y)
	})
	for _, id := range order { // the worker that takes it next would settle it so
		if most > len(reaped) && slices.Contains(begun, id) && q.crashes[id] == 2 {
			fence, _, _ := parseHeld(before[id])
			q.Work(session, protocol.WorkCall{Settle: []protocol.Settlement{{ID: id, Fence: fence, Kind: protocol.SettleDead}}, TTL: longest})
			reaped = append(reaped, groupmodel.Reaped{ID: id, Fate: groupmodel.ToDead})
		}
	}
	if most -= len(reaped); most > 0 && len(before) > len(reaped) {
		lapse := time.UnixMilli(now).Add(ahead - time.Millisecond)
		q.client.ZAdd(q.Context(), k.sessions, redisZ(float64(lapse.UnixMilli()), session))
		q.reapAtMost(most, protocol.ReapCall{Partition: storesuite.DefaultPartition, Session: session, Seen: lapse, Seed: int64(len(q.flights))})
	} else {
		q.client.ZAdd(q.Context(), k.sessions, redisZ(float64(time.UnixMilli(now).Add(ahead-time.Millisecond).UnixMilli()), session))
	}
	after := q.client.HGetAll(q.Context(), k.inflight(session)).Val()
	for _, id := range order {
		if _, held := after[id]; held || slices.ContainsFunc(reaped, func(r groupmodel.Reaped) bool { return r.ID == id }) {
			continue
		}
		r := groupmodel.Reaped{ID: id}
		switch {
		case cancelled[id] || q.follows[id]:
			r.Fate = groupmodel.ToNobody
		case q.crashes[id] == 1:
			r.Fate, r.Due = groupmodel.ToHold, int64(q.client.ZScore(q.Context(), k.due, id).Val())-ahead.Milliseconds()
			q.crashes[id]++
		default:
			r.Fate = groupmodel.ToLine
			q.crashes[id]++
		}
		reaped = append(reaped, r)
		q.landed(id)
	}
	for _, r := range reaped {
		if r.Fate == groupmodel.ToDead {
			delete(q.crashes, r.ID)
		}
	}
	if len(after) <= 1 {
		q.sessions[name]++
	}
	return reaped
}

// reapAtMost makes one call that reaps at most this number of jobs.
func (q *groupQueue) reapAtMost(most int, call protocol.ReapCall) {
	script := reapScript
	defer func() { reapScript = script }()
	reapScript.Text = strings.Replace(script.Text, "local MAX_ITEMS = 500", "local MAX_ITEMS = "+strconv.Itoa(most), 1)
	sum := sha1.Sum([]byte(reapScript.Text))
	if reapScript.SHA = hex.EncodeToString(sum[:]); reapScript.Text == script.Text {
		q.Fatal("the script that reaps has no MAX_ITEMS")
	}
	if answer := q.store.Reap(q.Context(), []protocol.ReapCall{call})[0]; answer.Err != nil {
		q.Fatal(answer.Err)
	}
}

func (q *groupQueue) Cancel(id string, now int64) groupmodel.Change {
	q.at(now)
	switch q.bench.Cancel(id) {
	case "done":
		return groupmodel.Changed
	case "asked":
		return groupmodel.Asked
	}
	return groupmodel.Unchanged
}

func (q *groupQueue) Delete(id string, now int64) groupmodel.Change {
	q.at(now)
	return changeOf(q.bulk(q.store.DeleteJobs(q.Context(), "default", []string{id})))
}

func (q *groupQueue) Requeue(id string, now int64) groupmodel.Change {
	q.at(now)
	found, err := q.store.FindJobs(q.Context(), "default", []string{id})
	if err != nil {
		q.Fatal(err)
	}
	job := protocol.RequeuedJob{ID: id}
	if found[0].State == protocol.JobDead {
		job.Read, job.Body = found[0].Body, found[0].Body
	}
	how := changeOf(q.requeue(job))
	if found[0].State == protocol.JobDead && how == groupmodel.Changed {
		delete(q.crashes, id)
	}
	return how
}

func changeOf(became string) groupmodel.Change {
	if became == string(rune(protocol.ChangeDone)) {
		return groupmodel.Changed
	}
	return groupmodel.Unchanged
}

// invalid returns the model's error for an invalid value.
func (q *groupQueue) invalid(err error) error {
	if bad := (*chime.InvalidError)(nil); errors.As(err, &bad) {
		return fmt.Errorf("%w: %w", groupmodel.ErrInvalid, err)
	}
	if err != nil {
		q.Fatal(err)
	}
	return nil
}

func ruleOf(r groupmodel.Rule) chime.GroupRule {
	return chime.GroupRule{
		Weight: r.Weight, Running: r.Running, Starts: r.Starts, Per: time.Duration(r.Per) * time.Millisecond, Waiting: r.Waiting, Ordered: chime.Switch(r.Ordered),
	}
}

func (q *groupQueue) SetGroup(key string, r groupmodel.Rule, now int64) error {
	q.at(now)
	err := q.invalid(q.queues.SetGroup(q.Context(), "default", key, ruleOf(r)))
	if err == nil {
		q.own[key], q.keys[key] = ruleOf(r), true
	}
	return err
}

func (q *groupQueue) SetGroups(r groupmodel.Rule, now int64) error {
	q.at(now)
	return q.invalid(q.queues.SetGroups(q.Context(), "default", ruleOf(r)))
}

func (q *groupQueue) ResetGroup(key string, now int64) {
	q.at(now)
	if err := q.queues.ResetGroup(q.Context(), "default", key); err != nil {
		q.Fatal(err)
	}
	delete(q.own, key)
}

func (q *groupQueue) PauseGroup(key string, now int64) error {
	q.at(now)
	return q.invalid(q.queues.PauseGroup(q.Context(), "default", key, chime.Note{Text: "walk"}))
}

func (q *groupQueue) ResumeGroup(key string, now int64) {
	q.at(now)
	if err := q.queues.ResumeGroup(q.Context(), "default", key); err != nil {
		q.Fatal(err)
	}
}

func (q *groupQueue) Purge(now int64) (n int) {
	q.at(now)
	done, err := q.store.BeginPurge(q.Context(), storesuite.DefaultPartition)
	for n = done.Changed; err == nil && done.More; n += done.Changed {
		done, err = q.store.PurgeStep(q.Context(), storesuite.DefaultPartition)
	}
	if err != nil {
		q.Fatal(err)
	}
	return n
}

func (q *groupQueue) PurgeGroup(key string, now int64) int {
	q.at(now)
	done, err := q.queues.PurgeGroup(q.Context(), "default", key, nil)
	if err != nil {
		q.Fatal(err)
	}
	return done.Changed
}

func (q *groupQueue) Sweep(now int64) {
	q.at(now)
	for more := true; more; {
		var err error
		if more, err = q.sweep(); err != nil {
			q.Fatal(err)
		}
	}
}

func (q *groupQueue) Verify(now int64) string {
	q.at(now)
	before := q.all()
	found := q.Bench.Verify(true)
	if after := q.all(); len(found) == 0 && before == after {
		return ""
	} else if len(found) == 0 {
		return fmt.Sprintf("it changed\n%s\nto\n%s", before, after)
	}
	return fmt.Sprintf("%+v", found)
}

// all returns all keys with their values; of a stream its length.
func (q *groupQueue) all() string {
	keys := q.keysLike("*")
	slices.Sort(keys)
	types, values := make([]*redis.StatusCmd, len(keys)), make([]redis.Cmder, len(keys))
	_, _ = q.client.Pipelined(q.Context(), func(p redis.Pipeliner) error {
		for i, key := range keys {
			types[i] = p.Type(q.Context(), key)
		}
		return nil
	})
	_, _ = q.client.Pipelined(q.Context(), func(p redis.Pipeliner) error {
		for i, key := range keys {
			switch types[i].Val() {
			case "hash":
				values[i] = p.HGetAll(q.Context(), key)
			case "zset":
				values[i] = p.ZRangeWithScores(q.Context(), key, 0, -1)
			case "list":
				values[i] = p.LRange(q.Context(), key, 0, -1)
			case "stream":
				values[i] = p.XLen(q.Context(), key)
			default:
				values[i] = p.Get(q.Context(), key)
			}
		}
		return nil
	})
	var all strings.Builder
	for i, key := range keys {
		if hash, ok := values[i].(*redis.MapStringStringCmd); ok {
			fmt.Fprintln(&all, key, hash.Val()) // in the order of fields
		} else {
			fmt.Fprintln(&all, key, values[i])
		}
	}
	return all.String()
}

func (q *groupQueue) DeleteQueue(now int64) bool {
	q.at(now)
	remains, err := q.store.DeleteQueue(q.Context(), "default")
	if err != nil {
		q.Fatal(err)
	}
	if remains != (protocol.QueueRemains{}) {
		return false
	}
	if _, err := q.store.queues.register(q.Context(), "default"); err != nil {
		q.Fatal(err)
	}
	for name := range q.sessions {
		q.sessions[name]++ // they have ended
	}
	clear(q.numbers) // fences begin again
	clear(q.own)
	clear(q.crashes)
	return true
}

func (q *groupQueue) Advance(now int64) {
	q.at(now)
	q.sleep(true)
}

// Rewrite changes a rule of each group and changes it back, which writes the group's starts as of now.
func (q *groupQueue) Rewrite(now int64) {
	q.at(now)
	for _, key := range slices.Sorted(maps.Keys(q.keys)) {
		other := q.own[key]
		other.Waiting = protocol.MaxGroupWaiting
		for _, rule := range []chime.GroupRule{other, q.own[key]} {
			if err := q.queues.SetGroup(q.Context(), "default", key, rule); err != nil {
				q.Fatal(err)
			}
		}
	}
}

func (q *groupQueue) StepBack(now int64) {
	q.Rewrite(now)
	q.sleep(true)
}

// sleep registers each sleeper as asleep again. polls: they poll before, as they do from time to time.
func (q *groupQueue) sleep(polls bool) {
	q.registered = true
	if len(q.sleepers) == 0 {
		return
	}
	var asleep []redis.Z
	var calls []protocol.PollCall
	for _, session := range slices.Sorted(maps.Keys(q.sleepers)) {
		calls = append(calls, protocol.PollCall{Partition: storesuite.DefaultPartition, Worker: "w-" + session, Sleep: true})
		asleep = append(asleep, redisZ(float64(time.UnixMilli(q.now).Add(ahead).UnixMilli()), "w-"+session))
	}
	if polls {
		for _, answer := range q.store.Poll(q.Context(), calls) {
			if answer.Err != nil {
				q.Fatal(answer.Err)
			}
		}
	}
	q.client.ZAdd(q.Context(), q.keys_().idle, asleep...)
}

// Woken returns how many sleepers were woken since it was called last. They sleep again.
func (q *groupQueue) Woken() (n int) {
	if q.made++; q.made%q.every == 0 {
		q.audit()
	}
	if len(q.sleepers) == 0 || q.registered {
		return 0
	}
	var names []string
	for session := range q.sleepers {
		names = append(names, "w-"+session)
	}
	for _, since := range q.client.ZMScore(q.Context(), q.keys_().idle, names...).Val() {
		if since == 0 {
			n++
		}
	}
	if n > 0 {
		q.sleep(false)
	}
	return n
}

// audit ends the walk if the keys have a fault.
func (q *groupQueue) audit() {
	for _, fault := range q.groupFaults() {
		panic(groupFault(fault))
	}
}

func (q *groupQueue) Group(key string, now int64) groupmodel.GroupInfo {
	if q.listed == nil {
		q.listed = map[string]*chime.GroupInfo{}
		for g, err := range q.queues.Groups(q.Context(), "default", chime.GroupFilter{}) {
			if err != nil {
				q.Fatal(err)
			}
			if q.listed[g.Key] != nil {
				q.Fatalf("group %s is listed twice", g.Key)
			}
			q.listed[g.Key] = g
		}
	}
	g := q.listed[key]
	if g == nil {
		return groupmodel.GroupInfo{}
	}
	info := groupmodel.GroupInfo{Waiting: int(g.Waiting), Running: int(g.Running), Paused: g.Paused, Blocked: groupmodel.Why(g.Blocked), By: g.By, Oldest: g.Oldest}
	if !g.Until.IsZero() {
		info.Until = q.instant(g.Until)
	}
	return info
}

// A groupFault is what an audit of the keys has found. Run ends with it.
type groupFault string

// runGroups runs a walk, and returns the first difference from the model, or the first fault of the keys.
func runGroups(q *groupQueue, ops []groupmodel.Operation) (err error) {
	defer func() {
		if found := recover(); found != nil {
			fault, ok := found.(groupFault)
			if !ok {
				panic(found)
			}
			err = errors.New(string(fault))
		}
	}()
	if err := groupmodel.RunEvery(q, ops, q.every); err != nil {
		return err
	}
	q.audit()
	return nil
}

package redisstore

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/chimejobs/chime/internal/protocol"
)

var workScript = scripts.Load("sessions/work")

// Work settles ended jobs and takes due ones, with one call for each partition, in one round trip. The placements of a call and the
// measurements of its session come before it in the same pipeline. The same number again returns the same jobs and writes nothing. If an
// answer shows that something was parked since its caller looked, a second round trip looks up the caller's names.
func (s *store) Work(ctx context.Context, calls []protocol.WorkCall) []protocol.WorkAnswer {
	answers := make([]protocol.WorkAnswer, len(calls))
	if s.bad != nil {
		for i := range answers {
			answers[i].Err = s.bad
		}
		return answers
	}
	sent := make([]call, 0, 2*len(calls))
	few := make([]bool, len(calls)) // which of the calls try work_few.lua
	for i := range calls {
		if place := calls[i].Place; len(place) > 0 {
			sent = append(sent, s.placeCall(calls[i].Partition, place))
		}
		if calls[i].Measured != nil {
			sent = append(sent, s.measureCall(calls[i].Partition, calls[i].Session, calls[i].Measured))
		}
		if few[i] = isFew(&calls[i]) && s.hotKeys(calls[i].Partition).few.tries(); few[i] {
			sent = append(sent, s.workFewCall(&calls[i]))
		} else {
			sent = append(sent, s.workCall(&calls[i]))
		}
	}
	cmds := s.runBriefly(ctx, sent...)
	looks := false
	var left []int // calls that their script has left to work.lua, or to work.lua with more keys
	for i := range calls {
		var placed []protocol.PlaceAnswer
		if place := calls[i].Place; len(place) > 0 {
			placed = placeAnswers(place, cmds[0])
			cmds = cmds[1:]
		}
		if calls[i].Measured != nil {
			cmds = cmds[1:] // if it fails, the charts have less data, and nothing else is wrong
		}
		if few[i] {
			var ok bool
			if answers[i], ok = s.workFewAnswer(&calls[i], cmds[0]); !ok {
				left = append(left, i)
			}
			s.hotKeys(calls[i].Partition).few.ended(ok)
		} else {
			var ok bool
			if answers[i], ok = s.workAnswer(&calls[i], cmds[0]); !ok {
				left = append(left, i)
			}
		}
		answers[i].Placed = placed
		cmds = cmds[1:]
	}
	for len(left) > 0 {
		sent = sent[:0]
		for _, i := range left {
			sent = append(sent, s.workCall(&calls[i]))
		}
		sending := left
		left = nil
		for k, cmd := range s.runBriefly(ctx, sent...) {
			i, placed, ok := sending[k], answers[sending[k]].Placed, false
			if answers[i], ok = s.workAnswer(&calls[i], cmd); !ok {
				left = append(left, i)
			}
			answers[i].Placed = placed
		}
	}
	for i := range calls {
		looks = looks || answers[i].ParkedMark != 0 && len(calls[i].Handled) > 0
	}
	if looks {
		s.lookAfterWork(ctx, calls, answers)
	}
	return answers
}

func (s *store) lookAfterWork(ctx context.Context, calls []protocol.WorkCall, answers []protocol.WorkAnswer) {
	partitions, looks, hints := make([]protocol.Partition, len(calls)), make([]protocol.ParkedLook, len(calls)), make([]*protocol.WaitHint, len(calls))
	for i := range calls {
		partitions[i], looks[i] = calls[i].Partition, calls[i].ParkedLook
		if answers[i].Err == nil {
			hints[i] = &answers[i].WaitHint
		}
	}
	s.lookUpParked(ctx, partitions, looks, hints)
}

// workCall is the script call of c. The title page of the script describes KEYS and ARGV.
func (s *store) workCall(c *protocol.WorkCall) call {
	// A job that is Finished needs only its ID and fence; any other settlement needs kind, body and record too.
	finished, followed, kept, members := 0, 0, 0, false
	var others []*protocol.Settlement
	var parks []string
	for i := range c.Settle {
		settled := &c.Settle[i]
		members = members || settled.Batch != "" || settled.Follower != nil && settled.Follower.Batch != ""
		switch sectionOf(settled) {
		case sectionFollowed:
			followed++
			finished++
			continue
		case sectionKept:
			kept++
			finished++
			continue
		case sectionFinished:
			finished++
			continue
		}
		others = append(others, settled)
		if settled.Kind == protocol.SettlePark && indexOf(parks, settled.Name) < 0 {
			parks = append(parks, settled.Name)
		}
	}

	keys := s.hotKeys(c.Partition)
	members = members || keys.revoked.Load()
	names, shared := servedNames(c.Serve)
	lists := len(names) + len(parks)
	if len(shared)+len(parks) > 0 {
		lists++
	}
	annexes := 0
	for _, other := range others {
		annexes += annexesOf(other)
	}
	sent := 0 // keys of the outbox
	if slices.ContainsFunc(others, followsElsewhere) {
		sent = 2
	}
	batches := batchesOf(c, members)
	more := sent
	if members {
		more += 3
	}
	call := beginCall(&workScript, 1+len(keys.work)+lists+more, keys.inflight(c.Session))
	args := append(call.args, keys.work...)
	if lists > 0 {
		for _, name := range names {
			args = append(args, keys.parked(name))
		}
		for _, name := range parks {
			args = append(args, keys.parked(name))
		}
		if len(shared)+len(parks) > 0 {
			args = append(args, keys.parked(sharedParked))
		}
	}
	if sent > 0 {
		args = append(args, keys.outbox, keys.outgoing)
	}
	if members {
		args = append(args, keys.once, keys.batches, keys.reports)
	}

	countOthers := any(len(others))
	if annexes > 0 || members {
		countOthers = strconv.Itoa(len(others)) + " " + strconv.Itoa(annexes)
		groups, queues := slices.ContainsFunc(others, followsInGroup), sent > 0
		if groups || queues || members {
			countOthers = countOthers.(string) + " " + letterIf(groups, "g") + letterIf(queues, "q") + letterIf(members, "b"+strconv.Itoa(len(batches)))
		}
	}

	countFinished := any(finished)
	if kept+followed > 0 {
		countFinished = strconv.Itoa(finished) + " " + strconv.Itoa(kept) + " " + c.Partition.Queue + " " + strconv.Itoa(followed)
	}

	settled := len(c.Settle) + len(c.Begun)
	args = append(args, c.Session, c.Number, c.TTL.Milliseconds(), c.Take, takenAhead(c), sleeps(c), c.Worker,
		keys.wake, s.holderOf(c.Worker, c.Beside), len(names), len(parks), countFinished, len(c.Begun), countOthers, suspects(c), len(shared))
	for _, name := range names {
		args = append(args, name)
	}
	for _, member := range shared {
		args = append(args, member)
	}
	for _, name := range parks {
		args = append(args, name)
	}
	// IDs, then fences in the same order. Pointers: storing a string or a number in an any allocates.
	ids := len(args)
	args = slices.Grow(args, 2*settled+4*len(others)+3*annexes+2*kept+2*followed+2*len(batches))[:ids+2*settled]
	at := ids
	put := func(id *string, fence *int64) {
		args[at], args[at+settled] = id, fence
		at++
	}
	for section := range sectionOthers {
		for i := range c.Settle {
			if sectionOf(&c.Settle[i]) == section {
				put(&c.Settle[i].ID, &c.Settle[i].Fence)
			}
		}
	}
	for i := range c.Begun {
		put(&c.Begun[i].ID, &c.Begun[i].Fence)
	}
	for _, other := range others {
		put(&other.ID, &other.Fence)
	}
	for _, other := range others {
		args = append(args, settleKind(other), amount(other, parks, s.options.MaxDead), other.Body, record(other.Run))
	}
	for i, other := range others {
		if other.Follower != nil {
			args = append(args, i+1, "o", other.Follower.Body)
			if later := followsLater(other.Follower); later != "" {
				args = append(args, i+1, "i", later)
			}
			if other.Follower.Queue != "" {
				args = append(args, i+1, "q", other.Follower.Queue)
			}
		}
		if other.Follower != nil && other.Follower.Batch != "" {
			args = append(args, i+1, "m", other.Follower.Batch)
		}
		if other.Batch != "" {
			args = append(args, i+1, "b", other.Batch)
		}
		if other.Result != nil {
			args = append(args, i+1, "r", resultAnnex(c.Partition.Queue, other.Result))
		}
		if other.Reported {
			args = append(args, i+1, "g", "")
		}
	}
	for i := range c.Settle {
		if result := c.Settle[i].Result; sectionOf(&c.Settle[i]) == sectionKept {
			args = append(args, result.Keep.Milliseconds(), append([]byte{protocol.ResultDone}, result.Body...))
		}
	}
	for i := range c.Settle {
		if sectionOf(&c.Settle[i]) == sectionFollowed {
			s := &c.Settle[i]
			args = append(args, protocol.FollowerID(s.ID, protocol.EndDone, s.Fence, ""), s.Follower.Body)
		}
	}
	for i := range batches {
		args = append(args, batches[i].id, batches[i].positions)
	}
	call.args = args
	return call
}

// servedNames splits the parked names to serve into names with a list of their own and members of the shared list.
func servedNames(serve []string) (names, shared []string) {
	if !slices.ContainsFunc(serve, isShared) {
		return serve, nil
	}
	for _, entry := range serve {
		if isShared(entry) {
			shared = append(shared, entry)
		} else {
			names = append(names, entry)
		}
	}
	return names, shared
}

func isShared(entry string) bool { return strings.Contains(entry, "\t") }

func indexOf(names []string, name string) int {
	for i := range names {
		if names[i] == name {
			return i
		}
	}
	return -1
}

// takenAhead formats how many jobs are taken ahead, and the names of jobs that the worker handles together.
func takenAhead(c *protocol.WorkCall) any {
	if len(c.Gathers) == 0 {
		return c.Ahead
	}
	return strconv.Itoa(c.Ahead) + " " + strings.Join(c.Gathers, "  ") + " "
}

// sleeps formats the state in which the call leaves the worker: 0 awake, 1 asleep if nothing is left, 2 the same and lapsed sessions are
// reported, 3 asleep as before.
func sleeps(c *protocol.WorkCall) string {
	switch {
	case c.SleepOn:
		return "3"
	case c.Sleep && c.Lapses:
		return "2"
	}
	return flag(c.Sleep)
}

// suspects formats whether the call may bring a suspect.
func suspects(c *protocol.WorkCall) string {
	if c.HoldsSuspect {
		return "2"
	}
	return flag(c.Suspect)
}

// letterIf returns a letter of an argument if it is to be there.
func letterIf(is bool, letter string) string {
	if is {
		return letter
	}
	return ""
}

func flag(on bool) string {
	if on {
		return "1"
	}
	return "0"
}

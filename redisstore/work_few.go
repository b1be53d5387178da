package redisstore

import (
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
)

var workFewScript = scripts.Load("sessions/work_few")

// work_few.lua is the short form of work.lua, for a worker to which jobs come one at a time. It has a fifth of the keys and no functions for anything but ordinary
// jobs, so it costs the server half as much. It leaves a call to work.lua if something in the partition is not ordinary, which costs a round trip.
const (
	fewSettled = 16 // a call with more settlements goes to work.lua at once
	fewTaken   = 16 // and so does one that finds more jobs
	maxFewSkip = 256
	fewTTL     = 5 * time.Second // longer than RENEWED_S of the script, and than until a heartbeat after that
)

// A fewPace decides which calls to a partition try work_few.lua first. Each call that it leaves doubles the number of calls that do not try. It only
// saves round trips: any call may use either script.
type fewPace struct {
	skips   atomic.Int32 // how many of the next calls do not try
	skipped atomic.Int32 // how many that were after the last try

	plain atomic.Pointer[string] // the session whose last answer had the p of work_few.lua
}

// isPlain reports whether an earlier call of a session has seen all ordinary fields of the partition's state.
func (f *fewPace) isPlain(session string) bool {
	seen := f.plain.Load()
	return seen != nil && *seen == session
}

// A fewMode is ARGV[4] of work_few.lua.
type fewMode struct {
	name  string
	plain bool
}

// fewModes are the arguments: storing a string in an any allocates.
var fewModes = map[fewMode]any{
	{"0", false}: "0", {"1", false}: "1", {"3", false}: "3", {"4", false}: "4", {"0", true}: "0p", {"1", true}: "1p", {"3", true}: "3p", {"4", true}: "4p",
}

// tries reports whether the next call tries.
func (f *fewPace) tries() bool { return f.skips.Load() <= 0 || f.skips.Add(-1) < 0 }

// ended records whether a call that has tried was carried out.
func (f *fewPace) ended(done bool) {
	n := int32(0)
	if !done {
		n = min(2*f.skipped.Load()+1, maxFewSkip)
	}
	f.skipped.Store(n)
	f.skips.Store(n)
}

// isFew reports whether a call may be one for work_few.lua.
func isFew(c *protocol.WorkCall) bool {
	if c.Number < 2 || c.Lapses || c.TTL < fewTTL || len(c.Begun)+len(c.Serve)+len(c.Gathers) > 0 || len(c.Settle) > fewSettled || len(c.Settle) == 0 && c.Take == 0 {
		return false
	}
	for i := range c.Settle {
		if sectionOf(&c.Settle[i]) != sectionFinished || c.Settle[i].Batch != "" { // members are counted
			return false
		}
	}
	return true
}

// workFewCall is the script call of c. The title page of the script describes KEYS and ARGV.
func (s *store) workFewCall(c *protocol.WorkCall) call {
	keys := s.hotKeys(c.Partition)
	call := beginCall(&workFewScript, 1+len(keys.workFew), keys.inflight(c.Session))
	mode := fewMode{name: sleeps(c), plain: keys.few.isPlain(c.Session)}
	if mode.name == "1" && c.Take <= fewTaken && c.Ahead == 0 {
		mode.name = "4"
	}
	args := append(append(call.args, keys.workFew...), &c.Number, c.Number-1, min(max(c.Take-c.Ahead, 0), fewTaken), fewModes[mode], &c.Worker,
		s.holderOf(c.Worker, c.Beside))
	for i := range c.Settle {
		args = append(args, &c.Settle[i].ID)
	}
	for i := range c.Settle {
		args = append(args, &c.Settle[i].Fence)
	}
	call.args = args
	return call
}

// workFewAnswer reads the answer of work_few.lua. ok is false if the script has left the call to work.lua.
func (s *store) workFewAnswer(c *protocol.WorkCall, cmd *redis.Cmd) (answer protocol.WorkAnswer, ok bool) {
	var values reply
	switch v := cmd.Val().(type) {
	case int64:
		if v == 0 && cmd.Err() == nil {
			return answer, false
		}
	case string: // nothing to wait for, and at most one job
		head, job, taken := strings.Cut(v, "\n")
		id, body, _ := strings.Cut(job, "\n")
		if values = (reply{head, int64(-1), int64(0), id, body})[:3]; taken {
			values = values[:5]
		}
	}
	if values == nil {
		var err error
		if values, err = list("work on", c.Partition.Queue, cmd); err != nil {
			return protocol.WorkAnswer{Err: err}, true
		}
	}
	now, isPlain := strings.CutSuffix(values.text(0), "p")
	if isPlain {
		session := c.Session
		s.hotKeys(c.Partition).few.plain.Store(&session)
	}
	fence, _ := strconv.ParseInt(now, 10, 64)
	answer.Now = time.UnixMicro(fence).UTC()
	if next := values.milli(1); !next.IsZero() {
		answer.Next = untilNext(next, answer.Now)
	}
	answer.Second = values.number(2) == 2
	rest := values.text(3)
	if len(values) > 4 {
		answer.Taken = make([]protocol.TakenJob, len(values)-4)
	}
	for i := range answer.Taken {
		job := &answer.Taken[i]
		job.ID, rest, _ = strings.Cut(rest, "\n")
		job.Fence, job.Begun = fence+int64(i), true
		if text := values.text(4 + i); text != "" {
			// The text was created for this answer. Nothing else uses this part of it, so its memory may become a slice's.
			job.Body = unsafe.Slice(unsafe.StringData(text), len(text))
		}
	}
	return answer, true
}

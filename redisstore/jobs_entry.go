package redisstore

import (
	"cmp"
	"context"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
)

// A jobEntry is a job as one list of its partition holds it: due, ready, line, behind, dead, a list of parked jobs, or the jobs of a session.
type jobEntry struct {
	id    string
	state string
	next  jobCursor // continues after it

	list   string // the key; for a sorted set and a session it is known later whether the job is still there
	member string // of the list
	score  float64
	held   string    // value in the hash of a session; empty: the list is not a session
	worker string    // that owns the session
	gone   time.Time // last sign of life of that worker, if the session has lapsed
}

// self is the field of …:inflight:<session> that is not a job: scripts/lib/session.lua.
const self = "\x01"

// workerOf reads the worker from that field: "<number> <fence> <renewed> <host> <pid> <worker> <padding> …". It is empty if an older version
// wrote the field, or if the session is being reaped.
func workerOf(header string) string {
	parts := strings.Split(header, " ")
	if len(parts) < 7 || strings.HasPrefix(parts[5], ".") {
		return ""
	}
	return parts[5]
}

var heldPattern = regexp.MustCompile(`^([!+]?)(-?)(\d{1,16})$`)

// parseHeld reads a job's value in the hash of a session: its fence, whether it has begun, and whether its holder was asked to end it. A
// value that was edited by hand reads as begun, with fence 0.
func parseHeld(value string) (fence int64, begun, cancelled bool) {
	m := heldPattern.FindStringSubmatch(value)
	if m == nil {
		return 0, true, false
	}
	fence, _ = strconv.ParseInt(m[3], 10, 64)
	return fence, m[2] == "" || m[1] != "", m[1] == "!"
}

func heldState(value string) string {
	if _, begun, _ := parseHeld(value); !begun {
		return protocol.JobTaken
	}
	return protocol.JobRunning
}

const maxPageBytes = 4 * protocol.MaxBytes // of the bodies and definitions of a page, unless a single one is larger

// A jobReader reads jobs of one partition, and writes nothing.
type jobReader struct {
	client redis.UniversalClient
	keys   partitionKeys
}

// readEntries reads the bodies of entries, or the definitions of their schedules, and returns the jobs that are still
// where they were found. read is the number of entries that it has read: fewer than all if they are long.
//
// A job may have moved between the reading of its list and of its body. So the lists are read again after the bodies: a job that is
// there unchanged had this body there.
//
// Only the body of an unwanted job is read, and the job is returned as passed over. wanted nil: all jobs are wanted.
func (j *jobReader) readEntries(ctx context.Context, entries []jobEntry, wanted wantedJobs) (jobs []protocol.FoundJob, read int, err error) {
	if len(entries) == 0 {
		return nil, 0, nil
	}
	r := entryReader{jobReader: j, entries: entries, wanted: wanted}
	if err := r.measure(ctx); err != nil {
		return nil, 0, err
	}
	if err := r.readBodies(ctx); err != nil {
		return nil, 0, err
	}
	if err := r.readDefinitions(ctx); err != nil {
		return nil, 0, err
	}
	for i, e := range r.entries {
		switch {
		case r.passed[i]:
			jobs = append(jobs, protocol.FoundJob{ID: e.id, State: e.state, Passed: true, Next: e.next.String()})
		case !r.gone[i]:
			if job := r.job(i); !isDropped(&job) {
				jobs = append(jobs, job)
			}
		}
	}
	return jobs, len(r.entries), nil
}

// isDropped reports whether a waiting job is an occurrence without a body whose schedule was deleted: its ID remains in ready until a take drops it.
func isDropped(job *protocol.FoundJob) bool {
	_, _, occurrence := protocol.CutOccurrence(job.ID)
	return occurrence && job.State == protocol.JobWaiting && job.Body == nil && job.Definition == nil
}

// wantedJobs reports whether a job is wanted, by its body, which may be empty, and by how often its holder has vanished. It returns true
// if these cannot decide.
type wantedJobs func(body string, crashes int) bool

// An entryReader reads the jobs of some entries.
type entryReader struct {
	*jobReader
	entries []jobEntry // the entries to read: as many from the beginning as are not too long
	wanted  wantedJobs

	lengths     []int64 // of the bodies; nil: no body is long
	crashed     bool    // there may be crashes
	bodies      []string
	crashes     []int
	gone        []bool            // no longer there
	passed      []bool            // it is not wanted
	progress    []string          // what handlers have reported; nil: none of the jobs runs
	definitions map[string]string // by schedule
}

// maxTogether is about how many bytes the commands of one round trip have. A server inside the process has no socket buffer: it answers
// the first command before it has read the last. With half of a long pipeline read, it would wait for its client, and its client for it.
const maxTogether = 3 << 10

// measure cuts the entries to the bytes that a page may have. Only a partition whose state has the mark has long bodies or definitions.
func (r *entryReader) measure(ctx context.Context) error {
	state, err := r.texts(ctx, r.keys.state, []string{"large", "crashed"})
	if err != nil {
		return err
	}
	if r.crashed = state[1] != ""; state[0] == "" {
		return nil
	}
	bodies, definitions := make([]*redis.IntCmd, len(r.entries)), map[string]*redis.IntCmd{}
	pipe, size := r.client.Pipeline(), 0
	length := func(key, field string) *redis.IntCmd {
		size += 40 + len(key) + len(field)
		return pipe.HStrLen(ctx, key, field)
	}
	for i, e := range r.entries {
		bodies[i] = length(r.keys.jobs, e.id)
		if name, _, ok := protocol.CutOccurrence(e.id); ok && definitions[name] == nil {
			definitions[name] = length(r.keys.schedules, name)
		}
		if size > maxTogether || i == len(r.entries)-1 {
			if _, err := pipe.Exec(ctx); err != nil {
				return err
			}
			size = 0
		}
	}
	var sum int64
	for i, e := range r.entries {
		length := bodies[i].Val()
		if name, _, ok := protocol.CutOccurrence(e.id); ok && length == 0 && definitions[name] != nil {
			sum += definitions[name].Val() // once, of the first of its occurrences
			definitions[name] = nil
		}
		if sum += length; sum > maxPageBytes && i > 0 {
			r.entries = r.entries[:i]
			return nil
		}
		r.lengths = append(r.lengths, length)
	}
	return nil
}

// readBodies reads bodies and crashes. Then it reads again where the wanted jobs were found.
func (r *entryReader) readBodies(ctx context.Context) error {
	ids := make([]string, len(r.entries))
	for i, e := range r.entries {
		ids[i] = e.id
	}
	for from := 0; from < len(ids); {
		to := from + 1
		if r.lengths == nil {
			to = len(ids)
		}
		for sum := int64(0); to < len(ids) && sum < protocol.MaxBytes; to++ {
			sum += r.lengths[to]
		}
		texts, err := r.texts(ctx, r.keys.jobs, ids[from:to])
		if err != nil {
			return err
		}
		r.bodies = append(r.bodies, texts...)
		from = to
	}
	if err := r.readCrashes(ctx, ids); err != nil {
		return err
	}
	if r.has(protocol.JobRunning) {
		var err error
		if r.progress, err = r.texts(ctx, r.keys.progress, ids); err != nil {
			return err
		}
	}
	stale := make([]float64, len(ids))
	if r.has(protocol.JobWaiting) {
		scores := r.client.ZMScore(ctx, r.keys.stale, ids...)
		if err := cmp.Or(scores.Err(), complete(scores)); err != nil {
			return err
		}
		stale = scores.Val()
	}
	r.gone, r.passed = make([]bool, len(r.entries)), make([]bool, len(r.entries))
	lists := map[string][]int{} // the lists that are read again, and the positions of their entries
	for i, e := range r.entries {
		r.see(i, stale[i] != 0)
		r.passed[i] = !r.gone[i] && r.wanted != nil && !r.wanted(r.bodies[i], r.crashes[i])
		if e.list != "" && !r.gone[i] && !r.passed[i] {
			lists[e.list] = append(lists[e.list], i)
		}
	}
	for list, at := range lists {
		if err := r.lookAgain(ctx, list, at); err != nil {
			return err
		}
	}
	return nil
}

// readCrashes reads how often the holders of the jobs have vanished, if the partition has such a number.
func (r *entryReader) readCrashes(ctx context.Context, ids []string) error {
	r.crashes = make([]int, len(ids))
	if !r.crashed {
		return nil
	}
	texts, err := r.texts(ctx, r.keys.crashes, ids)
	for i, text := range texts {
		r.crashes[i], _ = crashesOf(text)
	}
	return err
}

// has reports whether one of the entries is in a state, so that the data of only that state is read only then.
func (r *entryReader) has(state string) bool {
	return slices.ContainsFunc(r.entries, func(e jobEntry) bool { return e.state == state })
}

// texts reads fields of a hash; empty: there is no such field.
func (r *entryReader) texts(ctx context.Context, key string, fields []string) ([]string, error) {
	values := r.client.HMGet(ctx, key, fields...)
	if err := cmp.Or(values.Err(), complete(values)); err != nil {
		return nil, err
	}
	texts := make([]string, len(fields))
	for i := range texts {
		texts[i] = reply(values.Val()).text(i)
	}
	return texts, nil
}

// lookAgain marks the entries at these positions, all of one list, that have changed or left it.
func (r *entryReader) lookAgain(ctx context.Context, list string, at []int) error {
	members := make([]string, len(at))
	for j, i := range at {
		members[j] = r.entries[i].member
	}
	if r.entries[at[0]].held != "" {
		values, err := r.texts(ctx, list, members)
		for j := range values {
			r.gone[at[j]] = r.gone[at[j]] || values[j] != r.entries[at[j]].held
		}
		return err
	}
	if list == r.keys.line {
		return r.lookAgainInLine(ctx, members, at)
	}
	scores, err := r.scores(ctx, list, members)
	if err != nil {
		return err
	}
	for j, score := range scores {
		r.gone[at[j]] = r.gone[at[j]] || score != r.entries[at[j]].score
	}
	return nil
}

// lookAgainInLine marks the entries at these positions that have left line. All scores there are 0. go-redis returns 0 for a missing member too, so
// this reads the answer of ZMSCORE as it came.
func (r *entryReader) lookAgainInLine(ctx context.Context, members []string, at []int) error {
	args := []any{"zmscore", r.keys.line}
	for _, member := range members {
		args = append(args, member)
	}
	scores := redis.NewSliceCmd(ctx, args...)
	err := r.client.Process(ctx, scores)
	if err := cmp.Or(err, complete(scores)); err != nil {
		return err
	}
	for j, score := range scores.Val() {
		r.gone[at[j]] = r.gone[at[j]] || score == nil
	}
	return nil
}

// see decides about a job that was cancelled. Its ID remains in ready, void, until it is popped (see scripts/lib/stale.lua), or in due until
// its instant, with a mark in place of a body.
func (r *entryReader) see(i int, stale bool) {
	r.gone[i] = r.gone[i] || isVoid(r.bodies[i]) || stale && r.entries[i].state == protocol.JobWaiting
}

const maxDefinitions = 20 // read by one command: they may be long

// readDefinitions reads the definitions of the occurrences without a body.
func (r *entryReader) readDefinitions(ctx context.Context) error {
	r.definitions = map[string]string{}
	var names []string
	for i, e := range r.entries {
		if name, _, ok := protocol.CutOccurrence(e.id); ok && r.bodies[i] == "" && !r.gone[i] && !r.passed[i] {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for some := range slices.Chunk(slices.Compact(names), maxDefinitions) {
		texts, err := r.texts(ctx, r.keys.schedules, some)
		if err != nil {
			return err
		}
		for i, text := range texts {
			r.definitions[some[i]] = text
		}
	}
	return nil
}

// job returns the i-th entry as it was read.
func (r *entryReader) job(i int) protocol.FoundJob {
	e := &r.entries[i]
	job := protocol.FoundJob{ID: e.id, State: e.state, Crashes: r.crashes[i], Worker: e.worker, Next: e.next.String()}
	switch e.state {
	case protocol.JobDelayed, protocol.JobParked, protocol.JobDead:
		job.At = time.UnixMilli(int64(max(-1e14, min(e.score, 1e14)))).UTC()
	case protocol.JobRunning, protocol.JobTaken:
		job.Vanished = e.gone
		job.Fence, _, job.Cancelled = parseHeld(e.held)
		job.TakenAt = time.UnixMicro(job.Fence).UTC()
		if job.Fence == 0 {
			job.TakenAt = time.Time{}
		}
	}
	if e.state == protocol.JobRunning && r.progress[i] != "" {
		job.Progress = []byte(r.progress[i])
	}
	if r.bodies[i] != "" {
		job.Body = []byte(r.bodies[i])
		return job
	}
	if name, instant, ok := protocol.CutOccurrence(e.id); ok {
		// A schedule that was created in a later second than the instant is another one of the same name: it did not create this occurrence.
		text := r.definitions[name]
		planned, err := time.Parse(time.RFC3339, instant)
		if h, ok := parseHead(text); text != "" && !(ok && err == nil && h.created.Truncate(time.Second).After(planned)) {
			job.Definition = []byte(text)
		}
	}
	return job
}

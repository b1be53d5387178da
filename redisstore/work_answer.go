package redisstore

import (
	"strconv"
	"strings"
	"unsafe"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
)

// workAnswer reads the answer of work.lua. ok is false if the script has done nothing, because takes end members of a cancelled batch there: the call is to
// be made once more, with the keys of batches.
func (s *store) workAnswer(c *protocol.WorkCall, cmd *redis.Cmd) (answer protocol.WorkAnswer, ok bool) {
	if cmd.Err() == nil && cmd.Val() == int64(0) {
		s.hotKeys(c.Partition).revoked.Store(true)
		s.revokes.Store(true)
		return answer, false
	}
	values, err := list("work on", c.Partition.Queue, cmd)
	if err != nil {
		return protocol.WorkAnswer{Err: err}, true
	}
	answer = protocol.WorkAnswer{
		Now: values.now(), Refused: refusedOf(c, values.list(1)), Taken: takenOf(values[min(2, len(values)):]), WaitHint: values.waitHint(9),
		Superseded: values.texts(18), Unreadable: values.text(19),
	}
	answer.Limit = protocol.LimitState(values.number(20))
	paused := values.list(21)
	for i := 0; i+1 < len(paused); i += 2 {
		answer.PausedSchedules = append(answer.PausedSchedules, protocol.PausedSchedule{Name: paused.text(i), Deaths: int(paused.number(i + 1))})
	}
	answer.Skipped = values.texts(22)
	for i, letter := range []byte(values.text(23)) {
		if i < len(answer.Taken) {
			answer.Taken[i].Ordered, answer.Taken[i].Full = letter == 'o', letter == 'f'
		}
	}
	noteHint(&answer.WaitHint, values.number(24))
	if !answer.Batches && s.revokes.Load() {
		s.hotKeys(c.Partition).revoked.Store(false)
	}
	names, _ := servedNames(c.Serve)
	for i := range values.list(16) {
		if at := values.list(16).number(i); at >= 1 && at <= int64(len(names)) {
			answer.Parked = append(answer.Parked, names[at-1])
		}
	}
	parked := values.list(17)
	for i := 0; i+1 < len(parked); i += 2 {
		if at := parked.number(i); at >= 1 && at <= int64(len(answer.Taken)) {
			answer.Taken[at-1].ParkedAt = parked.milli(i + 1)
		}
	}
	owed := values.list(8)
	for i := 0; i+3 < len(owed); i += 4 {
		answer.Owed = append(answer.Owed, protocol.Owed{
			Partition: c.Partition, Name: owed.text(i), Definition: []byte(owed.text(i + 1)), Cursor: parseCursor(owed.text(i + 2)),
			Since: answer.Now, Now: answer.Now, Zoned: parseZoned(owed.text(i + 3)),
		})
	}
	return answer, true
}

// takenOf reads the jobs taken: first fence, how many have begun, IDs, bodies or definitions, kinds, crashes. IDs of one length are
// one text, others a list.
func takenOf(values reply) []protocol.TakenJob {
	fence, begun, joined, data := values.number(0), values.number(1), values.text(2), values.list(3)
	ids, kinds, crashes := values.list(2), values.text(4), values.list(5)
	if len(data) == 0 {
		return nil
	}
	jobs := make([]protocol.TakenJob, len(data))
	length := len(joined) / len(data)
	for i := range jobs {
		job := &jobs[i]
		if job.ID = ids.text(i); ids == nil {
			job.ID = joined[i*length : (i+1)*length]
		}
		job.Fence, job.Begun = fence+int64(i), int64(i) < begun
		if text := data.text(i); text != "" {
			// The text was created for this answer and has no other reference, so its memory may become a slice's.
			job.Body = unsafe.Slice(unsafe.StringData(text), len(text))
		}
		if i < len(crashes) {
			job.Crashes, job.Uncertain = crashesOf(crashes.text(i))
			job.Vanished = crashes.text(i) == "v"
		}
	}
	for i := range min(len(kinds), len(jobs)) {
		if kind := kinds[i]; kind == 'd' || kind == 'n' {
			job := &jobs[i]
			job.Body, job.Definition, job.New = nil, job.Body, kind == 'n'
		}
	}
	return jobs
}

// crashesOf reads an entry of …:crashes, see scripts/lib/suspects.lua: how often the holder of a job has vanished while its handler ran, and
// how many of these times it may not have been the cause.
func crashesOf(text string) (all, uncertain int) {
	certain, more, _ := strings.Cut(text, ".")
	n, _ := strconv.Atoi(certain)
	uncertain, _ = strconv.Atoi(more)
	n, uncertain = max(n, 0), max(uncertain, 0)
	return n + uncertain, uncertain
}

// The script gets the settlements of a call in three sections, one after the other.
const (
	sectionFinished = iota
	sectionFollowed // also finished; another job follows each
	sectionKept     // also finished; their results are kept
	sectionOthers
	sections
)

// refusedOf converts the script's positions, finished jobs first, to indexes of the call's settlements.
func refusedOf(c *protocol.WorkCall, positions reply) []int {
	if len(positions) == 0 {
		return nil
	}
	order := make([]int, 0, len(c.Settle))
	for section := range sections {
		for i := range c.Settle {
			if sectionOf(&c.Settle[i]) == section {
				order = append(order, i)
			}
		}
	}
	var refused []int
	for i := range positions {
		if p := positions.number(i); p >= 1 && p <= int64(len(order)) {
			refused = append(refused, order[p-1])
		}
	}
	return refused
}

package redisstore

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// The parts of a settlement in the arguments of work.lua.

// annexesOf is how many annexes a settlement has.
func annexesOf(settled *protocol.Settlement) (n int) {
	if settled.Follower != nil {
		n++
		if followsLater(settled.Follower) != "" {
			n++
		}
		if settled.Follower.Queue != "" {
			n++
		}
		if settled.Follower.Batch != "" {
			n++
		}
	}
	if settled.Batch != "" {
		n++
	}
	if settled.Result != nil {
		n++
	}
	if settled.Reported {
		n++
	}
	return n
}

// A finishedBatch is a batch with the positions of its members among the finished jobs of a call, from 1, each with a blank behind it.
type finishedBatch struct {
	id        string
	positions []byte
}

// batchesOf returns the batches of the finished jobs of a call. members: some of its jobs are members.
func batchesOf(c *protocol.WorkCall, members bool) (batches []finishedBatch) {
	if !members {
		return nil
	}
	position := 0
	for section := range sectionOthers {
		for i := range c.Settle {
			settled := &c.Settle[i]
			if sectionOf(settled) != section {
				continue
			}
			position++
			if settled.Batch == "" {
				continue
			}
			at := slices.IndexFunc(batches, func(b finishedBatch) bool { return b.id == settled.Batch })
			if at < 0 {
				at, batches = len(batches), append(batches, finishedBatch{id: settled.Batch})
			}
			batches[at].positions = append(strconv.AppendInt(batches[at].positions, int64(position), 10), ' ')
		}
	}
	return batches
}

// followsLater returns how long after the end a job that follows is due, and its group; empty: it is due then, and has none.
func followsLater(f *protocol.Follower) string {
	switch {
	case f.Group != "":
		return strconv.FormatInt(f.In.Milliseconds(), 10) + "\t" + f.Group
	case f.In > 0:
		return strconv.FormatInt(f.In.Milliseconds(), 10)
	}
	return ""
}

// followsInGroup reports whether a job that follows a settled one has a group of the same queue.
func followsInGroup(settled *protocol.Settlement) bool {
	return settled.Follower != nil && settled.Follower.Group != "" && settled.Follower.Queue == ""
}

// followsElsewhere reports whether a job that follows a settled one has another queue.
func followsElsewhere(settled *protocol.Settlement) bool {
	return settled.Follower != nil && settled.Follower.Queue != ""
}

func resultAnnex(queue string, result *protocol.Result) []byte {
	annex := strconv.AppendInt(make([]byte, 0, 24+len(queue)+len(result.Body)), result.Keep.Milliseconds(), 10)
	return append(append(append(append(annex, ' '), queue...), ' '), result.Body...)
}

// settleKind returns the letter of a kind; f is a later that counts a failed attempt.
func settleKind(settled *protocol.Settlement) string {
	if settled.Kind == protocol.SettleLater && settled.Failed {
		return "f"
	}
	return string(rune(settled.Kind))
}

// amount returns the delay in ms, rounded up; or the position of the name to park on, and since when the job is parked; or how many dead
// jobs are kept, maxDead. A u follows the last of these, or is the only text, if the handler had not begun. Or the instant to which a cursor goes back.
func amount(settled *protocol.Settlement, parks []string, maxDead int) string {
	switch settled.Kind {
	case protocol.SettlePark:
		position := strconv.Itoa(indexOf(parks, settled.Name) + 1)
		if settled.ParkedAt.IsZero() {
			return position
		}
		return position + " " + strconv.FormatInt(settled.ParkedAt.UnixMilli(), 10)
	case protocol.SettleDead:
		return strconv.Itoa(maxDead) + unbegun(settled)
	case protocol.SettleBack:
		return unbegun(settled)
	case protocol.SettleReplan:
		return settled.Back.UTC().Format(time.RFC3339)
	case protocol.SettleLater:
	default:
		return ""
	}
	ms := settled.Delay.Milliseconds()
	if settled.Delay.Nanoseconds()%1_000_000 > 0 {
		ms++
	}
	return strconv.FormatInt(ms, 10)
}

// unbegun is the end of an amount if the handler had not begun.
func unbegun(settled *protocol.Settlement) string {
	if settled.Unbegun {
		return "u"
	}
	return ""
}

// record formats an entry of the record of runs, without the fields that the ID contains.
func record(run *protocol.RunRecord) string {
	if run == nil {
		return ""
	}
	text := run.Outcome + "|" + strconv.FormatInt(run.Started.UnixMilli(), 10) + "|" + strconv.FormatInt(run.Ended.UnixMilli(), 10)
	if run.Attempt == 0 && run.Worker == "" && run.Error == "" && run.Note == "" {
		return text
	}
	attempt := strconv.Itoa(run.Attempt)
	if run.Backfilled {
		attempt += "b"
	}
	return text + "|" + attempt + "|" + strconv.FormatInt(run.Fence, 10) + "|" + run.Worker + "|" +
		strings.ReplaceAll(run.Error, "\t", " ") + "\t" + run.Note
}

// sectionOf returns the section of the call for a settlement.
func sectionOf(settled *protocol.Settlement) int {
	switch {
	case !settled.Finished() && followedAtOnce(settled):
		return sectionFollowed
	case !settled.Finished():
		return sectionOthers
	case settled.Result != nil:
		return sectionKept
	}
	return sectionFinished
}

// followedAtOnce reports whether all that a finished job needs more is that another one is added to the front of its queue.
func followedAtOnce(settled *protocol.Settlement) bool {
	if settled.Follower == nil || settled.Result != nil || settled.Follower.Queue != "" || settled.Follower.Batch != "" || followsLater(settled.Follower) != "" {
		return false
	}
	alone := *settled
	alone.Follower = nil
	return alone.Finished()
}

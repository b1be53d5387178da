package redisstore

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
)

// The list ready is paged from the front by its members: a page begins after the mark, which is the job that was shown last. Jobs leave the
// list at the front and are added at both ends, never in between. So what came after the mark still comes after it, until the mark leaves
// the list. If the mark has left, everything before it has left too: then the page begins again at the front, and reports that. The
// same holds if the mark has left and returned: then another job follows it than before, or the same job does and the page is right.
//
// A read deep in the list is fast (150 us at 300,000 of 1,000,000), a search for a member is not (4.4 ms). So the mark is read near its last
// position, and searched only if it has moved by more than readySlack.

const readySlack = 100

// lineList is the list name of a cursor in the jobs of groups that wait.
const lineList = "line"

// readWaiting reads ready, then the jobs of groups, then the occurrences behind others, from the cursor on.
func (p *jobPager) readWaiting(ctx context.Context) (exhausted bool, err error) {
	if p.call.Group != "" && p.cursor.list != lineList {
		p.cursor = jobCursor{state: p.call.State, partition: p.cursor.partition, list: lineList}
	}
	switch p.cursor.list {
	default:
		if exhausted, err = p.readReady(ctx); err != nil || !exhausted {
			return false, err
		}
		p.cursor = jobCursor{state: p.call.State, partition: p.cursor.partition, list: lineList}
		fallthrough
	case lineList:
		if exhausted, err = p.readSorted(ctx, p.keys.line, lineID); err != nil || !exhausted {
			return false, err
		}
		if p.call.Group != "" {
			return true, nil
		}
		p.cursor = jobCursor{state: p.call.State, partition: p.cursor.partition, list: behindList}
		fallthrough
	case behindList:
		return p.readSorted(ctx, p.keys.behind, behindID)
	}
}

// readSorted reads a sorted set of which all members have the same score, from the cursor on. idOf returns the ID of the job in a member.
func (p *jobPager) readSorted(ctx context.Context, key string, idOf func(member string) string) (exhausted bool, err error) {
	from, to := afterMember(p.cursor.member), "+"
	if group := p.call.Group; group != "" {
		if to = "(" + group + "\n"; p.cursor.member == "" {
			from = "[" + group + "\t"
		}
	}
	members, err := p.client.ZRangeByLex(ctx, key, &redis.ZRangeBy{Min: from, Max: to, Count: int64(p.limit + 1)}).Result()
	if err != nil {
		return false, err
	}
	more := len(members) > p.limit
	var entries []jobEntry
	for _, member := range members[:min(len(members), p.limit)] {
		e := jobEntry{
			id: idOf(member), state: protocol.JobWaiting,
			next: jobCursor{state: p.call.State, partition: p.cursor.partition, list: p.cursor.list, member: member},
		}
		if key == p.keys.line {
			e.list, e.member = key, member
		}
		entries = append(entries, e)
	}
	return p.take(ctx, entries, more)
}

// afterMember is the least member of a page that begins after this one; empty: it begins with the first one.
func afterMember(member string) string {
	if member == "" {
		return "-"
	}
	return "(" + member
}

// lineID returns the ID of the job in a member of line: "<group>\t<place>\t<job ID>".
func lineID(member string) string { return member[strings.LastIndexByte(member, '\t')+1:] }

// behindID returns the ID of the occurrence in a member of behind: "<schedule>\t<planned instant>", with "~" before the instant if it was
// backfilled.
func behindID(member string) string {
	schedule, instant, _ := strings.Cut(member, "\t")
	return schedule + "@" + strings.TrimPrefix(instant, "~")
}

// readReady reads ready from the cursor on.
func (p *jobPager) readReady(ctx context.Context) (exhausted bool, err error) {
	n := min(p.limit, protocol.MaxPageDepth-p.cursor.shown)
	if n <= 0 {
		return true, nil
	}
	w, err := p.readyBehindMark(ctx, n)
	if err != nil {
		return false, err
	}
	more := !w.atEnd || len(w.ids)-w.first > n
	var entries []jobEntry
	for i := w.first; i < min(len(w.ids), w.first+n); i++ {
		next := jobCursor{state: p.call.State, partition: p.cursor.partition, member: w.ids[i], at: w.from + i, shown: p.cursor.shown + i - w.first + 1}
		if i+1 < len(w.ids) {
			next.follower = w.ids[i+1] // else this is the last one, and the page has no next
		}
		entries = append(entries, jobEntry{id: w.ids[i], state: protocol.JobWaiting, next: next})
	}
	shown := len(p.page.Jobs)
	exhausted, err = p.take(ctx, entries, more)
	if err == nil {
		err = p.dropTaken(ctx, shown, w)
	}
	return exhausted || p.cursor.shown >= protocol.MaxPageDepth, err
}

// A readyWindow is a part of ready.
type readyWindow struct {
	ids   []string
	from  int  // position of the first of ids
	first int  // index of the first one to show
	atEnd bool // nothing comes after the window
}

func (p *jobPager) readyWindow(ctx context.Context, from, to int) (readyWindow, error) {
	ids, err := p.client.LRange(ctx, p.keys.ready, int64(from), int64(to)).Result()
	return readyWindow{ids: ids, from: from, atEnd: len(ids) < to-from+1}, err
}

// readyBehindMark reads the window with the n jobs after the mark.
func (p *jobPager) readyBehindMark(ctx context.Context, n int) (w readyWindow, err error) {
	if p.cursor.member == "" {
		return p.readyWindow(ctx, 0, n)
	}
	at := p.cursor.at
	for range 3 {
		w, err = p.readyWindow(ctx, max(at-readySlack-1, 0), at+n+readySlack)
		if err != nil {
			return w, err
		}
		if i := slices.Index(w.ids, p.cursor.member); i >= 0 && i+1 < len(w.ids) && w.ids[i+1] == p.cursor.follower {
			w.first = i + 1
			return w, nil
		}
		found, err := p.client.LPos(ctx, p.keys.ready, p.cursor.member, redis.LPosArgs{MaxLen: protocol.MaxPageDepth}).Result()
		if errors.Is(err, redis.Nil) {
			break
		}
		if err != nil {
			return w, err
		}
		at = int(found)
	}
	p.page.Restarted = true
	return p.readyWindow(ctx, 0, n)
}

// dropTaken removes from the page, from the position shown on, the jobs without a body that are no longer in the window of ready: they
// were taken and have ended since it was read. The jobs without a body that are still there have lost their body.
func (p *jobPager) dropTaken(ctx context.Context, shown int, w readyWindow) error {
	lost := func(job protocol.FoundJob) bool { return !job.Passed && len(job.Body)+len(job.Definition) == 0 }
	if !slices.ContainsFunc(p.page.Jobs[shown:], lost) {
		return nil
	}
	now, err := p.readyWindow(ctx, w.from, w.from+len(w.ids)-1)
	if err != nil {
		return err
	}
	kept := slices.DeleteFunc(p.page.Jobs[shown:], func(job protocol.FoundJob) bool { return lost(job) && !slices.Contains(now.ids, job.ID) })
	p.page.Jobs = p.page.Jobs[:shown+len(kept)]
	return nil
}

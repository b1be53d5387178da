//go:build unix

package chaos

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/chimejobs/chime"
)

// One of this many jobs of a batch has an OnDone: a job that follows it when it is done.
const followedJobs = 8

// followerName is the name of the jobs that follow others.
const followerName = "follower"

// isFollowed reports whether the job with this key has an OnDone.
func isFollowed(key string) bool {
	_, index, _ := strings.Cut(key, "/")
	i, err := strconv.Atoi(index)
	return err == nil && i%followedJobs == followedJobs-1
}

// onDone is the option of such a job on a queue. member: what follows is a member of the job's batch.
func onDone(key, queue string, member bool) chime.EnqueueOption {
	options := []chime.EnqueueOption{chime.MaxAttempts(maxAttempts), chime.Queue(followerQueue(key, queue))}
	if member {
		options = append(options, chime.SameBatch())
	}
	return chime.OnDone(chime.Item{Name: followerName, Args: key, Options: options})
}

// followerQueue returns the queue of the job that follows a job with this key on a queue. Of four such jobs one follows on the same queue, the others on the
// three queues of the run, one each.
func followerQueue(key, queue string) string {
	_, index, _ := strings.Cut(key, "/")
	i, _ := strconv.Atoi(index)
	return append([]string{queue}, queueNames...)[i/followedJobs%(1+len(queueNames))]
}

// followerKey returns the key of the job with this ID that follows the job with the key root. Each added job has a key of its own.
func followerKey(root, id string) string {
	_, end, _ := strings.Cut(id, "#")
	return root + ">" + end
}

// isFollower reports whether this is the key of a job that follows another one.
func isFollower(key string) bool { return strings.Contains(key, ">") }

// followedFence returns the fence of the run that the job with this key follows; 0: the key has no fence.
func followedFence(key string) (fence int64) {
	_, end, _ := strings.Cut(key, ">")
	_, end, _ = strings.Cut(end, "-")
	digits, _, _ := strings.Cut(end, ".")
	fence, _ = strconv.ParseInt(digits, 10, 64)
	return fence
}

// checkFollowers finds jobs that are done and were not followed, and jobs that were followed twice without a cause. A job that was enqueued again may run
// twice, and so may a job on a queue that lost its end. What was added before the server was emptied may be gone, or be added again by a call whose reply was
// lost: then the job runs once before and once after that, and one job follows each of these runs.
func (c *Checker) checkFollowers() {
	followers := map[string]map[string]bool{} // root -> keys of the jobs that follow it
	add := func(key string) {
		if root, _, ok := strings.Cut(key, ">"); ok {
			if followers[root] == nil {
				followers[root] = map[string]bool{}
			}
			followers[root][key] = true
		}
	}
	for key := range c.history.Jobs {
		add(key)
	}
	for key := range c.snapshot.Dead {
		add(key)
	}
	for root, all := range followers {
		j := c.history.Jobs[root]
		after := 0 // follow runs after the server was emptied
		for key := range all {
			if followedFence(key) >= c.history.since() {
				after++
			}
		}
		before, again := len(all)-after, j != nil && j.Batch.Offered.Before(c.history.Emptied.To)
		if j != nil {
			lostBefore, lostAfter := c.history.lostEnds(j)
			before, after = before-lostBefore, after-lostAfter
		}
		if (before > 1 || after > 1 || before+after > 1 && !again) && (j == nil || j.Batch.Repeats == 0) {
			c.found.add(Doubled, "%s is followed by %d jobs: %v; it %s%s", root, len(all), slices.Sorted(maps.Keys(all)), ran(j), c.history.wentBack(j))
		}
	}
	for key, j := range c.history.Jobs {
		if _, dead := c.snapshot.Dead[key]; isFollowed(key) && !dead && j.done(0) && len(followers[key]) == 0 && !j.Batch.Accepted.IsZero() && !c.history.mayLose(j.Batch) && !c.history.mayCarryLate(key, j) {
			c.found.add(Lost, "nothing follows %s; it %s", key, ran(j))
		}
	}
}

// lostEnds returns how many ends of a job its queue may have lost, each with the job that follows: then the job runs again, and another one follows. An end
// may have been recorded late, at any time until the job was taken again. It returns those before and those after the server was emptied.
func (h *History) lostEnds(j *Job) (before, after int) {
	runs := j.byFence()
	for i, r := range runs[:len(runs)-1] {
		switch {
		case r.Outcome != Done || !h.lostOn(r.Queue, r.taken(), runs[i+1].taken()):
		case r.Fence < h.since():
			before++
		default:
			after++
		}
	}
	return before, after
}

// wentBack describes when the queue of a job went back while it ran, from its first run to its last one.
func (h *History) wentBack(j *Job) (text string) {
	if j == nil {
		return ""
	}
	runs := j.byFence()
	for _, b := range h.Rollbacks {
		if b.lost(runs[0].Queue, runs[0].taken(), runs[len(runs)-1].Begun) {
			text += fmt.Sprintf(" its queue went back at %s to its state of %s;", b.Back.From.Format(clock), b.State.Format(clock))
		}
	}
	return text
}

// carriesAgain is how long a carrier may not notice that another queue has lost what was brought there: it looks a minute later.
const carriesAgain = 70 * time.Second

// mayCarryLate reports whether the job that follows another one may not have been brought to its queue again when the run ended: that queue went back, not
// long before the end.
func (h *History) mayCarryLate(key string, j *Job) bool {
	queue := followerQueue(key, j.Batch.Queue)
	return slices.ContainsFunc(h.Rollbacks, func(b Rollback) bool { return b.Slot == queue && h.lastEnd.Sub(b.Back.To) < carriesAgain })
}

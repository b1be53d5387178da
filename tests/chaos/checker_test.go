//go:build unix

package chaos

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/recurrence"
)

// A story is a history and the remaining data on the server. Tests damage it.
type story struct {
	*History
	*Snapshot
	a, b *Process
	t0   time.Time
	next int64 // what makes the next fence unique
}

// newStory returns a correct one: three jobs, and a schedule of four instants, the second of which was skipped. Each ran once, in process a.
func newStory() *story {
	s := &story{History: NewHistory(), t0: time.Date(2026, 3, 8, 9, 0, 0, 0, time.UTC)}
	s.a, s.b = s.Add("a"), s.Add("b")
	s.line(s.a, 0, Offered, "e", 3, "q")
	s.line(s.a, 1, Accepted, "e", 0, "")
	for i := range 3 {
		s.run(s.a, jobKey("e", i), 10*i, Done)
	}
	for _, second := range []int{0, 2, 3} {
		s.run(s.a, fmt.Sprintf("every@2026-03-08T09:00:%02dZ", second), 1000*second+100, Done)
	}
	s.Snapshot = &Snapshot{
		Done: 6, Dead: map[string]string{}, Keys: []string{"chime:leader", "chime:{default}:state", "chime:{default}:schedules"},
		Queues: []*chime.QueueInfo{{Name: "default"}},
		Schedules: []*chime.Schedule{{
			Name: "every", Created: s.t0, State: chime.StateCompleted, Overlap: chime.OverlapSkip, Misfire: chime.MisfireCatchUp,
			Recurrence: recurrence.Recurrence{Frequency: recurrence.Second, EndTime: s.t0.Add(3 * time.Second)},
			Counters:   chime.ScheduleCounters{Skipped: 1},
		}},
	}
	return s
}

func (s *story) at(ms int) time.Time { return s.t0.Add(time.Duration(ms) * time.Millisecond) }

func (s *story) line(p *Process, ms int, verb Verb, key string, number int64, more string) {
	s.AddLine(p, Event{At: s.at(ms), Verb: verb, Key: key, Number: number, More: more}.String())
}

// run adds a run of 5 ms with its own fence, drawn at its begin, and returns the fence.
func (s *story) run(p *Process, key string, ms int, outcome Outcome) int64 {
	s.next++
	fence := s.at(ms).UnixMicro() + s.next
	s.line(p, ms, Begun, key, fence, "1 0 q")
	if outcome != Unended {
		s.line(p, ms+5, Ended, key, fence, string(outcome))
	}
	return fence
}

// wentBack lets a slot return to the state of an instant.
func (s *story) wentBack(slot string, state, back int) {
	s.Rollbacks = append(s.Rollbacks, Rollback{Slot: slot, State: s.at(state), Back: Window{From: s.at(back), To: s.at(back + 1)}})
}

// A schedule of the changer, and one of its occurrences.
const (
	putSchedule   = changedPrefix + "x"
	putOccurrence = putSchedule + "@2026-03-08T09:00:01Z"
)

// twoRuns lets an occurrence of the schedule run in two queues, at 1,100 ms and later.
func (s *story) twoRuns(first string, later int, second string) {
	s.run(s.a, putOccurrence, 1100, Done)
	s.run(s.b, putOccurrence, later, Done)
	for i, queue := range []string{first, second} {
		s.Jobs[putOccurrence].Runs[i].Queue = queue
	}
	s.Done += 2
}

func (s *story) schedule() *chime.Schedule { return s.Schedules[0] }

// offer adds a batch of a group that was accepted.
func (s *story) offer(batch string, jobs int, group string) {
	s.line(s.a, 1500, Offered, batch, int64(jobs), queueGroups+" "+group)
	s.line(s.a, 1501, Accepted, batch, 0, "")
}

// offerBatch adds a chime.Batch that was accepted.
func (s *story) offerBatch(batch string, jobs int) {
	s.line(s.a, 1500, Offered, batch, int64(jobs), "q")
	s.line(s.a, 1501, Accepted, batch, 0, "")
}

func TestABatchThatEndsOnceHasNoFindings(t *testing.T) {
	s := newStory()
	s.offerBatch("e.4", 1)
	s.run(s.a, jobKey("e.4", 0), 2000, Done)
	s.run(s.a, endKey("e.4"), 2010, Failed)
	s.run(s.a, doneKey("e.4"), 2011, Done)
	s.run(s.b, endKey("e.4"), 2500, Done)
	s.offerBatch("e.9", 1)
	s.run(s.a, jobKey("e.9", 0), 3000, Discarded)
	s.Snapshot.Dead[jobKey("e.9", 0)], s.Bodies = "by plan", 1
	s.run(s.a, endKey("e.9"), 3010, Done)
	s.Done += 4
	if found, _ := Check(s.History, s.Snapshot); len(found) > 0 {
		t.Errorf("found %v, want nothing", found)
	}
}

// Jobs of groups that keep their rules are no findings: a retry in an ordered group comes before the next job, and handlers follow each other.
func TestGroupsThatKeepTheirRulesAreNoFindings(t *testing.T) {
	s := newStory()
	s.offer("g", 2, "ordered-1")
	s.run(s.a, jobKey("g", 0), 2000, Failed)
	s.run(s.b, jobKey("g", 0), 2100, Done)
	s.run(s.a, jobKey("g", 1), 2200, Done)
	s.offer("h", 3, "running-2")
	for i := range 3 {
		s.run(s.a, jobKey("h", i), 3000+4*i, Done)
	}
	s.Done += 5
	if found, _ := Check(s.History, s.Snapshot); len(found) > 0 {
		t.Errorf("found %v, want nothing", found)
	}
}

func TestAGoodHistoryHasNoFindings(t *testing.T) {
	s := newStory()
	if found, reruns := Check(s.History, s.Snapshot); len(found) > 0 || len(reruns) > 0 {
		t.Errorf("found %v and reruns %v in a correct history, want none", found, reruns)
	}
}

func TestAJobThatIsFollowedOnceHasNoFindings(t *testing.T) {
	s := newStory()
	followed := jobKey("e", followedJobs-1)
	s.run(s.a, followed, 60, Done)
	s.run(s.a, followerKey(followed, "x#done-1.1"), 70, Done)
	s.Done += 2
	if found, _ := Check(s.History, s.Snapshot); len(found) > 0 {
		t.Errorf("found %v, want nothing", found)
	}
}

// A job that was offered before the server was emptied may be added again after that, by a call whose reply was lost. One job follows each of its runs.
func TestAJobMayBeFollowedOnceBeforeAndOnceAfterTheServerWasEmptied(t *testing.T) {
	for _, c := range []struct {
		follow []int // which runs of the job the jobs that follow it follow
		want   int   // findings
	}{{[]int{0}, 0}, {[]int{0, 1}, 0}, {[]int{0, 0}, 1}, {[]int{0, 1, 1}, 1}} {
		s := newStory()
		s.Emptied = Window{s.at(65), s.at(66)}
		followed := jobKey("e", followedJobs-1)
		fences := []int64{s.run(s.a, followed, 60, Done)}
		fences = append(fences, s.run(s.a, followed, 70, Done))
		for i, run := range c.follow {
			s.run(s.a, followerKey(followed, fmt.Sprintf("x#done-%d.%d", fences[run], 1+i)), 80+i, Done)
		}
		checker := Checker{history: s.History, snapshot: s.Snapshot}
		if checker.checkFollowers(); len(checker.found) != c.want {
			t.Errorf("followed after the runs %v: found %v, want %d findings", c.follow, checker.found, c.want)
		}
	}
}

// If its queue loses the end of a job, the job runs again, and another one follows. If the queue of the job that follows goes back shortly before the run
// ends, that one may be missing.
func TestWhatFollowsAJobIsComparedWithWhatItsQueueHasLost(t *testing.T) {
	followed := jobKey("e", followedJobs-1) // the next one follows on its own queue
	for _, c := range []struct {
		story  string
		follow []int // the instants of the runs that are followed, ms
		want   Rule
		do     func(s *story)
	}{
		{"one follows each run", []int{60, 2000}, "", func(s *story) { s.wentBack("q", 50, 1000) }},
		{"one follows each run, and the first end was recorded late", []int{60, 2000}, "", func(s *story) { s.wentBack("q", 1500, 1800) }},
		{"two follow, and its queue lost nothing of it", []int{60, 2000}, Doubled, func(s *story) { s.wentBack("q", 3000, 4000) }},
		{"three follow, and its queue lost one end", []int{60, 2000, 2000}, Doubled, func(s *story) { s.wentBack("q", 50, 1000) }},
		{"two follow, and another queue went back", []int{60, 2000}, Doubled, func(s *story) { s.wentBack("other", 50, 1000) }},
		{"two follow after the server was emptied, and its queue lost an end before", []int{2000, 2000}, Doubled, func(s *story) {
			s.wentBack("q", 50, 100)
			s.Emptied = Window{s.at(1000), s.at(1100)}
		}},
		{"nothing follows, and its queue went back at the end", nil, "", func(s *story) { s.wentBack("q", 50, 1000) }},
		{"nothing follows, and its queue went back long before the end", nil, Lost, func(s *story) {
			s.wentBack("q", 50, 1000)
			s.lastEnd = s.at(100_000)
		}},
	} {
		s := newStory()
		fences := map[int]int64{60: s.run(s.a, followed, 60, Done), 2000: s.run(s.a, followed, 2000, Done)}
		for i, at := range c.follow {
			s.run(s.a, followerKey(followed, fmt.Sprintf("x#done-%d.%d", fences[at], 1+i)), 2100+i, Done)
		}
		c.do(s)
		checker := Checker{history: s.History, snapshot: s.Snapshot}
		checker.checkFollowers()
		if got := len(checker.found); c.want == "" && got > 0 || c.want != "" && (got != 1 || checker.found[0].Rule != c.want) {
			t.Errorf("%s: found %v, want %q", c.story, checker.found, c.want)
		}
	}
}

func TestTheCheckerFindsEveryKindOfDamage(t *testing.T) {
	occurrence := "every@2026-03-08T09:00:01Z"
	for _, c := range []struct {
		damage string
		want   Rule
		do     func(s *story)
	}{
		{"an accepted job never began", Lost, func(s *story) { s.line(s.a, 2, Offered, "f", 1, ""); s.line(s.a, 3, Accepted, "f", 0, "") }},
		{"an accepted job failed and never came back", Lost, func(s *story) {
			s.line(s.a, 2, Offered, "f", 1, "")
			s.line(s.a, 3, Accepted, "f", 0, "")
			s.run(s.a, jobKey("f", 0), 50, Failed)
		}},
		{"a job ran again although its worker had no fault", Doubled, func(s *story) { s.run(s.b, jobKey("e", 0), 2000, Done) }},
		{"a job ran again before its worker was killed", Doubled, func(s *story) {
			s.run(s.b, jobKey("e", 0), 2000, Done)
			s.a.Killed = s.at(9000)
		}},
		{"nothing follows a job that is done", Lost, func(s *story) {
			s.run(s.a, jobKey("e", followedJobs-1), 60, Done)
			s.Done++
		}},
		{"two jobs follow one", Doubled, func(s *story) {
			followed := jobKey("e", followedJobs-1)
			for i, key := range []string{followed, followerKey(followed, "x#done-1.1"), followerKey(followed, "x#done-2.1")} {
				s.run(s.a, key, 60+10*i, Done)
			}
			s.Done += 3
		}},
		{"a batch ended before one of its members", Early, func(s *story) {
			s.offerBatch("e.4", 2)
			s.run(s.a, jobKey("e.4", 0), 2000, Done)
			s.run(s.a, endKey("e.4"), 2010, Done)
			s.run(s.a, jobKey("e.4", 1), 2012, Done)
			s.run(s.a, doneKey("e.4"), 2030, Done)
			s.Done += 4
		}},
		{"a batch ended before a job that follows one of its members", Early, func(s *story) {
			s.offerBatch("e.4", followedJobs)
			for i := range followedJobs {
				s.run(s.a, jobKey("e.4", i), 2000+10*i, Done)
			}
			s.run(s.a, endKey("e.4"), 2100, Done)
			s.run(s.a, followerKey(jobKey("e.4", followedJobs-1), "x#done-1.1"), 2110, Done)
			s.run(s.a, doneKey("e.4"), 2130, Done)
			s.Done += followedJobs + 3
		}},
		{"a batch never ended", Lost, func(s *story) {
			s.offerBatch("e.4", 1)
			s.run(s.a, jobKey("e.4", 0), 2000, Done)
			s.run(s.a, doneKey("e.4"), 2010, Done)
			s.Done += 2
		}},
		{"a batch is not done although all its members are", Lost, func(s *story) {
			s.offerBatch("e.4", 1)
			s.run(s.a, jobKey("e.4", 0), 2000, Done)
			s.run(s.a, endKey("e.4"), 2010, Done)
			s.Done += 2
		}},
		{"a batch is done with a dead member", Early, func(s *story) {
			s.offerBatch("e.4", 1)
			s.run(s.a, jobKey("e.4", 0), 2000, Discarded)
			s.Snapshot.Dead[jobKey("e.4", 0)], s.Bodies = "by plan", 1
			s.run(s.a, endKey("e.4"), 2010, Done)
			s.run(s.a, doneKey("e.4"), 2020, Done)
			s.Done += 2
		}},
		{"a batch ended twice", Doubled, func(s *story) {
			s.offerBatch("e.4", 1)
			s.run(s.a, jobKey("e.4", 0), 2000, Done)
			s.run(s.a, endKey("e.4"), 2010, Done)
			s.run(s.a, endKey("e.4"), 2020, Done)
			s.run(s.a, doneKey("e.4"), 2030, Done)
			s.Done += 3
		}},
		{"a completion was counted twice", Doubled, func(s *story) { s.Done++ }},
		{"a completion was not counted", Doubled, func(s *story) { s.Done-- }},
		{"a job of an ordered group ran again after the next one was taken", Overtaken, func(s *story) {
			s.offer("g", 2, "ordered-1")
			s.run(s.a, jobKey("g", 0), 2000, Failed)
			s.run(s.a, jobKey("g", 1), 2100, Done)
			s.run(s.a, jobKey("g", 0), 2200, Done)
			s.Done += 2
		}},
		{"two jobs of a batch in an ordered group changed places", Overtaken, func(s *story) {
			s.offer("g", 2, "ordered-1")
			s.run(s.a, jobKey("g", 1), 2000, Done)
			s.run(s.a, jobKey("g", 0), 2100, Done)
			s.Done += 2
		}},
		{"two jobs of a group with one at once ran together", Exceeded, func(s *story) {
			s.offer("g", 2, "running-1")
			s.run(s.a, jobKey("g", 0), 2000, Done)
			s.run(s.b, jobKey("g", 1), 2003, Done)
			s.Done += 2
		}},
		{"a job of a group started too early", Exceeded, func(s *story) {
			s.offer("g", 11, "starts")
			for i := range 11 {
				s.run(s.a, jobKey("g", i), 2000+10*i, Done)
			}
			s.run(s.b, followerKey(jobKey("g", followedJobs-1), "x#done-1.1"), 2200, Done)
			s.Done += 12
		}},
		{"a fence was drawn twice", Refenced, func(s *story) {
			s.line(s.b, 2000, Begun, jobKey("e", 0), s.t0.UnixMicro()+1, "1 0")
		}},
		{"a job is dead without a reason", Undeserved, func(s *story) {
			s.Jobs[jobKey("e", 0)].Runs[0].Outcome = Discarded
			s.Dead[jobKey("e", 0)], s.Bodies, s.Done = "", 1, 5
		}},
		{"an innocent job is dead", Undeserved, func(s *story) {
			s.Dead[jobKey("e", 0)], s.Bodies, s.Done = "its worker vanished 3 times", 1, 5
		}},
		{"an instant was forgotten", Unaccounted, func(s *story) { s.schedule().Counters.Skipped = 0 }},
		{"an instant was run and counted as skipped", Unaccounted, func(s *story) { s.run(s.a, occurrence, 1100, Done); s.Done++ }},
		{"catching up counted an instant as missed", Unaccounted, func(s *story) { s.schedule().Counters = chime.ScheduleCounters{Missed: 1} }},
		{"a count was exceeded", Unaccounted, func(s *story) { s.schedule().Recurrence.Count = 2 }},
		{"an instant ran that the rule does not have", Unplanned, func(s *story) {
			s.run(s.a, "every@2026-03-08T09:00:09Z", 9000, Done)
			s.Done++
		}},
		{"an occurrence failed and was never run again", Vanished, func(s *story) {
			s.run(s.a, occurrence, 1100, Failed)
			s.schedule().Counters.Skipped = 0
		}},
		{"two occurrences ran at once", Overlapped, func(s *story) {
			s.run(s.b, occurrence, 1100, Done)
			s.Jobs[occurrence].Runs[0].Ended = s.at(2500)
			s.schedule().Counters.Skipped = 0
			s.Done++
		}},
		{"a job that was accepted before the state to which its queue returned never began", Lost, func(s *story) {
			s.line(s.a, 2, Offered, "f", 1, "q")
			s.line(s.a, 3, Accepted, "f", 0, "")
			s.wentBack("q", 500, 1000)
		}},
		{"a job never began after another queue went back", Lost, func(s *story) {
			s.line(s.a, 600, Offered, "f", 1, "q")
			s.line(s.a, 610, Accepted, "f", 0, "")
			s.wentBack("other", 500, 1000)
		}},
		{"a job never began that was accepted after its queue went back", Lost, func(s *story) {
			s.line(s.a, 1010, Offered, "f", 1, "q")
			s.line(s.a, 1020, Accepted, "f", 0, "")
			s.wentBack("q", 500, 1000)
		}},
		{"a job ran again that was done before the state to which its queue returned", Doubled, func(s *story) {
			s.run(s.b, jobKey("e", 0), 2000, Done)
			s.wentBack("q", 1000, 1500)
		}},
		{"a job ran again before its queue went back", Doubled, func(s *story) {
			s.run(s.b, jobKey("e", 0), 900, Done)
			s.wentBack("q", -100, 1000)
		}},
		{"a job ran again after another queue went back", Doubled, func(s *story) {
			s.run(s.b, jobKey("e", 0), 2000, Done)
			s.wentBack("other", -100, 1000)
		}},
		{"a job ran a third time after its queue went back once", Doubled, func(s *story) {
			s.run(s.b, jobKey("e", 0), 2000, Done)
			s.run(s.a, jobKey("e", 0), 4000, Done)
			s.wentBack("q", -100, 1000)
		}},
		{"a job ran again that was taken after its queue went back", Doubled, func(s *story) {
			s.run(s.b, jobKey("e", 0), 2000, Done)
			s.wentBack("q", -100, -50)
		}},
		{"an occurrence that began before the state to which its queue returned vanished", Vanished, func(s *story) {
			s.run(s.a, occurrence, 1100, Failed)
			s.schedule().Counters.Skipped = 0
			s.wentBack("q", 2000, 3000)
		}},
		{"a job waits forever", Stuck, func(s *story) { s.Queues[0].Delayed = 1 }},
		{"a schedule did not complete", Stuck, func(s *story) { s.schedule().State = chime.StateLive }},
		{"a session was left", Orphaned, func(s *story) { s.Keys = append(s.Keys, "chime:{default}:inflight:ABC") }},
		{"a body was left", Orphaned, func(s *story) { s.Bodies = 1 }},
		{"a process ended by itself", Broken, func(s *story) { s.Problem("a ended by itself") }},
		{"a job ran that nobody enqueued", Broken, func(s *story) { s.run(s.a, "x/1", 50, Done); s.Done++ }},
	} {
		t.Run(c.damage, func(t *testing.T) {
			s := newStory()
			c.do(s)
			found, _ := Check(s.History, s.Snapshot)
			if len(found) != 1 || found[0].Rule != c.want {
				t.Errorf("found %q, want one finding: %s", found, c.want)
			}
		})
	}
}

// Every fault of a plan is a reason for a job to run again or to be gone.
func TestTheCheckerExcusesWhatTheFaultsExplain(t *testing.T) {
	key := jobKey("e", 0)
	window := func(s *story, from, to int) []Window { return []Window{{From: s.at(from), To: s.at(to)}} }
	for _, c := range []struct {
		cause string
		do    func(s *story)
	}{
		{"its process was killed", func(s *story) { s.a.Killed = s.at(500); s.run(s.b, key, 2000, Done) }},
		{"its process was stopped", func(s *story) { s.a.Stops = window(s, 500, 3000); s.run(s.b, key, 2000, Done) }},
		{"its process was cut off", func(s *story) { s.a.Cuts = window(s, 500, 3000); s.run(s.b, key, 2000, Done) }},
		{"its process was cut off", func(s *story) { s.Down = window(s, 500, 1500); s.run(s.b, key, 2000, Done) }},
		{"its session was lost", func(s *story) { s.run(s.b, key, 2000, Done); s.line(s.a, 2100, Logged, "session.lost", 0, "") }},
		{"failed", func(s *story) { s.Jobs[key].Runs[0].Outcome = Failed; s.run(s.b, key, 2000, Done) }},
		{"enqueued again, its outcome was unknown", func(s *story) { s.line(s.a, 30, Repeated, "e", 0, ""); s.run(s.b, key, 2000, Done) }},
		{"the server was emptied", func(s *story) {
			s.Emptied = Window{From: s.at(-100), To: s.at(100)} // batches offered before may be gone
			s.run(s.b, key, 2000, Done)
			s.line(s.a, 50, Offered, "g", 1, "")
			s.line(s.a, 60, Accepted, "g", 0, "")
		}},
		{backCause, func(s *story) {
			s.wentBack("q", -100, 1000)
			s.run(s.b, key, 2000, Done)
			s.line(s.a, 50, Offered, "g", 1, "q")
			s.line(s.a, 60, Accepted, "g", 0, "")
		}},
		{backCause, func(s *story) { // the job was taken before its queue went back, and its handler began after that
			s.wentBack("q", -100, 1)
			s.Jobs[key].Runs[0].Begun, s.Jobs[key].Runs[0].Ended = s.at(50), s.at(55)
			s.run(s.b, key, 100, Done)
		}},
	} {
		t.Run(c.cause, func(t *testing.T) {
			s := newStory()
			c.do(s)
			found, reruns := Check(s.History, s.Snapshot)
			if len(found) > 0 || reruns[c.cause] != 1 {
				t.Errorf("found %q, reruns %v; want one rerun because %s", found, reruns, c.cause)
			}
		})
	}
}

// The time from the kill of a worker until its job runs again counts only if nothing else delays the job.
func TestARecoveryIsMeasuredWithoutOtherDelays(t *testing.T) {
	for _, c := range []struct {
		story string
		want  time.Duration
		do    func(s *story)
	}{
		{"its worker was killed", 1500 * time.Millisecond, func(*story) {}},
		{"its group may be paused", 0, func(s *story) { s.Batches["e"].Group = "ordered-1" }},
		{"its queue went back", 0, func(s *story) { s.wentBack("q", 700, 1000) }},
		{"the server was down", 0, func(s *story) { s.Down = []Window{{From: s.at(700), To: s.at(1000)}} }},
	} {
		s := newStory()
		s.Jobs[jobKey("e", 0)].Runs[0].Outcome = Unended
		s.a.Killed = s.at(500)
		s.run(s.b, jobKey("e", 0), 2000, Done)
		c.do(s)
		if got := longestRecovery(s.History); got != c.want {
			t.Errorf("%s: %v, want %v", c.story, got, c.want)
		}
	}
}

// If its queue returned to a state before its begin, an occurrence is new again: the server may count it as skipped, or end it without another run.
func TestAnOccurrenceThatTheServerForgotMayCountTwice(t *testing.T) {
	s := newStory()
	s.schedule().Counters.Skipped++
	s.wentBack("q", 1500, 2500)
	if found, _ := Check(s.History, s.Snapshot); len(found) > 0 {
		t.Errorf("found %q, want nothing: the occurrence of 2,100 ms was forgotten", found)
	}
	s.schedule().Counters.Skipped++
	if found, _ := Check(s.History, s.Snapshot); len(found) != 1 || found[0].Rule != Unaccounted {
		t.Errorf("found %q, want that one instant too many was counted", found)
	}
}

func TestAnEventIsReadAsItWasWritten(t *testing.T) {
	for _, e := range []Event{
		{time.UnixMicro(1772960400000001), Begun, "every@2026-03-08T09:00:00Z", 17, "1 0 default"},
		{time.UnixMicro(5), Accepted, "e", 0, ""},
	} {
		if got, err := ParseEvent(e.String()); err != nil || !got.At.Equal(e.At) || got.Key != e.Key || got.Number != e.Number || got.More != e.More || got.Verb != e.Verb {
			t.Errorf("%q is read as %+v, %v; want %+v", e, got, err, e)
		}
	}
	for _, line := range []string{"", "1 begin x", "x begin k 1", "1 begin k x"} {
		if _, err := ParseEvent(line); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%q", line)) {
			t.Errorf("ParseEvent(%q): %v, want an error that quotes it", line, err)
		}
	}
}

// A run ends when the last move of a schedule is complete; a key that remains is an orphan.
func TestAnOwedStepOfAScheduleHoldsUpTheEnd(t *testing.T) {
	for key, want := range map[string]bool{"chime:{default}:owed": true, "chime:{wide/1}:owed": true, "chime:{default}:schedules": false, "chime:{owed}:state": false} {
		s := &Snapshot{Keys: []string{"chime:{default}:state", key}}
		if got := s.Owes(); got != want || len(s.Orphans()) > 0 != want {
			t.Errorf("%s: owes %v, orphans %v, want %v", key, got, s.Orphans(), want)
		}
	}
}

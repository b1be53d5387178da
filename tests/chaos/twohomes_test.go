//go:build unix

package chaos

import (
	"fmt"
	"testing"
)

// An occurrence may run in two queues only if a slot has lost where its schedule lives, and only until the next sweep.
func TestAnOccurrenceMayRunInTwoQueuesUntilTheNextSweep(t *testing.T) {
	for _, c := range []struct {
		story string
		may   bool
		do    func(s *story)
	}{
		{"nothing went back", false, func(s *story) {
			s.put(putSchedule, "other", 1000)
			s.twoRuns("other", 1150, "q")
		}},
		{"its old queue went back to a state before it was moved", true, func(s *story) {
			s.put(putSchedule, "other", 600)
			s.wentBack("q", 500, 1120)
			s.twoRuns("other", 1150, "q")
		}},
		{"its old queue went back to a state before it was deleted", true, func(s *story) {
			s.line(s.a, 600, Deleting, putSchedule, 0, "")
			s.wentBack("q", 500, 1120)
			s.twoRuns("other", 1150, "q")
		}},
		{"its old queue went back to a state after it was moved", false, func(s *story) {
			s.put(putSchedule, "other", 400)
			s.wentBack("q", 500, 1120)
			s.twoRuns("other", 1150, "q")
		}},
		{"its old queue went back to a state in which its move was not acknowledged", true, func(s *story) {
			s.line(s.a, 400, Putting, putSchedule, 0, "")
			s.wentBack("q", 500, 1120)
			s.twoRuns("other", 1150, "q")
		}},
		{"it was moved while a third queue went back", false, func(s *story) {
			s.put(putSchedule, "other", 600)
			s.wentBack("third", 500, 1120)
			s.twoRuns("other", 1150, "q")
		}},
		{"the registry has lost that it was created, and it was put in another queue", true, func(s *story) {
			s.put(putSchedule, "q", 600)
			s.wentBack(slotRegistry, 500, 1120)
			s.put(putSchedule, "other", 1130)
			s.twoRuns("q", 1150, "other")
		}},
		{"the registry went back to a state after it was created", false, func(s *story) {
			s.put(putSchedule, "q", 400)
			s.wentBack(slotRegistry, 500, 1120)
			s.put(putSchedule, "other", 1130)
			s.twoRuns("q", 1150, "other")
		}},
		{"the registry went back later", false, func(s *story) {
			s.put(putSchedule, "q", 600)
			s.wentBack(slotRegistry, 500, 1300)
			s.put(putSchedule, "other", 1130)
			s.twoRuns("q", 1150, "other")
		}},
		{"the record of deletions went back", false, func(s *story) {
			s.put(putSchedule, "other", 600)
			s.wentBack(slotDeletions, 500, 1120)
			s.twoRuns("other", 1150, "q")
		}},
		{"it ran in both before the sweep", true, func(s *story) {
			s.put(putSchedule, "other", 600)
			s.wentBack("q", 500, 1120)
			s.Rollbacks[0].Swept = s.at(3100)
			s.twoRuns("other", 3000, "q")
		}},
		{"it ran in both after the sweep", false, func(s *story) {
			s.put(putSchedule, "other", 600)
			s.wentBack("q", 500, 1120)
			s.Rollbacks[0].Swept = s.at(2000)
			s.twoRuns("other", 3000, "q")
		}},
		{"its queue has lost the sweep", true, func(s *story) {
			s.put(putSchedule, "other", 600)
			s.wentBack("q", 500, 700)
			s.Rollbacks[0].Swept = s.at(1000)
			s.wentBack("q", 900, 1120)
			s.twoRuns("other", 1150, "q")
		}},
		{"the registry has lost the sweep, and nothing before", false, func(s *story) {
			s.put(putSchedule, "other", 400)
			s.wentBack("q", 500, 700)
			s.Rollbacks[0].Swept = s.at(1000)
			s.wentBack(slotRegistry, 900, 1120)
			s.twoRuns("other", 1150, "q")
		}},
		{"its copy was replaced by a move back", true, func(s *story) {
			s.put(putSchedule, "other", 600)
			s.wentBack("q", 500, 1050)
			s.put(putSchedule, "q", 1110)
			s.twoRuns("q", 1150, "q")
		}},
		{"its copy was not replaced", false, func(s *story) {
			s.put(putSchedule, "other", 600)
			s.wentBack("q", 500, 1050)
			s.twoRuns("q", 1150, "q")
		}},
		{"both copies ran, and the one in its old queue failed first", true, func(s *story) {
			s.put(putSchedule, "other", 600)
			s.wentBack("q", 500, 1050)
			s.Rollbacks[0].Swept = s.at(2000)
			s.twoRuns("q", 1150, "other")
			s.Jobs[putOccurrence].Runs[0].Outcome = Failed
			s.run(s.a, putOccurrence, 3000, Done)
		}},
	} {
		t.Run(c.story, func(t *testing.T) {
			s := newStory()
			c.do(s)
			checker := Checker{history: s.History, snapshot: s.Snapshot, reruns: map[string]int{}}
			checker.checkJob(s.Jobs[putOccurrence])
			want := fmt.Sprint(Findings(nil), map[string]int{twoHomesCause: 1})
			if s.Jobs[putOccurrence].Runs[0].Outcome == Failed {
				want = fmt.Sprint(Findings(nil), map[string]int{twoHomesCause: 1, string(Failed): 1})
			}
			if got := fmt.Sprint(checker.found, checker.reruns); c.may && got != want || !c.may && (len(checker.found) != 1 || checker.found[0].Rule != Doubled) {
				t.Errorf("found %s; it may run in two queues: %v", got, c.may)
			}
		})
	}
}

// While a schedule lives in two queues, the copy that survives may count an instant as missed or skipped that ran in the other queue.
func TestAnOccurrenceOfTheOtherCopyMayCountTwice(t *testing.T) {
	for _, c := range []struct {
		queue string // in which the schedule lives in the end
		want  int    // findings
	}{{"other", 0}, {"q", 1}} {
		s := newStory()
		s.put(putSchedule, "other", 600)
		s.wentBack("q", 500, 1050)
		s.run(s.a, putOccurrence, 1100, Done)
		a := *s.schedule()
		a.Name, a.Queue, a.Counters.Skipped = putSchedule, c.queue, 4
		account := newAccount(&a, s.History, s.Snapshot, new(Findings))
		if account.checkInstants(); len(*account.found) != c.want {
			t.Errorf("it lives in %s: found %v, want %d findings", c.queue, *account.found, c.want)
		}
	}
}

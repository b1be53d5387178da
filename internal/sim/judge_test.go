package sim

import (
	"slices"
	"testing"
	"time"
)

// A job runs twice: which causes the judge accepts, and which it does not. The first run begins at 10:00 and has fence 5.
func TestTheJudgeKnowsWhyAJobRunsAgain(t *testing.T) {
	began := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(d time.Duration) time.Time { return began.Add(10*time.Minute + d) }
	drains := func(p *Process) { p.Gone = at(time.Second) }
	keeps := func(p *Process) { p.Gone, p.Kept = at(10*time.Second), 1 }
	replies := Happened{Fault{Kind: LoseReply}, at(-5 * time.Second), at(20 * time.Second)}
	back := Happened{Fault{Kind: GoBack, On: queueA}, at(-5 * time.Second), at(20 * time.Second)}
	step := Happened{Fault{Kind: ClockStep, By: time.Hour}, at(-2 * time.Minute), at(-time.Minute)}
	moved := func(h Happened, by time.Duration) Happened {
		h.From, h.To = h.From.Add(by), h.To.Add(by)
		return h
	}
	elsewhere := func(h Happened) Happened {
		h.On = queueB
		return h
	}
	for _, c := range []struct {
		name    string
		ended   time.Duration // of the first run; 0: it did not end
		process func(*Process)
		again   time.Duration // when the second run begins
		fence   int64
		faults  []Happened
		want    string
	}{
		{"nothing happened", time.Second, nil, 8 * time.Second, 6, nil, doubled},

		{"its worker has drained and handed it back", 0, drains, 8 * time.Second, 6, nil, ""},
		{"its handler has returned after it was handed back", 9 * time.Second, drains, 8 * time.Second, 6, nil, ""},
		{"its worker drains, and it is not handed back yet", 0, drains, 7*time.Second + 900*time.Millisecond, 6, nil, doubled},
		{"its handler has returned during the drain", 7 * time.Second, drains, 9 * time.Second, 6, nil, doubled},
		{"it has begun after its worker was asked to end", 0, func(p *Process) { p.Gone = at(-time.Second) }, 8 * time.Second, 6, nil, doubled},

		{"its worker has ended and its outcome was not confirmed", time.Second, keeps, 30 * time.Second, 6, []Happened{replies}, ""},
		{"the same, and no replies were lost", time.Second, keeps, 30 * time.Second, 6, nil, doubled},
		{"its worker has ended and all outcomes were confirmed", time.Second, drains, 30 * time.Second, 6, []Happened{replies}, doubled},

		{"nothing happened, and the fence is the same", time.Second, nil, 8 * time.Second, 5, nil, refenced},
		{"its queue went back", time.Second, nil, 30 * time.Second, 6, []Happened{back}, ""},
		{"its queue went back, and the fence is the same", time.Second, nil, 30 * time.Second, 5, []Happened{back}, refenced},
		{"its queue went back while fences were ahead of the clock", time.Second, nil, 30 * time.Second, 5, []Happened{step, back}, ""},
		{"the same, and the fence is lower", time.Second, nil, 30 * time.Second, 4, []Happened{step, back}, ""},
		{"fences were ahead of the clock", time.Second, nil, 30 * time.Second, 5, []Happened{step}, refenced},
		{"another queue went back", time.Second, nil, 30 * time.Second, 5, []Happened{step, elsewhere(back)}, refenced},
		{"its queue went back before it ran", time.Second, nil, 30 * time.Second, 5, []Happened{step, moved(back, -time.Minute)}, refenced},
		{"its queue went back after it ran twice", time.Second, nil, 30 * time.Second, 5, []Happened{step, moved(back, time.Minute)}, refenced},
		{"the clock has caught up with the fences", time.Second, nil, 30 * time.Second, 5, []Happened{moved(step, -time.Hour), back}, refenced},
		{"the clock stepped later", time.Second, nil, 30 * time.Second, 5, []Happened{moved(step, time.Hour), back}, refenced},
	} {
		p := &Process{Name: "worker-1.1", Begun: began}
		if c.process != nil {
			c.process(p)
		}
		first := Run{Process: p, Fence: 5, Queue: queueA, Begun: at(0), Outcome: Unended}
		if c.ended > 0 {
			first.Ended, first.Outcome = at(c.ended), OK
		}
		second := Run{Process: &Process{Name: "worker-2.1", Begun: began}, Fence: c.fence, Queue: queueA, Begun: at(c.again), Ended: at(c.again + time.Second), Outcome: OK}
		h := &History{Jobs: map[string]*Job{}, Began: began, Faults: c.faults}
		job := h.job("e1/1")
		job.Queue, job.Begins = queueA, []Run{first, second}
		j := &judgement{History: h, snapshot: &snapshot{}}
		j.checkRuns(job)
		var want []string
		if c.want != "" {
			want = []string{c.want}
		}
		if got := j.found.Kinds(); !slices.Equal(got, want) {
			t.Errorf("%s: the judge found %v, want %v", c.name, got, want)
		}
	}
}

// A batch with two members ends at 10:10. The first one is done at 10:01; which ends of the second one the judge accepts.
func TestTheJudgeKnowsWhenABatchMayEnd(t *testing.T) {
	began := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(seconds int) time.Time { return began.Add(10*time.Minute + time.Duration(seconds)*time.Second) }
	live := &Process{Name: "worker-1.1", Begun: began}
	run := func(p *Process, from, to int, outcome Outcome) Run {
		r := Run{Process: p, Fence: int64(from), Queue: queueA, Begun: at(from), Outcome: outcome}
		if to > 0 {
			r.Ended = at(to)
		}
		return r
	}
	cancelled := &Done{Act: Act{Do: CancelBatch}, ID: "b1", Begun: at(2), Ended: at(3)}
	for _, c := range []struct {
		name string
		runs []Run // of the second member
		dead bool  // it is dead
		act  *Done
		done bool // the job Done has begun
		want string
	}{
		{"all are done", []Run{run(live, 1, 5, OK)}, false, nil, true, ""},
		{"all are done, and Done has not begun", []Run{run(live, 1, 5, OK)}, false, nil, false, lost},
		{"one is dead", []Run{run(live, 1, 5, Discarded)}, true, nil, false, ""},
		{"one is dead, and Done has begun", []Run{run(live, 1, 5, Discarded)}, true, nil, true, early},
		{"one still runs", []Run{run(live, 1, 11, OK)}, false, nil, true, early},
		{"one has never ended", []Run{run(live, 1, 0, Unended)}, false, nil, false, early},
		{"one begins later", []Run{run(live, 12, 13, OK)}, false, nil, true, early},
		{"one is tried again later", []Run{run(live, 1, 2, Failed), run(live, 12, 13, OK)}, false, nil, true, early},
		{"one is requeued, and Done follows", []Run{run(live, 1, 2, Discarded), run(live, 12, 13, OK)}, false, &Done{Act: Act{Do: Requeue, Name: queueA}, Begun: at(11), Ended: at(11)}, true, ""},
		{"one is requeued on another queue", []Run{run(live, 1, 2, Discarded), run(live, 12, 13, OK)}, false, &Done{Act: Act{Do: Requeue, Name: queueB}, Begun: at(11), Ended: at(11)}, true, early},
		{"one never ran and is requeued", []Run{run(live, 12, 13, OK)}, false, &Done{Act: Act{Do: Requeue, Name: queueA}, Begun: at(11), Ended: at(11)}, true, early},
		{"the run of a killed worker has not ended", []Run{run(&Process{Name: "worker-2.1", Gone: at(2), Killed: true}, 1, 0, Unended), run(live, 4, 5, OK)}, false, nil, true, ""},
		{"it was cancelled", []Run{run(live, 1, 4, CutOff)}, false, cancelled, false, ""},
		{"it was cancelled, and one still runs", []Run{run(live, 1, 11, CutOff)}, false, cancelled, false, early},
		{"it was cancelled, and one was handed back", []Run{run(&Process{Name: "worker-2.1", Gone: at(2)}, 1, 0, Unended)}, false, cancelled, false, ""},
		{"one was handed back", []Run{run(&Process{Name: "worker-2.1", Gone: at(2)}, 1, 0, Unended)}, false, nil, false, early},
	} {
		h := &History{Jobs: map[string]*Job{}, Began: began, Batches: []*Batch{{ID: "b1", Offered: began, Complete: at(0)}}}
		add := func(key string, runs ...Run) {
			h.Jobs[key] = &Job{Key: key, ID: key, Queue: queueA, Offered: began, Accepted: at(0), Begins: runs}
		}
		add("b1/0", run(live, 0, 1, OK))
		add("b1/1", c.runs...)
		h.Jobs["b1/0"].Batch, h.Jobs["b1/1"].Batch = "b1", "b1"
		add("b1#ended", run(live, 10, 11, OK))
		add("b1#done")
		if c.done {
			add("b1#done", run(live, 14, 15, OK))
		}
		if c.act != nil {
			h.Acts = []*Done{c.act}
		}
		j := &judgement{History: h, snapshot: &snapshot{dead: map[string]bool{queueA + " b1/1": c.dead}}}
		j.checkBatches()
		var want []string
		if c.want != "" {
			want = []string{c.want}
		}
		if got := j.found.Kinds(); !slices.Equal(got, want) {
			t.Errorf("%s: the judge found %v, want %v", c.name, got, want)
		}
	}
}

// An item of a batch is dead, and the batch ends at 10:10. The item is requeued at 10:11 and is done: what follows it runs later, and so does what it adds.
func TestTheJudgeKnowsWhatARequeuedItemAdds(t *testing.T) {
	began := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(seconds int) time.Time { return began.Add(10*time.Minute + time.Duration(seconds)*time.Second) }
	live := &Process{Name: "worker-1.1", Begun: began}
	for _, key := range []string{"b1/0+x", "b1/0/1", "b1/0/5/1"} {
		for _, requeued := range []bool{false, true} {
			h := &History{Jobs: map[string]*Job{}, Began: began, Batches: []*Batch{{ID: "b1", Offered: began, Complete: at(0)}}}
			add := func(key string, runs ...Run) {
				h.Jobs[key] = &Job{Key: key, ID: key, Queue: queueA, Offered: began, Accepted: at(0), Begins: runs}
			}
			add("b1/0", Run{Process: live, Fence: 1, Queue: queueA, Begun: at(1), Ended: at(2), Outcome: Discarded})
			if requeued {
				h.Acts = []*Done{{Act: Act{Do: Requeue, Name: queueA}, Begun: at(11), Ended: at(11)}}
				h.Jobs["b1/0"].Begins = append(h.Jobs["b1/0"].Begins, Run{Process: live, Fence: 2, Queue: queueA, Begun: at(11), Ended: at(12), Outcome: OK})
			}
			add(key, Run{Process: live, Fence: 3, Queue: queueB, Begun: at(13), Ended: at(14), Outcome: OK})
			add("b1#ended", Run{Process: live, Fence: 4, Queue: queueA, Begun: at(10), Ended: at(11), Outcome: OK})
			add("b1#done", Run{Process: live, Fence: 5, Queue: queueA, Begun: at(15), Ended: at(16), Outcome: OK})
			j := &judgement{History: h, snapshot: &snapshot{}}
			j.checkBatches()
			if got := j.found.Kinds(); len(got) == 0 != requeued {
				t.Errorf("%s, and its item was requeued: %v: the judge found %v", key, requeued, j.found)
			}
		}
	}
}

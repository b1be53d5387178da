package redisstore

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
	"github.com/chimejobs/chime/internal/wire"
)

// A historyBench has a schedule "s" with many occurrences in flight, and ends them one after the other.
type historyBench struct {
	*bench
	began time.Time
	held  []protocol.TakenJob
	ended int
}

func onHistoryBench(t *testing.T, occurrences int, test func(b *historyBench)) {
	onEveryServer(t, func(b *bench) {
		h := &historyBench{bench: b, began: storesuite.Ago(time.Hour)}
		var at []time.Time
		for i := range occurrences {
			at = append(at, h.began.Add(time.Duration(i)*time.Second))
		}
		b.longKnown("s", "allow", at...)
		if h.held = b.Take("w", occurrences); len(h.held) != occurrences {
			b.Fatalf("%d were taken, want %d", len(h.held), occurrences)
		}
		test(h)
	})
}

// keep changes how many attempts the history keeps.
func (h *historyBench) keep(n int) {
	h.Helper()
	answer := h.store.Declare(h.Context(), []protocol.Declaration{{
		Name: "s", Queue: "default", Overlap: "allow", Body: fmt.Appendf(nil, `{"job":"j","keepRuns":%d}`, n), KeepRuns: n,
	}})[0]
	if answer.Err != nil || !answer.Changed {
		h.Fatalf("%+v; want that it is changed", answer)
	}
}

// end ends a number of attempts, each with a note that begins with its number.
func (h *historyBench) end(n, noteBytes int) {
	h.Helper()
	for range n {
		job := h.held[0]
		h.held = h.held[1:]
		run := ran(job.ID, "done")
		run.Ended = h.began.Add(time.Duration(h.ended) * time.Second)
		run.Note = fmt.Sprintf("%-*d", noteBytes, h.ended)
		h.ended++
		if !h.Settle("w", protocol.Settlement{ID: job.ID, Fence: job.Fence, Kind: protocol.SettleDone, Run: run}) {
			h.Fatalf("the settlement of %s was refused", job.ID)
		}
	}
}

// stored returns the numbers of the attempts in the hash, the oldest first; - for one whose note is gone; and the bytes of their notes.
func (h *historyBench) stored() (numbers string, noteBytes int) {
	h.Helper()
	var all []string
	for _, run := range slices.Backward(h.storedRuns("s")) {
		number := "-"
		if run.Note != "" {
			number = strings.TrimSpace(run.Note)
		}
		all = append(all, number)
		noteBytes += len(run.Note)
	}
	return strings.Join(all, " "), noteBytes
}

// storedRuns returns the attempts of a schedule that are stored in the default queue, the newest first.
func (b *bench) storedRuns(name string) []protocol.RunRecord {
	b.Helper()
	histories := b.client.HGetAll(b.Context(), b.keys().history).Val()
	return parseRuns(name, allRuns(histories, parseHistory(histories[name])))
}

// allRuns returns the attempts of a schedule as one text. histories: the whole hash.
func allRuns(histories map[string]string, entry historyEntry) (runs string) {
	for _, field := range entry.fields() {
		runs += parseHistory(histories[field]).runs
	}
	return entry.runs + runs
}

// runsOf returns a schedule with the attempts that are kept.
func (b *bench) runsOf(name string) (protocol.Stored, []protocol.RunRecord) {
	b.Helper()
	found, err := b.store.Runs(b.Context(), []string{name})
	if err != nil {
		b.Fatal(err)
	}
	return found[0].Stored, found[0].Runs
}

func (h *historyBench) wantHistory(what, stored string, shown int) {
	h.Helper()
	got, _ := h.stored()
	h.Want(what+", stored", got, stored)
	_, runs := h.runsOf("s")
	h.Want(what+", shown", fmt.Sprint(len(runs)), fmt.Sprint(shown))
	if shown > 0 {
		h.Want(what+", the newest", strings.TrimSpace(runs[0].Note), fmt.Sprint(h.ended-1))
	}
}

// If fewer attempts are kept than are stored, only the newest are shown from now on. The others are removed when the next run ends: here each has a
// field of its own. With 0, all are removed at once.
func TestAShorterHistoryKeepsTheNewestAttempts(t *testing.T) {
	onHistoryBench(t, 9, func(h *historyBench) {
		h.keep(20)
		h.end(5, 1100)
		h.wantHistory("of 20", "0 1 2 3 4", 5)
		h.keep(2)
		h.wantHistory("of 2", "0 1 2 3 4", 2)
		h.end(1, 1100)
		h.wantHistory("of 2, after an end", "4 5", 2)
		h.keep(3)
		h.end(2, 1100)
		h.wantHistory("of 3", "5 6 7", 3)
		h.keep(0)
		h.wantHistory("without history", "", 0)
		h.end(1, 1100)
		h.wantHistory("without history, after an end", "", 0)
		if fields := h.client.HKeys(h.Context(), h.keys().history).Val(); !slices.Equal(fields, []string{"\t"}) {
			h.Errorf("without history there are %q, want only the last short", fields)
		}
	})
}

// The notes of a history have 64 KiB together: beyond that, the oldest are removed. Their attempts remain.
func TestTheOldestNotesOfALongHistoryGo(t *testing.T) {
	const each, room = 2048, 64 << 10
	onHistoryBench(t, 42, func(h *historyBench) {
		h.keep(1000)
		numbers := func(from, to int) (all string) {
			for i := range to {
				if i < from {
					all += " -"
				} else {
					all += fmt.Sprint(" ", i)
				}
			}
			return all[1:]
		}
		for _, c := range []struct{ ends, without int }{
			{room / each, 0}, {1, 1}, {8, 9}, {1, 10}, // 32 notes have room
		} {
			h.end(c.ends, each)
			got, noteBytes := h.stored()
			h.Want(fmt.Sprintf("after %d ends", h.ended), got, numbers(c.without, h.ended))
			if noteBytes > room {
				h.Errorf("after %d ends there are %d bytes of notes, want at most %d", h.ended, noteBytes, room)
			}
		}
	})
}

// An attempt cut off by a crash is in the history of an occurrence, a manual run and a job that follows a death, with its number,
// its fence and its worker. A job that had not begun leaves nothing, and no failure is counted.
func TestAnAttemptThatACrashHasCutOffIsInTheHistory(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		first, second, third := storesuite.Ago(3*time.Second), storesuite.Ago(2*time.Second), storesuite.Ago(time.Second)
		b.longKnown("s", "allow", first, second, third)
		for _, job := range b.Take("before", 1) { // fails once: the attempt that is cut off is its second
			body := (&wire.Envelope{Name: "j", Planned: first, Failures: 1, Schedule: "s"}).Encode()
			b.Settle("before", protocol.Settlement{ID: job.ID, Fence: job.Fence, Kind: protocol.SettleLater, Body: body, Failed: true, Run: ran(job.ID, "failed")})
		}
		for b.client.ZScore(b.Context(), b.keys().due, storesuite.OccurrenceID("s", first)).Val() > float64(b.serverTime().UnixMilli()) {
			// its second attempt is due within a millisecond
		}
		answer := b.Work("w", protocol.WorkCall{Take: 3, Ahead: 1, TTL: 50 * time.Millisecond})
		b.Want("taken", storesuite.IDs(answer.Taken), strings.Join([]string{storesuite.OccurrenceID("s", second), storesuite.OccurrenceID("s", third), storesuite.OccurrenceID("s", first)}, " "))
		b.Work("w", protocol.WorkCall{TTL: 50 * time.Millisecond, Begun: []protocol.BegunJob{{ID: answer.Taken[2].ID, Fence: answer.Taken[2].Fence}}})
		b.Reap(b.UntilLapsed(), 1)
		stored, runs := b.runsOf("s")
		var cut []string
		for _, r := range runs {
			if r.Outcome != "crashed" {
				continue
			}
			i := slices.IndexFunc(answer.Taken, func(job protocol.TakenJob) bool { return job.Fence == r.Fence })
			if i < 0 || storesuite.OccurrenceID("s", r.Planned) != answer.Taken[i].ID || r.Worker != "w-w" || r.Started.UnixMilli() != r.Fence/1000 || r.Ended.Before(r.Started) {
				b.Errorf("the history has %+v, of those taken: %+v", r, answer.Taken)
			}
			cut = append(cut, fmt.Sprint(r.Attempt))
		}
		slices.Sort(cut)
		b.Want("numbers of the attempts that were cut off", strings.Join(cut, " "), "1 1 2")
		if last := stored.Last; last.Failures != 1 || last.Outcome != "crashed" || last.Unfinished != 3 {
			b.Errorf("it went last: %+v; want one failure, that of the first attempt, and three that have not ended", last)
		}
	})
}

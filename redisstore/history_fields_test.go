package redisstore

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/long"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

// brokenHistories returns what is wrong in a hash …:history: each field with attempts belongs to the head of one schedule, and each head has
// the numbers of its fields.
func brokenHistories(histories map[string]string) (broken []string) {
	owners := map[string]string{}
	for name, text := range histories {
		if strings.Contains(name, "\t") {
			continue
		}
		e := parseHistory(text)
		count, notes, bare := 0, 0, 0
		var front, size string
		for i, field := range e.fields() {
			if other, taken := owners[field]; taken {
				broken = append(broken, fmt.Sprintf("%q belongs to %s and to %s", field, name, other))
			}
			owners[field] = name
			runs := parseRuns(name, parseHistory(histories[field]).runs)
			fieldNotes := 0
			for _, run := range runs {
				fieldNotes += len(run.Note)
			}
			count, notes = count+len(runs), notes+fieldNotes
			if i == 0 {
				front = fmt.Sprint(len(runs), " ", fieldNotes)
			}
			if n := len(parseHistory(histories[field]).runs); n > 1024 && len(runs) > 1 {
				broken = append(broken, fmt.Sprintf("%q has %d attempts of %d bytes", field, len(runs), n))
			}
			size = fmt.Sprint(len(parseHistory(histories[field]).runs))
			if want := fmt.Sprintf("%d %d ", len(runs), fieldNotes); !strings.HasPrefix(histories[field], want) {
				broken = append(broken, fmt.Sprintf("%q begins with %.20q, want %q", field, histories[field], want))
			}
		}
		if e.short == "" {
			continue
		}
		words := strings.Split(text, " ")
		fmt.Sscan(words[7], &bare)
		for n := e.first; n < int64(bare); n++ {
			if field := fmt.Sprint(e.short, "\t", n); !strings.HasPrefix(strings.SplitN(histories[field], " ", 2)[1], "0 ") {
				broken = append(broken, fmt.Sprintf("%q has notes, and is before %d: %q", field, bare, text))
			}
		}
		if want := fmt.Sprint(count, " ", notes, " ", front); strings.Join(words[3:7], " ") != want || words[8] != size {
			broken = append(broken, fmt.Sprintf("the head of %s is %q, want %s … %s", name, text, want, size))
		}
	}
	for field := range histories {
		if owners[field] == "" && strings.Contains(field, "\t") && field != "\t" {
			broken = append(broken, fmt.Sprintf("%q belongs to no schedule", field))
		}
	}
	return broken
}

func (b *bench) wantWholeHistories(what string, partition protocol.Partition) {
	b.Helper()
	if broken := brokenHistories(b.client.HGetAll(b.Context(), b.store.keys.partition(partition).history).Val()); len(broken) > 0 {
		b.Fatalf("%s: %s", what, strings.Join(broken, "\n"))
	}
}

// A history has the same attempts as a plain list, for any sizes of attempts, for any number of them that end in one call, and while the number that
// is kept changes. Every head has the numbers of its fields.
func TestAHistoryIsAPlainList(t *testing.T) {
	for _, seed := range long.Draw(2, 20) {
		onHistoryBench(t, 150, func(h *historyBench) {
			random := rand.New(rand.NewPCG(seed, 7))
			keep, kept := 3, []string{}
			h.keep(keep)
			for len(h.held) > 0 {
				var settle []protocol.Settlement
				for range min(1+random.IntN(3)*random.IntN(12), len(h.held)) {
					job := h.held[0]
					h.held = h.held[1:]
					run := ran(job.ID, "done")
					run.Ended = h.began.Add(time.Duration(h.ended) * time.Second)
					run.Note = fmt.Sprintf("%-*d", []int{4, 4, 60, 300, 900, 2048}[random.IntN(6)], h.ended)
					kept = append(kept, fmt.Sprint(h.ended))
					h.ended++
					settle = append(settle, protocol.Settlement{ID: job.ID, Fence: job.Fence, Kind: protocol.SettleDone, Run: run})
				}
				h.Work("w", protocol.WorkCall{Settle: settle})
				h.wantWholeHistories(fmt.Sprint("seed ", seed, " after ", h.ended), storesuite.DefaultPartition)
				kept = kept[max(len(kept)-keep, 0):]
				_, runs := h.runsOf("s")
				var got []string
				for i, run := range slices.Backward(runs) {
					number := strings.TrimSpace(run.Note)
					if number == "" { // the oldest notes may be gone
						number = kept[len(runs)-1-i]
					}
					got = append(got, number)
				}
				if want := kept; !slices.Equal(got, want) {
					h.Fatalf("seed %d: after %d ends of which %d are kept the history is %v, want %v", seed, h.ended, keep, got, want)
				}
				if random.IntN(6) == 0 {
					if next := []int{1, 3, 20, 60}[random.IntN(4)]; next != keep {
						h.keep(next)
						keep = next
						kept = kept[max(len(kept)-keep, 0):]
						// what was hidden by a smaller number may be shown again: it was not removed yet
						_, runs := h.runsOf("s")
						for i := len(kept); i < len(runs); i++ {
							kept = slices.Insert(kept, 0, strings.TrimSpace(runs[i].Note))
						}
					}
				}
			}
		})
	}
}

// The end of an attempt rewrites only the end of its history, even if the history is long.
func TestAnEndDoesNotRewriteItsHistory(t *testing.T) {
	const ends = 60
	for _, note := range []int{4, 300, 2048} {
		onHistoryBench(t, ends+20, func(h *historyBench) {
			h.keep(20)
			h.end(ends, note)
			for range 20 {
				before := h.client.HGetAll(h.Context(), h.keys().history).Val()
				h.end(1, note)
				written := 0
				after := h.client.HGetAll(h.Context(), h.keys().history).Val()
				for field, text := range after {
					if before[field] != text {
						written += len(field) + len(text)
					}
				}
				if most := 1024 + note + 300; written > most {
					h.Errorf("with notes of %d bytes an end wrote %d bytes, want at most %d", note, written, most)
				}
				if fields := len(after); fields > 20+12 {
					h.Errorf("a history of 20 attempts has %d fields", fields)
				}
			}
			h.wantWholeHistories("at the end", storesuite.DefaultPartition)
		})
	}
}

// A history of before layout 4 is read, and the next end rewrites it; one that was edited by hand starts empty, with its days.
func TestAHistoryOfBeforeLayout4IsRewritten(t *testing.T) {
	onHistoryBench(t, 30, func(h *historyBench) {
		h.keep(20)
		h.end(12, 300)
		now := h.client.HGetAll(h.Context(), h.keys().history).Val()
		e := parseHistory(now["s"])
		old := fmt.Sprintf("12 3600 d%s %s", e.days, allRuns(now, e))
		h.client.Del(h.Context(), h.keys().history)
		h.client.HSet(h.Context(), h.keys().history, "s", old)
		h.wantHistory("of before", "0 1 2 3 4 5 6 7 8 9 10 11", 12)
		h.end(1, 300)
		h.wantHistory("rewritten", "0 1 2 3 4 5 6 7 8 9 10 11 12", 13)
		h.wantWholeHistories("rewritten", storesuite.DefaultPartition)
		if text := h.client.HGet(h.Context(), h.keys().history, "s").Val(); !strings.HasPrefix(text, "=") || len(text) > 100 {
			h.Errorf("the head is %q", text)
		}
		_, days, err := h.store.Days(h.Context(), "s")
		if err != nil || len(days) == 0 || days[len(days)-1].Done+days[0].Done < 13 {
			h.Errorf("days %v, %v, want those of before and one more", days, err)
		}
		h.client.HSet(h.Context(), h.keys().history, "s", "12 3600 d"+e.days+" 3,4:abc")
		h.client.HDel(h.Context(), h.keys().history, slices.DeleteFunc(slices.Collect(maps.Keys(h.client.HGetAll(h.Context(), h.keys().history).Val())), func(field string) bool { return !strings.Contains(field, "\t") })...)
		h.end(1, 300)
		h.wantHistory("after an edit", "13", 1)
		h.wantWholeHistories("after an edit", storesuite.DefaultPartition)
	})
}

// A field that was removed by hand leaves the others readable, and the history continues; fewer attempts than wanted may remain.
func TestAHistoryWithoutSomeOfItsFieldsContinues(t *testing.T) {
	onHistoryBench(t, 60, func(h *historyBench) {
		h.keep(10)
		h.end(10, 1100)
		e := parseHistory(h.client.HGet(h.Context(), h.keys().history, "s").Val())
		fields := e.fields()
		h.client.HDel(h.Context(), h.keys().history, fields[0], fields[4], fields[9])
		got, _ := h.stored()
		h.Want("without three", got, "1 2 3 5 6 7 8")
		h.end(12, 1100)
		if _, runs := h.runsOf("s"); len(runs) < 7 || strings.TrimSpace(runs[0].Note) != "21" {
			h.Errorf("after 12 more ends %d attempts are shown, the newest %+v; want at least those 7, and the newest", len(runs), runs[0])
		}
	})
}

// A long history moves with its schedule. It is removed with it: where it lives, where it was, and by the sweep of the mark.
func TestALongHistoryMovesAndIsRemoved(t *testing.T) {
	mail := protocol.Partition{Queue: "mail"}
	for _, end := range []string{"delete", "sweep"} {
		onHistoryBench(t, 60, func(h *historyBench) {
			h.keep(50)
			h.end(50, 300)
			_, before := h.runsOf("s")
			body := `{"job":"j","keepRuns":50}`
			answer := h.store.Declare(h.Context(), []protocol.Declaration{{Name: "s", Queue: "mail", Overlap: "allow", Body: []byte(body), KeepRuns: 50}})[0]
			if answer.Err != nil {
				h.Fatal(answer.Err)
			}
			h.end(5, 300) // what was taken before the move ends in the queue that it has left
			stored, after := h.runsOf("s")
			h.Want("queue", stored.Partition.Queue, "mail")
			if len(after) != 50 || len(before) != 50 || after[0] == before[0] {
				h.Fatalf("%d attempts before the move, %d after it, want 50, with those that ended since", len(before), len(after))
			}
			h.wantWholeHistories("in mail", mail)
			h.wantWholeHistories("in the queue that it has left", storesuite.DefaultPartition)
			left := []protocol.Partition{storesuite.DefaultPartition}
			if end == "sweep" {
				h.client.ZAdd(h.Context(), h.keys().gone, redisZ(1, "s"))
				for more := true; more; {
					if _, err := h.sweep(); err != nil {
						h.Fatal(err)
					}
					more = h.client.HExists(h.Context(), h.keys().schedules, "s").Val()
				}
			} else if _, err := h.store.Remove(h.Context(), protocol.Removal{Name: "s"}); err != nil {
				h.Fatal(err)
			} else {
				left = append(left, mail)
			}
			for _, p := range left {
				if fields := h.client.HKeys(h.Context(), h.store.keys.partition(p).history).Val(); !slices.Equal(fields, []string{"\t"}) {
					h.Errorf("after the %s %q has the fields %q, want none of the schedule", end, p.Queue, fields)
				}
			}
		})
	}
}

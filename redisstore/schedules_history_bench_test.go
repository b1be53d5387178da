//go:build real

package redisstore

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/redistest"
	"github.com/chimejobs/chime/internal/storesuite"
)

// BenchmarkHistories ends an occurrence of as many schedules as a worker settles in one call. Their histories are full. It reports three figures: µs/call, the
// processor time of the server for such a call, by INFO cpu; B/run, the bytes that each run adds to the append-only file; and B/schedule, the bytes
// of memory of the history of one schedule.
func BenchmarkHistories(b *testing.B) {
	for _, c := range []struct{ keep, note int }{{0, 0}, {20, 0}, {20, 60}, {20, 2000}, {1000, 170}, {1000, 2000}} {
		b.Run(fmt.Sprintf("keep=%d/note=%d", c.keep, c.note), func(b *testing.B) { newHistoriesBench(b, c.keep, c.note).run() })
	}
}

// A historiesBench is a partition on a server, with many schedules.
type historiesBench struct {
	*testing.B
	store      *store
	client     *redis.Client
	keys       partitionKeys
	keep, note int
	schedules  int // as many as a worker settles in one call
	ended      int
	spent      float64 // µs of the last call
}

func newHistoriesBench(b *testing.B, keep, note int) *historiesBench {
	client := redistest.Start(b, redistest.Options{AppendOnly: true, Config: []string{"appendfsync no", "auto-aof-rewrite-percentage 0"}}).Client(&redis.Options{})
	b.Cleanup(func() { client.Close() })
	h := &historiesBench{B: b, client: client, store: newStore(client, Options{Namespace: "bench"}), keep: keep, note: note, schedules: protocol.MaxSettlements / (protocol.RunWeight + note/512)}
	h.keys = h.store.keys.partition(storesuite.DefaultPartition)
	for i := range h.schedules {
		answer := h.store.Declare(b.Context(), []protocol.Declaration{{Name: h.name(i), Queue: "default", Overlap: "allow", Body: []byte(`{"job":"j"}`), KeepRuns: keep}})[0]
		if answer.Err != nil {
			b.Fatal(answer.Err)
		}
		created := strings.SplitN(client.HGet(b.Context(), h.keys.last, h.name(i)).Val(), " ", 2)
		client.HSet(b.Context(), h.keys.last, h.name(i), "2020-01-01T00:00:00Z "+created[1])
	}
	return h
}

func (h *historiesBench) name(i int) string { return fmt.Sprintf("customers/report-%03d", i) }

// end ends an occurrence of each schedule.
func (h *historiesBench) end() {
	h.ended++
	session := strconv.Itoa(h.ended)
	call := protocol.WorkCall{Partition: storesuite.DefaultPartition, Worker: "w", Session: session, Number: 2, TTL: time.Minute}
	held := []any{"\x01", "1 1 0 h 1 w"}
	now := time.Now()
	planned := now.Truncate(time.Minute).Add(time.Duration(h.ended) * time.Minute)
	for i := range h.schedules {
		id := storesuite.OccurrenceID(h.name(i), planned)
		held = append(held, id, "7")
		call.Settle = append(call.Settle, protocol.Settlement{ID: id, Fence: 7, Kind: protocol.SettleDone, Run: &protocol.RunRecord{
			Schedule: h.name(i), Planned: planned, Started: now, Ended: now.Add(100 * time.Millisecond), Outcome: "done", Attempt: 1, Fence: 7,
			Worker: "worker-7d9f8b6c5d-x2x4z", Note: strings.Repeat("n", h.note),
		}})
	}
	pipe := h.client.Pipeline()
	pipe.ZAdd(h.Context(), h.keys.sessions, redis.Z{Score: 9e12, Member: session})
	pipe.HSet(h.Context(), h.keys.inflight(session), held...)
	if _, err := pipe.Exec(h.Context()); err != nil {
		h.Fatal(err)
	}
	if h.ended == 1 {
		defer func() { // the calls did what is measured
			found, err := h.store.Runs(h.Context(), []string{h.name(0)})
			if err != nil || len(found[0].Runs) != min(h.keep, 1) {
				h.Fatalf("%d runs, %v", len(found[0].Runs), err)
			}
		}()
	}
	before := h.cpu()
	if answer := h.store.Work(h.Context(), []protocol.WorkCall{call})[0]; answer.Err != nil || len(answer.Refused) > 0 {
		h.Fatal(answer.Refused, answer.Err)
	}
	h.spent = h.cpu() - before
}

// cpu is the processor time of the server's main thread, in microseconds.
func (h *historiesBench) cpu() (us float64) {
	for line := range strings.Lines(h.client.Info(h.Context(), "cpu").Val()) {
		name, text, _ := strings.Cut(strings.TrimSpace(line), ":")
		if strings.HasSuffix(name, "_main_thread") {
			s, _ := strconv.ParseFloat(text, 64)
			us += s * 1e6
		}
	}
	return us
}

func (h *historiesBench) run() {
	for range h.keep + 40 {
		h.end()
	}
	spent, written := 0.0, int64(0)
	for range h.N {
		before := h.aofBytes()
		h.end()
		written += h.aofBytes() - before
		spent += h.spent
	}
	h.ReportMetric(0, "ns/op")
	h.ReportMetric(spent/float64(h.N), "µs/call")
	h.ReportMetric(float64(written)/float64(h.N)/float64(h.schedules), "B/run")
	memory := h.client.MemoryUsage(h.Context(), h.keys.history, 0).Val()
	h.ReportMetric(float64(memory)/float64(h.schedules), "B/schedule")
}

// aofBytes is the size of the append-only file.
func (h *historiesBench) aofBytes() int64 {
	for line := range strings.Lines(h.client.Info(h.Context(), "persistence").Val()) {
		if text, ok := strings.CutPrefix(strings.TrimSpace(line), "aof_current_size:"); ok {
			n, _ := strconv.ParseInt(text, 10, 64)
			return n
		}
	}
	h.Fatal("no size of the append-only file")
	return 0
}

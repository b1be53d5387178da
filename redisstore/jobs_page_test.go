package redisstore

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

func TestThousandsOfOneInstantComeInOrderAndOnce(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		var all []string
		var jobs []protocol.EnqueueItem
		at := b.serverTime().Add(time.Hour)
		for i := range 3000 {
			item := storesuite.Own(fmt.Sprintf("j%d", i*7919%3000))
			item.At = at
			jobs, all = append(jobs, item), append(all, item.ID)
		}
		for some := range slices.Chunk(jobs, 500) {
			b.Enqueue(some...)
		}
		slices.Sort(all)
		var shown []string
		gone := map[string]bool{}
		for after := ""; ; {
			ids, page := b.Listed(protocol.JobPageCall{State: protocol.JobDelayed, After: after, Limit: 300})
			shown = append(shown, strings.Fields(ids)...)
			if after = page.Next; after == "" {
				break
			}
			// The last one of the page leaves, and so do 200 of those before it: nothing is where it was.
			for _, id := range shown[len(shown)-200:] {
				gone[id] = true
				b.client.ZRem(b.Context(), b.keys().due, id)
			}
		}
		if !slices.Equal(shown, all) {
			b.Errorf("%d jobs of one instant are shown as %d, or in another order", len(all), len(shown))
		}
	})
}

func TestAnOccurrenceWithoutABodyIsAJobOfItsScheduleWhereverItIs(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		first, second, third := storesuite.Ago(2*time.Minute), storesuite.Ago(time.Minute), b.serverSecond().Add(time.Hour)
		b.Scheduled("report", "wait", first, second, third)
		check := func(state, id string) {
			b.Helper()
			got, page := b.Listed(protocol.JobPageCall{State: state})
			b.Want(state, got, id)
			found, err := b.store.FindJobs(b.Context(), "default", []string{id})
			if err != nil || found[0].State != state {
				b.Fatalf("%s is found as %+v, %v; want it %s", id, found, err, state)
			}
			if queues, err := b.store.QueuesOf(b.Context(), id, []string{"default"}); err != nil || len(queues) != 1 {
				b.Errorf("%s may be on %q, %v; want default", id, queues, err)
			}
			for _, job := range []protocol.FoundJob{page.Jobs[0], found[0]} {
				if h, ok := parseHead(string(job.Definition)); !ok || !strings.Contains(h.rest, `"job":"j"`) || job.Body != nil {
					b.Errorf("%s comes with the definition %q and the body %q", id, job.Definition, job.Body)
				}
			}
		}
		held := b.Take("s", 2)
		if len(held) != 1 {
			b.Fatalf("took %v", held)
		}
		check(protocol.JobDelayed, storesuite.OccurrenceID("report", third))
		check(protocol.JobRunning, storesuite.OccurrenceID("report", first))
		check(protocol.JobWaiting, storesuite.OccurrenceID("report", second)) // behind the first
		b.Settle("s", protocol.Settlement{ID: held[0].ID, Fence: held[0].Fence, Kind: protocol.SettleBack})
		got, _ := b.Listed(protocol.JobPageCall{State: protocol.JobWaiting, Limit: 1})
		b.Want("the one given back, in ready", got, storesuite.OccurrenceID("report", first))
		found, err := b.store.FindJobs(b.Context(), "default", []string{storesuite.OccurrenceID("report", first), storesuite.OccurrenceID("report", first.Add(time.Second))})
		if err != nil || found[0].State != protocol.JobWaiting || found[1].ID != "" {
			b.Errorf("found %+v, %v; want the one given back waiting, and no other", found, err)
		}
	})
}

// A schedule that was created after an occurrence's instant did not create it: the occurrence is not shown with that definition.
func TestAnOccurrenceOfARemovedScheduleHasNoDefinition(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.Scheduled("report", "skip", b.serverSecond().Add(time.Hour))
		old := storesuite.OccurrenceID("report", time.Date(2019, 1, 1, 0, 0, 0, 0, time.UTC))
		b.client.ZAdd(b.Context(), b.keys().due, redisZ(1e12, old), redisZ(1e12, storesuite.OccurrenceID("none", storesuite.Ago(time.Hour))))
		_, page := b.Listed(protocol.JobPageCall{State: protocol.JobDelayed})
		for _, job := range page.Jobs[:2] {
			if job.Definition != nil || job.Body != nil {
				b.Errorf("%s comes with %q", job.ID, job.Definition)
			}
		}
	})
}

// A job that ends or moves between the commands of a page is not shown in a wrong place, nor with a body that it did not have there.
func TestWhatMovesWhileAPageIsReadIsNotShownWhereItWas(t *testing.T) {
	for _, state := range []string{protocol.JobWaiting, protocol.JobRunning, protocol.JobDelayed} {
		onEveryServer(t, func(b *bench) {
			moving := storesuite.Job("b")
			if state == protocol.JobDelayed {
				moving.At = b.serverTime().Add(-time.Second)
			}
			b.Enqueue(storesuite.Job("a"), moving)
			var held []protocol.TakenJob
			if state == protocol.JobRunning {
				held = b.Take("s", 2)
			}
			moved := false
			store := b.hooked(func(cmd redis.Cmder) error {
				if args := cmd.Args(); cmd.Name() != "hmget" || moved || args[1] != b.keys().jobs {
					return nil
				}
				moved = true
				meanwhile(func() {
					if held == nil {
						held = b.Take("s", 2)
					}
					for _, taken := range held {
						if taken.ID == "b" {
							b.Settle("s", protocol.Settlement{ID: "b", Fence: taken.Fence, Kind: protocol.SettleDone})
						}
					}
				})
				return nil
			})
			page, err := store.PageJobs(b.Context(), protocol.JobPageCall{Queue: "default", State: state, Limit: 10})
			if err != nil || !moved {
				b.Fatal(err, moved)
			}
			for _, job := range page.Jobs {
				if job.ID == "b" {
					b.Errorf("state %s: a job that has ended is shown: %+v", state, job)
				}
			}
		})
	}
}

// meanwhile calls the store outside of the current call.
func meanwhile(do func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		do()
	}()
	<-done
}

// A job that is taken out of due between the reads of sessions and due is still found, in its place.
func TestAJobThatIsTakenWhileItIsLookedForIsFound(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		later := storesuite.Job("a")
		later.At = b.serverTime().Add(-time.Second)
		b.Enqueue(later)
		took := false
		store := b.hooked(func(cmd redis.Cmder) error {
			if args := cmd.Args(); cmd.Name() == "zmscore" && args[1] == b.keys().due && !took {
				took = true
				meanwhile(func() { b.Take("s", 1) })
			}
			return nil
		})
		found, err := store.FindJobs(b.Context(), "default", []string{"a"})
		if err != nil || !took || found[0].State != protocol.JobRunning || found[0].Worker != "w-s" {
			b.Errorf("found %+v, %v; want it running in w-s", found, err)
		}
	})
}

// kept returns everything in the default queue, a session of it and a list of parked jobs, and the registry of queues. It reads each key,
// because KEYS reads only one node of a cluster.
func (b *bench) kept(session, parked string) string {
	b.Helper()
	types := b.keys().types()
	types[b.keys().inflight(session)], types[b.keys().parked(parked)] = "hash", "zset"
	all := map[string]any{}
	for key, kind := range types {
		switch kind {
		case "hash":
			all[key] = b.client.HGetAll(b.Context(), key).Val()
		case "zset":
			all[key] = b.client.ZRangeWithScores(b.Context(), key, 0, -1).Val()
		case "list":
			all[key] = b.client.LRange(b.Context(), key, 0, -1).Val()
		case "stream":
			all[key] = b.client.XRange(b.Context(), key, "-", "+").Val()
		}
	}
	return fmt.Sprint(all, b.queues())
}

func TestReadingJobsWritesNothingAndRegistersNothing(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.busy()
		before := b.kept("s", "mail")
		for _, state := range append(slices.Clone(allStates), "done") {
			for after, n := "", 0; n == 0 || after != ""; n++ {
				_, page := b.Listed(protocol.JobPageCall{State: state, After: after, Limit: 1})
				after = page.Next
			}
		}
		found, err := b.store.FindJobs(b.Context(), "default", []string{"a", "p", "x", "ready", "later", "none", storesuite.OccurrenceID("report", storesuite.Ago(time.Minute))})
		if err != nil || len(found) != 7 {
			b.Fatal(found, err)
		}
		if after := b.kept("s", "mail"); after != before {
			b.Errorf("reading has changed what is stored:\n%s\n%s", before, after)
		}
		_, err = b.store.PageJobs(b.Context(), protocol.JobPageCall{Queue: "unknown", State: protocol.JobDead, Limit: 1})
		_, failed := b.store.FindJobs(b.Context(), "unknown", []string{"a"})
		if !errors.Is(err, protocol.ErrNotFound) || !errors.Is(failed, protocol.ErrNotFound) || b.queues()["unknown"] != 0 {
			b.Errorf("an unknown queue: %v, %v, registered %v; want ErrNotFound", err, failed, b.queues())
		}
	})
}

func TestACursorIsCheckedWhenItComesBack(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.Enqueue(storesuite.Own("a"), storesuite.Own("b"), storesuite.Own("c"))
		_, page := b.Listed(protocol.JobPageCall{State: protocol.JobWaiting, Limit: 1})
		good := page.Next
		raw, _ := base64.RawURLEncoding.DecodeString(good)
		bad := []string{"x", "ids.1", "=", good + "A", good[1:], strings.ToUpper(good), jobCursor{state: protocol.JobWaiting, partition: 1}.String(), jobCursor{state: protocol.JobDead}.String()}
		for cut := range raw {
			bad = append(bad, base64.RawURLEncoding.EncodeToString(raw[:cut]))
		}
		for _, after := range bad {
			if after == "" {
				continue
			}
			_, err := b.store.PageJobs(b.Context(), protocol.JobPageCall{Queue: "default", State: protocol.JobWaiting, After: after, Limit: 1})
			if !errors.Is(err, &protocol.InvalidError{Field: "JobFilter.After"}) {
				b.Errorf("after %q: %v, want an InvalidError", after, err)
			}
		}
	})
}

func TestAPageOfLongJobsIsShorter(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		long := strings.Repeat("x", 900<<10)
		for i := range 9 {
			item := storesuite.Job(fmt.Sprint(i))
			item.Body = []byte("\x01" + long)
			b.Enqueue(item)
		}
		shown, calls := 0, 0
		for after := ""; calls == 0 || after != ""; calls++ {
			_, page := b.Listed(protocol.JobPageCall{State: protocol.JobWaiting, After: after})
			bytes := 0
			for _, job := range page.Jobs {
				shown++
				bytes += len(job.Body)
			}
			if after = page.Next; bytes > maxPageBytes || len(page.Jobs) == 0 {
				b.Errorf("a page of %d jobs has %d bytes, want at most %d", len(page.Jobs), bytes, maxPageBytes)
			}
		}
		found, err := b.store.FindJobs(b.Context(), "default", strings.Fields("0 1 2 3 4 5 6 7 8"))
		if shown != 9 || calls < 2 || err != nil || len(found) != 4 {
			b.Errorf("%d jobs in %d pages, %d of 9 found (%v); want 9 in several, and 4", shown, calls, len(found), err)
		}
	})
}

func TestAJobOnTheSharedListOfParkedOnesIsShown(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		body := []byte("\x01\x93\xa4mail\xc4\x00\xc0")
		for _, name := range []string{"mail", unreadableParked + "mail"} {
			id := "job-" + name
			b.client.HSet(b.Context(), b.keys().jobs, id, body)
			b.client.ZAdd(b.Context(), b.keys().parked(sharedParked), redisZ(1e12, name+"\t"+id))
		}
		b.client.ZAdd(b.Context(), b.keys().unhandled, redisZ(1e12, sharedParked))
		got, _ := b.Listed(protocol.JobPageCall{State: protocol.JobParked, Name: "mail"})
		b.Want("the parked jobs", got, "job-mail job-~mail")
		found, err := b.store.FindJobs(b.Context(), "default", []string{"job-mail", "job-~mail"})
		if err != nil || found[0].State != protocol.JobParked || found[1].State != protocol.JobParked || found[0].At.UnixMilli() != 1e12 {
			b.Errorf("found %+v, %v; want both parked", found, err)
		}
	})
}

func TestTheHolderOfASessionIsItsWorkerAndOldOnesSayNone(t *testing.T) {
	for header, want := range map[string]string{
		"7 1772960400000001 1772960400 host 12 W ......":       "W",
		"7 1772960400000001 1772960400  12 W ...... jjd":       "W", // no name of the host
		"7 1772960400000001 1772960400 host 12 ......":         "",
		"7 1772960400000001 1772960400 host 12 ............ j": "",
		"reaped": "", "": "",
	} {
		if got := workerOf(header); got != want {
			t.Errorf("%q: worker %q, want %q", header, got, want)
		}
	}
	for value, want := range map[string]string{
		"12": "12 true false", "-12": "12 false false", "!12": "12 true true", "!-12": "12 true true", "x": "0 true false", "": "0 true false",
	} {
		fence, begun, cancelled := parseHeld(value)
		if got := fmt.Sprint(fence, begun, cancelled); got != want {
			t.Errorf("%q: %s, want %s", value, got, want)
		}
	}
}

// A page begins at its instant, with all jobs of that instant, wherever it is in the set.
func TestAPageBeginsAtAnInstant(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.Enqueue(storesuite.Job("a"))
		var dead []redis.Z
		for i := range 3000 {
			dead = append(dead, redis.Z{Score: float64(1_000_000 + i/3), Member: fmt.Sprintf("d%04d", i)})
		}
		b.client.ZAdd(b.Context(), b.keys().dead, dead...)
		for _, c := range []struct {
			since, before int64
			want          string
		}{
			{1, 0, "d0000 d0001"}, {1_000_000, 0, "d0000 d0001"}, {1_000_500, 0, "d1500 d1501"}, {1_000_999, 0, "d2997 d2998"},
			{1_001_000, 0, ""}, {1_000_500, 1_000_500, ""},
		} {
			call := protocol.JobPageCall{State: protocol.JobDead, Since: time.UnixMilli(c.since), Limit: 2}
			if c.before > 0 {
				call.Before = time.UnixMilli(c.before)
			}
			got, _ := b.Listed(call)
			b.Want(fmt.Sprintf("since %d before %d", c.since, c.before), got, c.want)
		}
	})
}

// The newest are found with any other dead jobs before them, and a list without more is complete.
func TestAPageMayBeginWithTheNewestDeadJobs(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.RegisterDefault()
		for i := range 300 {
			b.client.ZAdd(b.Context(), b.keys().dead, redisZ(float64(1e12+i/2), fmt.Sprintf("d%03d", i)))
			b.client.HSet(b.Context(), b.keys().jobs, fmt.Sprintf("d%03d", i), "\x01x")
		}
		for n, want := range map[int]string{1: "d299", 3: "d297 d298 d299"} {
			after, before, err := b.store.Newest(b.Context(), "default", n)
			if at := time.UnixMilli(int64(1e12) + int64(299-n)/2); err != nil || !before.Equal(at) {
				b.Errorf("before the newest %d one died at %v, %v; want %v", n, before, err, at)
			}
			got, _ := b.Listed(protocol.JobPageCall{State: protocol.JobDead, After: after})
			b.Want(fmt.Sprintf("the newest %d", n), got, want)
		}
		for _, n := range []int{300, 1000} {
			if after, before, err := b.store.Newest(b.Context(), "default", n); err != nil || after != "" || !before.IsZero() {
				b.Errorf("the newest %d of 300 begin after %q, %v, %v; want at the beginning", n, after, before, err)
			}
		}
	})
}

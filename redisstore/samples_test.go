package redisstore

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
	"github.com/chimejobs/chime/redisstore/internal/sample"
)

// onMinutes runs a test on a server whose clock can be set: at sets it to this many minutes after the start and returns it.
func onMinutes(t *testing.T, test func(b *bench, at func(minutes int) time.Time)) {
	t.Helper()
	onServersWith(t, settableClock, func(b *bench) { test(b, b.Minutes()) })
}

// Measurements between the end of an hour and the first sample after it count for the next one, under the names of the one before. So more
// than a hundred names may come together in an hour: the first hundred are counted separately, the others together.
func TestAnHourHasAHundredNames(t *testing.T) {
	onMinutes(t, func(b *bench, at func(int) time.Time) {
		b.RegisterDefault()
		at(0)
		b.Sample()
		b.Enqueue(storesuite.Job("a"))
		b.Take("s", 1)
		at(1)
		b.Sample()
		for i, minute := range []int{61, 62, 122} {
			m := &protocol.Measured{Number: int64(i + 1)}
			for n := range protocol.MaxMeasured {
				m.Names = append(m.Names, protocol.MeasuredName{Name: fmt.Sprintf("%c-%03d", 'a'+i, n), Done: 1})
			}
			b.Work("s", protocol.WorkCall{Measured: m})
			at(minute)
			b.Sample()
		}
		for _, c := range []struct{ what, key, want string }{
			{"minutes", b.keys().minutes, "100 names: map[a:100], 100 names: map[b:100], 1 names: map[?:100]"},
			{"hours", b.keys().hours, "101 names: map[?:100 a:100]"},
		} {
			var got []string
			for _, entry := range b.client.XRange(b.Context(), c.key, "-", "+").Val() {
				sample, _ := sample.Parse(entry)
				counts := map[string]int{}
				for _, name := range sample.Names {
					counts[name.Name[:1]] += int(name.Done)
				}
				if len(sample.Names) > 0 {
					got = append(got, fmt.Sprintf("%d names: %v", len(sample.Names), counts))
				}
			}
			b.Want(c.what+", with how many jobs are done by the first letter of their names", strings.Join(got, ", "), c.want)
		}
	})
}

// Samples of partitions are added up; an idle partition counts with its present values.
func TestSamplesOfPartitionsAreAddedUp(t *testing.T) {
	onMinutes(t, func(b *bench, at func(int) time.Time) {
		b.use(New(b.client, Options{Namespace: string(b.store.keys) + "-two", Partitions: map[string]int{"default": 2}}).store)
		b.RegisterDefault()
		other := protocol.Partition{Queue: "default", Index: 1}
		both := []protocol.Partition{storesuite.DefaultPartition, other}
		began := at(0)
		b.Sample(both...)
		b.Enqueue(storesuite.Job("a"))
		answer := b.store.Enqueue(b.Context(), []protocol.EnqueueCall{{Partition: other, Caller: "c", Number: 1, Items: []protocol.EnqueueItem{storesuite.Job("x"), storesuite.Job("y")}}})[0]
		if answer.Err != nil {
			b.Fatal(answer.Err)
		}
		at(1)
		b.Sample(both...)
		b.Enqueue(storesuite.Job("b"))
		at(2)
		b.Sample(both...)
		at(3)
		b.Sample(other)
		b.Want("both", b.Samples(began, began.Add(time.Hour), time.Minute), "1m0s +1 =4\n2m0s +0 =2")
		b.Want("from the first on", b.Samples(began.Add(-time.Minute), began.Add(time.Minute), time.Minute), "0s +3 =3\n1m0s +1 =4")
	})
}

// A day and an hour by the minute and 92 days by the hour are kept, and the entry before them, which has the values at their beginning.
func TestOldSamplesGo(t *testing.T) {
	onMinutes(t, func(b *bench, at func(int) time.Time) {
		b.RegisterDefault()
		at(0)
		b.Sample()
		for i := range 200 {
			b.Enqueue(storesuite.Job(fmt.Sprint("job", i)))
			at(15 * (i + 1))
			b.Sample()
		}
		entries := func(key string) int { return len(b.client.XRange(b.Context(), key, "-", "+").Val()) }
		if n := entries(b.keys().minutes); n != 105 {
			b.Errorf("%d entries by the minute, want the 101 of 25 hours every quarter of an hour, one, and the three since the last whole hour", n)
		}
		if n := entries(b.keys().hours); n != 49 {
			b.Errorf("%d entries by the hour, want 49, because the last has not ended", n)
		}
		at(100 * 24 * 60)
		b.Sample()
		if n := entries(b.keys().minutes); n != 1 {
			b.Errorf("%d entries by the minute after a hundred idle days, want one", n)
		}
		if n := entries(b.keys().hours); n > 2 {
			b.Errorf("%d entries by the hour after a hundred idle days, want one, and the last hour", n)
		}
	})
}

// sampleNow takes a sample whatever the record of the last one is: it may have been taken after that was read.
func (b *bench) sampleNow(missing int, hour ...any) (taken bool) {
	b.Helper()
	k := b.keys()
	keys := []string{k.sampled, k.minutes, k.hours, k.measured, k.state, k.callers, k.counters, k.ready, k.stale, k.due, k.dead, k.jobs, k.line, k.turns}
	values, err := list("sample", "", b.store.run(b.Context(), b.client, newCall(&sampleScript, keys, append([]any{missing, 0, 0}, hour...)))[0])
	if err != nil {
		b.Fatal(err)
	}
	return values.number(1) == 1
}

// If two callers find that a sample is missing, one is taken. None is taken of a minute before the last one's, or while fewer minutes are missing.
func TestASampleOfAMinuteIsTakenOnce(t *testing.T) {
	onMinutes(t, func(b *bench, at func(int) time.Time) {
		b.RegisterDefault()
		began := at(0)
		b.Sample()
		taken := func(minute, missing int, want bool) {
			b.Helper()
			at(minute)
			b.Enqueue(storesuite.Job(fmt.Sprint("job", b.Callers)))
			b.Want(fmt.Sprintf("in minute %d, if %d are missing, a sample is taken", minute, missing), fmt.Sprint(b.sampleNow(missing)), fmt.Sprint(want))
		}
		taken(5, 1, true)
		taken(5, 1, false)
		taken(4, 1, false)
		taken(6, 2, false)
		taken(7, 2, true)
		b.Want("the samples", b.Samples(began, began.Add(time.Hour), time.Minute), "4m0s +1 =1 covers 5\n6m0s +4 =5 covers 2")
		b.client.Del(b.Context(), b.keys().sampled)
		taken(7, 1, false)
		taken(8, 1, true)
	})
}

// If another sample is taken after a caller has read the entries of an ended hour, that sample is not left out of the hour.
func TestAnHourThatWasReadTooSoonIsNotWritten(t *testing.T) {
	onMinutes(t, func(b *bench, at func(int) time.Time) {
		b.RegisterDefault()
		began := at(0)
		b.Sample()
		b.Enqueue(storesuite.Job("a"))
		at(58)
		b.Sample()
		k := b.keys()
		early := b.client.HGet(b.Context(), k.sampled, "minute").Val()
		b.Enqueue(storesuite.Job("b"))
		at(59)
		b.Sample()
		at(61)
		b.Want("a sample is taken", fmt.Sprint(b.sampleNow(1, early, "e", 1)), "false")
		b.Sample()
		b.Want("the hour", b.Samples(began.Add(-time.Hour), began.Add(2*time.Hour), time.Hour), "0s +2 =2")
	})
}

// If the sums of an hour cannot be read, because the record was edited by hand, sampling continues.
func TestSamplingContinuesAfterManualEdits(t *testing.T) {
	onMinutes(t, func(b *bench, at func(int) time.Time) {
		b.RegisterDefault()
		at(0)
		b.Sample()
		minute := 0
		for _, noted := range []map[string]string{{"hour": "x"}, {"hour": "9e14"}, {"minute": "x", "hour": "7"}, {"minute": "", "hour": "7"}} {
			for field, value := range noted {
				if b.client.HSet(b.Context(), b.keys().sampled, field, value); value == "" {
					b.client.HDel(b.Context(), b.keys().sampled, field)
				}
			}
			for range 3 {
				b.Enqueue(storesuite.Job(fmt.Sprint("job", minute)))
				minute++
				at(minute)
				if answer := b.store.Sample(b.Context(), []protocol.Partition{storesuite.DefaultPartition}, 1)[0]; answer.Err != nil || !answer.Taken {
					b.Errorf("%v: a sample is taken: %v, %v", noted, answer.Taken, answer.Err)
				}
			}
		}
	})
}

// A key of a wrong type stops only the sample of its partition, before the first write.
func TestASampleOfAnotherProgramsKeyIsRefused(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.RegisterDefault()
		b.client.Set(b.Context(), b.keys().minutes, "mine", 0)
		b.Enqueue(storesuite.Job("a"))
		other := protocol.Partition{Queue: "other"}
		for _, p := range []protocol.Partition{storesuite.DefaultPartition, other} {
			keys := b.store.keys.partition(p)
			b.client.HSet(b.Context(), keys.sampled, "minute", time.Now().Add(-time.Hour).Truncate(time.Minute).UnixMilli())
			before := b.client.HGetAll(b.Context(), keys.sampled).Val()
			answer := b.store.Sample(b.Context(), []protocol.Partition{p}, 1)[0]
			if (answer.Err != nil) != (p == storesuite.DefaultPartition) || answer.Taken != (p == other) {
				b.Errorf("%s: taken %v, %v", p.Queue, answer.Taken, answer.Err)
			}
			if p == storesuite.DefaultPartition && fmt.Sprint(b.client.HGetAll(b.Context(), keys.sampled).Val()) != fmt.Sprint(before) {
				b.Error("something was written")
			}
		}
	})
}

// A call whose reply was lost may come again after the clock has stepped ahead and callers silent for an hour are removed. Its measurements
// are counted once; the mark for that ends with the session.
func TestWhatWasMeasuredCountsOnceHoweverLateItComesAgain(t *testing.T) {
	onMinutes(t, func(b *bench, at func(int) time.Time) {
		b.RegisterDefault()
		at(0)
		b.Enqueue(storesuite.Job("a"))
		b.Take("s", 1)
		call := protocol.WorkCall{Measured: &protocol.Measured{Number: 1, Run: protocol.Durations{1}}}
		b.Work("s", call)
		at(26 * 60)
		if _, err := b.sweep(); err != nil {
			b.Fatal(err)
		}
		b.Repeat("s", call)
		b.Want("measured", b.client.HGet(b.Context(), b.keys().measured, "R").Val(), "0:1")
		at(26*60 + 5)
		b.Reap(b.UntilLapsed(), 1)
		if err := b.client.ZScore(b.Context(), b.keys().callers, "measured s").Err(); !errors.Is(err, redis.Nil) {
			b.Errorf("the last call of the session is remembered after its end: %v", err)
		}
	})
}

package redisstore

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/redisstore/internal/sample"
)

// onMinutes runs a test on miniredis, whose clock it may set: at returns the store's clock after so many minutes and sets it there.
func onMinutes(t *testing.T, test func(b *bench, at func(minutes int) time.Time)) {
	onServersWith(t, settableClock, func(b *bench) {
		began := time.Date(2026, 3, 8, 9, 0, 0, 0, time.UTC)
		test(b, func(minutes int) time.Time {
			now := began.Add(time.Duration(minutes)*time.Minute + 20*time.Second)
			b.setClock(now)
			return now
		})
	})
}

func (b *bench) sample(partitions ...protocol.Partition) {
	b.Helper()
	if len(partitions) == 0 {
		partitions = []protocol.Partition{defaultPartition}
	}
	for _, answer := range b.store.Sample(b.Context(), partitions, 1) {
		if answer.Err != nil {
			b.Fatal(answer.Err)
		}
	}
}

// samples describes the samples of the default queue: minute or hour since 09:00, what it covers, what was enqueued and waits, how old the first is.
func (b *bench) samples(from, to time.Time, step time.Duration) string {
	b.Helper()
	all, err := b.store.Samples(b.Context(), "default", from, to, step)
	if err != nil {
		b.Fatal(err)
	}
	var text []string
	for _, s := range all {
		line := fmt.Sprintf("%v +%d =%d", s.At.Sub(time.Date(2026, 3, 8, 9, 0, 0, 0, time.UTC)), s.Enqueued, s.Waiting)
		if s.Oldest > 0 {
			line += fmt.Sprint(" old ", s.Oldest)
		}
		if s.Covers > 1 {
			line += fmt.Sprint(" covers ", s.Covers)
		}
		text = append(text, line)
	}
	return strings.Join(text, "\n")
}

func (b *bench) registerDefault() {
	b.Helper()
	if _, err := b.store.Partitions(b.Context(), "default"); err != nil {
		b.Fatal(err)
	}
}

// What is between two entries is shown as the first has left it, what a sample was missed for is not shown, and an entry before the range says
// how it begins.
func TestSamplesShowIdleMinutesAndLeaveOutMissedOnes(t *testing.T) {
	onMinutes(t, func(b *bench, at func(int) time.Time) {
		b.registerDefault()
		began := at(0)
		b.want("before the first sample", b.samples(began.Add(-time.Hour), began.Add(time.Hour), time.Minute), "")
		b.sample()
		b.enqueue(job("a"), job("b"))
		at(1)
		b.sample()
		for minute := 2; minute < 5; minute++ { // nothing happens
			at(minute)
			b.sample()
		}
		b.enqueue(job("c"))
		at(8) // three samples are missed
		b.sample()
		now := at(9)
		b.sample()
		b.want("the samples", b.samples(began.Add(-time.Hour), now, time.Minute), strings.Join([]string{
			"-1m0s +0 =0", "0s +2 =2", "1m0s +0 =2", "2m0s +0 =2", "3m0s +0 =2", "7m0s +1 =3 covers 4", "8m0s +0 =3",
		}, "\n"))
		b.want("those from the third minute on", b.samples(began.Add(time.Minute), began.Add(4*time.Minute), time.Minute), "2m0s +0 =2\n3m0s +0 =2\n4m0s +0 =2")
		b.want("an empty range", b.samples(now, now, time.Minute), "")
		b.want("what is to come", b.samples(now, now.Add(time.Hour), time.Minute), "")
		at(61)
		b.sample()
		at(62)
		b.sample()
		b.want("by the hour", b.samples(began.Add(-2*time.Hour), began.Add(2*time.Hour), time.Hour), "0s +3 =3")
		at(125)
		b.enqueue(job("d"))
		b.sample()
		at(182)
		b.sample()
		b.want("and then", b.samples(began.Add(-2*time.Hour), began.Add(4*time.Hour), time.Hour), "0s +3 =3\n2h0m0s +1 =4 covers 2")
	})
}

// A clock that stepped back adds nothing until it is where it was; one that was far ahead leaves nothing behind.
func TestSamplesSurviveAClockThatWasWrong(t *testing.T) {
	onMinutes(t, func(b *bench, at func(int) time.Time) {
		b.registerDefault()
		began := at(0)
		b.sample()
		b.enqueue(job("a"))
		at(10)
		b.sample()
		b.enqueue(job("b"))
		at(3)
		b.sample()
		at(9)
		b.sample()
		b.want("while it is behind", b.samples(began.Add(time.Minute), began.Add(time.Hour), time.Minute), "9m0s +1 =1 covers 10")
		at(11)
		b.sample()
		b.want("when it is where it was", b.samples(began.Add(time.Minute), began.Add(time.Hour), time.Minute), "9m0s +1 =1 covers 10\n10m0s +1 =2")
		at(100_000)
		b.sample()
		at(12)
		b.sample()
		b.enqueue(job("c"))
		at(13)
		b.sample()
		b.want("after it was far ahead", b.samples(began, began.Add(time.Hour), time.Minute), "11m0s +0 =2\n12m0s +1 =3")
	})
}

// The first of the waiting jobs grows older where nothing changes.
func TestASampleSaysHowLongTheFirstJobHasWaited(t *testing.T) {
	onMinutes(t, func(b *bench, at func(int) time.Time) {
		b.registerDefault()
		began := at(0)
		planned := began.Add(-10 * time.Second).UnixMilli()
		body := []byte("\x01\x93\xa1j\xc0\xcf") // an envelope: name j, no payload, planned
		for shift := 56; shift >= 0; shift -= 8 {
			body = append(body, byte(planned>>shift))
		}
		b.sample()
		b.enqueue(protocol.EnqueueItem{ID: "a", Body: body})
		at(1)
		b.sample()
		at(3)
		b.sample()
		b.want("the samples", b.samples(began.Add(-time.Minute), began.Add(time.Hour), time.Minute), "0s +1 =1 old 1m10s\n1m0s +0 =1 old 2m10s\n2m0s +0 =1 old 3m10s")
	})
}

// Of a hundred names each is counted, in an hour always the same; all others are one.
func TestAHundredNamesAreCounted(t *testing.T) {
	onMinutes(t, func(b *bench, at func(int) time.Time) {
		b.registerDefault()
		began := at(0)
		b.sample()
		b.enqueue(job("a"))
		b.take("s", 1)
		number := int64(0)
		send := func(first, n int) {
			number++
			m := &protocol.Measured{Number: number}
			for i := range n {
				m.Names = append(m.Names, protocol.MeasuredName{Name: fmt.Sprintf("job-%03d", first+i), Done: 1})
			}
			b.work("s", protocol.WorkCall{Measured: m})
		}
		send(0, 60)
		send(30, 60)
		at(1)
		b.sample()
		send(80, 30) // ten are known, ten more have room
		send(0, 1)
		at(2)
		b.sample()
		names := func(step time.Duration, i int) (named, others int64) {
			all, err := b.store.Samples(b.Context(), "default", began.Add(-time.Hour), began.Add(2*time.Hour), step)
			if err != nil || len(all) <= i {
				b.Fatal(len(all), err)
			}
			for _, name := range all[i].Names {
				if name.Name == protocol.OtherNames {
					others += name.Done
				} else {
					named += name.Done
				}
			}
			return named, others
		}
		for i, want := range []string{"0 0", "120 0", "21 10"} {
			named, others := names(time.Minute, i)
			b.want(fmt.Sprint("sample ", i), fmt.Sprint(named, others), want)
		}
		at(61)
		b.sample()
		send(200, 100) // a new hour
		at(62)
		b.sample()
		named, others := names(time.Hour, 0)
		b.want("the hour", fmt.Sprint(named, others), "141 10")
		named, others = names(time.Minute, 62)
		b.want("the first minute after it", fmt.Sprint(named, others), "100 0")
	})
}

// What workers measure between the end of an hour and the first sample after it counts to the next one, under the names of the one before. So more
// than a hundred names may come together in an hour: the first hundred are counted, the others are one.
func TestAnHourHasAHundredNames(t *testing.T) {
	onMinutes(t, func(b *bench, at func(int) time.Time) {
		b.registerDefault()
		at(0)
		b.sample()
		b.enqueue(job("a"))
		b.take("s", 1)
		at(1)
		b.sample()
		for i, minute := range []int{61, 62, 122} {
			m := &protocol.Measured{Number: int64(i + 1)}
			for n := range protocol.MaxMeasured {
				m.Names = append(m.Names, protocol.MeasuredName{Name: fmt.Sprintf("%c-%03d", 'a'+i, n), Done: 1})
			}
			b.work("s", protocol.WorkCall{Measured: m})
			at(minute)
			b.sample()
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
			b.want(c.what+", with how many jobs are done by the first letter of their names", strings.Join(got, ", "), c.want)
		}
	})
}

// Samples of partitions are added up; where one of them is idle, it counts as it stands.
func TestSamplesOfPartitionsAreAddedUp(t *testing.T) {
	onMinutes(t, func(b *bench, at func(int) time.Time) {
		b.store = New(b.client, Options{Namespace: string(b.store.keys) + "-two", Partitions: map[string]int{"default": 2}}).store
		b.registerDefault()
		other := protocol.Partition{Queue: "default", Index: 1}
		both := []protocol.Partition{defaultPartition, other}
		began := at(0)
		b.sample(both...)
		b.enqueue(job("a"))
		answer := b.store.Enqueue(b.Context(), []protocol.EnqueueCall{{Partition: other, Caller: "c", Number: 1, Items: []protocol.EnqueueItem{job("x"), job("y")}}})[0]
		if answer.Err != nil {
			b.Fatal(answer.Err)
		}
		at(1)
		b.sample(both...)
		b.enqueue(job("b"))
		at(2)
		b.sample(both...)
		at(3)
		b.sample(other)
		b.want("both", b.samples(began, began.Add(time.Hour), time.Minute), "1m0s +1 =4\n2m0s +0 =2")
		b.want("from the first on", b.samples(began.Add(-time.Minute), began.Add(time.Minute), time.Minute), "0s +3 =3\n1m0s +1 =4")
	})
}

// A day and an hour by the minute and 92 days by the hour are kept, and the entry before, which says how the first began.
func TestOldSamplesGo(t *testing.T) {
	onMinutes(t, func(b *bench, at func(int) time.Time) {
		b.registerDefault()
		at(0)
		b.sample()
		for i := range 200 {
			b.enqueue(job(fmt.Sprint("job", i)))
			at(15 * (i + 1))
			b.sample()
		}
		entries := func(key string) int { return len(b.client.XRange(b.Context(), key, "-", "+").Val()) }
		if n := entries(b.keys().minutes); n != 105 {
			b.Errorf("%d entries by the minute, want the 101 of 25 hours every quarter of an hour, one, and the three since the last whole hour", n)
		}
		if n := entries(b.keys().hours); n != 49 {
			b.Errorf("%d entries by the hour, want 49, for the last is under way", n)
		}
		at(100 * 24 * 60)
		b.sample()
		if n := entries(b.keys().minutes); n != 1 {
			b.Errorf("%d entries by the minute after a hundred idle days, want one", n)
		}
		if n := entries(b.keys().hours); n > 2 {
			b.Errorf("%d entries by the hour after a hundred idle days, want one, and the last hour", n)
		}
	})
}

// sampleNow takes a sample whatever is noted of the last one: it may have been taken after that was read.
func (b *bench) sampleNow(missing int, hour ...any) (taken bool) {
	b.Helper()
	k := b.keys()
	keys := []string{k.sampled, k.minutes, k.hours, k.measured, k.state, k.callers, k.counters, k.ready, k.stale, k.due, k.dead, k.jobs}
	values, err := list("sample", "", b.store.run(b.Context(), b.client, newCall(&sampleScript, keys, append([]any{missing, 0, 0}, hour...)))[0])
	if err != nil {
		b.Fatal(err)
	}
	return values.number(1) == 1
}

// Two who find that a sample is missing take one. Nor is one taken of a minute before the last one's, or while fewer minutes are missing.
func TestASampleOfAMinuteIsTakenOnce(t *testing.T) {
	onMinutes(t, func(b *bench, at func(int) time.Time) {
		b.registerDefault()
		began := at(0)
		b.sample()
		taken := func(minute, missing int, want bool) {
			b.Helper()
			at(minute)
			b.enqueue(job(fmt.Sprint("job", b.callers)))
			b.want(fmt.Sprintf("in minute %d, if %d are missing, a sample is taken", minute, missing), fmt.Sprint(b.sampleNow(missing)), fmt.Sprint(want))
		}
		taken(5, 1, true)
		taken(5, 1, false)
		taken(4, 1, false)
		taken(6, 2, false)
		taken(7, 2, true)
		b.want("the samples", b.samples(began, began.Add(time.Hour), time.Minute), "4m0s +1 =1 covers 5\n6m0s +4 =5 covers 2")
		b.client.Del(b.Context(), b.keys().sampled)
		taken(7, 1, false)
		taken(8, 1, true)
	})
}

// Who has read the entries of an hour that has ended, and then another sample of it is taken, does not leave that out of the hour.
func TestAnHourThatWasReadTooSoonIsNotWritten(t *testing.T) {
	onMinutes(t, func(b *bench, at func(int) time.Time) {
		b.registerDefault()
		began := at(0)
		b.sample()
		b.enqueue(job("a"))
		at(58)
		b.sample()
		k := b.keys()
		early := b.client.HGet(b.Context(), k.sampled, "minute").Val()
		b.enqueue(job("b"))
		at(59)
		b.sample()
		at(61)
		b.want("a sample is taken", fmt.Sprint(b.sampleNow(1, early, "e", 1)), "false")
		b.sample()
		b.want("the hour", b.samples(began.Add(-time.Hour), began.Add(2*time.Hour), time.Hour), "0s +2 =2")
	})
}

// Where the sums of an hour cannot be read, for what was noted was written by hand, samples go on.
func TestSamplesGoOnWithWhatNobodyCanHaveNoted(t *testing.T) {
	onMinutes(t, func(b *bench, at func(int) time.Time) {
		b.registerDefault()
		at(0)
		b.sample()
		minute := 0
		for _, noted := range []map[string]string{{"hour": "x"}, {"hour": "9e14"}, {"minute": "x", "hour": "7"}, {"minute": "", "hour": "7"}} {
			for field, value := range noted {
				if b.client.HSet(b.Context(), b.keys().sampled, field, value); value == "" {
					b.client.HDel(b.Context(), b.keys().sampled, field)
				}
			}
			for range 3 {
				b.enqueue(job(fmt.Sprint("job", minute)))
				minute++
				at(minute)
				if answer := b.store.Sample(b.Context(), []protocol.Partition{defaultPartition}, 1)[0]; answer.Err != nil || !answer.Taken {
					b.Errorf("%v: a sample is taken: %v, %v", noted, answer.Taken, answer.Err)
				}
			}
		}
	})
}

// A key of a wrong type stops the sample of its partition alone, before anything is written.
func TestASampleOfAnotherProgramsKeyIsRefused(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.registerDefault()
		b.client.Set(b.Context(), b.keys().minutes, "mine", 0)
		b.enqueue(job("a"))
		other := protocol.Partition{Queue: "other"}
		for _, p := range []protocol.Partition{defaultPartition, other} {
			keys := b.store.keys.partition(p)
			b.client.HSet(b.Context(), keys.sampled, "minute", time.Now().Add(-time.Hour).Truncate(time.Minute).UnixMilli())
			before := b.client.HGetAll(b.Context(), keys.sampled).Val()
			answer := b.store.Sample(b.Context(), []protocol.Partition{p}, 1)[0]
			if (answer.Err != nil) != (p == defaultPartition) || answer.Taken != (p == other) {
				b.Errorf("%s: taken %v, %v", p.Queue, answer.Taken, answer.Err)
			}
			if p == defaultPartition && fmt.Sprint(b.client.HGetAll(b.Context(), keys.sampled).Val()) != fmt.Sprint(before) {
				b.Error("something was written")
			}
		}
	})
}

// A call whose reply was lost may come again when the clock has stepped ahead and what was silent for an hour is forgotten. What it has
// measured is counted once; the mark for that ends with the session.
func TestWhatWasMeasuredCountsOnceHoweverLateItComesAgain(t *testing.T) {
	onMinutes(t, func(b *bench, at func(int) time.Time) {
		b.registerDefault()
		at(0)
		b.enqueue(job("a"))
		b.take("s", 1)
		call := protocol.WorkCall{Measured: &protocol.Measured{Number: 1, Run: protocol.Durations{1}}}
		b.work("s", call)
		at(26 * 60)
		if _, err := b.sweep(); err != nil {
			b.Fatal(err)
		}
		b.repeat("s", call)
		b.want("measured", b.client.HGet(b.Context(), b.keys().measured, "R").Val(), "0:1")
		at(26*60 + 5)
		b.reap(b.untilLapsed(), 1)
		if err := b.client.ZScore(b.Context(), b.keys().callers, "measured s").Err(); !errors.Is(err, redis.Nil) {
			b.Errorf("what the session sent last is remembered after its end: %v", err)
		}
	})
}

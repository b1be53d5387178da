package storesuite

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// Sample takes a sample of partitions, or of the default one.
func (b *Bench) Sample(partitions ...protocol.Partition) {
	b.Helper()
	if len(partitions) == 0 {
		partitions = []protocol.Partition{DefaultPartition}
	}
	for _, answer := range b.Store.Sample(b.Context(), partitions, 1) {
		if answer.Err != nil {
			b.Fatal(answer.Err)
		}
	}
}

// Samples describes the samples of the default queue: minute or hour since 09:00, the steps covered, jobs enqueued and waiting, age of the first.
func (b *Bench) Samples(from, to time.Time, step time.Duration) string {
	b.Helper()
	all, err := b.Store.Samples(b.Context(), "default", from, to, step)
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

// RegisterDefault registers the default queue, as roles do before they use it.
func (b *Bench) RegisterDefault() {
	b.Helper()
	if _, err := b.Store.Partitions(b.Context(), "default"); err != nil {
		b.Fatal(err)
	}
}

// Between two entries the values of the first are shown. Minutes with a missed sample are not shown. An entry before the range has the values
// at its beginning.
func (s *Suite) TestSamplesShowIdleMinutesAndLeaveOutMissedOnes(t *testing.T) {
	s.onMinutes(t, func(b *Bench, at func(int) time.Time) {
		b.RegisterDefault()
		began := at(0)
		b.Want("before the first sample", b.Samples(began.Add(-time.Hour), began.Add(time.Hour), time.Minute), "")
		b.Sample()
		b.Enqueue(Job("a"), Job("b"))
		at(1)
		b.Sample()
		for minute := 2; minute < 5; minute++ { // nothing happens
			at(minute)
			b.Sample()
		}
		b.Enqueue(Job("c"))
		at(8) // three samples are missed
		b.Sample()
		now := at(9)
		b.Sample()
		b.Want("the samples", b.Samples(began.Add(-time.Hour), now, time.Minute), strings.Join([]string{
			"-1m0s +0 =0", "0s +2 =2", "1m0s +0 =2", "2m0s +0 =2", "3m0s +0 =2", "7m0s +1 =3 covers 4", "8m0s +0 =3",
		}, "\n"))
		b.Want("those from the third minute on", b.Samples(began.Add(time.Minute), began.Add(4*time.Minute), time.Minute), "2m0s +0 =2\n3m0s +0 =2\n4m0s +0 =2")
		b.Want("an empty range", b.Samples(now, now, time.Minute), "")
		b.Want("the future", b.Samples(now, now.Add(time.Hour), time.Minute), "")
		at(61)
		b.Sample()
		at(62)
		b.Sample()
		b.Want("by the hour", b.Samples(began.Add(-2*time.Hour), began.Add(2*time.Hour), time.Hour), "0s +3 =3")
		at(125)
		b.Enqueue(Job("d"))
		b.Sample()
		at(182)
		b.Sample()
		b.Want("and then", b.Samples(began.Add(-2*time.Hour), began.Add(4*time.Hour), time.Hour), "0s +3 =3\n2h0m0s +1 =4 covers 2")
	})
}

// A clock that stepped back adds nothing until it has caught up; one that was far ahead leaves no samples.
func (s *Suite) TestSamplesSurviveAClockThatWasWrong(t *testing.T) {
	s.onMinutes(t, func(b *Bench, at func(int) time.Time) {
		b.RegisterDefault()
		began := at(0)
		b.Sample()
		b.Enqueue(Job("a"))
		at(10)
		b.Sample()
		b.Enqueue(Job("b"))
		at(3)
		b.Sample()
		at(9)
		b.Sample()
		b.Want("while it is behind", b.Samples(began.Add(time.Minute), began.Add(time.Hour), time.Minute), "9m0s +1 =1 covers 10")
		at(11)
		b.Sample()
		b.Want("when it has caught up", b.Samples(began.Add(time.Minute), began.Add(time.Hour), time.Minute), "9m0s +1 =1 covers 10\n10m0s +1 =2")
		at(100_000)
		b.Sample()
		at(12)
		b.Sample()
		b.Enqueue(Job("c"))
		at(13)
		b.Sample()
		b.Want("after it was far ahead", b.Samples(began, began.Add(time.Hour), time.Minute), "11m0s +0 =2\n12m0s +1 =3")
	})
}

// The first of the waiting jobs grows older while nothing changes.
func (s *Suite) TestASampleSaysHowLongTheFirstJobHasWaited(t *testing.T) {
	s.onMinutes(t, func(b *Bench, at func(int) time.Time) {
		b.RegisterDefault()
		began := at(0)
		planned := began.Add(-10 * time.Second).UnixMilli()
		body := []byte("\x01\x93\xa1j\xc0\xcf") // an envelope: name j, no payload, planned
		for shift := 56; shift >= 0; shift -= 8 {
			body = append(body, byte(planned>>shift))
		}
		b.Sample()
		b.Enqueue(protocol.EnqueueItem{ID: "a", Body: body})
		at(1)
		b.Sample()
		at(3)
		b.Sample()
		b.Want("the samples", b.Samples(began.Add(-time.Minute), began.Add(time.Hour), time.Minute), "0s +1 =1 old 1m10s\n1m0s +0 =1 old 2m10s\n2m0s +0 =1 old 3m10s")
	})
}

// A hundred names are counted separately, the same ones within an hour; all others together.
func (s *Suite) TestAHundredNamesAreCounted(t *testing.T) {
	s.onMinutes(t, func(b *Bench, at func(int) time.Time) {
		b.RegisterDefault()
		began := at(0)
		b.Sample()
		b.Enqueue(Job("a"))
		b.Take("s", 1)
		number := int64(0)
		send := func(first, n int) {
			number++
			m := &protocol.Measured{Number: number}
			for i := range n {
				m.Names = append(m.Names, protocol.MeasuredName{Name: fmt.Sprintf("job-%03d", first+i), Done: 1})
			}
			b.Work("s", protocol.WorkCall{Measured: m})
		}
		send(0, 60)
		send(30, 60)
		at(1)
		b.Sample()
		send(80, 30) // ten are known, ten more have room
		send(0, 1)
		at(2)
		b.Sample()
		names := func(step time.Duration, i int) (named, others int64) {
			all, err := b.Store.Samples(b.Context(), "default", began.Add(-time.Hour), began.Add(2*time.Hour), step)
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
			b.Want(fmt.Sprint("sample ", i), fmt.Sprint(named, others), want)
		}
		at(61)
		b.Sample()
		send(200, 100) // a new hour
		at(62)
		b.Sample()
		named, others := names(time.Hour, 0)
		b.Want("the hour", fmt.Sprint(named, others), "141 10")
		named, others = names(time.Minute, 62)
		b.Want("the first minute after it", fmt.Sprint(named, others), "100 0")
	})
}

// onMinutes runs a test on a server whose clock can be set: at sets it to this many minutes after 09:00 and returns it.
func (s *Suite) onMinutes(t *testing.T, test func(b *Bench, at func(minutes int) time.Time)) {
	t.Helper()
	s.onServersWith(t, SettableClock, func(b *Bench) { test(b, b.Minutes()) })
}

// Minutes returns a function that sets the store's clock to a number of minutes after 09:00, and returns it.
func (b *Bench) Minutes() func(minutes int) time.Time {
	began := time.Date(2026, 3, 8, 9, 0, 0, 0, time.UTC)
	return func(minutes int) time.Time {
		now := began.Add(time.Duration(minutes)*time.Minute + 20*time.Second)
		b.SetClock(now)
		return now
	}
}

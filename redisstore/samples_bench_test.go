//go:build real

package redisstore

import (
	"fmt"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/redistest"
	"github.com/chimejobs/chime/internal/storesuite"
)

// BenchmarkSample takes a sample of a partition with changes in the minute, with a number of job names and a day of samples before it. It
// reports the server time of the script, by INFO commandstats: µs/call. If an hour has ended, µs/read is the additional time for reading
// its entries.
func BenchmarkSample(b *testing.B) {
	for _, names := range []int{0, 3, protocol.MaxMeasured} {
		b.Run(fmt.Sprint("names=", names), func(b *testing.B) { newSampleBench(b, names).run(false) })
		b.Run(fmt.Sprint("names=", names, "/hour"), func(b *testing.B) { newSampleBench(b, names).run(true) })
	}
}

// A sampleBench is a partition on a server, with the measurements of its workers in a minute.
type sampleBench struct {
	*testing.B
	store    *store
	client   *redis.Client
	keys     partitionKeys
	measured protocol.Measured
	number   int
}

func newSampleBench(b *testing.B, names int) *sampleBench {
	client := redistest.Start(b, redistest.Options{}).Client(&redis.Options{})
	b.Cleanup(func() { client.Close() })
	s := &sampleBench{B: b, client: client, store: newStore(client, Options{Namespace: "bench"})}
	s.keys = s.store.keys.partition(storesuite.DefaultPartition)
	if _, err := s.store.Partitions(b.Context(), storesuite.DefaultPartition.Queue); err != nil {
		b.Fatal(err)
	}
	m := &s.measured
	for i := range names {
		name := protocol.MeasuredName{Name: fmt.Sprintf("customers.report-%03d", i), Done: 40, Failed: int64(i % 3)}
		for bucket := range 4 {
			name.Run[(i+bucket)%len(name.Run)] = int64(10 + bucket)
		}
		m.Names = append(m.Names, name)
		m.Run.Merge(&name.Run)
		m.Wait.Merge(&name.Run)
		m.Lateness.Merge(&name.Run)
	}
	return s
}

// happen changes the partition: it adds a job and sends measurements.
func (s *sampleBench) happen() {
	s.number++
	answer := s.store.Enqueue(s.Context(), []protocol.EnqueueCall{{Partition: storesuite.DefaultPartition, Caller: "c", Number: int64(s.number), Items: []protocol.EnqueueItem{storesuite.Job(strconv.Itoa(s.number))}}})[0]
	if answer.Err != nil {
		s.Fatal(answer.Err)
	}
	session := strconv.Itoa(s.number)
	pipe := s.client.Pipeline()
	pipe.ZAdd(s.Context(), s.keys.sessions, redis.Z{Score: 9e12, Member: session})
	pipe.Del(s.Context(), s.keys.jobs, s.keys.ready)
	if _, err := pipe.Exec(s.Context()); err != nil {
		s.Fatal(err)
	}
	s.measured.Number = 1
	if len(s.measured.Names) > 0 {
		if err := s.store.run(s.Context(), s.client, s.store.measureCall(storesuite.DefaultPartition, session, &s.measured))[0].Err(); err != nil {
			s.Fatal(err)
		}
	}
	s.client.ZRem(s.Context(), s.keys.sessions, session)
}

// run takes the same sample again and again. With hour each ends an hour.
func (s *sampleBench) run(hour bool) {
	s.sample() // the first one has no changes
	s.happen()
	s.reset(hour)
	s.sample()
	s.fill()
	spent := map[string]float64{}
	for range s.N {
		s.happen()
		s.reset(hour)
		s.client.ConfigResetStat(s.Context())
		s.sample()
		for command, us := range s.spent() {
			spent[command] += us
		}
	}
	s.ReportMetric(0, "ns/op")
	s.ReportMetric(spent["evalsha"]/float64(s.N), "µs/call")
	if hour {
		s.ReportMetric(spent["xrevrange"]/float64(s.N), "µs/read")
	}
}

func (s *sampleBench) sample() {
	if answer := s.store.Sample(s.Context(), []protocol.Partition{storesuite.DefaultPartition}, 1)[0]; answer.Err != nil || !answer.Taken {
		s.Fatal(answer.Taken, answer.Err)
	}
}

// reset removes the last sample.
func (s *sampleBench) reset(hour bool) {
	last, _ := s.client.HGet(s.Context(), s.keys.sampled, "minute").Int64()
	minute := time.Minute.Milliseconds()
	pipe := s.client.Pipeline()
	pipe.XDel(s.Context(), s.keys.minutes, fmt.Sprint(last, "-0"))
	if s.number > 1 {
		pipe.Do(s.Context(), "XSETID", s.keys.minutes, fmt.Sprint(last-minute, "-0"))
	}
	pipe.Del(s.Context(), s.keys.hours)
	pipe.HSet(s.Context(), s.keys.sampled, "minute", last-minute)
	under := last - last%time.Hour.Milliseconds()
	if hour {
		under -= time.Hour.Milliseconds()
	}
	if s.number > 1 {
		pipe.HSet(s.Context(), s.keys.sampled, "hour", under)
	}
	if _, err := pipe.Exec(s.Context()); err != nil {
		s.Fatal(err)
	}
}

// fill copies the newest entry to all minutes of the day before it.
func (s *sampleBench) fill() {
	newest := s.client.XRevRangeN(s.Context(), s.keys.minutes, "+", "-", 1).Val()[0]
	var last int64
	_, _ = fmt.Sscanf(newest.ID, "%d-0", &last)
	pipe := s.client.Pipeline()
	pipe.Del(s.Context(), s.keys.minutes)
	for minutes := int64(protocol.KeptMinutes / time.Minute); minutes >= 0; minutes-- {
		pipe.XAdd(s.Context(), &redis.XAddArgs{Stream: s.keys.minutes, ID: fmt.Sprint(last-minutes*time.Minute.Milliseconds(), "-0"), Values: newest.Values})
	}
	if _, err := pipe.Exec(s.Context()); err != nil {
		s.Fatal(err)
	}
}

var commandSpent = regexp.MustCompile(`cmdstat_(\w+):calls=\d+,usec=(\d+)`)

// spent returns the µs of each command since the last reset; a script's are those of its commands too.
func (s *sampleBench) spent() map[string]float64 {
	all := map[string]float64{}
	for _, line := range commandSpent.FindAllStringSubmatch(s.client.Info(s.Context(), "commandstats").Val(), -1) {
		all[line[1]], _ = strconv.ParseFloat(line[2], 64)
	}
	return all
}

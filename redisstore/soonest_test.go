package redisstore

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
)

// Soonest passes over other delayed jobs, among them retries of occurrences, and over what lies behind the first ones of each queue.
func TestSoonestFindsTheFirstOccurrencesOfAllQueues(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		at := ago(-time.Hour)
		for i := range 12 {
			queue, name := []string{"default", "mail", "other"}[i%3], fmt.Sprintf("s%02d", i)
			answer := b.declareOn(queue, name, "skip", `{"job":"j"}`)
			if i < 11 {
				b.place(*answer.Owed, answer.Revision, 0, at.Add(time.Duration((i*7)%11)*time.Minute))
			}
		}
		for i := range 1200 { // more than two pages
			b.client.ZAdd(b.Context(), b.keys().due, redisZ(float64(at.Add(-time.Minute).UnixMilli()), fmt.Sprint("job", i)))
			b.client.ZAdd(b.Context(), b.keys().due, redisZ(float64(at.Add(-time.Minute).UnixMilli()), occurrenceID("s00", at.Add(-time.Duration(i+1)*time.Hour))))
		}
		coming, err := b.store.Soonest(b.Context(), 5)
		if err != nil {
			b.Fatal(err)
		}
		var got []string
		for _, c := range coming {
			minutes := "owed"
			if !c.At.IsZero() {
				minutes = fmt.Sprint(c.At.Sub(at).Minutes())
			}
			got = append(got, c.Name+":"+minutes)
		}
		b.want("soonest", strings.Join(got, " "), "s11:owed s00:0 s08:1 s05:2 s02:3 s10:4")
	})
}

// A queue without schedules may have any number of delayed jobs: none of them is read. Where there are schedules no more is read than is likely to be
// enough.
func TestSoonestReadsDelayedJobsOnlyWhereThereAreSchedules(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		at := ago(-time.Hour)
		for i := range 30 {
			answer := b.declareOn("mail", fmt.Sprintf("s%02d", i), "skip", `{"job":"j"}`)
			b.place(*answer.Owed, answer.Revision, 0, at.Add(time.Duration(i)*time.Minute))
		}
		for i := range 3000 {
			b.client.ZAdd(b.Context(), b.keys().due, redisZ(float64(at.UnixMilli()), fmt.Sprint("job", i)))
		}
		read := map[string]int{} // key → delayed jobs that were asked for
		counting := b.hooked(func(cmd redis.Cmder) error {
			if args := cmd.Args(); cmd.Name() == "zrange" && strings.HasSuffix(args[1].(string), ":due") {
				read[args[1].(string)] += int(args[3].(int64)-args[2].(int64)) + 1
			}
			return nil
		})
		coming, err := counting.Soonest(b.Context(), 5)
		if err != nil || len(coming) != 5 {
			b.Fatalf("found %d, %v; want 5", len(coming), err)
		}
		due := b.store.keys.partition(protocol.Partition{Queue: "mail"}).due
		if len(read) != 1 || read[due] > 10 {
			b.Errorf("for 5 schedules so many delayed jobs were read: %v; want 10 of mail at most", read)
		}
	})
}

// What a page of filters leaves out costs nothing or is bounded, and no name is passed over.
func TestNamesOfAPrefixAndOfAQueue(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		for i := range 300 {
			b.declareOn([]string{"default", "mail"}[i%2], fmt.Sprintf("%c ü%03d", 'a'+i%3, i), "skip", `{"job":"j"}`)
		}
		list := func(of protocol.NameRange) (all []string, calls int) {
			for {
				names, last, err := b.store.Names(b.Context(), of)
				if err != nil {
					b.Fatal(err)
				}
				if calls++; len(names) > of.Max {
					b.Errorf("%+v: %d names", of, len(names))
				}
				if all, of.After = append(all, names...), last; last == "" {
					return all, calls
				}
			}
		}
		for _, c := range []struct {
			of         protocol.NameRange
			n          int
			first, end string
		}{
			{protocol.NameRange{Max: 7}, 300, "a ü000", "c ü299"},
			{protocol.NameRange{Max: 7, Prefix: "b"}, 100, "b ü001", "b ü298"},
			{protocol.NameRange{Max: 7, Prefix: "b ü0"}, 33, "b ü001", "b ü097"},
			{protocol.NameRange{Max: 7, Prefix: "b", After: "a"}, 100, "b ü001", "b ü298"},
			{protocol.NameRange{Max: 7, Prefix: "b", After: "b ü094"}, 68, "b ü097", "b ü298"},
			{protocol.NameRange{Max: 7, Queue: "mail"}, 150, "a ü003", "c ü299"},
			{protocol.NameRange{Max: 7, Queue: "mail", Prefix: "c ü2"}, 17, "c ü203", "c ü299"},
		} {
			names, calls := list(c.of)
			if len(names) != c.n || names[0] != c.first || names[len(names)-1] != c.end || calls > c.n/7+2 {
				b.Errorf("%+v: %d names in %d calls, %v to %v; want %d, %s to %s", c.of, len(names), calls, names[0], names[len(names)-1], c.n, c.first, c.end)
			}
		}
		if names, calls := list(protocol.NameRange{Max: 7, Prefix: "d"}); len(names) != 0 || calls != 1 {
			b.Errorf("no such prefix: %v in %d calls", names, calls)
		}
	})
}

package redisstore

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

// Soonest skips other delayed jobs, among them retries of occurrences, and everything after the first ones of each queue.
func TestSoonestFindsTheFirstOccurrencesOfAllQueues(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		at := storesuite.Ago(-time.Hour)
		for i := range 12 {
			queue, name := []string{"default", "mail", "other"}[i%3], fmt.Sprintf("s%02d", i)
			answer := b.DeclareOn(queue, name, "skip", `{"job":"j"}`)
			if i < 11 {
				b.Place(*answer.Owed, answer.Revision, 0, at.Add(time.Duration((i*7)%11)*time.Minute))
			}
		}
		for i := range 1200 { // more than two pages
			b.client.ZAdd(b.Context(), b.keys().due, redisZ(float64(at.Add(-time.Minute).UnixMilli()), fmt.Sprint("job", i)))
			b.client.ZAdd(b.Context(), b.keys().due, redisZ(float64(at.Add(-time.Minute).UnixMilli()), storesuite.OccurrenceID("s00", at.Add(-time.Duration(i+1)*time.Hour))))
		}
		coming, err := b.store.Soonest(b.Context(), 5, nil)
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
		b.Want("soonest", strings.Join(got, " "), "s11:owed s00:0 s08:1 s05:2 s02:3 s10:4")
	})
}

// A queue without schedules may have any number of delayed jobs: none of them is read. With schedules only as many are read as are probably
// enough.
func TestSoonestReadsDelayedJobsOnlyWhereThereAreSchedules(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		at := storesuite.Ago(-time.Hour)
		for i := range 30 {
			answer := b.DeclareOn("mail", fmt.Sprintf("s%02d", i), "skip", `{"job":"j"}`)
			b.Place(*answer.Owed, answer.Revision, 0, at.Add(time.Duration(i)*time.Minute))
		}
		for i := range 3000 {
			b.client.ZAdd(b.Context(), b.keys().due, redisZ(float64(at.UnixMilli()), fmt.Sprint("job", i)))
		}
		read := map[string]int{} // key → delayed jobs that were requested
		counting := b.hooked(func(cmd redis.Cmder) error {
			if args := cmd.Args(); len(args) == 12 && args[1] == soonestScript.SHA {
				read[args[6].(string)] += args[10].(int)
			}
			return nil
		})
		coming, err := counting.Soonest(b.Context(), 5, nil)
		if err != nil || len(coming) != 5 {
			b.Fatalf("found %d, %v; want 5", len(coming), err)
		}
		if due := b.store.keys.partition(protocol.Partition{Queue: "mail"}).due; read[due] == 0 || read[due] > 10 {
			b.Errorf("for 5 schedules these delayed jobs were requested: %v; want 10 of mail at most", read)
		}
		k := b.keys()
		answer, err := list("", "", b.store.run(b.Context(), b.store.client, newCall(&soonestScript, []string{k.schedules, k.owed, k.state, k.due, k.cursors, k.jobs}, []any{0, 10, 10}).readOnly())[0])
		if err != nil || answer.number(0) != -1 {
			b.Errorf("of the queue without schedules: %v, %v; want that none was read", answer, err)
		}
	})
}

// Of many partitions few delayed jobs are read, and more of those only that may have an earlier occurrence. The schedules are those that come first of all.
func TestSoonestReadsOnWhereAnEarlierOccurrenceMayBe(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		at, random := storesuite.Ago(-time.Hour), rand.New(rand.NewPCG(1, 2))
		var all []protocol.Coming
		for i := range 60 {
			queue, name := []string{"early", "a", "b", "c", "d"}[i%5], fmt.Sprintf("s%02d", i)
			minute := random.IntN(500)
			if queue == "early" {
				minute /= 25 // all of its occurrences are among the first ones
			}
			due := at.Add(time.Duration(minute) * time.Minute)
			answer := b.DeclareOn(queue, name, "skip", `{"job":"j"}`)
			b.Place(*answer.Owed, answer.Revision, 0, due)
			all = append(all, protocol.Coming{Name: name, At: due})
		}
		names := func(all []protocol.Coming) string {
			var names []string
			for _, c := range all {
				names = append(names, c.Name)
			}
			return strings.Join(names, " ")
		}
		read := map[string]int{} // key → delayed jobs that were requested
		counting := b.hooked(func(cmd redis.Cmder) error {
			if args := cmd.Args(); len(args) == 12 && args[1] == soonestScript.SHA {
				read[args[6].(string)] += args[10].(int)
			}
			return nil
		})
		for _, n := range []int{1, 3, 10, 20, 55, 60, 100} {
			clear(read)
			coming, err := counting.Soonest(b.Context(), n, nil)
			if err != nil {
				b.Fatal(err)
			}
			b.Want(fmt.Sprint("the first ", n), names(coming), names(earliest(slices.Clone(all), n)))
			for _, queue := range []string{"a", "b", "c", "d"} {
				if due := b.store.keys.partition(protocol.Partition{Queue: queue}).due; n <= 3 && read[due] > 4 || n == 10 && read[due] > 20 {
					b.Errorf("for %d schedules of another queue %d delayed jobs of %s were requested, want 4 at most, or 20 for ten", n, read[due], queue)
				}
			}
		}
	})
}

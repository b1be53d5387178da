package redisstore

import (
	"fmt"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
	"github.com/chimejobs/chime/internal/wire"
)

// A search for retries among delayed occurrences, or for jobs with an error, reads no definition, and reads only the results
// again. Skipped jobs still count as read.
func TestAPageReadsOfJobsThatItIsNotToHaveTheirBodiesOnly(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		at := float64(storesuite.Ago(-1e9).UnixMilli())
		for i := range 100 {
			name := fmt.Sprintf("s%02d", i)
			b.client.HSet(b.Context(), b.keys().schedules, name, `{"job":"j","state":"live"}`)
			b.client.ZAdd(b.Context(), b.keys().due, redisZ(at+float64(i), name+"@2026-03-08T09:00:00Z"))
		}
		retry := string((&wire.Envelope{Name: "resize", Failures: 1, LastError: "dial tcp: refused"}).Encode())
		other := string((&wire.Envelope{Name: "report", Failures: 1, LastError: "no such file"}).Encode())
		for id, body := range map[string]string{"r1": retry, "r2": other} {
			b.client.HSet(b.Context(), b.keys().jobs, id, body)
			b.client.ZAdd(b.Context(), b.keys().due, redisZ(at, id))
		}
		b.crashed(1, "s07@2026-03-08T09:00:00Z")
		for _, c := range []struct {
			call        protocol.JobPageCall
			want        string
			definitions int // that are read
		}{
			{protocol.JobPageCall{Tried: true}, "r1 r2 s07@2026-03-08T09:00:00Z", 1},
			{protocol.JobPageCall{Tried: true, Name: "report"}, "r2 s07@2026-03-08T09:00:00Z", 1},
			{protocol.JobPageCall{Tried: true, Error: "tcp: refused"}, "r1 s07@2026-03-08T09:00:00Z", 1},
		} {
			definitions, again := 0, 0
			counting := b.hooked(func(cmd redis.Cmder) error {
				switch args := cmd.Args(); {
				case cmd.Name() == "hmget" && args[1] == b.keys().schedules:
					definitions += len(args) - 2
				case cmd.Name() == "zmscore" && args[1] == b.keys().due:
					again += len(args) - 2
				}
				return nil
			})
			c.call.Queue, c.call.State, c.call.Limit = "default", protocol.JobDelayed, 500
			page, err := counting.PageJobs(b.Context(), c.call)
			if err != nil {
				b.Fatal(err)
			}
			var ids []string
			for _, job := range page.Jobs {
				if !job.Passed {
					ids = append(ids, job.ID)
				}
			}
			what := fmt.Sprintf("%+v", c.call)
			b.Want(what, strings.Join(ids, " "), c.want)
			if len(page.Jobs) != 102 || definitions != c.definitions || again != len(ids) {
				b.Errorf("%s: read %d jobs, %d definitions, and again %d jobs; want 102, %d and %d", what, len(page.Jobs), definitions, again, c.definitions, len(ids))
			}
		}
	})
}

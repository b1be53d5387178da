//go:build real && unix

package real_test

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/childproc"
	"github.com/chimejobs/chime/internal/faultproxy"
	"github.com/chimejobs/chime/internal/redistest"
)

// starvedJobs is how many handlers compute on one processor at the same time. A handler checks its ctx only when it gets the processor, so it
// notices the end of ctx some of Go's 10 ms time slices late. A lapsed session is reaped at the earliest after a third of its TTL, two seconds here.
const starvedJobs = 6

// starvedProcess is a worker on one processor. All its handlers compute for p.Work and check their ctx at intervals.
func starvedProcess(c *childproc.Child) error {
	var p program
	if err := c.Config(&p); err != nil {
		return err
	}
	runtime.GOMAXPROCS(1)
	worker := chime.NewWorker(p.store(), chime.WorkerOptions{Concurrency: starvedJobs, SessionTTL: 2 * quickTTL, Logger: errorsOnly})
	worker.Handle("beat", func(ctx context.Context, job *chime.Job) error {
		c.Say("began %s %d", job.ID, time.Now().UnixNano())
		for end := time.Now().Add(p.Work); time.Now().Before(end); {
			if ctx.Err() != nil {
				c.Say("cut %s %d", job.ID, time.Now().UnixNano())
				return context.Cause(ctx)
			}
		}
		c.Say("ended %s %d", job.ID, time.Now().UnixNano())
		return nil
	})
	return run(c, worker)
}

// Handlers leave almost no processor time for the rest of their worker, and the server does not answer it any more, so its session lapses. The
// worker notices this before any other worker gets its jobs: a job begins elsewhere only after the ctx of its handler here has ended.
func TestAStarvedWorkerStopsItsHandlersBeforeOthersHaveTheirJobs(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	client := server.Client(nil)
	proxy := faultproxy.Start(t, server.Addr())
	p := program{Addr: server.Addr(), Work: time.Second}
	first := childproc.Start(t, "starved", program{Addr: proxy.Addr(), Work: time.Hour}) // its handlers end with their ctx only
	first.Await("ready")
	enqueuer := chime.NewEnqueuer(p.store(), chime.EnqueuerOptions{})
	for i := range starvedJobs {
		if _, err := enqueuer.Enqueue(t.Context(), "beat", nil, chime.ID(fmt.Sprint("job", i))); err != nil {
			t.Fatal(err)
		}
	}
	until(t, "all jobs have begun, in any order", func() bool { return len(spansOf(t, first)) == starvedJobs })
	proxy.Stall()
	second := childproc.Start(t, "starved", p)
	second.Await("ready")
	until(t, "the jobs are done", func() bool { return client.HLen(t.Context(), "chime:{default}:jobs").Val() == 0 })
	if n := countsOf(t, client, "default").Done; n != starvedJobs {
		t.Errorf("%d jobs were done, want %d", n, starvedJobs)
	}
	here, elsewhere := spansOf(t, first), spansOf(t, second)
	if len(here) != starvedJobs || len(elsewhere) != starvedJobs {
		t.Fatalf("%d jobs began on the first worker and %d on the second, want %d on each", len(here), len(elsewhere), starvedJobs)
	}
	for id, spans := range elsewhere {
		for _, a := range spans {
			for _, b := range here[id] {
				if a.began < b.ended && b.began < a.ended {
					t.Errorf("%s ran on both workers for %v", id, time.Duration(min(a.ended, b.ended)-max(a.began, b.began)))
				}
			}
		}
	}
}

// A span is the time in which a handler had a job, in Unix ns.
type span struct{ began, ended int64 }

// spansOf returns the spans of each job in a process.
func spansOf(t *testing.T, p *childproc.Process) map[string][]span {
	spans := map[string][]span{}
	for _, event := range p.Events() {
		switch what, id, at := startedOrEnded(t, event); what {
		case "began":
			spans[id] = append(spans[id], span{at, math.MaxInt64})
		case "cut", "ended":
			spans[id][len(spans[id])-1].ended = at
		}
	}
	return spans
}

// startedOrEnded parses an event of starvedProcess. It returns nothing for other events.
func startedOrEnded(t *testing.T, event string) (what, id string, at int64) {
	words := strings.Fields(event)
	if len(words) != 3 {
		return "", "", 0
	}
	at, err := strconv.ParseInt(words[2], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return words[0], words[1], at
}

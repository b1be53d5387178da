package story

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/protocol"
)

// A program is a process of the company.
type program struct {
	host string
	pid  int
}

var programs = []program{{"app-2", 812}, {"app-1", 4711}, {"app-3", 90}}

// A desk is the store as seen by a program on another machine, with the identity of that program.
type desk struct {
	protocol.Store
	program
}

func (d desk) Protocol() protocol.Store { return d }

func (d desk) AnnounceWorker(ctx context.Context, worker protocol.WorkerEntry) error {
	worker.Host, worker.PID, worker.Version = d.host, d.pid, "v2.14.0"
	return d.Store.AnnounceWorker(ctx, worker)
}

func (d desk) candidate(name string) string {
	return fmt.Sprintf("%s:%d:%s", d.host, d.pid, name[strings.LastIndexByte(name, ':')+1:])
}

func (d desk) Lead(ctx context.Context, candidate string, ttl time.Duration) (protocol.Leadership, error) {
	return d.Store.Lead(ctx, d.candidate(candidate), ttl)
}

func (d desk) Resign(ctx context.Context, candidate string) error {
	return d.Store.Resign(ctx, d.candidate(candidate))
}

func (s *player) scheduler(p program) *chime.Scheduler {
	return chime.NewScheduler(desk{s.store.Protocol(), p}, chime.SchedulerOptions{Logger: quiet})
}

// The failures and their times.
var (
	mailDown  = span{time.Date(2026, 10, 31, 17, 0, 0, 0, time.UTC), time.Date(2026, 10, 31, 23, 0, 0, 0, time.UTC)}
	crmDown   = span{time.Date(2026, 11, 12, 0, 30, 0, 0, time.UTC), time.Date(2026, 11, 12, 5, 30, 0, 0, time.UTC)}
	diskMoves = At.Add(-42 * time.Minute)
)

type span struct{ from, to time.Time }

func (s span) contains(instant time.Time) bool {
	return !instant.Before(s.from) && instant.Before(s.to)
}

func mailIsDown(instant time.Time) bool { return mailDown.contains(instant) }

// worker has the handlers that every program has.
func (s *player) worker(p program) *chime.Worker {
	w := chime.NewWorker(desk{s.store.Protocol(), p}, chime.WorkerOptions{
		Queues: map[string]int{"default": 3, "mail": 2, "media": 1, "exports": 1}, Concurrency: 20, DrainTimeout: time.Millisecond, SessionTTL: time.Minute, Logger: quiet,
	})
	takes := func(base time.Duration) { time.Sleep(base + time.Duration(rand.Int64N(int64(base)))) } // fake time
	w.Handle("report", func(_ context.Context, job *chime.Job) error {
		takes(800 * time.Millisecond)
		job.Note(fmt.Sprintf("%d orders", 180+rand.IntN(60)))
		return nil
	})
	w.Handle("sync-crm", func(context.Context, *chime.Job) error {
		takes(3 * time.Second)
		if crmDown.contains(time.Now()) {
			return errors.New("crm: GET /v3/contacts: 503 Service Unavailable")
		}
		return nil
	})
	w.Handle("send-invoices", func(_ context.Context, job *chime.Job) error {
		takes(2 * time.Second)
		if mailIsDown(time.Now()) {
			return errors.New("smtp: dial tcp 10.0.0.7:587: connect: connection refused")
		}
		job.Note("412 invoices")
		return nil
	})
	w.Handle("export", func(context.Context, *chime.Job) error { takes(40 * time.Second); return nil })
	for _, name := range []string{"heartbeat", "cleanup", "backup", "digest", "newsletter", "migrate"} {
		w.Handle(name, func(context.Context, *chime.Job) error { takes(200 * time.Millisecond); return nil })
	}
	var resized atomic.Int64
	w.Handle("resize", func(context.Context, *chime.Job) error {
		takes(150 * time.Millisecond)
		if resized.Add(1)%60 == 0 {
			return fmt.Errorf("storage: dial tcp 10.0.3.%d:9000: connect: connection refused", 4+rand.IntN(4))
		}
		return nil
	})
	w.Handle("send", func(_ context.Context, job *chime.Job) error {
		takes(90 * time.Millisecond)
		var args letter
		if err := job.Decode(&args); err != nil {
			return err
		}
		if args.Number%73 == 0 {
			return chime.Discard(fmt.Errorf("smtp: 550 5.1.1 %q: mailbox unavailable", args.To))
		}
		return nil
	})
	w.Handle("thumbnail", func(context.Context, *chime.Job) error { takes(400 * time.Millisecond); return nil })
	w.Handle("transcode", func(ctx context.Context, job *chime.Job) error {
		begun := time.Now()
		for step := time.NewTicker(20 * time.Second); ; { // for 70 minutes
			part := time.Since(begun).Seconds() / (70 * 60)
			if err := job.Progress(map[string]any{"percent": int(100 * part), "step": "second pass"}); err != nil {
				return err
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-step.C:
			}
		}
	}, chime.Timeout(2*time.Hour))
	w.Handle("import", func(ctx context.Context, job *chime.Job) error {
		<-ctx.Done() // it was still running at the end of the story
		return ctx.Err()
	}, chime.Timeout(time.Hour))
	return w
}

// A letter has the arguments of send.
type letter struct {
	Number   int    `json:"number"`
	To       string `json:"to"`
	Template string `json:"template"`
}

// A picture has the arguments of resize and thumbnail.
type picture struct {
	Number int `json:"number"`
	Width  int `json:"width"`
}

func mustJSON(v any) json.RawMessage {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return text
}

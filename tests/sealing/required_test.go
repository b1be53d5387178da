package sealing_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/seal"
	"github.com/chimejobs/chime/internal/wire"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/redisstore"
	"github.com/chimejobs/chime/tests/internal/fixture"
)

// forged are the arguments of somebody who may write to Redis and has no key.
var forged = args{"forged"}

// Somebody who may write to Redis adds jobs in clear in every way that later ends in a new body: in none of them does a program seal them, and so run them.
func TestNothingInClearBecomesSealedWhereItIsRequired(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		ctx, client := t.Context(), f.Server.Client()
		plain := redisstore.New(client, redisstore.Options{ParkedRetention: time.Hour, Logger: fixture.Quiet()})
		store := chime.WithCodec(plain, ring(t, 1), chime.CodecOptions{RequireSealed: true})
		follows := chime.Item{Name: "job", Args: forged}
		add := func(id string, options ...chime.EnqueueOption) {
			t.Helper()
			_, err := chime.NewEnqueuer(plain, chime.EnqueuerOptions{Logger: fixture.Quiet()}).Enqueue(ctx, "job", forged, append(options, chime.ID(id))...)
			if err != nil {
				t.Fatal(err)
			}
		}
		add("dies", chime.OnDeath(follows))
		add("expired", chime.Expire(time.Millisecond), chime.OnDeath(follows))
		add("alone")
		for id, inside := range map[string]func(d *wire.Details, body []byte){
			"done":   func(d *wire.Details, body []byte) { d.OnDone = body },
			"nested": func(d *wire.Details, body []byte) { nested(t, d.OnDone, &d.OnDone, body) },
		} {
			enqueue(t, store, "job", id, chime.OnDone(chime.Item{Name: "other", Args: secret, Options: []chime.EnqueueOption{chime.OnDone(chime.Item{Name: "other", Args: secret})}}))
			e, err := wire.DecodeEnvelope([]byte(client.HGet(ctx, "chime:{default}:jobs", id).Val()))
			if err != nil {
				t.Fatal(err)
			}
			payload, _ := chime.Encode(forged)
			body := wire.Envelope{Name: "job", Payload: payload}
			inside(e.Details, body.Encode())
			client.HSet(ctx, "chime:{default}:jobs", id, e.Encode())
		}
		payload, _ := chime.Encode(secret)
		before, result := wire.Envelope{Name: "job", Payload: payload}, wire.Result{Name: "job", Value: payload}
		for id, inside := range map[string]func(p *wire.Prior){
			"prior":  func(p *wire.Prior) { p.Body = before.Encode() },
			"result": func(p *wire.Prior) { p.Result = result.Encode() },
		} {
			enqueue(t, store, "job", id)
			after := wire.Envelope{Name: "job", Payload: payload, Details: &wire.Details{Prior: &wire.Prior{Queue: "default", ID: "before", Body: before.Encode(), Result: result.Encode()}}}
			if err := seal.New(nil, ring(t, 1), seal.Options{Namespace: "chime"}).Job("default", id, &after); err != nil {
				t.Fatal(err)
			}
			inside(after.Details.Prior)
			client.HSet(ctx, "chime:{default}:jobs", id, after.Encode())
		}
		for _, id := range []string{"done", "nested", "prior", "result"} {
			if info := get(t, store, id); info.Sealed != "" || info.Decode(new(args)) != nil {
				t.Errorf("%s is not shown: %v, sealed with %q", id, info, info.Sealed)
			}
		}
		rule := recurrence.Recurrence{Frequency: recurrence.Hour, Interval: 1, StartTime: time.Now().Add(time.Minute)}
		if _, err := chime.NewSchedules(plain).Put(ctx, "s", rule, chime.JobName("job"), chime.Args(forged), chime.OnDeath(follows)); err != nil {
			t.Fatal(err)
		}
		if _, err := chime.NewSchedules(plain).Put(ctx, "alone", rule, chime.JobName("job"), chime.Args(forged)); err != nil {
			t.Fatal(err)
		}
		enqueue(t, store, "job", "sealed")
		ran := 0
		run := func(_ context.Context, job *chime.Job) error {
			var a args
			if err := job.Decode(&a); err != nil || a != secret {
				t.Errorf("%s ran with %+v, %v", job.ID, a, err)
			}
			ran++
			return nil
		}
		worker := chime.NewWorker(store, chime.WorkerOptions{Logger: fixture.Quiet()})
		worker.Handle("job", run)
		worker.Handle("other", run)
		stop := fixture.Start(worker)
		fixture.Pass(20 * time.Minute)
		schedules := chime.NewSchedules(store)
		for _, name := range []string{"s", "alone"} {
			if _, err := schedules.Trigger(ctx, name); !errors.Is(err, chime.ErrSealed) {
				t.Errorf("Trigger returned %v, want ErrSealed", err)
			}
			if _, err := schedules.Backfill(ctx, name, time.Now().Add(-time.Hour), time.Now()); !errors.Is(err, chime.ErrSealed) {
				t.Errorf("Backfill returned %v, want ErrSealed", err)
			}
			if s, err := schedules.Get(ctx, name); err != nil || s.Decode(new(args)) != nil {
				t.Errorf("the schedule in clear is not shown: %v, %v", s, err)
			}
		}
		fixture.Pass(10 * time.Hour)
		if dead := f.Stats().Dead; dead < 5 {
			t.Errorf("%d jobs are dead, want the jobs in clear", dead)
		}
		if _, err := chime.NewJobs(store).Requeue(ctx, chime.JobFilter{Queue: "default", State: chime.JobDead}, nil); err != nil {
			t.Error(err)
		}
		fixture.Pass(30 * time.Minute)
		_ = stop()
		if ran != 1 {
			t.Errorf("%d jobs ran, want the sealed one alone", ran)
		}
		if info := get(t, store, "alone"); info.Decode(new(args)) != nil || info.Sealed != "" {
			t.Errorf("the job in clear is not shown: %v, sealed with %q", info, info.Sealed)
		}
	})
}

// nested replaces what follows the job that follows.
func nested(t *testing.T, of []byte, to *[]byte, body []byte) {
	e, err := wire.DecodeEnvelope(of)
	if err != nil || e.Details == nil || len(e.Details.OnDone) == 0 {
		t.Fatalf("%+v, %v", e, err)
	}
	e.Details.OnDone = body
	*to = e.Encode()
}

// Arguments in clear beside the sealed ones of a schedule are not its arguments.
func TestArgumentsBesideSealedOnesDoNotCount(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		ctx, client, store := t.Context(), f.Server.Client(), sealed(f, 1)
		if _, err := chime.NewSchedules(store).Put(ctx, "s", recurrence.Recurrence{Frequency: recurrence.Hour, Interval: 1}, chime.JobName("job")); err != nil {
			t.Fatal(err)
		}
		key := "chime:{default}:schedules"
		text := client.HGet(ctx, key, "s").Val()
		client.HSet(ctx, key, "s", text[:len(text)-1]+`,"args":{"Secret":"forged"}}`)
		if s, err := chime.NewSchedules(store).Get(ctx, "s"); err != nil || s.Sealed != "" || len(s.Payload) > 0 {
			t.Errorf("the schedule has the arguments %q, %v, sealed with %q", s.Payload, err, s.Sealed)
		}
	})
}

// A store that gets a second codec has that one alone: two of them would see each other's data as changed.
func TestASecondCodecReplacesTheFirst(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		twice := chime.WithCodec(chime.WithCodec(f.Server.Store(), ring(t, 2), chime.CodecOptions{RequireSealed: true}), ring(t, 1), chime.CodecOptions{})
		rule := recurrence.Recurrence{Frequency: recurrence.Hour, Interval: 1}
		var first int64
		for range 3 {
			s, err := chime.NewSchedules(twice).Put(t.Context(), "s", rule, chime.JobName("done"), chime.Args(secret))
			if err != nil {
				t.Fatal(err)
			}
			if first == 0 {
				first = s.Revision
			}
			if s.Revision != first {
				t.Errorf("the revision is %d, want %d", s.Revision, first)
			}
		}
		enqueue(t, twice, "done", "a")
		if info := get(t, sealed(f, 1), "a"); info.Sealed != "" || info.Decode(new(args)) != nil {
			t.Errorf("the job is %v, sealed with %q; want the second codec's key", info, info.Sealed)
		}
		noCanary(f, "twice")
	})
}

// An occurrence has no body until it dies or is requeued: then a program with the key opens its schedule's arguments and seals them for the job.
func TestAnOccurrenceThatDiesParkedIsSealed(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		f.Server.Client().AddHook(sniffer{t})
		short := redisstore.New(f.Server.Client(), redisstore.Options{ParkedRetention: 2 * time.Hour, Logger: fixture.Quiet()})
		store := chime.WithCodec(short, ring(t, 1), chime.CodecOptions{RequireSealed: true})
		once := recurrence.Recurrence{StartTime: time.Now().Add(time.Minute)}
		for name, options := range map[string][]chime.PutOption{"followed": {chime.OnDeath(chime.Item{Name: "after", Args: secret})}, "alone": nil} {
			if _, err := chime.NewSchedules(store).Put(t.Context(), name, once, append(options, chime.JobName("late"), chime.Args(secret))...); err != nil {
				t.Fatal(err)
			}
		}
		var mu sync.Mutex // of got: handlers run at the same time
		got := map[string]int{}
		handler := func(_ context.Context, job *chime.Job) error {
			var own, dead args
			if err := job.Decode(&own); err != nil || own != secret || job.Death != nil && (job.Death.Decode(&dead) != nil || dead != secret) {
				t.Errorf("%s has %+v, and the dead job %+v, %v", job.ID, own, dead, err)
			}
			mu.Lock()
			got[job.Name]++
			mu.Unlock()
			return nil
		}
		run := func(d time.Duration, names ...string) {
			worker := chime.NewWorker(store, chime.WorkerOptions{Logger: fixture.Quiet()})
			for _, name := range names {
				worker.Handle(name, handler)
			}
			stop := fixture.Start(worker)
			fixture.Pass(d)
			_ = stop()
		}
		run(3*time.Hour, "after")
		if got["after"] != 1 || f.Stats().Dead != 2 {
			t.Errorf("%v ran, %d are dead; want what follows, and both occurrences", got, f.Stats().Dead)
		}
		noCanary(f, "dead")
		if n, err := chime.NewJobs(store).Requeue(t.Context(), chime.JobFilter{Queue: "default", State: chime.JobDead}, nil); err != nil || n.Changed != 2 {
			t.Errorf("requeued %+v, %v", n, err)
		}
		noCanary(f, "requeued")
		run(time.Minute, "after", "late")
		if got["late"] != 2 {
			t.Errorf("%v ran, want both occurrences", got)
		}
	})
}

// Bodies that come to the store in clear, although an Enqueuer seals them before, are sealed there.
func TestTheStoreSealsWhatTheCallerHasNot(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		f.Server.Client().AddHook(sniffer{t})
		store := sealed(f, 1).Protocol()
		if _, err := store.Partitions(t.Context(), "default"); err != nil {
			t.Fatal(err)
		}
		payload, err := chime.Encode(secret)
		if err != nil {
			t.Fatal(err)
		}
		body := wire.Envelope{Name: "job", Payload: payload}
		here := protocol.Partition{Queue: "default"}
		answer := store.Enqueue(t.Context(), []protocol.EnqueueCall{{Partition: here, Caller: "test", Number: 1, Items: []protocol.EnqueueItem{{ID: "a", In: time.Hour, Body: body.Encode()}}}})[0]
		if answer.Err != nil {
			t.Fatal(answer.Err)
		}
		noCanary(f, "enqueued")
		if _, err := store.Replace(t.Context(), protocol.ReplaceCall{Partition: here, Item: protocol.EnqueueItem{ID: "a", In: 2 * time.Hour, Body: body.Encode()}}); err != nil {
			t.Fatal(err)
		}
		noCanary(f, "replaced")
		if info := get(t, sealed(f, 1), "a"); info.Sealed != "" || info.Decode(new(args)) != nil {
			t.Errorf("the job is %v, sealed with %q", info, info.Sealed)
		}
	})
}

// A program without the key leaves the long arguments of a dead job out of the job that follows it, which runs nevertheless.
func TestADeathWithoutArgumentsIsNoJobInClear(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		short := redisstore.New(f.Server.Client(), redisstore.Options{ParkedRetention: 2 * time.Hour, Logger: fixture.Quiet()})
		store := chime.WithCodec(short, ring(t, 1), chime.CodecOptions{RequireSealed: true})
		_, err := chime.NewEnqueuer(store, chime.EnqueuerOptions{}).Enqueue(t.Context(), "nobody", strings.Repeat("x", 70<<10), chime.OnDeath(chime.Item{Name: "after", Args: secret}))
		if err != nil {
			t.Fatal(err)
		}
		worker := chime.NewWorker(short, chime.WorkerOptions{Logger: fixture.Quiet()})
		worker.Handle("other", func(context.Context, *chime.Job) error { return nil })
		stop := fixture.Start(worker)
		fixture.Pass(3 * time.Hour)
		_ = stop()
		ran := 0
		worker = chime.NewWorker(store, chime.WorkerOptions{Logger: fixture.Quiet()})
		worker.Handle("after", func(_ context.Context, job *chime.Job) error {
			if ran++; job.Death == nil || len(job.Death.Payload) > 0 {
				t.Errorf("the dead job is %v", job.Death)
			}
			return nil
		})
		stop = fixture.Start(worker)
		fixture.Pass(20 * time.Minute)
		_ = stop()
		if ran != 1 {
			t.Errorf("what follows ran %d times, want 1", ran)
		}
	})
}

package sealing_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/wire"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/redisstore"
	"github.com/chimejobs/chime/tests/internal/fixture"
)

// Somebody who may write to Redis copies sealed data to other places. Each of these opens nowhere but where it was sealed.
func TestSealedDataOpenAtNoOtherPlace(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		ctx, client, store := t.Context(), f.Server.Client(), sealed(f, 1)
		enqueue(t, store, "job", "a", chime.OnDeath(chime.Item{Name: "job", Args: secret}))
		enqueue(t, store, "job", "b")
		enqueue(t, store, "job", "a#dead-7")
		enqueue(t, store, "job", "a", chime.Queue("other"))
		other := chime.WithCodec(redisstore.New(client, redisstore.Options{Namespace: "second"}), ring(t, 1), chime.CodecOptions{})
		enqueue(t, other, "job", "a")
		body := func(key, id string) []byte {
			stored, err := client.HGet(ctx, key, id).Bytes()
			if err != nil {
				t.Errorf("%s %s: %v", key, id, err)
			}
			return stored
		}
		here := body("chime:{default}:jobs", "a")
		envelope, err := wire.DecodeEnvelope(here)
		if err != nil || envelope.Sealed == nil {
			t.Fatalf("the stored job is %+v, %v", envelope, err)
		}
		inside, err := wire.DecodeEnvelope(envelope.Details.OnDeath)
		if err != nil || inside.Sealed == nil {
			t.Fatalf("the stored OnDeath is %+v, %v", inside, err)
		}
		with := func(args []byte) []byte {
			changed := envelope
			changed.Details, changed.Sealed = nil, args
			return changed.Encode()
		}
		jobs := map[chime.Store]*chime.Jobs{store: chime.NewJobs(store), other: chime.NewJobs(other)}
		for what, move := range map[string]struct {
			store          chime.Store
			key, queue, id string
			body           []byte
			opens          bool
		}{
			"nothing":                       {store, "chime:{default}:jobs", "default", "a", here, true},
			"without what follows":          {store, "chime:{default}:jobs", "default", "a", with(envelope.Sealed), true},
			"another job":                   {store, "chime:{default}:jobs", "default", "b", with(envelope.Sealed), false},
			"another queue":                 {store, "chime:{other}:jobs", "other", "a", with(envelope.Sealed), false},
			"another namespace":             {other, "second:{default}:jobs", "default", "a", with(envelope.Sealed), false},
			"the arguments of what follows": {store, "chime:{default}:jobs", "default", "a", with(inside.Sealed), false},
			"as what follows it":            {store, "chime:{default}:jobs", "default", "a#dead-7", with(envelope.Sealed), false},
			"a changed byte":                {store, "chime:{default}:jobs", "default", "a", with(append(bytes.Clone(envelope.Sealed[:len(envelope.Sealed)-1]), envelope.Sealed[len(envelope.Sealed)-1]^1)), false},
		} {
			before := body(move.key, move.id)
			client.HSet(ctx, move.key, move.id, move.body)
			info, err := jobs[move.store].Get(ctx, move.queue, move.id)
			if err != nil || (info.Sealed == "") != move.opens || (info.Decode(new(args)) == nil) != move.opens {
				t.Errorf("%s: %v, %v, sealed with %q", what, info, err, info.Sealed)
			}
			client.HSet(ctx, move.key, move.id, before)
		}
	})
}

// The texts of one attempt are not those of another one, and arguments of one schedule are not those of another one.
func TestSealedDataOfSchedulesOpenAtNoOtherPlace(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		ctx, client, store := t.Context(), f.Server.Client(), sealed(f, 1)
		schedules := chime.NewSchedules(store)
		for _, name := range []string{"s1", "s2"} {
			if _, err := schedules.Put(ctx, name, recurrence.Recurrence{Frequency: recurrence.Minute, Interval: 1}, chime.JobName("done"), chime.Args(secret)); err != nil {
				t.Fatal(err)
			}
		}
		worker, _ := counting(t, store, map[string]int{}, "done")
		stop := fixture.Start(worker)
		fixture.Pass(5 * time.Minute)
		_ = stop()
		first := client.HGet(ctx, "chime:{default}:schedules", "s1").Val()
		client.HSet(ctx, "chime:{default}:schedules", "s2", first)
		client.HSet(ctx, "chime:{default}:history", "s2", client.HGet(ctx, "chime:{default}:history", "s1").Val())
		if s, err := schedules.Get(ctx, "s2"); err != nil || s.Sealed != "k1" {
			t.Errorf("arguments of another schedule: %+v, %v", s, err)
		}
		seen := 0
		for run, err := range schedules.Runs(ctx, "s2") {
			if err != nil {
				t.Fatal(err)
			}
			if seen++; run.Note != "sealed with key k1" {
				t.Errorf("a note of another schedule: %q", run.Note)
			}
		}
		if seen == 0 {
			t.Error("there are no runs")
		}
	})
}

func TestResultsAndProgressAreSealedForTheirJob(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		store := sealed(f, 1)
		enqueue(t, store, "wait", "a", chime.Keep(time.Hour))
		worker, _ := counting(t, store, map[string]int{}, "wait")
		stop := fixture.Start(worker)
		fixture.Pass(5 * time.Second)
		for what, store := range map[string]chime.Store{"with another key": sealed(f, 2), "without a codec": f.Server.Store()} {
			if info := get(t, store, "a"); info.State != chime.JobRunning || info.Progress != nil || info.Sealed != "k1" {
				t.Errorf("%s: the running job is %v, progress %q", what, info, info.Progress)
			}
		}
		fixture.Pass(10 * time.Second)
		for what, store := range map[string]chime.Store{"with another key": sealed(f, 2), "without a codec": f.Server.Store()} {
			if info := get(t, store, "a"); info.State != chime.JobDone || info.Result != nil || info.Sealed != "k1" || info.Note != "sealed with key k1" {
				t.Errorf("%s: the result is %v, note %q", what, info, info.Note)
			}
			if err := chime.NewJobs(store).Wait(t.Context(), "default", "a", new(args)); !errors.Is(err, chime.ErrSealed) {
				t.Errorf("%s: Wait returned %v", what, err)
			}
		}
		_ = stop()
	})
}

// A brokenCodec returns what the test sets.
type brokenCodec struct {
	sealed []byte
	err    error
}

func (c *brokenCodec) Seal([]byte, []byte) ([]byte, error) { return c.sealed, c.err }
func (c *brokenCodec) Open([]byte, []byte) ([]byte, error) { return nil, errors.New("never") }
func (c *brokenCodec) Key([]byte) string                   { return "" }

func TestACodecThatFailsSendsNothing(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		for what, codec := range map[string]*brokenCodec{
			"an error": {err: errors.New("no connection")}, "nothing": {}, "too much": {sealed: make([]byte, 5000)},
		} {
			store := chime.WithCodec(f.Server.Store(), codec, chime.CodecOptions{})
			began := time.Now()
			_, err := chime.NewEnqueuer(store, chime.EnqueuerOptions{Logger: fixture.Quiet()}).Enqueue(t.Context(), "job", secret)
			if invalid := (*chime.InvalidError)(nil); !errors.As(err, &invalid) || invalid.Field != "codec" || invalid.Value == "" || invalid.Limit == "" || !errors.Is(err, codec.err) && codec.err != nil || time.Since(began) > 0 {
				t.Errorf("%s: %v after %v", what, err, time.Since(began))
			}
			if leaks(fmt.Sprint(err)) {
				t.Errorf("%s: the error has the arguments: %v", what, err)
			}
			_, err = chime.NewSchedules(store).Put(t.Context(), "s", recurrence.Recurrence{Frequency: recurrence.Hour, Interval: 1}, chime.JobName("job"), chime.Args(secret))
			if !errors.Is(err, &chime.InvalidError{Field: "codec"}) {
				t.Errorf("%s: Put returned %v", what, err)
			}
		}
		noCanary(f, "refused")
		if lines := strings.Join(dump(f), "\n"); strings.Contains(lines, ":jobs ") || strings.Contains(lines, ":schedules ") {
			t.Errorf("something was stored:\n%s", lines)
		}
	})
}

func TestArgsIDNeedsAKeyOfIDs(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		send := func(store chime.Store) (string, error) {
			receipt, err := chime.NewEnqueuer(store, chime.EnqueuerOptions{Logger: fixture.Quiet()}).Enqueue(t.Context(), "job", secret, chime.ArgsID())
			return receipt.ID, err
		}
		plain, err := send(f.Server.Store())
		if err != nil {
			t.Fatal(err)
		}
		first, err := send(sealed(f, 1))
		if err != nil || first == plain || len(first) != len(plain) {
			t.Errorf("the ID is %q, %v; the one without a key is %q", first, err, plain)
		}
		if rotated, err := send(sealed(f, 2, 1)); err != nil || rotated != first {
			t.Errorf("after a rotation the ID is %q, %v; want %q", rotated, err, first)
		}
		without := chime.WithCodec(f.Server.Store(), struct{ chime.Codec }{ring(t, 1)}, chime.CodecOptions{})
		if _, err := send(without); !errors.Is(err, &chime.InvalidError{Field: "option"}) || !strings.Contains(fmt.Sprint(err), "ArgsID") {
			t.Errorf("without a key of IDs: %v", err)
		}
	})
}

func TestAMissingCodecIsRefused(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		for what, codec := range map[string]chime.Codec{"nil": nil, "a nil pointer": (*brokenCodec)(nil)} {
			store := chime.WithCodec(f.Server.Store(), codec, chime.CodecOptions{})
			if _, err := chime.NewEnqueuer(store, chime.EnqueuerOptions{}).Enqueue(t.Context(), "job", secret); !errors.Is(err, &chime.InvalidError{Field: "store"}) {
				t.Errorf("%s: %v", what, err)
			}
			if err := chime.NewWorker(store, chime.WorkerOptions{}).Run(context.Background()); !errors.Is(err, &chime.InvalidError{Field: "store"}) {
				t.Errorf("%s: %v", what, err)
			}
		}
	})
}

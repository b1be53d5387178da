package scheduler_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/tests/internal/fixture"
)

// A store that lost everything has another epoch. Deleting a schedule on purpose does not change the epoch, even if it was the only one. If the
// program has found the deletion before the loss, the schedule is not declared again, although the store has lost the deletion too.
func TestSchedulesAreDeclaredAgainOnlyWhenTheStoreHasLostThem(t *testing.T) {
	onBench(t, func(t *testing.T, b *bench) {
		stop := b.start(func(s *chime.Scheduler) {
			b.declaring("minutely", everyMinute)(s)
			b.declaring("deleted", everyMinute)(s)
		})
		fixture.Pass(time.Minute)
		schedules := chime.NewSchedules(b.store)
		if err := schedules.Delete(t.Context(), "deleted"); err != nil {
			t.Fatal(err)
		}
		fixture.Pass(20 * time.Minute)
		if names := b.names(); len(names) != 1 || len(b.written.all()) != 2 {
			t.Errorf("a deleted schedule came back: %v are stored, %v were written", names, b.written.all())
		}
		b.lose()
		b.Add("other", 0, "job") // an enqueuer writes to the store first
		fixture.Pass(15 * time.Second)
		if names, s := b.names(), b.stored("minutely"); len(b.written.all()) != 3 || len(names) != 1 || !s.Waiting {
			t.Errorf("15 s after the store was lost it has %v, want only the schedule that was not deleted, placed", names)
		}
		fixture.Pass(20 * time.Minute)
		if written := b.written.all(); len(written) != 3 {
			t.Errorf("declared: %v; want each once, and the lost ones again", written)
		}
		if _, err := schedules.Put(t.Context(), "deleted", quarterHours, chime.JobName("work")); err != nil {
			t.Fatal(err)
		}
		fixture.Pass(20 * time.Minute)
		b.lose()
		fixture.Pass(15 * time.Second)
		if written := b.written.all(); len(b.names()) != 2 || len(written) != 6 {
			t.Errorf("declared: %v; want both again, because the deleted one was created again", written)
		}
		stop()
	})
}

// names returns the stored schedules.
func (b *bench) names() []string {
	b.T.Helper()
	names, last, err := b.raw.Names(b.T.Context(), protocol.NameRange{})
	if err != nil || last != "" {
		b.T.Fatalf("some names, and then those behind %q: %v", last, err)
	}
	return names
}

// The store returns to an earlier state, as after a failover or a restart from an older file, and its epoch does not change. Declared schedules
// that the store lost are declared again. Schedules that were changed or deleted since then are left alone.
func TestSchedulesThatTheStoreForgotAreDeclaredAgain(t *testing.T) {
	onBench(t, func(t *testing.T, b *bench) {
		stop := b.start(func(s *chime.Scheduler) {
			for _, name := range []string{"absent", "older", "changed", "deleted", "moved"} {
				b.declaring(name, everyMinute)(s)
			}
		})
		fixture.Pass(time.Minute)
		schedules := chime.NewSchedules(b.store)
		if _, err := schedules.Put(t.Context(), "changed", quarterHours, chime.JobName("work")); err != nil {
			t.Fatal(err)
		}
		if _, err := schedules.Put(t.Context(), "moved", everyMinute, chime.JobName("work"), chime.Queue("mail")); err != nil {
			t.Fatal(err)
		}
		if err := schedules.Delete(t.Context(), "deleted"); err != nil {
			t.Fatal(err)
		}
		b.forget("absent")
		b.rewrite("older", `"frequency":"minute"`, `"frequency":"hour"`)
		b.rewrite("older", `"revision":9`, `"revision":1`)
		began := len(b.written.all())
		fixture.Pass(10 * time.Minute)
		got := slices.Sorted(slices.Values(b.written.all()[began:]))
		if !slices.Equal(got, []string{"absent", "older"}) {
			t.Errorf("declared again: %v, want those that the store lost or has in an older form", got)
		}
		if !b.stored("absent").Waiting {
			t.Error("no occurrence of the lost schedule is placed")
		}
		fixture.Pass(time.Hour)
		if written := b.written.all(); len(written) != began+2 {
			t.Errorf("declared more than once: %v", written[began:])
		}
		stop()
	})
}

// forget deletes the server's data of a schedule of the queue "default", as if they were written after the restored state.
func (b *bench) forget(name string) {
	b.T.Helper()
	client, ctx, partition := b.Server.Client(), b.T.Context(), "chime:{default}:"
	members, err := client.ZRange(ctx, "chime:schedules", 0, -1).Result()
	if err != nil {
		b.T.Fatal(err)
	}
	for _, member := range members {
		if strings.HasPrefix(member, name+"\t") {
			client.ZRem(ctx, "chime:schedules", member)
		}
	}
	for _, key := range []string{"schedules", "cursors", "open", "last", "history", "owners"} {
		client.HDel(ctx, partition+key, name)
	}
	client.ZRem(ctx, partition+"owed", name)
	due, err := client.ZRange(ctx, partition+"due", 0, -1).Result()
	if err != nil {
		b.T.Fatal(err)
	}
	for _, id := range due {
		if strings.HasPrefix(id, name+"@") {
			client.ZRem(ctx, partition+"due", id)
		}
	}
	if s := b.stored(name); s.Name != "" {
		b.T.Fatalf("%s is still stored: %+v", name, s)
	}
}

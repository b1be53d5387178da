package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/long"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/tests/internal/fixture"
	"github.com/chimejobs/chime/tests/internal/hookstore"
)

// failing returns a fault of one action, before it is executed.
func failing(action string, err error) hookstore.Fault {
	return func(called string, _ protocol.Partition) (before, after error) {
		if called == action {
			return err, nil
		}
		return nil, nil
	}
}

func TestRunEndsOnAnUnfitStoreAndWaitsForAnUnavailableOne(t *testing.T) {
	onBench(t, func(t *testing.T, b *bench) {
		b.store.SetFault(failing("check", fmt.Errorf("fault: %w", chime.ErrUnfit)))
		if err := chime.NewScheduler(b.store, chime.SchedulerOptions{Logger: fixture.Quiet()}).Run(t.Context()); !errors.Is(err, chime.ErrUnfit) {
			t.Errorf("got %v, want ErrUnfit", err)
		}
		b.store.SetFault(failing("check", errors.New("fault: connection refused")))
		began := time.Now()
		stop := b.start(b.declaring("minutely", everyMinute))
		fixture.Pass(10 * time.Minute)
		b.store.SetFault(nil)
		if calls := b.store.Count("check"); calls > 1200 { // at most one or two a second
			t.Errorf("%d checks in 10 minutes", calls)
		}
		fixture.Pass(6 * time.Second)
		if b.store.Count("declare") == 0 || b.store.Count("place") == 0 {
			t.Error("nothing was declared after the store came back")
		}
		stop()
		if d := time.Since(began); d > 11*time.Minute {
			t.Errorf("the scheduler stopped after %v, want at most 11m", d)
		}
	})
}

// A refusing store refuses the declarations of some names.
type refusing struct {
	*hookstore.Store
	prefix string
}

func (s refusing) Protocol() protocol.Store { return s }

func (s refusing) Declare(ctx context.Context, declarations []protocol.Declaration) []protocol.DeclareAnswer {
	answers := make([]protocol.DeclareAnswer, len(declarations))
	var accepted []protocol.Declaration
	var at []int
	for i, d := range declarations {
		if strings.HasPrefix(d.Name, s.prefix) {
			answers[i].Err = errors.New("refused")
			continue
		}
		accepted, at = append(accepted, d), append(at, i)
	}
	for i, answer := range s.Store.Declare(ctx, accepted) {
		answers[at[i]] = answer
	}
	return answers
}

func TestAScheduleThatTheStoreRefusesDelaysNoOther(t *testing.T) {
	onForgetfulBench(t, func(t *testing.T, b *bench) {
		stop := b.startOn(refusing{b.store, "refused"}, chime.SchedulerOptions{}, func(s *chime.Scheduler) {
			for i := range 120 { // more than fit into one call
				b.declaring(fmt.Sprint("refused", i), everyMinute)(s)
			}
			for i := range 350 {
				b.declaring(fmt.Sprint("s", i), everyMinute)(s)
			}
		})
		created, minutes := time.Now(), long.Seeds(5, 10)
		fixture.Pass(time.Duration(minutes)*time.Minute + time.Second)
		if id, _ := b.leader(); id == "" {
			t.Error("no scheduler leads")
		}
		for i := range 350 {
			b.wantRuns(fmt.Sprint("s", i), everyMinute, created)
		}
		if n := b.store.RoundTrips("declare"); n > 30*minutes {
			t.Errorf("%d calls to declare in %d minutes", n, minutes)
		}
		stop()
	})
}

// Every call fails for ten minutes. The scheduler logs that and makes few calls. Afterwards it continues within seconds.
func TestAnOutageSlowsASchedulerDown(t *testing.T) {
	onForgetfulBench(t, func(t *testing.T, b *bench) {
		var log fixture.LogBuffer
		created := time.Now()
		stop := b.startOn(b.store, chime.SchedulerOptions{Logger: log.Logger()}, b.declaring("minutely", everyMinute))
		fixture.Pass(5*time.Minute + 30*time.Second)
		for _, fault := range []hookstore.Fault{
			func(string, protocol.Partition) (before, after error) { return errors.New("connection refused"), nil },
			func(string, protocol.Partition) (before, after error) { return nil, errors.New("connection reset") },
		} {
			calls := func() (n int) {
				for _, c := range b.store.Counts() {
					n += c
				}
				return n
			}
			before, logged := calls(), log.Count("a call to the store failed")
			b.store.SetFault(fault)
			fixture.Pass(10 * time.Minute)
			if n := calls() - before; n > 1500 {
				t.Errorf("%d calls in an outage of ten minutes, want at most a few a second", n)
			}
			if n := log.Count("a call to the store failed") - logged; n < 9 || n > 12 {
				t.Errorf("the outage was logged %d times in ten minutes, want once a minute", n)
			}
			b.store.SetFault(nil)
			fixture.Pass(9 * time.Second)
			if id, _ := b.leader(); id == "" {
				t.Error("no scheduler leads 9 s after the end of the outage")
			}
			if s := b.stored("minutely"); !s.Since.IsZero() {
				t.Errorf("the schedule is still owed since %v", s.Since)
			}
			fixture.Pass(5*time.Minute - 9*time.Second)
		}
		stop()
		if n := log.Count("store answers again"); n != 2 {
			t.Errorf("the end of an outage was logged %d times, want twice", n)
		}
		// While every call failed nothing was placed, so one late run covers that gap. Lost answers lost nothing.
		if s := b.stored("minutely"); int(s.Started+s.Missed) != int(time.Since(created)/time.Minute)+1 {
			t.Errorf("%d ran and %d were missed of %v", s.Started, s.Missed, time.Since(created))
		}
	})
}

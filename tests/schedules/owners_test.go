package schedules_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/long"
	"github.com/chimejobs/chime/tests/internal/fixture"
)

// Owners are two programs, in several versions, on one store.
type owners struct {
	*fixture.Fixture
	schedules *chime.Schedules
	log       *fixture.LogBuffer
}

// start runs a scheduler of a version of a program.
func (o *owners) start(owner string, version int64, args any, names ...string) (stop func()) {
	o.T.Helper()
	s := chime.NewScheduler(o.Server.Store(), chime.SchedulerOptions{Owner: owner, Version: version, Prune: version > 0, Logger: slog.New(slog.NewTextHandler(o.log, nil))})
	for _, name := range names {
		if err := s.Schedule(name, fixture.Minutely, chime.JobName("j"), chime.Args(args)); err != nil {
			o.T.Fatal(err)
		}
	}
	stop = o.RunScheduler(s)
	fixture.Pass(30 * time.Second)
	return stop
}

// is compares all schedules with a text: name, owner, version and arguments of each.
func (o *owners) is(when, want string) {
	o.T.Helper()
	var got []string
	for s, err := range o.schedules.List(o.T.Context(), chime.ScheduleFilter{}) {
		if err != nil {
			o.T.Fatal(err)
		}
		var args string
		_ = s.Decode(&args)
		got = append(got, fmt.Sprintf("%s:%s%d:%s", s.Name, s.Owner, s.Version, args))
	}
	if strings.Join(got, " ") != want {
		o.T.Errorf("%s: got  %s\nwant %s", when, strings.Join(got, " "), want)
	}
}

func onOwners(t *testing.T, scenario func(o *owners)) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		scenario(&owners{Fixture: f, schedules: chime.NewSchedules(f.Server.Store()), log: new(fixture.LogBuffer)})
	})
}

// A schedule moves from one program to another. Then an old process of the first starts again and takes it back. When the next version of the first
// prunes it, the second program, which has run all the time, declares it again.
func TestAPruningDeletesNothingOfAnotherRunningOwner(t *testing.T) {
	for _, args := range []string{"same", "other"} {
		onOwners(t, func(o *owners) {
			stopOld := o.start("billing", 1, args, "invoices", "x")
			stopOther := o.start("invoicing", 1, "same", "invoices")
			stopOld()
			stopOld = o.start("billing", 1, args, "invoices", "x")
			o.is("taken back", "invoices:billing1:"+args+" x:billing1:"+args)
			stopNew := o.start("billing", 2, args, "x")
			fixture.Pass(time.Hour)
			o.is("an hour after the pruning", "invoices:invoicing1:same x:billing2:"+args) // and not by the old process, which also runs
			if err := o.schedules.Delete(o.T.Context(), "invoices"); err != nil {
				o.T.Error(err)
			}
			fixture.Pass(time.Duration(long.Seeds(2, 6)) * time.Hour)
			o.is("deleted manually", "x:billing2:"+args)
			stopOld()
			stopNew()
			stopOther()
		})
	}
}

// An old version that starts again takes over nothing: no schedule that another program has taken over in the meantime, none that was pruned, and
// none that was put manually. This is logged once.
func TestASucceededVersionTakesNothingOver(t *testing.T) {
	onOwners(t, func(o *owners) {
		names := []string{"dropped", "invoices", "put", "x"}
		o.start("billing", 1, "old", names...)()
		stopOther := o.start("invoicing", 1, "other", "dropped", "invoices")
		o.start("billing", 2, "new", "x")()
		if _, err := o.schedules.Put(o.T.Context(), "put", fixture.Minutely, chime.JobName("j"), chime.Args("manual")); err != nil {
			o.T.Fatal(err)
		}
		want := "dropped:invoicing1:other invoices:invoicing1:other put:0:manual x:billing2:new"
		o.is("before", want)
		stop := o.start("billing", 1, "old", names...)
		fixture.Pass(time.Hour)
		o.is("the old version runs again", want)
		if n := o.log.Count("event=schedule.outdated"); n != 1 {
			o.T.Errorf("%d log lines that a higher version has declared, want one", n)
		}
		stopOther()
		stopOther = o.start("invoicing", 2, "other", "invoices")
		fixture.Pass(time.Hour)
		o.is("pruned by the other", "invoices:invoicing2:other put:0:manual x:billing2:new")
		stop()
		stop = o.start("billing", 1, "old", names...)
		fixture.Pass(time.Hour)
		o.is("the old version runs once more", "invoices:invoicing2:other put:0:manual x:billing2:new")
		stop()
		back := o.start("billing", 3, "back", "dropped", "invoices", "x") // the old build, deployed again: it takes over like any owner
		o.is("deployed again", "dropped:billing3:back invoices:billing3:back put:0:manual x:billing3:back")
		back()
		stopOther()
	})
}

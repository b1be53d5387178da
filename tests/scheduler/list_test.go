package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/tests/internal/fixture"
	"github.com/chimejobs/chime/tests/internal/hookstore"
)

// shortPages is a store that returns three schedule names at a time.
type shortPages struct{ protocol.Store }

func (s shortPages) Protocol() protocol.Store { return s }

func (s shortPages) Names(ctx context.Context, of protocol.NameRange) (names []string, last string, err error) {
	of.Max = 3
	return s.Store.Names(ctx, of)
}

func TestListReturnsAllSchedulesInOrder(t *testing.T) {
	onIdleBench(t, func(t *testing.T, b *bench) {
		b.store = hookstore.New(t, shortPages{b.raw})
		schedules := chime.NewSchedules(b.store)
		put := func(name string, options ...chime.PutOption) {
			t.Helper()
			if _, err := schedules.Put(t.Context(), name, quarterHours, options...); err != nil {
				t.Fatal(err)
			}
		}
		names := []string{}
		for i := range 40 {
			names = append(names, fmt.Sprintf("s%02d", i))
		}
		for _, name := range append(slices.Clone(names), "deleted1", "deleted2") {
			put(name)
		}
		b.rewrite("s07", `"version":1`, `"version":9`)
		b.store.SetFault(func(action string, _ protocol.Partition) (before, after error) {
			if action == "find" { // two are deleted after their names were read
				for _, name := range []string{"deleted1", "deleted2"} {
					if _, err := b.raw.Remove(t.Context(), protocol.Removal{Name: name}); err != nil {
						t.Error(err)
					}
				}
			}
			return nil, nil
		})
		list := func(filter chime.ScheduleFilter) (got []string) {
			for schedule, err := range schedules.List(t.Context(), filter) {
				got = append(got, schedule.Name)
				if (err != nil) != (schedule.Name == "s07") {
					t.Errorf("%s: %v", schedule.Name, err)
				}
			}
			return got
		}
		if got := list(chime.ScheduleFilter{}); !slices.Equal(got, names) {
			t.Errorf("got %v, want %v", got, names)
		}
		b.store.SetFault(nil)
		for range schedules.List(t.Context(), chime.ScheduleFilter{}) {
			break
		}
		if err := errors.Join(schedules.Pause(t.Context(), "s11", chime.Note{Text: "why"}), schedules.Pause(t.Context(), "s23")); err != nil {
			t.Fatal(err)
		}
		put("s30", chime.Queue("mail"))
		put("s25", chime.Group("acme"))
		put("s26", chime.Group("acme.eu"))
		for _, c := range []struct {
			filter chime.ScheduleFilter
			want   string
		}{
			{chime.ScheduleFilter{Prefix: "s1"}, "s10 s11 s12 s13 s14 s15 s16 s17 s18 s19"},
			{chime.ScheduleFilter{Prefix: "s1", After: "s17"}, "s18 s19"},
			{chime.ScheduleFilter{After: "s38x"}, "s39"},
			{chime.ScheduleFilter{After: "s39"}, ""},
			{chime.ScheduleFilter{Queue: "mail"}, "s30"},
			{chime.ScheduleFilter{State: chime.StatePaused}, "s07 s11 s23"}, // the state of s07 is unknown
			{chime.ScheduleFilter{State: chime.StatePaused, Prefix: "s1"}, "s11"},
			{chime.ScheduleFilter{State: chime.StateCompleted, Prefix: "s1"}, ""},
			{chime.ScheduleFilter{Owner: "nobody"}, ""},
			{chime.ScheduleFilter{Group: "acme"}, "s07 s25"}, // the group of s07 is unknown
			{chime.ScheduleFilter{Group: "acme", Prefix: "s2", Limit: 1}, "s25"},
			{chime.ScheduleFilter{Failing: true, After: "s07"}, ""},
		} {
			if got := strings.Join(list(c.filter), " "); got != c.want {
				t.Errorf("%+v: got %v, want %s", c.filter, got, c.want)
			}
		}
		b.store.SetFault(func(string, protocol.Partition) (before, after error) { return hookstore.ErrReset, nil })
		errs := 0
		for schedule, err := range schedules.List(t.Context(), chime.ScheduleFilter{}) {
			if errs++; schedule != nil || !errors.Is(err, hookstore.ErrReset) {
				t.Errorf("got %v, %v; want only the error of the store", schedule, err)
			}
		}
		if errs != 1 {
			t.Errorf("%d errors, want one", errs)
		}
	})
}

func TestAListEndsAtItsLimit(t *testing.T) {
	fixture.Run(t, func(t *testing.T, f *fixture.Fixture) {
		schedules := chime.NewSchedules(f.Server.Store())
		var all, paused []string
		for i := range 230 {
			name := fmt.Sprintf("acme/%03d", i)
			all = append(all, name)
			options := []chime.PutOption{chime.JobName("report")}
			if i%50 == 7 {
				paused = append(paused, name)
				options = append(options, chime.Paused(chime.Note{}))
			}
			if _, err := schedules.Put(t.Context(), name, recurrence.Recurrence{Cron: "0 9 * * *"}, options...); err != nil {
				t.Fatal(err)
			}
		}
		for _, c := range []struct {
			filter chime.ScheduleFilter
			want   []string
		}{
			{chime.ScheduleFilter{Limit: 1}, all[:1]},
			{chime.ScheduleFilter{Limit: 101}, all[:101]},
			{chime.ScheduleFilter{Limit: 230}, all},
			{chime.ScheduleFilter{Limit: 500}, all},
			{chime.ScheduleFilter{}, all},
			{chime.ScheduleFilter{Limit: 10, After: "acme/224"}, all[225:]},
			{chime.ScheduleFilter{Limit: 3, State: chime.StatePaused}, paused[:3]},
			{chime.ScheduleFilter{Limit: 20, State: chime.StatePaused}, paused},
			{chime.ScheduleFilter{Limit: 4, State: chime.StatePaused, After: paused[1]}, paused[2:]},
		} {
			c.filter.Prefix = "acme/"
			var got []string
			for s, err := range schedules.List(t.Context(), c.filter) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, s.Name)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%+v: got %d, %q; want %d, %q", c.filter, len(got), got, len(c.want), c.want)
			}
		}
	})
}

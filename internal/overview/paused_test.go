package overview_test

import (
	"slices"
	"testing"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/overview"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/redisstore/embedded"
)

// A schedule that was paused here remains visible until it is live again or deleted. It is shown once, after the next schedules.
func TestAScheduleThatIsKeptInSightIsShownWhileItIsPaused(t *testing.T) {
	onEmbedded(t, func(t *testing.T, server *embedded.Server) {
		schedules := chime.NewSchedules(server.Store())
		for _, name := range []string{"a", "b", "c"} {
			if _, err := schedules.Put(t.Context(), name, recurrence.Recurrence{Cron: "0 3 * * *"}); err != nil {
				t.Fatal(err)
			}
		}
		p := overview.NewPoller(server.Store())
		next := func() (names []string) {
			t.Helper()
			s, err := p.Poll(t.Context(), overview.Hour)
			if err != nil {
				t.Fatal(err)
			}
			for _, of := range s.Next {
				names = append(names, of.Name+" "+string(of.State))
			}
			return names
		}
		want := func(when string, want ...string) {
			t.Helper()
			if got := next(); !slices.Equal(got, want) {
				t.Errorf("%s: %q, want %q", when, got, want)
			}
		}
		done := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		done(schedules.Pause(t.Context(), "a"))
		want("a is paused elsewhere", "b live", "c live")
		done(schedules.Pause(t.Context(), "b"))
		p.Keep("b")
		p.Keep("b")
		want("b is paused here", "c live", "b paused")
		want("still", "c live", "b paused")
		done(schedules.Resume(t.Context(), "b"))
		want("b is resumed", "b live", "c live")
		done(schedules.Pause(t.Context(), "b"))
		want("b is paused elsewhere later", "c live")
		p.Keep("b")
		done(schedules.Delete(t.Context(), "b"))
		want("b is deleted", "c live")
	})
}

package command

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/chimejobs/chime/cmd/chime/internal/output"
	"github.com/chimejobs/chime/cmd/chime/internal/top"
	"github.com/chimejobs/chime/internal/overview"
)

func (s *session) top() *cobra.Command {
	every := top.DefaultEvery
	c := &cobra.Command{
		Use: "top", Short: "Watch queues, schedules, jobs and workers live", GroupID: groupStore, Args: cobra.NoArgs,
		Long: "top shows what is on the queues, what runs next and now, what failed in the last hour, and the workers, and reads it anew every\n" +
			"two seconds. What a reading costs the store does not grow with the jobs and schedules that there are.\n\n" +
			"Charts reach an hour back; key w shows 25 hours, 92 days, and the 15 minutes that the screen itself has seen. A gap is where nothing is\n" +
			"known. Above the charts stands which scheduler leads, and its term: how often another one began to.\n\n" +
			"Key ? lists the keys. Those that change something ask first; under --read-only there are none.",
		RunE: func(c *cobra.Command, _ []string) error {
			switch {
			case every < top.MinEvery || every > top.MaxEvery:
				return usage("--every %s: want %s to %s", every, top.MinEvery, top.MaxEvery)
			case output.Format(s.format) != output.Table:
				return usage("--output %s: top shows a screen; chime queues list -o %[1]s prints", s.format)
			case !s.AsksAt || !s.ShowsOn:
				return usage("top needs a terminal; chime queues list prints")
			}
			return s.watch(c, every)
		},
	}
	c.Flags().DurationVar(&every, "every", every, "how often the store is read, 1s to 1m")
	return c
}

// watch shows the screen.
func (s *session) watch(c *cobra.Command, every time.Duration) error {
	store, err := s.store()
	if err != nil {
		return err
	}
	poller := overview.NewPoller(store)
	model := top.New(top.Options{
		Address: s.opened.Address, Every: every, ReadOnly: s.readOnly, Plain: s.plain, Zones: s.zones(), Now: s.Now(),
		Poll: func(window overview.Window) (*overview.Snapshot, error) {
			ctx, cancel := s.limited(c.Context())
			defer cancel()
			return poller.Poll(ctx, window)
		},
		Act: func(action top.Action) (string, error) {
			ctx, cancel := s.limited(c.Context())
			defer cancel()
			if action.Verb == top.Pause && action.Panel == overview.Next {
				defer func() {
					for _, target := range action.Targets {
						poller.Keep(target.Name)
					}
				}()
			}
			return top.Act(ctx, store, s.Env("USER"), action)
		},
	})
	return top.Run(c.Context(), model, s.In, s.Out)
}

// zones are those that times can be shown in: the one that is wanted, this machine's and UTC.
func (s *session) zones() []*time.Location {
	zones := []*time.Location{s.location}
	for _, zone := range []*time.Location{s.Local, time.UTC} {
		known := false
		for _, z := range zones {
			known = known || z.String() == zone.String()
		}
		if !known {
			zones = append(zones, zone)
		}
	}
	return zones
}

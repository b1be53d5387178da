package command

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/cmd/chime/internal/output"
	"github.com/chimejobs/chime/cmd/chime/internal/top"
	"github.com/chimejobs/chime/internal/overview"
	"github.com/chimejobs/chime/internal/rights"
)

func (s *session) top() *cobra.Command {
	every := top.DefaultEvery
	c := &cobra.Command{
		Use: "top", Short: "Watch queues, schedules, jobs and workers live", GroupID: groupStore, Args: cobra.NoArgs,
		Long: "top shows the queues, what runs next and now, what failed in the last hour, the workers, and with key b the batches in\n" +
			"progress. It reads the store every two seconds. The cost of a poll does not grow with the number of jobs and schedules.\n\n" +
			"Charts reach an hour back; key w shows 25 hours, 92 days, and the 15 minutes that the screen itself has seen. A gap means that nothing is\n" +
			"known. The first line shows which scheduler leads, and its term, which grows when another scheduler begins to lead.\n\n" +
			"Key ? lists the keys. Keys that change something ask first; --read-only disables them.",
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
		Groups: func(queue string) (chime.GroupSum, error) {
			ctx, cancel := s.limited(c.Context())
			defer cancel()
			return countGroups(ctx, chime.NewQueues(store), queue, topCounts)
		},
		Batches: func() (batches []*chime.BatchInfo, err error) {
			ctx, cancel := s.limited(c.Context())
			defer cancel()
			for batch, err := range chime.NewBatches(store).List(ctx, chime.BatchFilter{InProgress: true}) {
				switch {
				case rights.Missing(err):
					return nil, nil
				case err != nil:
					return nil, err
				}
				if batches = append(batches, batch); len(batches) == top.MaxBatches {
					break
				}
			}
			return batches, nil
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

// zones returns the zones for times: the zone of the flags, this machine's and UTC.
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

package command

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/cmd/chime/internal/output"
	"github.com/chimejobs/chime/internal/format"
	"github.com/chimejobs/chime/internal/plain"
	"github.com/chimejobs/chime/internal/times"
)

func (s *session) batches() *cobra.Command {
	c := &cobra.Command{Use: "batches", Short: "Show, cancel, seal, recount and delete batches of jobs", GroupID: groupStore, Args: cobra.NoArgs}
	c.AddCommand(s.batchesList(), s.batchesShow(), s.batchesCancel(), s.batchesSeal(), s.batchesRecount(), s.batchesDelete())
	return c
}

func (s *session) batchesList() *cobra.Command {
	limit, state, filter := 50, "", chime.BatchFilter{}
	c := &cobra.Command{
		Use: "list", Short: "List batches, the newest first", Args: cobra.NoArgs,
		Long: "List batches, the newest first. LEFT counts the members that have not ended, CANCELLED those that were cancelled, deleted or purged. The numbers may\n" +
			"be a second old while a batch runs.",
		Example: "  chime batches list --in-progress\n  chime batches list --state ended --prefix import/",
		RunE: func(c *cobra.Command, _ []string) error {
			if limit < 1 || limit > maxList {
				return usage("--limit %d: want 1 to %d", limit, maxList)
			}
			filter.State = chime.BatchState(state)
			store, err := s.store()
			if err != nil {
				return err
			}
			ctx, cancel := s.limited(c.Context())
			defer cancel()
			var batches []*chime.BatchInfo
			next := ""
			for batch, err := range chime.NewBatches(store).List(ctx, filter) {
				if err != nil {
					return err
				}
				if len(batches) == limit {
					next = batches[limit-1].Next
					break
				}
				batches = append(batches, batch)
			}
			if len(batches) == 0 {
				s.noteNothing(ctx, "no batch matches")
			}
			list := s.batchList(batches, s.Now())
			list.Next = next
			return s.printer().List(list)
		},
	}
	c.Flags().IntVar(&limit, "limit", limit, "batches to list, 1 to 10000")
	c.Flags().StringVar(&state, "state", "", "only batches in this `state`: open, running, done, ended or cancelled")
	var states []string
	for _, state := range chime.BatchStates() {
		states = append(states, string(state))
	}
	complete(c, "state", states...)
	c.Flags().StringVar(&filter.Prefix, "prefix", "", "only batches whose IDs begin with this `text`")
	c.Flags().BoolVar(&filter.InProgress, "in-progress", false, "only batches that have not ended, or whose dead members were requeued")
	c.Flags().StringVar(&filter.After, "after", "", "continue after the previous list, whose last line has the value")
	return c
}

// batchList formats batches as a table.
func (s *session) batchList(batches []*chime.BatchInfo, now time.Time) output.List {
	right := func(title string) output.Column { return output.Column{Title: title, Right: true} }
	list := output.List{Header: s.timesHeader(), Columns: []output.Column{
		{Title: "BATCH", Most: 24}, {Title: "STATE"}, right("LEFT"), right("TOTAL"), right("DONE"), right("DEAD"), right("CANCELLED"), {Title: "CREATED"}, {Title: "ENDED"}, {Title: "NOTE", Most: 16},
	}}
	for _, b := range batches {
		ended := ""
		if !b.EndedAt.IsZero() {
			ended = times.Short(b.EndedAt, now, s.location)
		}
		list.Items = append(list.Items, output.Item{Name: b.ID, Value: b, Cells: []string{
			b.ID, plain.Batch(b).String(), format.Count(b.Left), format.Count(b.Total), format.Count(b.Done), format.Count(b.Dead), format.Count(b.Cancelled),
			times.Short(b.CreatedAt, now, s.location), ended, format.FirstLine(b.Note),
		}})
	}
	return list
}

// completeBatch completes the ID of a batch: of the newest ones.
func (s *session) completeBatch(c *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	store, err := s.store()
	if len(args) > 0 || err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, cancel := s.limited(c.Context())
	defer cancel()
	const most = 50
	var ids []string
	for batch, err := range chime.NewBatches(store).List(ctx, chime.BatchFilter{Prefix: begun}) {
		if err != nil || len(ids) == most {
			break
		}
		ids = append(ids, batch.ID)
	}
	return ids, cobra.ShellCompDirectiveNoFileComp
}

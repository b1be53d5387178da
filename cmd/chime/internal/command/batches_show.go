package command

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/cmd/chime/internal/output"
	"github.com/chimejobs/chime/internal/format"
	"github.com/chimejobs/chime/internal/plain"
	"github.com/chimejobs/chime/internal/times"
)

// batch returns the batches of the store, and the one with an ID.
func (s *session) batch(ctx context.Context, id string) (*chime.Batches, *chime.BatchInfo, error) {
	store, err := s.store()
	if err != nil {
		return nil, nil, err
	}
	batches := chime.NewBatches(store)
	info, err := batches.Get(ctx, id)
	if errors.Is(err, chime.ErrNotFound) {
		return nil, nil, exit(exitNotFound, "batch %q: not found; one that has ended is kept for 24 hours, or for Batch.Keep", id)
	}
	return batches, info, err
}

func (s *session) batchesShow() *cobra.Command {
	return &cobra.Command{
		Use: "show BATCH", Short: "Show a batch: how far it is, what is left on which queue, and what follows it", Args: cobra.ExactArgs(1), ValidArgsFunction: s.completeBatch,
		Long: "Show a batch: how far it is, what is left on which queue, and what follows it. chime jobs list batch:BATCH lists its members.",
		RunE: func(c *cobra.Command, args []string) error {
			ctx, cancel := s.limited(c.Context())
			defer cancel()
			_, batch, err := s.batch(ctx, args[0])
			if err != nil {
				return err
			}
			return s.printer().Item(batch.ID, batch, s.batchText(batch, s.Now()))
		},
	}
}

// batchText formats a batch for people.
func (s *session) batchText(b *chime.BatchInfo, now time.Time) string {
	state := plain.Batch(b)
	var text strings.Builder
	fmt.Fprintf(&text, "%s  %s\n%s\n\n", output.Printable(b.ID), state.String(), output.Printable(state.Sentence))
	t := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	row := func(title, text string) {
		if text != "" {
			fmt.Fprintf(t, "%s\t%s\n", title, output.Printable(text))
		}
	}
	instant := func(title string, at time.Time) {
		if !at.IsZero() {
			row(title, times.Full(at, s.location)+"  "+format.Away(at.Sub(now)))
		}
	}
	title := "Note"
	for line := range strings.SplitSeq(b.Note, "\n") {
		row(title, line)
		title = " "
	}
	row("Members", fmt.Sprintf("%s: %s left, %s done, %s dead, %s cancelled", format.Count(b.Total), format.Count(b.Left), format.Count(b.Done), format.Count(b.Dead), format.Count(b.Cancelled)))
	if b.Existing > 0 {
		row("Existing", format.Plural(b.Existing, "item is no member", "items are no members")+", because jobs with their IDs existed")
	}
	if b.State == chime.BatchOpen {
		row("Items", format.Count(b.Items)+" so far")
	}
	if b.Growing > 0 {
		row("Growing", format.Plural(b.Growing, "call adds", "calls add")+" members")
	}
	instant("Created", b.CreatedAt)
	instant("Complete", b.SealedAt)
	instant("Ended", b.EndedAt)
	row("When done", b.DoneJob)
	instant(" ", b.DoneAdded)
	row("When ended", b.EndedJob)
	row("Kept for", plain.BatchKept(b))
	_ = t.Flush()
	if len(b.Queues) == 0 {
		return text.String()
	}
	fmt.Fprintln(&text)
	t = tabwriter.NewWriter(&text, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "LEFT\tTOTAL\tDONE\tDEAD\tCANCELLED\t  QUEUE")
	for _, q := range b.Queues {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t  %s\n", format.Count(q.Left), format.Count(q.Total), format.Count(q.Done), format.Count(q.Dead), format.Count(q.Cancelled), q.Queue)
	}
	_ = t.Flush()
	return text.String()
}

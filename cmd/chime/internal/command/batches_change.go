package command

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/cmd/chime/internal/output"
	"github.com/chimejobs/chime/internal/format"
	"github.com/chimejobs/chime/internal/plain"
)

// batchDone is the result of a change of a batch, as JSON.
type batchDone struct {
	ID    string           `json:"id"`
	Verb  string           `json:"action"`
	Batch *chime.BatchInfo `json:"batch,omitempty"` // as it is now; nil: it is deleted
}

// A batchChange is a change of one batch.
type batchChange struct {
	verb, short, long string
	question          func(b *chime.BatchInfo) string // to confirm before the change; nil: no question
	act               func(ctx context.Context, batches *chime.Batches, id string) (*chime.BatchInfo, error)
	did               func(b *chime.BatchInfo) string // b is the batch as it is now; a deleted one: as it was
}

// onBatch returns a command that changes one batch.
func (s *session) onBatch(change batchChange) *cobra.Command {
	return s.changes(&cobra.Command{
		Use: change.verb + " BATCH", Short: change.short, Long: change.long, Args: cobra.ExactArgs(1), ValidArgsFunction: s.completeBatch,
		RunE: func(c *cobra.Command, args []string) error {
			limited, cancel := s.limited(c.Context())
			defer cancel()
			batches, batch, err := s.batch(limited, args[0])
			if err != nil {
				return err
			}
			if change.question != nil {
				if err := s.confirm(c.Context(), change.question(batch)); err != nil {
					return err
				}
			}
			now, err := change.act(c.Context(), batches, batch.ID)
			if err != nil {
				return err
			}
			return s.printer().Item(batch.ID, batchDone{ID: batch.ID, Verb: change.verb, Batch: now}, change.did(cmp.Or(now, batch))+"\n")
		},
	})
}

func (s *session) batchesCancel() *cobra.Command {
	return s.onBatch(batchChange{
		verb: "cancel", short: "Cancel a batch: members that wait are removed, the handlers of those that run are cancelled",
		long: "Cancel a batch that has not ended: nothing is added to it any more, members that wait, are delayed or are parked are removed, and the handlers of\n" +
			"those that run are cancelled. Dead ones remain dead. Its job Ended is added when no member is left, and Done never.",
		question: func(b *chime.BatchInfo) string {
			return "Cancel batch " + output.Printable(b.ID) + " with " + format.Plural(b.Left, "member", "members") + " left?"
		},
		act: func(ctx context.Context, batches *chime.Batches, id string) (*chime.BatchInfo, error) {
			return batches.Cancel(ctx, id)
		},
		did: func(b *chime.BatchInfo) string {
			return "Cancelled batch " + output.Printable(b.ID) + ". " + plain.Batch(b).Sentence
		},
	})
}

func (s *session) batchesSeal() *cobra.Command {
	return s.onBatch(batchChange{
		verb: "seal", short: "Complete an open batch as it is, so that it can end",
		long: "Complete an open batch as it is, so that it can end. Use it only if the program that called EnqueueBatch will not call it again: no item is added\n" +
			"after that.",
		question: func(b *chime.BatchInfo) string {
			return "Seal batch " + output.Printable(b.ID) + " with " + format.Plural(b.Items, "item", "items") + "?"
		},
		act: func(ctx context.Context, batches *chime.Batches, id string) (*chime.BatchInfo, error) {
			return batches.Seal(ctx, id)
		},
		did: func(b *chime.BatchInfo) string {
			return "Sealed batch " + output.Printable(b.ID) + " with " + format.Plural(b.Items, "item", "items") + ". " + plain.Batch(b).Sentence
		},
	})
}

func (s *session) batchesRecount() *cobra.Command {
	return s.onBatch(batchChange{
		verb: "recount", short: "Read the counts of a batch from all queues again, and end the batch if no member is left",
		act: func(ctx context.Context, batches *chime.Batches, id string) (*chime.BatchInfo, error) {
			return batches.Recount(ctx, id)
		},
		did: func(b *chime.BatchInfo) string {
			return "Counted batch " + output.Printable(b.ID) + ". " + plain.Batch(b).Sentence
		},
	})
}

func (s *session) batchesDelete() *cobra.Command {
	return s.onBatch(batchChange{
		verb: "delete", short: "Delete the record of a batch that has ended; its dead members remain",
		question: func(b *chime.BatchInfo) string { return "Delete the record of batch " + output.Printable(b.ID) + "?" },
		act: func(ctx context.Context, batches *chime.Batches, id string) (*chime.BatchInfo, error) {
			return nil, batches.Delete(ctx, id)
		},
		did: func(b *chime.BatchInfo) string { return "Deleted the record of batch " + output.Printable(b.ID) + "." },
	})
}

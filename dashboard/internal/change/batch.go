package change

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/dashboard/internal/render"
	"github.com/chimejobs/chime/internal/format"
)

// cancelFor is how long the form waits for the members to be removed. Workers and schedulers remove the others.
const cancelFor = 5 * time.Second

// CancelBatch cancels a batch and its members after its ID was typed.
func CancelBatch(c *Changer, ctx context.Context, f *Form) (Answer, error) {
	answer := onBatch(f)
	before, err := c.batches.Get(ctx, answer.Target)
	if err != nil {
		return answer, err
	}
	if f.Fields.Get("name") != answer.Target || !f.sure() {
		answer.Ask = f.named(answer, "cancel", "Cancel this batch?", "Cancel the batch", "This cannot be undone: the jobs are removed with all their data.")
		answer.Ask.Fields[0].Label = "Type its ID"
		answer.Ask.Text = fmt.Sprintf("%s of batch %s not ended. Those that wait are removed, the handlers of those that run are cancelled, and nothing is added to the batch any more. Dead members remain.",
			format.Plural(before.Left, "member", "members"), answer.Target+" "+format.Agree(before.Left, "has", "have"))
		if before.EndedJob != "" {
			answer.Ask.Text += " Then the job " + before.EndedJob + " is added."
		}
		return answer, nil
	}
	limited, done := context.WithTimeout(ctx, cancelFor)
	defer done()
	after, err := c.batches.Cancel(limited, answer.Target)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		if now, again := c.batches.Get(ctx, answer.Target); again == nil && now.State == chime.BatchCancelled {
			after, err = now, nil
		}
	}
	if err != nil {
		return answer, err
	}
	answer.Detail = format.Plural(before.Left, "member", "members") + " had not ended"
	answer.Said = "The batch is cancelled."
	if after.Left > 0 {
		answer.Said = "The batch is cancelled. It ends when " + format.Plural(after.Left, "member that is left has", "members that are left have") + " ended."
	}
	return answer.one(nil)
}

// DeleteBatch removes the record of a batch that has ended.
func DeleteBatch(c *Changer, ctx context.Context, f *Form) (Answer, error) {
	answer := onBatch(f)
	if !f.sure() {
		answer.Ask = f.asksBatch(answer, "delete", "Delete this batch?", "Delete", "Batch "+answer.Target+" is no longer shown. Its dead members remain, and belong to no batch any more.")
		answer.Ask.Warning, answer.Ask.Destroys = "This cannot be undone: its numbers are removed.", true
		return answer, nil
	}
	err := c.batches.Delete(ctx, answer.Target)
	answer.Back, answer.Said = "batches", "Batch "+answer.Target+" is deleted."
	return answer.one(err)
}

// SealBatch completes an open batch as it is.
func SealBatch(c *Changer, ctx context.Context, f *Form) (Answer, error) {
	answer := onBatch(f)
	if !f.sure() {
		info, err := c.batches.Get(ctx, answer.Target)
		if err != nil {
			return answer, err
		}
		answer.Ask = f.asksBatch(answer, "seal", "Complete this batch?", "Complete", fmt.Sprintf("Batch %s has %s so far. No other item can be added, and it ends when its members have ended. "+
			"Do this only if the process that adds the items is gone and will not continue.", answer.Target, format.Plural(info.Items, "item", "items")))
		answer.Ask.Warning = "This cannot be undone."
		return answer, nil
	}
	info, err := c.batches.Seal(ctx, answer.Target)
	if err == nil {
		answer.Said = "The batch is complete, with " + format.Plural(info.Items, "item", "items") + "."
	}
	return answer.one(err)
}

// RecountBatch reads the counts of a batch from all its queues again. It changes no job, so it needs no confirmation.
func RecountBatch(c *Changer, ctx context.Context, f *Form) (Answer, error) {
	answer := onBatch(f)
	_, err := c.batches.Recount(ctx, answer.Target)
	answer.Said = "The members were counted again."
	return answer.one(err)
}

// asksBatch asks for the confirmation of an action on a batch.
func (f *Form) asksBatch(answer Answer, verb, title, do, text string) *render.Ask {
	return &render.Ask{Title: title, Text: text, Post: f.Frame.Action(answer.Back, verb), Do: do, Cancel: f.Frame.Href(answer.Back)}
}

// onBatch returns an answer about a batch that redirects to its page.
func onBatch(f *Form) Answer {
	id := f.Values["id"]
	return Answer{Target: id, Back: render.Path("batches", id)}
}

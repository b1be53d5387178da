package change

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/dashboard/internal/render"
	"github.com/chimejobs/chime/internal/format"
)

const maxLooked = 500 // number of schedules: one page of the store

// PauseQueue pauses a queue, with a note.
func PauseQueue(c *Changer, ctx context.Context, f *Form) (Answer, error) {
	answer := onQueue(f)
	path := answer.Back
	answer.Back, answer.List = f.back(path), f.list()
	ask := &render.Ask{
		Title: "Pause queue " + answer.Target + "?", Text: "No worker takes jobs from it until somebody resumes it, or until the instant that you give. Running jobs continue, and new jobs can still be added.",
		Post: f.Frame.Action(path, "pause"), Cancel: f.Frame.List(answer.Back, answer.List), Hidden: f.kept(),
	}
	return f.pause(answer, ask, "Queue "+answer.Target+" is paused.", func(note chime.Note) error { return c.queues.Pause(ctx, answer.Target, note) })
}

// ResumeQueue resumes a paused queue. It can be undone, so it needs no confirmation.
func ResumeQueue(c *Changer, ctx context.Context, f *Form) (Answer, error) {
	answer := onQueue(f)
	answer.Back, answer.List = f.back(answer.Back), f.list()
	answer.Said = "Queue " + answer.Target + " is resumed."
	return answer.one(c.queues.Resume(ctx, answer.Target))
}

// LimitQueue sets how many jobs of a queue may run at once, and how many may begin within a period.
func LimitQueue(c *Changer, ctx context.Context, f *Form) (Answer, error) {
	answer := onQueue(f)
	info, err := c.queues.Get(ctx, answer.Target)
	if err != nil {
		return answer, err
	}
	running, starts, per := number(info.Limit.Running), number(info.Limit.Starts), ""
	if info.Limit.Per > 0 {
		per = format.Field(info.Limit.Per)
	}
	if f.sure() {
		running, starts, per = f.Fields.Get("running"), f.Fields.Get("starts"), f.Fields.Get("per")
	}
	ask := &render.Ask{
		Title: "Limit queue " + answer.Target, Text: "The limit applies to all workers together. Running jobs are not affected.",
		Post: f.Frame.Action(answer.Back, "limit"), Do: "Set the limit", Cancel: f.Frame.Href(answer.Back),
		Fields: []render.Field{
			{Name: "running", Label: "Jobs at once", Kind: "number", Value: running, Hint: "1 to 1,000,000. Empty: any number."},
			{Name: "starts", Label: "Jobs that begin within a period", Kind: "number", Value: starts, Hint: "1 to 1,000,000. Empty: any number."},
			{Name: "per", Label: "Period", Value: per, Hint: "Such as 1s, 10m or 24h; 1ms to 30 days."},
		},
	}
	if !f.sure() {
		answer.Ask = ask
		return answer, nil
	}
	var limit chime.Limit
	var bad [3]error
	limit.Running, bad[0] = whole(running)
	limit.Starts, bad[1] = whole(starts)
	if text := strings.TrimSpace(per); text != "" {
		if limit.Per, bad[2] = time.ParseDuration(text); bad[2] != nil {
			bad[2] = fmt.Errorf("%.40q is not a duration; examples are 1s, 10m and 24h", text)
		}
	}
	for i, err := range bad {
		if err != nil {
			ask.Fields[i].Error, answer.Ask = err.Error(), ask
		}
	}
	if answer.Ask != nil {
		return answer, nil
	}
	answer.Detail = fmt.Sprintf("running %d, starts %d per %v; before: running %d, starts %d per %v", limit.Running, limit.Starts, limit.Per,
		info.Limit.Running, info.Limit.Starts, info.Limit.Per)
	err = c.queues.Limit(ctx, answer.Target, limit)
	if why := wrong(err); why != "" {
		ask.Fields[len(ask.Fields)-1].Error, answer.Ask = why, ask
		return answer, nil
	}
	answer.Said = "The limit of queue " + answer.Target + " is set."
	return answer.one(err)
}

// PurgeQueue deletes the jobs of a queue after its name was typed.
func PurgeQueue(c *Changer, ctx context.Context, f *Form) (Answer, error) {
	answer := onQueue(f)
	info, err := c.queues.Get(ctx, answer.Target)
	if err != nil {
		return answer, err
	}
	if typed := f.Fields.Get("name"); !f.sure() || typed != answer.Target {
		waits, err := c.purged(ctx, info)
		if err != nil {
			return answer, err
		}
		answer.Ask = f.named(answer, "purge", "Purge queue "+answer.Target+"?", "Purge", "This cannot be undone: the jobs are removed with all their data.")
		answer.Ask.Text = fmt.Sprintf("About %s deleted: all waiting, delayed, retrying, parked and dead jobs. Running jobs continue, and schedules are kept.",
			format.Plural(waits, "job is", "jobs are"))
		return answer, nil
	}
	done, err := c.queues.Purge(ctx, answer.Target, answer.Target, nil)
	answer.Count = int64(done.Changed)
	answer.Said = fmt.Sprintf("%s of queue %s deleted.", format.Plural(done.Changed, "job", "jobs"), answer.Target)
	return answer, err
}

// purged estimates how many jobs a purge deletes: all jobs of the queue except the next occurrences of its schedules. A paused or completed schedule
// may have no next occurrence. Schedules after the first page are assumed to have one.
func (c *Changer) purged(ctx context.Context, info *chime.QueueInfo) (int, error) {
	stay := info.Schedules
	if stay > 0 {
		for schedule, err := range c.schedules.List(ctx, chime.ScheduleFilter{Queue: info.Name, Limit: maxLooked}) {
			if schedule == nil {
				return 0, err
			}
			if err == nil && schedule.Next.IsZero() {
				stay--
			}
		}
	}
	return int(max(0, info.Waiting+info.Delayed+info.Parked+info.Dead-stay)), nil
}

// DeleteQueue removes an unused queue.
func DeleteQueue(c *Changer, ctx context.Context, f *Form) (Answer, error) {
	answer := onQueue(f)
	if typed := f.Fields.Get("name"); !f.sure() || typed != answer.Target {
		answer.Ask = f.named(answer, "delete", "Delete queue "+answer.Target+"?", "Delete", "Its counters and charts cannot be restored.")
		answer.Ask.Text = "A queue can only be deleted if no job, schedule or worker uses it. Using its name again recreates it."
		return answer, nil
	}
	err := c.queues.Delete(ctx, answer.Target)
	answer.Back, answer.Said = "queues", "Queue "+answer.Target+" is deleted."
	return answer.one(err)
}

// named asks for the confirmation of an action that cannot be undone. The viewer has to type the name of the target.
func (f *Form) named(answer Answer, verb, title, do, warning string) *render.Ask {
	typed := f.Fields.Get("name")
	field := render.Field{Name: "name", Label: "Type its name", Value: typed, Required: true, Exactly: answer.Target}
	if f.sure() {
		field.Error = fmt.Sprintf("%.60q is not its name.", typed)
	}
	return &render.Ask{
		Title: title, Warning: warning, Post: f.Frame.Action(answer.Back, verb), Do: do, Destroys: true, Cancel: f.Frame.Href(answer.Back),
		Fields: []render.Field{field},
	}
}

// onQueue returns an answer about a queue that redirects to its page.
func onQueue(f *Form) Answer {
	queue := f.Values["queue"]
	return Answer{Queue: queue, Target: queue, Back: render.Path("queues", queue)}
}

// number formats a number for a field. It returns "" for 0.
func number(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// whole reads a number of a field. Empty means 0.
func whole(text string) (int, error) {
	text = strings.ReplaceAll(strings.TrimSpace(text), ",", "")
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("%.40q is not a number from 1 to 1,000,000", text)
	}
	return n, nil
}

package change

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/dashboard/internal/render"
	"github.com/chimejobs/chime/internal/format"
	"github.com/chimejobs/chime/internal/times"
)

const (
	maxExamples  = 5 // number of names in a confirmation
	maxRange     = 366 * 24 * time.Hour
	shownInstant = "2 Jan 2006 15:04:05 MST"
)

// PauseSchedule pauses a schedule, with a note.
func PauseSchedule(c *Changer, ctx context.Context, f *Form) (Answer, error) {
	name := f.Values["name"]
	answer := onSchedule(name)
	ask := &render.Ask{
		Title: "Pause " + name + "?", Text: "No occurrence is placed until somebody resumes it, or until the instant that you give. Due and running jobs continue.",
		Post: f.Frame.Action(answer.Back, "pause"), Cancel: f.Frame.Href(answer.Back),
	}
	return f.pause(answer, ask, name+" is paused.", func(note chime.Note) error { return c.schedules.Pause(ctx, name, note) })
}

// ResumeSchedule resumes a paused schedule. It can be undone, so it needs no confirmation.
func ResumeSchedule(c *Changer, ctx context.Context, f *Form) (Answer, error) {
	answer := onSchedule(f.Values["name"])
	answer.Said = answer.Target + " is resumed."
	return answer.one(c.schedules.Resume(ctx, answer.Target))
}

// TriggerSchedule runs the job of a schedule once, now.
func TriggerSchedule(c *Changer, ctx context.Context, f *Form) (Answer, error) {
	name, args := f.Values["name"], strings.TrimSpace(f.Fields.Get("args"))
	answer := onSchedule(name)
	fields := func(why string) []render.Field {
		if !f.OtherArgs && why == "" {
			return nil
		}
		return []render.Field{{Name: "args", Label: "Other arguments", Kind: "textarea", Value: args, Hint: "JSON. Empty: the arguments of the schedule.", Error: why}}
	}
	ask := func(why string) *render.Ask {
		return &render.Ask{
			Title: "Run " + name + " now?", Text: "Its job runs once, as soon as a worker is free, in addition to the planned occurrences. This also works for a paused schedule.",
			Post: f.Frame.Action(answer.Back, "trigger"), Do: "Run now", Cancel: f.Frame.Href(answer.Back),
			Fields: fields(why),
		}
	}
	switch {
	case !f.sure():
		answer.Ask = ask("")
		return answer, nil
	case args != "" && !json.Valid([]byte(args)):
		answer.Ask = ask("This is not JSON. Texts need quotes.")
		return answer, nil
	}
	var options []chime.TriggerOption
	if args != "" {
		options, answer.Args = append(options, chime.Args(json.RawMessage(args))), []byte(args)
	}
	receipt, err := c.schedules.Trigger(ctx, name, options...)
	if why := wrong(err); why != "" {
		answer.Ask = ask(why)
		return answer, nil
	}
	answer.Said = fmt.Sprintf("%s runs as soon as a worker is free; the job is %s.", name, receipt.ID)
	if err == nil { // to watch it
		answer.Back = render.Path("jobs", receipt.Queue, receipt.ID)
	}
	return answer.one(err)
}

// DeleteSchedule deletes a schedule after its name was typed.
func DeleteSchedule(c *Changer, ctx context.Context, f *Form) (Answer, error) {
	name := f.Values["name"]
	answer := onSchedule(name)
	if !f.sure() || f.Fields.Get("name") != name {
		answer.Ask = f.named(answer, "delete", "Delete "+name+"?", "Delete", "This cannot be undone. A program that declares it recreates it at its next start.")
		answer.Ask.Text = "Its definition, its placed occurrence and its history are removed. A running job of it may finish."
		answer.Ask.Fields = append(answer.Ask.Fields, render.Field{
			Name: "waiting", Label: "Its jobs that wait for a retry", Kind: "select", Value: f.Fields.Get("waiting"),
			Choices: []render.Pair{{Name: "still run", Value: ""}, {Name: "are deleted too", Value: "1"}},
		})
		return answer, nil
	}
	var options []chime.ChangeOption
	if f.Fields.Get("waiting") == "1" {
		options, answer.Detail = append(options, chime.DeleteWaiting()), "its waiting jobs too"
	}
	answer.Back, answer.Said = "schedules", name+" is deleted."
	return answer.one(c.schedules.Delete(ctx, name, options...))
}

// BackfillSchedule runs the occurrences of a range again. It asks twice: for the range, and for confirmation of the occurrences.
func BackfillSchedule(c *Changer, ctx context.Context, f *Form) (Answer, error) {
	name := f.Values["name"]
	answer := onSchedule(name)
	from, to := f.Fields.Get("from"), f.Fields.Get("to")
	ask := &render.Ask{
		Title: "Backfill " + name + "?", Text: "All occurrences of a range run now, each with its own planned instant, even if they have already run.",
		Post: f.Frame.Href(answer.Back+"/backfill", "own", f.Frame.ZoneName()), // keeps the zone that the form names
		Do:   "Show them", Cancel: f.Frame.Href(answer.Back),
		Fields: []render.Field{
			{Name: "from", Label: "From", Value: from, Required: true, Hint: "Such as 2026-10-31 or 2026-10-31 18:00, in " + f.Frame.ZoneName() + ". This instant is in the range."},
			{Name: "to", Label: "To", Value: to, Required: true, Hint: "This instant is not in the range. At most now."},
		},
	}
	if !f.sure() {
		answer.Ask = ask
		return answer, nil
	}
	var wrongField bool
	at := make([]time.Time, 2)
	for i, text := range []string{from, to} {
		instant, err := times.ParseOnce(strings.TrimSpace(text), f.Frame.Now, f.Frame.Zone)
		if err != nil {
			ask.Fields[i].Error, wrongField = fmt.Sprintf("%.40q is not an instant: %v", text, err), true
		}
		at[i] = instant
	}
	if wrongField {
		answer.Ask = ask
		return answer, nil
	}
	if at[1].Sub(at[0]) > maxRange {
		ask.Fields[1].Error, answer.Ask = "The range has at most 366 days.", ask
		return answer, nil
	}
	answer.Detail = at[0].UTC().Format(time.RFC3339Nano) + " to " + at[1].UTC().Format(time.RFC3339Nano)
	const most = 500 // maximum of one call
	times, next, err := c.schedules.BackfillTimes(ctx, name, at[0], at[1], most)
	if why := wrong(err); why != "" {
		ask.Fields[1].Error = why
		answer.Ask = ask
		return answer, nil
	}
	if err != nil {
		return answer, err
	}
	if f.Fields.Get("shown") != "1" {
		answer.Ask = c.shownBackfill(f, ask, at, times, next)
		return answer, nil
	}
	done, err := c.schedules.Backfill(ctx, name, at[0], at[1])
	answer.Count = int64(done.Placed)
	answer.Said = fmt.Sprintf("%s: %s now.", name, format.Plural(done.Placed, "occurrence runs", "occurrences run"))
	if done.Existing > 0 {
		answer.Said = fmt.Sprintf("%s: %s now; %d are already waiting or running.", name, format.Plural(done.Placed, "occurrence runs", "occurrences run"), done.Existing)
	}
	if !done.Next.IsZero() {
		answer.Detail += ", as far as " + done.Next.UTC().Format(time.RFC3339Nano)
		answer.Said += " To run the rest, backfill again from " + done.Next.In(f.Frame.Zone).Format(shownInstant) + "."
	}
	return answer, err
}

// shownBackfill asks for confirmation of the occurrences. It sends the range again as instants, because a duration relative to now would then mean
// another range.
func (c *Changer) shownBackfill(f *Form, ask *render.Ask, at, times []time.Time, next time.Time) *render.Ask {
	if len(times) == 0 {
		ask.Fields[1].Error = "The schedule plans nothing in this range."
		return ask
	}
	ask.Text = format.Plural(len(times), "occurrence runs", "occurrences run") + " now, oldest first, each with its own planned instant."
	if !next.IsZero() {
		ask.Text += " There are more in the range: backfill again from " + next.In(f.Frame.Zone).Format(shownInstant) + " when these are done."
	}
	for _, t := range times[:min(len(times), maxExamples)] {
		ask.Examples = append(ask.Examples, t.In(f.Frame.Zone).Format(shownInstant))
	}
	ask.More = len(times) - len(ask.Examples)
	for i, field := range ask.Fields {
		ask.Hidden = append(ask.Hidden, render.Pair{Name: field.Name, Value: at[i].UTC().Format(time.RFC3339Nano)})
	}
	ask.Hidden = append(ask.Hidden, render.Pair{Name: "shown", Value: "1"})
	ask.Fields, ask.Do = nil, fmt.Sprintf("Run %d", len(times))
	return ask
}

// onSchedule returns an answer about a schedule that redirects to its page.
func onSchedule(name string) Answer {
	return Answer{Target: name, Back: render.Path("schedules", name)}
}

package change

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/dashboard/internal/render"
)

// A scheduleVerb is what is done to many schedules.
type scheduleVerb struct {
	name, do, done string // as "pause", "Pause", "paused"
	text, warning  string
	noted          bool // a note is asked for
	destroys       bool // the number has to be typed
	one            func(c *Changer, ctx context.Context, name string, note chime.Note) error
}

// PauseSchedules, ResumeSchedules, TriggerSchedules and DeleteSchedules change the schedules that are ticked in a list.
func PauseSchedules(c *Changer, ctx context.Context, f *Form) (Answer, error) {
	return c.changeSchedules(ctx, f, scheduleVerb{
		name: "pause", do: "Pause", done: "paused", noted: true, text: "No occurrence of them is placed until somebody resumes them.",
		one: func(c *Changer, ctx context.Context, name string, note chime.Note) error {
			return c.schedules.Pause(ctx, name, note)
		},
	})
}

// ResumeSchedules is described at PauseSchedules.
func ResumeSchedules(c *Changer, ctx context.Context, f *Form) (Answer, error) {
	return c.changeSchedules(ctx, f, scheduleVerb{
		name: "resume", do: "Resume", done: "resumed", text: "They go on as their rules say.",
		one: func(c *Changer, ctx context.Context, name string, _ chime.Note) error {
			return c.schedules.Resume(ctx, name)
		},
	})
}

// TriggerSchedules is described at PauseSchedules.
func TriggerSchedules(c *Changer, ctx context.Context, f *Form) (Answer, error) {
	return c.changeSchedules(ctx, f, scheduleVerb{
		name: "trigger", do: "Run now", done: "triggered", text: "The job of each runs once, as soon as a worker is free, with the arguments of its schedule.",
		one: func(c *Changer, ctx context.Context, name string, _ chime.Note) error {
			_, err := c.schedules.Trigger(ctx, name)
			return err
		},
	})
}

// DeleteSchedules is described at PauseSchedules.
func DeleteSchedules(c *Changer, ctx context.Context, f *Form) (Answer, error) {
	return c.changeSchedules(ctx, f, scheduleVerb{
		name: "delete", do: "Delete", done: "deleted", destroys: true, text: "Their definitions, placed occurrences and histories go. Jobs of them that run may finish.",
		warning: "This cannot be undone. A program that declares one creates it anew at its next start.",
		one: func(c *Changer, ctx context.Context, name string, _ chime.Note) error {
			return c.schedules.Delete(ctx, name)
		},
	})
}

func (c *Changer) changeSchedules(ctx context.Context, f *Form, verb scheduleVerb) (Answer, error) {
	names, note := f.Fields["id"], f.note()
	answer := Answer{Target: fmt.Sprintf("%.500q", names), Back: "schedules", Note: note.Text}
	switch {
	case len(names) > maxTicked:
		return answer, &chime.InvalidError{Field: "id", Value: strconv.Itoa(len(names)) + " rows", Limit: "at most " + strconv.Itoa(maxTicked)}
	case len(names) == 0:
		answer.Said = "No schedule is ticked: nothing was done."
		return answer, nil
	case !f.sure(), verb.destroys && f.Fields.Get("number") != strconv.Itoa(len(names)):
		answer.Ask = f.askSchedules(verb, names, "")
		return answer, nil
	}
	changed, gone := 0, 0
	for _, name := range names {
		err := verb.one(c, ctx, name, note)
		switch {
		case errors.Is(err, chime.ErrNotFound):
			gone++
			continue
		case wrong(err) != "" && changed == 0:
			answer.Ask = f.askSchedules(verb, names, wrong(err))
			return answer, nil
		case err != nil:
			answer.Count = int64(changed)
			return answer, fmt.Errorf("%d of %d schedules %s, then: %w", changed, len(names), verb.done, err)
		}
		changed++
	}
	answer.Count = int64(changed)
	answer.Said = plural(changed, "schedule", "schedules") + " " + verb.done + "."
	if gone > 0 {
		answer.Said = fmt.Sprintf("%s %s, %d had gone.", plural(changed, "schedule", "schedules"), verb.done, gone)
	}
	return answer, nil
}

// askSchedules asks whether these schedules are meant. why is what is wrong with the note; empty: nothing is.
func (f *Form) askSchedules(verb scheduleVerb, names []string, why string) *render.Ask {
	meant := strconv.Itoa(len(names))
	ask := &render.Ask{
		Title: fmt.Sprintf("%s %s?", verb.do, plural(len(names), "schedule", "schedules")), Text: verb.text, Warning: verb.warning,
		Examples: names[:min(len(names), maxExamples)], More: max(0, len(names)-maxExamples),
		Post: f.Frame.Action("schedules", "bulk"), Do: verb.do, Destroys: verb.destroys, Cancel: f.Frame.Href("schedules"),
		Hidden: []render.Pair{{Name: "verb", Value: verb.name}},
	}
	for _, name := range names {
		ask.Hidden = append(ask.Hidden, render.Pair{Name: "id", Value: name})
	}
	if verb.noted {
		ask.Fields = append(ask.Fields, render.Field{Name: "note", Label: "Why, for those who find them paused", Value: f.Fields.Get("note"), Hint: "At most 500 bytes; it may be empty.", Error: why})
	}
	if verb.destroys {
		field := render.Field{Name: "number", Label: "Type the number " + meant, Kind: "number", Required: true, Exactly: meant}
		if f.sure() {
			field.Error = fmt.Sprintf("%.20q is not how many are ticked.", f.Fields.Get("number"))
		}
		ask.Fields = append(ask.Fields, field)
	}
	return ask
}

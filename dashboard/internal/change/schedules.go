package change

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/dashboard/internal/render"
	"github.com/chimejobs/chime/internal/format"
)

// A scheduleVerb is what is done to many schedules.
type scheduleVerb struct {
	name, do, done string // as "pause", "Pause", "paused"
	text, warning  string
	noted          bool                       // a note is asked for
	destroys       bool                       // the number has to be typed
	concerns       func(*chime.Schedule) bool // of all that a filter means, those that it changes
	one            func(c *Changer, ctx context.Context, name string, note chime.Note) error
}

// PauseSchedules, ResumeSchedules, TriggerSchedules and DeleteSchedules change the schedules that are ticked in a list, or all that its filter means.
func PauseSchedules(c *Changer, ctx context.Context, f *Form) (Answer, error) {
	return c.changeSchedules(ctx, f, scheduleVerb{
		name: "pause", do: "Pause", done: "paused", noted: true, text: "No occurrence of them is placed until somebody resumes them, or until the instant that you give.",
		concerns: func(s *chime.Schedule) bool { return s.State == chime.StateLive }, // a paused one would lose its own note
		one: func(c *Changer, ctx context.Context, name string, note chime.Note) error {
			return c.schedules.Pause(ctx, name, note)
		},
	})
}

// ResumeSchedules is described at PauseSchedules.
func ResumeSchedules(c *Changer, ctx context.Context, f *Form) (Answer, error) {
	return c.changeSchedules(ctx, f, scheduleVerb{
		name: "resume", do: "Resume", done: "resumed", text: "They run again as their rules say.",
		concerns: func(s *chime.Schedule) bool { return s.State == chime.StatePaused },
		one: func(c *Changer, ctx context.Context, name string, _ chime.Note) error {
			return c.schedules.Resume(ctx, name)
		},
	})
}

// TriggerSchedules is described at PauseSchedules.
func TriggerSchedules(c *Changer, ctx context.Context, f *Form) (Answer, error) {
	return c.changeSchedules(ctx, f, scheduleVerb{
		name: "trigger", do: "Run now", done: "triggered", text: "The job of each runs once, as soon as a worker is free, with the arguments of its schedule.",
		concerns: func(s *chime.Schedule) bool { return s.State != "" },
		one: func(c *Changer, ctx context.Context, name string, _ chime.Note) error {
			_, err := c.schedules.Trigger(ctx, name)
			return err
		},
	})
}

// DeleteSchedules is described at PauseSchedules.
func DeleteSchedules(c *Changer, ctx context.Context, f *Form) (Answer, error) {
	return c.changeSchedules(ctx, f, scheduleVerb{
		name: "delete", do: "Delete", done: "deleted", destroys: true, text: "Their definitions, placed occurrences and histories are removed. Their running jobs may finish.",
		warning:  "This cannot be undone. A program that declares one of them recreates it at its next start.",
		concerns: func(*chime.Schedule) bool { return true },
		one: func(c *Changer, ctx context.Context, name string, _ chime.Note) error {
			return c.schedules.Delete(ctx, name)
		},
	})
}

// A scheduleSelection has the schedules that a form changes.
type scheduleSelection struct {
	Selected
	all bool // all that match a filter; false: the ticked ones
}

func (c *Changer) changeSchedules(ctx context.Context, f *Form, verb scheduleVerb) (Answer, error) {
	answer := Answer{Back: "schedules", List: f.list(), Note: f.note().Text}
	s, err := c.selectedSchedules(ctx, f, verb)
	if answer.Target = fmt.Sprintf("%.500q", s.Names); s.all {
		answer.Target = "all " + s.Words
	}
	switch {
	case err != nil:
		return answer, err
	case len(s.Names) == 0 && s.all:
		answer.Said = "Nothing was changed: no schedule that matches the filter can be " + verb.done + "."
		return answer, nil
	case len(s.Names) == 0:
		answer.Said = "Nothing was changed: no schedule is ticked."
		return answer, nil
	case !f.sure(), verb.noted && f.wrongEnd() != "", verb.destroys && f.Fields.Get("number") != strconv.Itoa(len(s.Names)):
		answer.Ask = f.askSchedules(verb, s, "")
		return answer, nil
	case s.all:
		return c.changeAll(ctx, f, verb, s, answer)
	}
	done, err := c.changeEach(ctx, f, verb, s.Names)
	answer.Count = int64(done.Changed)
	if why := wrong(err); why != "" && done.Changed == 0 {
		answer.Ask = f.askSchedules(verb, s, why)
		return answer, nil
	}
	o := Operation{Verb: verb.done, Lost: "gone", Meant: len(s.Names)}
	o.add(done)
	answer.Detail = o.Summary()
	if err != nil {
		return answer, fmt.Errorf("%d of %d schedules %s, then: %w", done.Changed, len(s.Names), verb.done, err)
	}
	answer.Said = format.Plural(done.Changed, "schedule", "schedules") + " " + verb.done
	if done.Gone > 0 {
		answer.Said += fmt.Sprintf(", %d gone", done.Gone)
	}
	if done.denied > 0 {
		answer.Said += fmt.Sprintf(", %d not allowed: %s", done.denied, strings.TrimSuffix(done.why, "."))
	}
	answer.Said += "."
	return answer, nil
}

// selectedSchedules returns the schedules that a form changes.
func (c *Changer) selectedSchedules(ctx context.Context, f *Form, verb scheduleVerb) (s scheduleSelection, err error) {
	if f.Fields.Get("all") != "1" {
		if s.Names = f.Fields["id"]; len(s.Names) > maxTicked {
			err = &chime.InvalidError{Field: "id", Value: strconv.Itoa(len(s.Names)) + " rows", Limit: "at most " + strconv.Itoa(maxTicked)}
		}
		return s, err
	}
	filter, err := url.ParseQuery(f.Fields.Get("filter"))
	if err != nil {
		return s, &chime.InvalidError{Field: "filter", Value: fmt.Sprintf("%.60s", f.Fields.Get("filter")), Limit: "a query as in the address of the list"}
	}
	s.all = true
	s.Selected, err = c.selects(ctx, filter, maxAll, verb.concerns)
	return s, err
}

// changeEach changes schedules one after another, until one cannot be changed. It skips deleted schedules, and those that the viewer may not change.
func (c *Changer) changeEach(ctx context.Context, f *Form, verb scheduleVerb, names []string) (done progress, err error) {
	for _, name := range names {
		if why := f.check(ctx, "", name); why != nil {
			done.deny(1, why)
			continue
		}
		note, _ := f.pauseNote()
		switch err := verb.one(c, ctx, name, note); {
		case errors.Is(err, chime.ErrNotFound):
			done.Gone++
		case err != nil:
			return done, err
		default:
			done.Changed++
		}
	}
	return done, nil
}

// changeAll begins to change all schedules that match a filter. It changes the first one at once to find out whether the note is valid.
func (c *Changer) changeAll(ctx context.Context, f *Form, verb scheduleVerb, s scheduleSelection, answer Answer) (Answer, error) {
	first, err := c.changeEach(ctx, f, verb, s.Names[:1])
	if why := wrong(err); why != "" {
		answer.Ask = f.askSchedules(verb, s, why)
		return answer, nil
	}
	if err != nil {
		return answer, err
	}
	answer.Count = int64(len(s.Names))
	begun := &Operation{Title: verb.do + " " + format.Plural(len(s.Names), "schedule", "schedules"), Page: "schedules", List: f.list(), Verb: verb.done, Lost: "gone", Meant: len(s.Names)}
	begun.add(first)
	operation := c.operations.begin(begun, func(ctx context.Context, report func(progress)) error {
		for _, name := range s.Names[1:] {
			if err := ctx.Err(); err != nil {
				return err
			}
			stepCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), maxStep) // a step that has begun is completed
			done, err := c.changeEach(stepCtx, f, verb, []string{name})
			cancel()
			if err != nil {
				return fmt.Errorf("schedule %q: %w", name, err)
			}
			report(done)
		}
		return nil
	}, f.ended(answer))
	answer.Back, answer.List = render.Path("operations", operation.ID), ""
	return answer, nil
}

// askSchedules asks for confirmation that these schedules are to be changed. why is the error of the note, or "".
func (f *Form) askSchedules(verb scheduleVerb, s scheduleSelection, why string) *render.Ask {
	meant := strconv.Itoa(len(s.Names))
	ask := &render.Ask{
		Title: fmt.Sprintf("%s %s?", verb.do, format.Plural(len(s.Names), "schedule", "schedules")), Text: verb.text, Warning: verb.warning,
		Examples: s.Names[:min(len(s.Names), maxExamples)], More: max(0, len(s.Names)-maxExamples),
		Post: f.Frame.Action("schedules", "bulk"), Do: verb.do, Destroys: verb.destroys, Cancel: f.Frame.List("schedules", f.list()),
		Hidden: append(f.kept(), render.Pair{Name: "verb", Value: verb.name}),
	}
	if s.all {
		ask.Text = s.describe(verb) + " " + verb.text
		ask.Hidden = append(ask.Hidden, render.Pair{Name: "all", Value: "1"}, render.Pair{Name: "filter", Value: f.Fields.Get("filter")})
	} else {
		for _, name := range s.Names {
			ask.Hidden = append(ask.Hidden, render.Pair{Name: "id", Value: name})
		}
	}
	if verb.noted {
		f.asksPause(ask, why, f.wrongEnd())
	}
	if verb.destroys {
		ask.Fields = append(ask.Fields, f.numberField(meant))
	}
	return ask
}

// wrongEnd returns what is wrong with the end of a pause; empty: nothing, or the question is new.
func (f *Form) wrongEnd() string {
	if !f.sure() {
		return ""
	}
	_, why := f.pauseNote()
	return why
}

// describe returns a sentence about the schedules that match the filter, and about those that are not changed.
func (s scheduleSelection) describe(verb scheduleVerb) string {
	text := "These are all schedules " + s.Words + "."
	if s.Words == "" {
		text = "These are all schedules."
	}
	if s.More {
		text += " There are more: repeat this for the rest when these are done."
	}
	switch {
	case s.Others == 1:
		text += " One other is not changed, because it cannot be " + verb.done + "."
	case s.Others > 1:
		text += " " + format.Plural(s.Others, "", "others") + " are not changed, because they cannot be " + verb.done + "."
	}
	return text
}

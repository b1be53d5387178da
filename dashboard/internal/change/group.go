package change

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/dashboard/internal/render"
	"github.com/chimejobs/chime/internal/format"
)

const noLimit = "none" // in a field: no limit, whatever the queue's rule has

// PauseGroup pauses a group of a queue, with a note.
func PauseGroup(c *Changer, ctx context.Context, f *Form) (Answer, error) {
	answer := onGroup(f)
	ask := &render.Ask{
		Title: "Pause group " + answer.Target + "?", Text: "No worker starts its jobs until somebody resumes it. Running jobs continue, and new jobs can still be added.",
		Post: f.groupAction("pause"), Cancel: f.Frame.Href(answer.Back),
	}
	return f.pause(answer, ask, "Group "+answer.Target+" is paused.", func(note chime.Note) error {
		return c.queues.PauseGroup(ctx, answer.Queue, answer.Target, note)
	})
}

// ResumeGroup resumes a paused group. It can be undone, so it needs no confirmation.
func ResumeGroup(c *Changer, ctx context.Context, f *Form) (Answer, error) {
	answer := onGroup(f)
	answer.Said = "Group " + answer.Target + " is resumed."
	return answer.one(c.queues.ResumeGroup(ctx, answer.Queue, answer.Target))
}

// LimitGroup sets the own rule of a group: its weight, its limits and its order.
func LimitGroup(c *Changer, ctx context.Context, f *Form) (Answer, error) {
	answer := onGroup(f)
	info, err := c.queues.Group(ctx, answer.Queue, answer.Target)
	if err != nil {
		return answer, err
	}
	fields := ruleFields(info.Own)
	ask := &render.Ask{
		Title: "Limit group " + answer.Target, Text: "An empty field has the value of the queue's rule for all groups. The limits apply from the next job that starts.",
		Post: f.groupAction("limit"), Do: "Set the limit", Cancel: f.Frame.Href(answer.Back), Fields: fields,
	}
	if !f.sure() {
		answer.Ask = ask
		return answer, nil
	}
	for i := range fields {
		fields[i].Value = f.Fields.Get(fields[i].Name)
	}
	rule, ok := readRule(fields)
	if !ok {
		answer.Ask = ask
		return answer, nil
	}
	answer.Detail = ruleDetail(rule) + "; before: " + ruleDetail(info.Own)
	err = c.queues.SetGroup(ctx, answer.Queue, answer.Target, rule)
	if why := wrong(err); why != "" {
		fields[len(fields)-1].Error, answer.Ask = why, ask
		return answer, nil
	}
	answer.Said = "The limit of group " + answer.Target + " is set."
	return answer.one(err)
}

// ruleFields are the fields of a form with a rule.
func ruleFields(r chime.GroupRule) []render.Field {
	per := ""
	if r.Per > 0 {
		per = format.Field(r.Per)
	}
	limited := func(n int) string {
		if n == chime.NoLimit {
			return noLimit
		}
		return number(n)
	}
	return []render.Field{
		{Name: "weight", Label: "Weight", Kind: "number", Value: number(r.Weight), Hint: "Its share of the slots relative to other groups: 1 to 1,000."},
		{Name: "running", Label: "Jobs at once", Value: limited(r.Running), Hint: "1 to 1,000,000, or none for no limit."},
		{Name: "starts", Label: "Jobs that begin within a period", Value: limited(r.Starts), Hint: "1 to 1,000,000, or none for no limit."},
		{Name: "per", Label: "Period", Value: per, Hint: "Such as 1s, 10m or 24h; 1ms to 30 days."},
		{Name: "waiting", Label: "Waiting jobs", Value: limited(r.Waiting), Hint: "Further jobs are refused. 1 to 1,000,000,000, or none for no limit."},
		{Name: "ordered", Label: "In order", Kind: "select", Value: r.Ordered.String(), Hint: "On: a job starts only when the one before it has ended for good.",
			Choices: []render.Pair{{Name: "as the queue's rule", Value: ""}, {Name: "on", Value: "on"}, {Name: "off", Value: "off"}}},
	}
}

// readRule reads these fields. If one cannot be read, it sets its Error and returns false.
func readRule(fields []render.Field) (r chime.GroupRule, ok bool) {
	numbers := map[string]*int{"weight": &r.Weight, "running": &r.Running, "starts": &r.Starts, "waiting": &r.Waiting}
	ok = true
	for i := range fields {
		var err error
		text := strings.TrimSpace(fields[i].Value)
		switch name := fields[i].Name; {
		case name == "per" && text != "":
			if r.Per, err = time.ParseDuration(text); err != nil {
				err = fmt.Errorf("%.40q is not a duration; examples are 1s, 10m and 24h", text)
			}
		case name == "ordered":
			err = r.Ordered.UnmarshalText([]byte(text))
		case numbers[name] != nil && text == noLimit && name != "weight":
			*numbers[name] = chime.NoLimit
		case numbers[name] != nil:
			if *numbers[name], err = wholeField(text); err != nil {
				err = fmt.Errorf("%.40q is not a positive number", text)
			}
		}
		if err != nil {
			fields[i].Error, ok = err.Error(), false
		}
	}
	return r, ok
}

// wholeField reads a positive number of a field. Empty means 0.
func wholeField(text string) (int, error) {
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(strings.ReplaceAll(text, ",", ""))
	if err == nil && n < 1 {
		err = errors.New("not positive")
	}
	return n, err
}

// ruleDetail describes a rule for the audit.
func ruleDetail(r chime.GroupRule) string {
	text := fmt.Sprintf("weight %d, running %d, starts %d per %v, waiting %d", r.Weight, r.Running, r.Starts, r.Per, r.Waiting)
	if r.Ordered != 0 {
		text += ", ordered " + r.Ordered.String()
	}
	return text
}

// onGroup returns an answer about a group that redirects to the page of its queue.
func onGroup(f *Form) Answer {
	queue := f.Values["queue"]
	return Answer{Queue: queue, Target: f.Values["group"], Back: render.Path("queues", queue)}
}

// groupAction returns the address of a form about the group.
func (f *Form) groupAction(verb string) string {
	return f.Frame.Action(render.Path("queues", f.Values["queue"], "groups", f.Values["group"]), verb)
}

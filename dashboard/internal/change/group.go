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
		Title: "Pause group " + answer.Target + "?", Text: "No worker starts its jobs until somebody resumes it, or until the instant that you give. Running jobs continue, and new jobs can still be added.",
		Post: f.groupAction("pause"), Cancel: f.Frame.List(answer.Back, answer.List), Hidden: f.kept(),
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
	ask := &render.Ask{
		Title: "Limit group " + answer.Target, Text: "An empty field has the value of the queue's rule for all groups. The limits apply from the next job that starts.",
		Post: f.groupAction("limit"), Do: "Set the limit", Cancel: f.Frame.List(answer.Back, answer.List), Hidden: f.kept(), Fields: ruleFields(info.Own, "as the queue's rule"),
	}
	return f.rule(answer, ask, info.Own, "The limit of group "+answer.Target+" is set.", func(rule chime.GroupRule) error {
		return c.queues.SetGroup(ctx, answer.Queue, answer.Target, rule)
	})
}

// LimitGroups sets the rule of a queue for all of its groups.
func LimitGroups(c *Changer, ctx context.Context, f *Form) (Answer, error) {
	answer := onQueue(f)
	info, err := c.queues.Get(ctx, answer.Target)
	if err != nil {
		return answer, err
	}
	ask := &render.Ask{
		Title: "Limit all groups of queue " + answer.Target,
		Text:  "The limits apply to each group that does not have its own. Lower limits and order apply from the next job that starts, higher limits within seconds.",
		Post:  f.Frame.Action(answer.Back, "rule"), Do: "Set the limit", Cancel: f.Frame.Href(answer.Back), Fields: ruleFields(info.Groups.Rule, "not set"),
	}
	return f.rule(answer, ask, info.Groups.Rule, "The limit of all groups of queue "+answer.Target+" is set.", func(rule chime.GroupRule) error {
		return c.queues.SetGroups(ctx, answer.Target, rule)
	})
}

// rule asks for the fields of a rule, and then sets the rule. before is the current one; said is what was done.
func (f *Form) rule(answer Answer, ask *render.Ask, before chime.GroupRule, said string, set func(chime.GroupRule) error) (Answer, error) {
	fields := ask.Fields
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
	answer.Detail = ruleDetail(rule) + "; before: " + ruleDetail(before)
	err := set(rule)
	if why := wrong(err); why != "" {
		fields[len(fields)-1].Error, answer.Ask = why, ask
		return answer, nil
	}
	answer.Said = said
	return answer.one(err)
}

// ResetGroup removes the own rule of a group.
func ResetGroup(c *Changer, ctx context.Context, f *Form) (Answer, error) {
	answer := onGroup(f)
	info, err := c.queues.Group(ctx, answer.Queue, answer.Target)
	if err != nil {
		return answer, err
	}
	if !f.sure() {
		answer.Ask = &render.Ask{
			Title: "Remove the own rule of group " + answer.Target + "?", Text: "The queue's rule for all groups applies to it from the next job that starts. A pause remains.",
			Post: f.groupAction("reset"), Do: "Remove the rule", Cancel: f.Frame.List(answer.Back, answer.List), Hidden: f.kept(),
		}
		return answer, nil
	}
	answer.Detail = "before: " + ruleDetail(info.Own)
	answer.Said = "Group " + answer.Target + " has no rule of its own."
	return answer.one(c.queues.ResetGroup(ctx, answer.Queue, answer.Target))
}

// PurgeGroup deletes the jobs of a group that wait, after its name was typed.
func PurgeGroup(c *Changer, ctx context.Context, f *Form) (Answer, error) {
	answer := onGroup(f)
	info, err := c.queues.Group(ctx, answer.Queue, answer.Target)
	if err != nil {
		return answer, err
	}
	if typed := f.Fields.Get("name"); !f.sure() || typed != answer.Target {
		answer.Ask = f.named(answer, "purge", "Purge group "+answer.Target+"?", "Purge", "This cannot be undone: the jobs are removed with all their data.")
		answer.Ask.Post, answer.Ask.Cancel, answer.Ask.Hidden = f.groupAction("purge"), f.Frame.List(answer.Back, answer.List), f.kept()
		answer.Ask.Text = fmt.Sprintf("%s deleted. Running, delayed, retrying, parked and dead jobs of the group are kept.",
			format.Plural(info.Waiting, "waiting job is", "waiting jobs are"))
		return answer, nil
	}
	done, err := c.queues.PurgeGroup(ctx, answer.Queue, answer.Target, nil)
	answer.Count = int64(done.Changed)
	answer.Said = fmt.Sprintf("%s of group %s deleted.", format.Plural(done.Changed, "job", "jobs"), answer.Target)
	return answer, err
}

// ruleFields are the fields of a form with a rule. unset describes an order that is not set.
func ruleFields(r chime.GroupRule, unset string) []render.Field {
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
			Choices: []render.Pair{{Name: unset, Value: ""}, {Name: "on", Value: "on"}, {Name: "off", Value: "off"}}},
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

// onGroup returns an answer about a group that redirects to the page of its queue, with the groups that were searched for.
func onGroup(f *Form) Answer {
	queue := f.Values["queue"]
	return Answer{Queue: queue, Target: f.Values["group"], Back: render.Path("queues", queue), List: f.list()}
}

// groupAction returns the address of a form about the group.
func (f *Form) groupAction(verb string) string {
	return f.Frame.Action(render.Path("queues", f.Values["queue"], "groups", f.Values["group"]), verb)
}

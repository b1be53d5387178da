package change

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/dashboard/internal/render"
	"github.com/chimejobs/chime/internal/format"
	"github.com/chimejobs/chime/internal/shape"
)

const knownText = "It is listed under “Acknowledged” instead of among the problems, until the instant that you give, or until it changes. Nothing else changes."

// AcknowledgeSchedule records that it is known that a schedule is failing.
func AcknowledgeSchedule(c *Changer, ctx context.Context, f *Form) (Answer, error) {
	answer := onSchedule(f.Values["name"])
	ask := &render.Ask{
		Title: "Acknowledge that " + answer.Target + " is failing?", Text: knownText,
		Post: f.Frame.Action(answer.Back, "acknowledge"), Cancel: f.Frame.Href(answer.Back),
	}
	return f.acknowledge(answer, ask, answer.Target+" is acknowledged.", func(note chime.Note) error {
		return c.known.AcknowledgeSchedule(ctx, answer.Target, note)
	})
}

// UnacknowledgeSchedule ends the acknowledgement of a schedule. It can be undone, so it needs no confirmation.
func UnacknowledgeSchedule(c *Changer, ctx context.Context, f *Form) (Answer, error) {
	answer := onSchedule(f.Values["name"])
	answer.Said = answer.Target + " is no longer acknowledged."
	return answer.one(c.known.End(ctx, chime.Acknowledgement{Schedule: answer.Target}))
}

// AcknowledgeGroups records that it is known that the jobs of the ticked groups fail. The question needs no job: they are read when it is confirmed.
func AcknowledgeGroups(c *Changer, ctx context.Context, f *Form) (Answer, error) {
	ids := f.Fields["id"]
	answer := Answer{Back: "failures", List: f.list(), Target: firstOf(ids)}
	if len(ids) == 0 {
		answer.Said = "Nothing was changed: no group is ticked."
		return answer, nil
	}
	if _, _, err := f.ticked(); err != nil {
		return answer, err
	}
	ask := &render.Ask{
		Title: "Acknowledge " + format.Plural(len(ids), "group", "groups") + " of failures?", Text: strings.ReplaceAll(knownText, "It is", "They are") + " Failures on another queue are a problem again.",
		Examples: shownTicks(ids), More: max(0, len(ids)-maxExamples),
		Post: f.Frame.Action("failures", "bulk"), Cancel: f.Frame.List("failures", f.list()),
		Hidden: append(f.kept(), render.Pair{Name: "verb", Value: "acknowledge"}, render.Pair{Name: "filter", Value: f.Fields.Get("filter")}),
	}
	for _, id := range ids {
		ask.Hidden = append(ask.Hidden, render.Pair{Name: "id", Value: id})
	}
	asked, err := f.acknowledge(answer, ask, format.Plural(len(ids), "group", "groups")+" of failures acknowledged.", func(note chime.Note) error {
		kinds, queues, err := c.failing(ctx, f)
		if err != nil {
			return err
		}
		for _, kind := range kinds {
			if err := c.known.AcknowledgeFailures(ctx, kind.job, kind.err, queues, note); err != nil {
				return err
			}
		}
		return nil
	})
	if errors.Is(err, errGone) {
		answer.Said = "Nothing was changed: no job fails with it any more."
		return answer, nil
	}
	return asked, err
}

// errGone: the ticked groups have no jobs.
var errGone = errors.New("no job fails with it any more")

// failures are those of a job name with an error, as it is and not as RedactError shows it: that may show several errors alike.
type failures struct{ job, err string }

// failing returns what the jobs of the ticked groups fail with, and their queues.
func (c *Changer) failing(ctx context.Context, f *Form) (kinds []failures, queues []string, err error) {
	seen := map[string]bool{} // the groups that still have jobs
	_, err = c.grouped(ctx, f, func(job *chime.JobInfo) {
		if !slices.Contains(queues, job.Queue) {
			queues = append(queues, job.Queue)
		}
		if kind := (failures{job.Name, shape.Of(job.LastError)}); !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
		seen[c.group(job)] = true
	})
	for _, id := range f.Fields["id"] { // attempts have failed of jobs that are done by now
		if job, text, _ := strings.Cut(id, "\t"); !seen[id] && c.shown == nil {
			kinds = append(kinds, failures{job, text})
		}
	}
	if err == nil && len(kinds) == 0 {
		err = errGone
	}
	return kinds, queues, err
}

// UnacknowledgeGroups ends acknowledgements of failures. Each ID is a job name, a tab and the hash of the error.
func UnacknowledgeGroups(c *Changer, ctx context.Context, f *Form) (Answer, error) {
	ids := f.Fields["id"]
	answer := Answer{Back: "failures", List: f.list(), Target: firstOf(ids), Said: format.Plural(len(ids), "group", "groups") + " no longer acknowledged."}
	for _, id := range ids {
		job, hash, _ := strings.Cut(id, "\t")
		if err := c.known.End(ctx, chime.Acknowledgement{Job: job, Shape: hash}); err != nil {
			return answer, err
		}
		answer.Count++
	}
	return answer, nil
}

// shownTicks returns the first ticked groups in a form for people.
func shownTicks(ids []string) (shown []string) {
	for _, id := range ids[:min(len(ids), maxExamples)] {
		shown = append(shown, strings.ReplaceAll(id, "\t", ": "))
	}
	return shown
}

// acknowledge asks for a reason and an end, and then acknowledges. ask has the title, the text and the addresses of the question; said is what was done.
func (f *Form) acknowledge(answer Answer, ask *render.Ask, said string, acknowledge func(chime.Note) error) (Answer, error) {
	note, whyUntil := f.pauseNote()
	answer.Note, ask.Do = note.Text, "Acknowledge"
	why := ""
	if f.sure() && whyUntil == "" {
		err := acknowledge(note)
		if why = wrong(err); why == "" {
			answer.Said = said
			if !note.Until.IsZero() {
				answer.Detail = "until " + note.Until.UTC().Format(time.RFC3339Nano)
				answer.Said = fmt.Sprintf("%s until %s.", strings.TrimSuffix(said, "."), note.Until.In(f.pauseZone()).Format(shownInstant))
			}
			return answer.one(err)
		}
	}
	f.asksPause(ask, why, whyUntil)
	ask.Fields[0].Label = "Reason, for others who see it"
	ask.Fields[1].Hint = strings.Replace(ask.Fields[1].Hint, "when the pause ends by itself", "when it is a problem again", 1)
	answer.Ask = ask
	return answer, nil
}

package change

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/dashboard/internal/builder"
	"github.com/chimejobs/chime/dashboard/internal/render"
)

// An Editor is a definition that is being written: the model of the template "editor".
type Editor struct {
	Name     string // of the schedule; empty: it is new
	Revision int64  // that was shown; 0: none was stored
	Tab      string
	Tabs     []Tick // On is the one that is shown

	Why      string            // what a tab cannot say, so that another one is shown
	Mistakes []string          // what is wrong, and about no field
	Wrong    []builder.Mistake // all that is wrong, where the preview alone is shown
	Naming   []render.Field
	Rule     []render.Field
	Ticks    []Ticks
	Range    []render.Field
	Likes    []render.Pair // rules to begin with
	Groups   []Group
	JSON     []render.Field
	Args     render.Field
	Preview  *Preview
	Conflict *Conflict
}

// A Conflict is what somebody else has done meanwhile.
type Conflict struct {
	Text   string
	Stored string // the definition that is stored now, as JSON; empty: none is
	Meant  string // the one that was to be stored
	Again  string // the path of the page to go on from what is stored
}

// Posts is the path of the page of the editor.
func (e *Editor) Posts() string {
	if e.Name == "" {
		return render.Path("schedules") + "/new"
	}
	return render.Path("schedules", e.Name) + "/edit"
}

// Leads is the path of the page that Cancel leads to.
func (e *Editor) Leads() string {
	if e.Name == "" {
		return "schedules"
	}
	return render.Path("schedules", e.Name)
}

// newEditor shows fields, and beside them what is wrong with the draft.
func newEditor(stored *chime.Schedule, fields url.Values, d *draft) *Editor {
	e := &Editor{Tab: fields.Get("tab")}
	if stored != nil {
		e.Name, e.Revision = stored.Name, stored.Revision
	}
	wrong := map[string]string{}
	for _, mistake := range d.mistakes {
		if there := wrong[mistake.Field]; there != "" {
			mistake.Text = there + "\n" + mistake.Text
		}
		wrong[mistake.Field] = mistake.Text
	}
	for _, tab := range []render.Pair{{Name: "Builder", Value: tabBuilder}, {Name: "JSON", Value: tabJSON}, {Name: "Cron text", Value: tabCron}} {
		e.Tabs = append(e.Tabs, Tick{Name: "to", Value: tab.Value, Label: tab.Name, On: tab.Value == e.Tab})
	}
	if e.Name == "" {
		e.Naming = filled([]render.Field{{Name: "name", Label: "Name", Required: true, Placeholder: "daily-report", Hint: "1 to 200 bytes."}}, fields, wrong)
	}
	if e.Tab != tabJSON {
		e.Naming = append(e.Naming, filled(jobFields, fields, wrong)...)
		e.Groups = groups(fields, wrong)
	}
	switch e.Tab {
	case tabJSON:
		e.JSON = filled([]render.Field{{
			Name: "json", Label: "Definition", Kind: "textarea", Required: true,
			Hint: "As chime schedules export prints it, without arguments. A rule alone leaves the rest as it is.",
		}}, fields, wrong)
	case tabCron:
		e.Rule, e.Range = filled(cronFields, fields, wrong), filled(rangeFields, fields, wrong)
	default:
		e.Likes, e.Rule, e.Range = likes, filled(builderFields, fields, wrong), filled(rangeFields, fields, wrong)
		e.Ticks = ticks(fields, wrong)
		delete(wrong, builder.WeekDays)
		delete(wrong, builder.Months)
	}
	hint := "JSON. Empty: none."
	if stored != nil {
		hint = fmt.Sprintf("JSON. Empty: they stay as they are, %d bytes.", len(stored.Payload))
	}
	e.Args = filled([]render.Field{{Name: "args", Label: "Arguments", Kind: "textarea", Hint: hint}}, fields, wrong)[0]
	for _, text := range wrong {
		e.Mistakes = append(e.Mistakes, text)
	}
	slices.Sort(e.Mistakes)
	return e
}

// NewSchedule is the editor of a schedule that there is none of yet.
func (c *Changer) NewSchedule(tab string) *Editor {
	fields, _ := like(url.Values{"tab": {tab}, builder.Cron: {"0 9 * * *"}}, "day") // which there is
	fields.Set("json", "{\n  \"rule\": {\n    \"frequency\": \"day\",\n    \"schedule\": {\"hours\": [9], \"minutes\": [0]}\n  },\n  \"job_name\": \"report\"\n}")
	return newEditor(nil, fields, &draft{})
}

// EditSchedule is the editor of a schedule as it is stored. An empty tab is the one that fits the rule best.
func (c *Changer) EditSchedule(ctx context.Context, name, tab string, now time.Time) (*Editor, error) {
	stored, err := c.schedules.Get(ctx, name)
	if err != nil {
		return nil, err
	}
	d, err := draftOf(stored)
	if err != nil {
		return nil, err
	}
	preview, err := d.preview(ctx, stored, now, shownRuns)
	if err != nil {
		return nil, err
	}
	if tab == "" {
		tab = tabBuilder
		if stored.Recurrence.Cron != "" {
			tab = tabCron
		}
	}
	fields, why := d.fields(tab)
	e := newEditor(stored, fields, d)
	e.Preview, e.Why = preview, unsaidBy(tab, why)
	return e, nil
}

// unsaidBy says why a tab is not shown.
func unsaidBy(tab, why string) string {
	switch {
	case why == "":
		return ""
	case tab == tabCron:
		return "No cron text says this definition: " + why + "."
	}
	return "The builder cannot show this definition: " + why + "."
}

// PutSchedule creates or changes a schedule; or it shows what was typed in another tab, or what it will do.
func PutSchedule(c *Changer, ctx context.Context, f *Form) (Answer, error) {
	name, exists := f.Values["name"]
	stored, err := c.storedFor(ctx, name)
	if errors.Is(err, chime.ErrNotFound) && f.Fields.Get("revision") != "" {
		return c.deletedMeanwhile(f, name), nil
	}
	if err != nil {
		return Answer{}, err
	}
	if !exists {
		name = strings.TrimSpace(f.Fields.Get("name"))
	}
	d, fields := readDraft(f.Fields, stored), f.Fields
	if named := d.definition.Name; !exists && named != "" {
		if name = cmp.Or(name, named); name != named {
			d.wrong("json", "name: %.60q: want %.60q, as the field above, or none", named, name)
		}
	}
	answer := onSchedule(name)
	why, status := "", http.StatusOK
	var taken error // the name is another schedule's
	switch to := f.Fields.Get("to"); {
	case f.Fields.Has("like"):
		if fields, err = like(f.Fields, f.Fields.Get("like")); err != nil {
			return answer, err
		}
		d = readDraft(fields, stored)
	case slices.Contains([]string{tabBuilder, tabJSON, tabCron}, to):
		if len(d.mistakes) == 0 {
			fields, why = d.fields(to)
			fields.Set("name", name)
			why, d = unsaidBy(to, why), readDraft(fields, stored) // a rule of fields as cron text is another rule
		}
	case f.Fields.Get("do") == "put":
		if len(d.mistakes) > 0 {
			status = http.StatusBadRequest
			break
		}
		put, err := c.schedules.Put(ctx, name, d.rule, append(d.options(stored), shownRevision(f, stored))...)
		var conflict *chime.ConflictError
		switch {
		case errors.As(err, &conflict) && !exists && f.Fields.Get("revision") == "":
			d.wrong("name", "a schedule of this name exists already")
			taken, status = conflict, http.StatusConflict
		case errors.As(err, &conflict):
			return c.conflict(ctx, f, d, conflict, answer)
		case errors.Is(err, chime.ErrNotFound):
			return c.deletedMeanwhile(f, name), nil
		case err == nil:
			answer.Said = fmt.Sprintf("%s is stored: %s.", put.Name, put.String())
			return answer, nil
		case !d.refused(err, ruleField(d)):
			return answer, err
		default:
			status = http.StatusBadRequest
		}
	}
	preview, err := d.previewed(ctx, stored, f.Frame.Now)
	if err != nil {
		return answer, err
	}
	e := newEditor(stored, fields, d)
	e.Preview, e.Why = preview, why
	if revision, err := strconv.ParseInt(f.Fields.Get("revision"), 10, 64); err == nil && stored != nil {
		e.Revision = revision
	}
	answer.Show = &Shown{Template: "editor", Title: e.title(), Status: status, Model: e, Err: taken}
	return answer, nil
}

// PreviewSchedule says what a definition will do.
func PreviewSchedule(c *Changer, ctx context.Context, f *Form) (Answer, error) {
	n := shownRuns
	if text := f.Fields.Get("n"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil || n < 1 || n > maxRuns {
			return Answer{}, &chime.InvalidError{Field: "n", Value: fmt.Sprintf("%.20s", text), Limit: fmt.Sprintf("1 to %d", maxRuns)}
		}
	}
	stored, err := c.storedFor(ctx, f.Fields.Get("of"))
	if errors.Is(err, chime.ErrNotFound) {
		stored, err = nil, nil
	}
	if err != nil {
		return Answer{}, err
	}
	d := readDraft(f.Fields, stored)
	e := &Editor{}
	if len(d.mistakes) == 0 {
		if e.Preview, err = d.preview(ctx, stored, f.Frame.Now, n); err != nil {
			return Answer{}, err
		}
	}
	e.Wrong = d.mistakes
	return Answer{Show: &Shown{Template: "editor-preview", Part: true, Status: http.StatusOK, Model: e}}, nil
}

// previewed is the preview of a draft in which nothing is wrong; nil: something is.
func (d *draft) previewed(ctx context.Context, stored *chime.Schedule, now time.Time) (*Preview, error) {
	if len(d.mistakes) > 0 {
		return nil, nil
	}
	return d.preview(ctx, stored, now, shownRuns)
}

// storedFor is the schedule of a name; nil: the name is empty.
func (c *Changer) storedFor(ctx context.Context, name string) (*chime.Schedule, error) {
	if name == "" {
		return nil, nil
	}
	return c.schedules.Get(ctx, name)
}

// shownRevision has Put change what the viewer has seen alone.
func shownRevision(f *Form, stored *chime.Schedule) chime.PutOption {
	if stored == nil {
		return chime.IfAbsent()
	}
	revision, _ := strconv.ParseInt(f.Fields.Get("revision"), 10, 64) // none is refused as 0 is
	return chime.IfRevision(revision)
}

func (e *Editor) title() string {
	if e.Name == "" {
		return "New schedule"
	}
	return "Edit " + e.Name
}

// Title is the heading of the page.
func (e *Editor) Title() string { return e.title() }

// conflict shows both definitions: what is stored now, and what was to be stored. Storing it from there puts it over the first.
func (c *Changer) conflict(ctx context.Context, f *Form, d *draft, found *chime.ConflictError, answer Answer) (Answer, error) {
	e := newEditor(found.Schedule, f.Fields, d)
	there, err := draftOf(found.Schedule)
	if err != nil {
		return answer, err
	}
	if e.Preview, err = d.previewed(ctx, found.Schedule, f.Frame.Now); err != nil {
		return answer, err
	}
	meant, err := d.whole(found.Schedule)
	if err != nil {
		return answer, err
	}
	e.Conflict = &Conflict{
		Text:   fmt.Sprintf("Somebody else has stored %s meanwhile: it is at revision %d. Nothing was changed.", found.Schedule.Name, found.Schedule.Revision),
		Stored: there.jsonFields().Get("json"), Meant: (&draft{definition: meant}).jsonFields().Get("json"), Again: e.Posts(),
	}
	answer.Show = &Shown{Template: "editor", Title: e.title(), Status: http.StatusConflict, Model: e, Err: found}
	return answer, nil
}

// deletedMeanwhile shows what was to be stored for a schedule that is not there any more. Storing it from there creates it anew.
func (c *Changer) deletedMeanwhile(f *Form, name string) Answer {
	answer, d := onSchedule(name), readDraft(f.Fields, nil)
	f.Fields.Set("name", name)
	e := newEditor(nil, f.Fields, d)
	e.Conflict = &Conflict{
		Text:  fmt.Sprintf("Somebody has deleted %s meanwhile. Nothing was changed; storing it creates it anew, with the arguments that are typed here.", name),
		Meant: d.jsonFields().Get("json"), Again: "schedules",
	}
	answer.Show = &Shown{Template: "editor", Title: e.title(), Status: http.StatusConflict, Model: e, Err: fmt.Errorf("schedule %q was deleted meanwhile: %w", name, chime.ErrConflict)}
	return answer
}

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
	"github.com/chimejobs/chime/internal/format"
)

// An Editor is a definition that is being written: the model of the template "editor".
type Editor struct {
	Name     string // name of the schedule; empty: it is new
	Revision int64  // the shown revision; 0: the schedule is new
	Tab      string
	Tabs     []Tick // On marks the shown tab

	Why      string            // why another tab is shown instead of the chosen one
	Mistakes []string          // errors that are not about a field
	Wrong    []builder.Mistake // all errors, if only the preview is shown
	Naming   []render.Field
	Rule     []render.Field
	Ticks    []Ticks
	Range    []render.Field
	Likes    []render.Pair // rules to start from
	Groups   []Group
	JSON     []render.Field
	Args     render.Field
	Preview  *Preview
	Conflict *Conflict
}

// A Conflict is a change by somebody else in the meantime.
type Conflict struct {
	Text   string
	Stored string // the stored definition, as JSON; empty: it was deleted
	Meant  string // the definition that was to be stored
	Again  string // the path of the page that continues from the stored version
}

// Posts returns the path to which the editor sends its form.
func (e *Editor) Posts() string {
	if e.Name == "" {
		return render.Path("schedules") + "/new"
	}
	return render.Path("schedules", e.Name) + "/edit"
}

// Leads returns the path to which Cancel leads.
func (e *Editor) Leads() string {
	if e.Name == "" {
		return "schedules"
	}
	return render.Path("schedules", e.Name)
}

// newEditor returns an editor with the fields and the errors of the draft.
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
			Hint: "The format of chime schedules export, without arguments. If you give only a rule, the rest does not change.",
		}}, fields, wrong)
	case tabCron:
		e.Rule, e.Range = filled(cronFields, fields, wrong), filled(rangeFields, fields, wrong)
	default:
		e.Likes, e.Rule, e.Range = likes, filled(builderFields, fields, wrong), filled(rangeFields, fields, wrong)
		e.Ticks = ticks(fields, wrong)
		delete(wrong, builder.WeekDays)
		delete(wrong, builder.Months)
	}
	hint := "JSON. Empty: no arguments."
	if stored != nil {
		hint = fmt.Sprintf("JSON. Empty: the stored arguments (%s) do not change.", format.Plural(len(stored.Payload), "byte", "bytes"))
	}
	e.Args = filled([]render.Field{{Name: "args", Label: "Arguments", Kind: "textarea", Hint: hint}}, fields, wrong)[0]
	for _, text := range wrong {
		e.Mistakes = append(e.Mistakes, text)
	}
	slices.Sort(e.Mistakes)
	return e
}

// NewSchedule returns the editor of a new schedule.
func (c *Changer) NewSchedule(tab string) *Editor {
	fields, _ := like(url.Values{"tab": {tab}, builder.Cron: {"0 9 * * *"}}, "day") // "day" is a valid name
	fields.Set("json", "{\n  \"rule\": {\n    \"frequency\": \"day\",\n    \"schedule\": {\"hours\": [9], \"minutes\": [0]}\n  },\n  \"job_name\": \"report\"\n}")
	return newEditor(nil, fields, &draft{})
}

// EditSchedule returns the editor of a stored schedule. An empty tab means the tab that fits the rule best.
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

// unsaidBy returns the reason why a tab is not shown.
func unsaidBy(tab, why string) string {
	switch {
	case why == "":
		return ""
	case tab == tabCron:
		return "Cron text cannot express this definition: " + why + "."
	}
	return "The builder cannot show this definition: " + why + "."
}

// PutSchedule creates or changes a schedule. It also shows the typed values in another tab, or a preview.
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
			d.wrong("json", "name: %.60q: want %.60q, as in the field above, or no name", named, name)
		}
	}
	answer := onSchedule(name)
	answer.Args = d.definition.Args
	why, status := "", http.StatusOK
	var taken error // the name belongs to another schedule
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
			why, d = unsaidBy(to, why), readDraft(fields, stored) // cron text changes a rule of fields into another rule
		}
	case f.Fields.Get("do") == "put":
		if len(d.mistakes) > 0 {
			status = http.StatusBadRequest
			break
		}
		if err := f.check(ctx, "", name); err != nil {
			return answer, err
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
			return answer.one(nil)
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

// PreviewSchedule shows what a definition will do.
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

// previewed returns the preview of a draft, or nil if the draft has errors.
func (d *draft) previewed(ctx context.Context, stored *chime.Schedule, now time.Time) (*Preview, error) {
	if len(d.mistakes) > 0 {
		return nil, nil
	}
	return d.preview(ctx, stored, now, shownRuns)
}

// storedFor returns the schedule of a name, or nil if the name is empty.
func (c *Changer) storedFor(ctx context.Context, name string) (*chime.Schedule, error) {
	if name == "" {
		return nil, nil
	}
	return c.schedules.Get(ctx, name)
}

// shownRevision makes Put change only the revision that the viewer has seen.
func shownRevision(f *Form, stored *chime.Schedule) chime.PutOption {
	if stored == nil {
		return chime.IfAbsent()
	}
	revision, _ := strconv.ParseInt(f.Fields.Get("revision"), 10, 64) // a missing revision is refused like 0
	return chime.IfRevision(revision)
}

func (e *Editor) title() string {
	if e.Name == "" {
		return "New schedule"
	}
	return "Edit " + e.Name
}

// Title returns the heading of the page.
func (e *Editor) Title() string { return e.title() }

// conflict shows both definitions: the stored one, and the one that was to be stored. Storing from that page replaces the stored one.
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
		Text:   fmt.Sprintf("Somebody else has changed %s in the meantime: it is now at revision %d. Your version was not stored.", found.Schedule.Name, found.Schedule.Revision),
		Stored: there.jsonFields().Get("json"), Meant: (&draft{definition: meant}).jsonFields().Get("json"), Again: e.Posts(),
	}
	answer.Show = &Shown{Template: "editor", Title: e.title(), Status: http.StatusConflict, Model: e, Err: found}
	return answer, nil
}

// deletedMeanwhile shows the definition that was to be stored for a deleted schedule. Storing from that page creates the schedule again.
func (c *Changer) deletedMeanwhile(f *Form, name string) Answer {
	answer, d := onSchedule(name), readDraft(f.Fields, nil)
	f.Fields.Set("name", name)
	e := newEditor(nil, f.Fields, d)
	e.Conflict = &Conflict{
		Text:  fmt.Sprintf("Somebody has deleted %s in the meantime. Your version was not stored. If you store it now, the schedule is created again with the arguments typed here.", name),
		Meant: d.jsonFields().Get("json"), Again: "schedules",
	}
	answer.Show = &Shown{Template: "editor", Title: e.title(), Status: http.StatusConflict, Model: e, Err: fmt.Errorf("schedule %q was deleted in the meantime: %w", name, chime.ErrConflict)}
	return answer
}

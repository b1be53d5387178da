package change

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/dashboard/internal/builder"
	"github.com/chimejobs/chime/internal/definition"
	"github.com/chimejobs/chime/internal/format"
	"github.com/chimejobs/chime/internal/times"
	"github.com/chimejobs/chime/recurrence"
)

// The tabs of the editor.
const (
	tabBuilder = "builder"
	tabJSON    = "json"
	tabCron    = "cron"
)

// A draft is the definition of a schedule that is being edited.
type draft struct {
	definition *definition.Definition
	rule       recurrence.Recurrence
	mistakes   []builder.Mistake
}

func (d *draft) wrong(field, text string, values ...any) {
	d.mistakes = append(d.mistakes, builder.Mistake{Field: field, Text: fmt.Sprintf(text, values...)})
}

// draftOf returns the draft of a stored schedule, without its arguments.
func draftOf(stored *chime.Schedule) (*draft, error) {
	d, err := definition.Of(stored, false)
	return &draft{definition: d, rule: stored.Recurrence}, err
}

// readDraft reads the fields of a tab.
func readDraft(fields url.Values, stored *chime.Schedule) *draft {
	d := &draft{definition: &definition.Definition{}}
	if fields.Get("tab") == tabJSON {
		d.readJSON(fields.Get("json"), stored)
	} else {
		d.readRule(fields)
		d.readOptions(fields)
	}
	if args := strings.TrimSpace(fields.Get("args")); args != "" {
		if !json.Valid([]byte(args)) {
			d.wrong("args", "this is not JSON; texts need quotes")
		}
		d.definition.Args = json.RawMessage(args)
	}
	return d
}

// readJSON reads a definition. If it is only a rule, the rest keeps its stored values.
func (d *draft) readJSON(text string, stored *chime.Schedule) {
	given, rule, err := definition.Read(strings.TrimSpace(text), "")
	if err != nil {
		for line := range strings.SplitSeq(err.Error(), "\n") {
			d.wrong("json", "%s", line)
		}
		return
	}
	d.definition, d.rule = given, rule
	switch {
	case given.Payload != nil:
		d.wrong("json", "payload: use args instead, as JSON")
	case stored != nil && given.Name != "" && given.Name != stored.Name:
		d.wrong("json", "name: %.60q: want %q, or no name", given.Name, stored.Name)
	}
	rest := *given
	rest.Rule = nil
	if alone, _ := json.Marshal(rest); (string(alone) == "{}" || !definition.IsWhole(text)) && stored != nil {
		before, err := definition.Of(stored, false)
		if err == nil {
			d.definition, err = before.With(given)
		}
		if err != nil {
			d.wrong("json", "%v", err)
		}
	}
}

// readRule reads the rule of the builder or a cron text.
func (d *draft) readRule(fields url.Values) {
	read, at := builder.Rule, builder.Frequency
	if fields.Get("tab") == tabCron {
		read, at = builder.CronRule, builder.Cron
	}
	text, mistakes := read(fields)
	if d.mistakes = mistakes; len(mistakes) > 0 {
		return
	}
	var err error
	if d.rule, err = recurrence.Parse(text); err != nil {
		d.mistakes = builder.Wrong(err, at)
		return
	}
	d.definition.NoImmediateRun, d.rule.NoImmediateRun = d.rule.NoImmediateRun, false // it has its own field
	d.definition.Rule = text
	if canonical, err := json.Marshal(d.rule); err == nil {
		d.definition.Rule = canonical
	}
}

// readOptions reads the fields of the options.
func (d *draft) readOptions(fields url.Values) {
	of, text := d.definition, func(name string) string { return strings.TrimSpace(fields.Get(name)) }
	span := func(name string) int64 {
		if text(name) == "" {
			return 0
		}
		length, err := times.ParseSpan(text(name))
		if err != nil {
			length, err = time.ParseDuration(text(name))
		}
		if err != nil {
			d.wrong(name, "%.40q is not a duration; examples are 500ms, 90s, 2h and 1d12h", text(name))
		}
		return length.Milliseconds()
	}
	whole := func(name string) *int {
		n, err := strconv.Atoi(cmp.Or(text(name), "0"))
		if err != nil {
			d.wrong(name, "%.40q is not a whole number", text(name))
		}
		return &n
	}
	of.JobName, of.Queue, of.Overlap, of.Misfire = text("job_name"), text("queue"), text("overlap"), text("misfire")
	if group := text("group"); group != "" {
		of.Group = &group
	}
	of.NoImmediateRun = text("no_immediate_run") != "" || of.NoImmediateRun
	spread := span("spread")
	of.SpreadMS, of.PauseAfter, of.MaxAttempts = &spread, whole("pause_after"), *whole("max_attempts")
	if text("keep_runs") != "" {
		of.KeepRuns = whole("keep_runs")
	}
	of.GraceMS, of.TimeoutMS, of.KeepMS = span("grace"), span("timeout"), span("keep")
	if first, longest := span("retry_first"), span("retry_max"); first != 0 || longest != 0 {
		of.Retry = &definition.Retry{FirstMS: first, MaxMS: cmp.Or(longest, first)}
	}
	if meta := text("meta"); meta != "" {
		if !json.Valid([]byte(meta)) {
			d.wrong("meta", "this is not JSON; texts need quotes")
		}
		of.Meta = json.RawMessage(meta)
	}
	if header := text("header"); header != "" {
		if json.Unmarshal([]byte(header), &of.Header) != nil {
			d.wrong("header", `want a JSON object with texts as values, such as {"tenant": "a"}`)
		}
	}
}

// fields returns the draft as the fields of a tab. why is the reason if the tab cannot show the draft; the fields are then those of the JSON tab.
func (d *draft) fields(tab string) (fields url.Values, why string) {
	rule := d.rule
	switch tab {
	case tabBuilder:
		if rule.Cron != "" {
			if rule, why = builder.FromCron(rule); why == "" {
				d.definition.NoImmediateRun = true // a cron rule has no run at creation
			}
		}
		if why == "" {
			fields, why = builder.Of(rule)
		}
	case tabCron:
		var text string
		if text, why = builder.CronText(rule, d.definition.NoImmediateRun); why == "" {
			fields = builder.About(rule)
			fields.Set(builder.Cron, text)
		}
	}
	if why != "" || tab == tabJSON {
		return d.jsonFields(), why
	}
	fields.Set("tab", tab)
	d.addOptions(fields)
	return fields, ""
}

func (d *draft) jsonFields() url.Values {
	shown := *d.definition
	shown.Args = nil // they have their own field
	text, err := json.MarshalIndent(shown, "", "  ")
	if err != nil {
		text = d.definition.Rule
	}
	return url.Values{"tab": {tabJSON}, "json": {string(text)}, "args": {string(d.definition.Args)}}
}

// addOptions adds the fields of the options.
func (d *draft) addOptions(fields url.Values) {
	of := d.definition
	set := func(name string, there bool, value string) {
		if there {
			fields.Set(name, value)
		}
	}
	span := func(name string, ms int64) {
		set(name, ms != 0, format.Field(time.Duration(ms)*time.Millisecond))
	}
	set("job_name", true, of.JobName)
	set("queue", true, of.Queue)
	if of.Group != nil {
		set("group", true, *of.Group)
	}
	set("overlap", true, of.Overlap)
	set("misfire", true, of.Misfire)
	set("no_immediate_run", of.NoImmediateRun, "1")
	span("grace", of.GraceMS)
	if of.SpreadMS != nil {
		span("spread", *of.SpreadMS)
	}
	if of.PauseAfter != nil {
		set("pause_after", *of.PauseAfter != 0, strconv.Itoa(*of.PauseAfter))
	}
	if of.KeepRuns != nil {
		set("keep_runs", true, strconv.Itoa(*of.KeepRuns))
	}
	set("max_attempts", of.MaxAttempts != 0, strconv.Itoa(of.MaxAttempts))
	span("timeout", of.TimeoutMS)
	span("keep", of.KeepMS)
	if of.Retry != nil {
		span("retry_first", of.Retry.FirstMS)
		span("retry_max", of.Retry.MaxMS)
	}
	set("meta", of.Meta != nil, string(of.Meta))
	if len(of.Header) > 0 {
		header, _ := json.Marshal(of.Header) // texts
		set("header", true, string(header))
	}
	set("args", of.Args != nil, string(of.Args))
}

// options returns the options of Put for the draft. If the draft has no value, required fields and the arguments keep their stored values, and
// optional fields are removed.
func (d *draft) options(stored *chime.Schedule) []chime.PutOption {
	of := d.definition
	if stored == nil {
		return of.Options()
	}
	s, ms := *stored, func(n int64) time.Duration { return time.Duration(n) * time.Millisecond }
	s.JobName, s.Queue = cmp.Or(of.JobName, s.JobName), cmp.Or(of.Queue, s.Queue)
	s.Overlap, s.Misfire = cmp.Or(chime.OverlapPolicy(of.Overlap), s.Overlap), cmp.Or(chime.MisfirePolicy(of.Misfire), s.Misfire)
	s.Grace = cmp.Or(ms(of.GraceMS), s.Grace)
	if of.SpreadMS != nil {
		s.Spread = ms(*of.SpreadMS)
	}
	if of.PauseAfter != nil {
		s.PauseAfter = *of.PauseAfter
	}
	if of.KeepRuns != nil {
		s.KeepRuns = *of.KeepRuns
	}
	s.NoImmediateRun, s.MaxAttempts, s.Timeout, s.Keep = of.NoImmediateRun, of.MaxAttempts, ms(of.TimeoutMS), ms(of.KeepMS)
	s.Header, s.Meta, s.Retry, s.Group = of.Header, of.Meta, chime.RetryPolicy{}, ""
	if of.Group != nil {
		s.Group = *of.Group
	}
	if of.Retry != nil {
		s.Retry = chime.Exponential(ms(of.Retry.FirstMS), ms(of.Retry.MaxMS))
	}
	options := s.Options()
	if of.Args != nil {
		options = append(options, chime.Args(of.Args))
	}
	return options
}

// whole returns the definition that storing the draft would give, without unchanged arguments.
func (d *draft) whole(stored *chime.Schedule) (*definition.Definition, error) {
	if stored == nil {
		fresh := *d.definition
		if fresh.SpreadMS != nil && *fresh.SpreadMS == 0 {
			fresh.SpreadMS = nil
		}
		if fresh.PauseAfter != nil && *fresh.PauseAfter == 0 {
			fresh.PauseAfter = nil
		}
		return &fresh, nil
	}
	kept, err := definition.Of(stored, false)
	if err != nil {
		return nil, err
	}
	kept.Group = nil
	kept.MaxAttempts, kept.TimeoutMS, kept.KeepMS, kept.Retry, kept.Header, kept.Meta, kept.NoImmediateRun = 0, 0, 0, nil, nil, nil, false
	return kept.With(d.definition)
}

// differences returns the differences from the stored schedule. It returns nil for a new schedule.
func (d *draft) differences(stored *chime.Schedule) ([]definition.Difference, error) {
	before := &definition.Definition{}
	after, err := d.whole(stored)
	if err == nil && stored != nil {
		before, err = definition.Of(stored, false)
	}
	if err != nil {
		return nil, err
	}
	return definition.Differences(before, after)
}

// fieldsOf has the field of the editor for each field in an error of Put.
var fieldsOf = map[string]string{
	"name": "name", "schedule name": "name", "job name": "job_name", "queue": "queue", "group": "group", "overlap policy": "overlap", "misfire policy": "misfire",
	"grace": "grace", "spread": "spread", "pause after": "pause_after", "keep runs": "keep_runs", "max attempts": "max_attempts", "timeout": "timeout",
	"retry": "retry_first", "longest retry": "retry_max", "keep": "keep", "meta": "meta", "header": "header", "header key": "header", "args": "args", "recurrence": builder.Frequency,
}

// refused records the errors of Put. It returns false if they are not about a typed value.
func (d *draft) refused(err error, at string) bool {
	found := invalids(err)
	for _, invalid := range found {
		if len(recurrence.Errors(invalid)) > 0 {
			continue // see below
		}
		d.wrong(fieldsOf[invalid.Field], "%v", invalid)
	}
	if len(recurrence.Errors(err)) > 0 {
		d.mistakes = append(d.mistakes, builder.Wrong(err, at)...)
	}
	return len(d.mistakes) > 0
}

// invalids returns all errors of the options.
func invalids(err error) []*chime.InvalidError {
	var invalid *chime.InvalidError
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		var all []*chime.InvalidError
		for _, part := range several.Unwrap() {
			all = append(all, invalids(part)...)
		}
		return all
	}
	if here, ok := err.(*chime.InvalidError); ok {
		return []*chime.InvalidError{here}
	}
	if err != nil && errors.As(err, &invalid) {
		return invalids(errors.Unwrap(err))
	}
	return nil
}

// Package resource is the JSON of collections and jobs. It reads bodies of clients, tolerant of their form and strict about their content, and writes
// the answers.
package resource

import (
	"strings"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/httpapi/action"
	"github.com/chimejobs/chime/httpapi/internal/body"
	"github.com/chimejobs/chime/httpapi/internal/problem"
	"github.com/chimejobs/chime/recurrence"
)

// A Job is the writable part of a job.
type Job struct {
	// Rule defines when the job runs, with its StartTime. Without a recurrence it runs once, at StartTime. Without both, Rule is the zero value, and the
	// code that stores the job sets the start to now.
	Rule           recurrence.Recurrence
	Now            bool                // neither startTime nor recurrence was given
	State          State               // the client's wish, or the state from an earlier answer; empty: not given
	Action         *action.Action      // the client's action, if it was read; its Excerpt is chime.history.body
	Overlap        chime.OverlapPolicy // not given: allow, of job actions skip
	Misfire        chime.MisfirePolicy // not given: run_once
	Grace          time.Duration       // not given: 1 min
	NoImmediateRun bool                // immediateRun is false, here or in the recurrence; it is not set in Rule
	DisableAfter   int                 // 0: never
	Group          string              // chime.group; empty: the collection's
	KeepRuns       int                 // history.keep, 0 to 1000; not given: 100

	// Patched means that the job is a stored one with a patch: a missing secret was removed, so it is not restored.
	Patched bool

	// Prefix is the beginning of the fields' paths in the client's body: "properties." or nothing.
	Prefix string
}

// Limits bound the size of a body. Zero fields have their defaults.
type Limits = action.Limits

const (
	defaultGrace    = time.Minute
	minGrace        = time.Second
	maxGrace        = 365 * 24 * time.Hour
	defaultKeepRuns = 100
	maxKeepRuns     = 1000
	maxDisableAfter = 100
)

// ReadJob reads the body of a PUT; of a POST, with an empty n.Job; or of a preview, with an empty n. The action is the client's: it is not prepared.
func ReadJob(text []byte, n JobName) (*Job, []problem.Mistake) {
	v, mistakes := parse(text)
	if mistakes != nil {
		return nil, mistakes
	}
	return readJob(v, n)
}

// parse reads a body without duplicate keys.
func parse(text []byte) (*body.Value, []problem.Mistake) {
	v, bad := body.Parse(text)
	if bad != nil {
		return nil, []problem.Mistake{*bad}
	}
	if twice := body.Duplicates(v); len(twice) > 0 {
		return nil, twice[:min(len(twice), problem.MaxMistakes)]
	}
	return v, nil
}

func readJob(v *body.Value, n JobName) (*Job, []problem.Mistake) {
	f := newForm(v, "startTime", "recurrence", "action", "state", "status", "chime")
	f.outer.Ignore("location", "tags")
	f.name(n.Collection, n.Job)
	f.content.Ignore("status")
	j := &Job{Prefix: f.prefix}
	f.rule(j)
	f.state(j)
	if in := f.content.Object("action"); in.Value == nil {
		if f.content.Value != nil && f.content.Value.Get("action") == nil {
			f.content.Wrong("action", "required", "the action is missing: want an object with type and request")
		}
	} else {
		j.Action = readAction(in, true)
	}
	f.extensions(j)
	return j, f.done()
}

// rule reads startTime and recurrence like package recurrence.
func (f *form) rule(j *Job) {
	start, rule := f.content.Field("startTime"), f.content.Field("recurrence")
	if start == nil && rule == nil {
		j.Now = true
		return
	}
	text := &body.Value{Kind: body.Object}
	if start != nil {
		text.Members = append(text.Members, body.Member{Key: "startTime", Value: start})
	}
	if rule != nil {
		text.Members = append(text.Members, body.Member{Key: "recurrence", Value: rule})
	}
	var err error
	if j.Rule, err = recurrence.Parse(text.Append(nil)); err == nil {
		return
	}
	for _, bad := range recurrence.Errors(err) {
		at, field := rule, "recurrence"
		if strings.EqualFold(bad.Field, "startTime") || rule == nil {
			at, field = start, "startTime"
		} else if bad.Field != "" && bad.Field != "recurrence" {
			field += "." + bad.Field
		}
		f.reader.Add(at, problem.Mistake{Code: string(bad.Code), Field: f.prefix + field, Value: bad.Value, Detail: bad.Reason})
	}
}

func (f *form) state(j *Job) {
	j.State = word(f.content.Text("state"), Enabled, Disabled, Completed, Faulted)
	switch j.State {
	case "", Enabled, Disabled, Completed, Faulted:
	default:
		f.content.Wrong("state", "state_value", "want enabled or disabled")
	}
}

// extensions reads chime: the fields that Azure's JSON does not have.
func (f *form) extensions(j *Job) {
	in := f.content.Object("chime")
	in.Ignore("effectiveGroup", "held", "heldUntil", "secrets")
	j.Overlap = word(in.Text("overlap"), overlaps...)
	if j.Overlap == "" {
		j.Overlap = chime.OverlapAllow
		if j.Action != nil && j.Action.Type == action.Job {
			j.Overlap = chime.OverlapSkip
		}
	}
	oneOf(in, "overlap", j.Overlap, overlaps)
	j.Misfire = word(in.Text("misfire"), misfires...)
	if j.Misfire == "" {
		j.Misfire = chime.MisfireRunOnce
	}
	oneOf(in, "misfire", j.Misfire, misfires)
	j.Grace = defaultGrace
	if text := in.Text("grace"); text != "" {
		grace, err := action.ParseInterval(text)
		switch {
		case err != nil:
			in.Wrong("grace", "grace_value", err.Error())
		case time.Duration(grace) < minGrace || time.Duration(grace) > maxGrace:
			in.Wrong("grace", "grace_value", "want PT1S to P365D")
		}
		j.Grace = time.Duration(grace)
	}
	j.NoImmediateRun, j.Rule.NoImmediateRun = !in.Bool("immediateRun", true) || j.Rule.NoImmediateRun, false
	j.DisableAfter, _ = in.Whole("disableAfter", 0, maxDisableAfter, "disable_after")
	j.Group = group(in)
	f.history(in.Object("history"), j)
	in.Done()
}

func (f *form) history(in *body.ObjectReader, j *Job) {
	j.KeepRuns = defaultKeepRuns
	if n, set := in.Whole("keep", 0, maxKeepRuns, "history_keep"); set {
		j.KeepRuns = n
	}
	kept := word(in.Text("body"), excerptFailures, string(action.ExcerptAlways), string(action.ExcerptNever))
	switch kept {
	case "", excerptFailures:
		kept = ""
	case string(action.ExcerptAlways), string(action.ExcerptNever):
	default:
		in.Wrong("body", "history_body", "want failures, always or never")
	}
	if j.Action != nil {
		j.Action.Excerpt = action.Excerpt(kept)
		if j.Action.ErrorAction != nil {
			j.Action.ErrorAction.Excerpt = action.Excerpt(kept)
		}
	}
	in.Done()
}

const excerptFailures = "failures" // the JSON of ExcerptOfFailures

var (
	overlaps = []chime.OverlapPolicy{chime.OverlapAllow, chime.OverlapSkip, chime.OverlapWait, chime.OverlapCancel}
	misfires = []chime.MisfirePolicy{chime.MisfireRunOnce, chime.MisfireSkip, chime.MisfireCatchUp}
)

// oneOf adds a mistake if a word is not one of the allowed words.
func oneOf[T ~string](in *body.ObjectReader, key string, got T, want []T) {
	texts := make([]string, len(want))
	for i, w := range want {
		if w == got {
			return
		}
		texts[i] = string(w)
	}
	in.Wrong(key, key+"_value", "want one of "+strings.Join(texts, ", "))
}

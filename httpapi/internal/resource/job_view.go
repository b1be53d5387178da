package resource

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/httpapi/action"
	"github.com/chimejobs/chime/httpapi/internal/body"
	"github.com/chimejobs/chime/httpapi/internal/problem"
)

// A JobView is a job in an answer.
type JobView struct {
	ID        string // the path below the mount point, with the ARM prefix of the request if it had one
	Name      JobName
	State     State
	Held      string    // the reason why it is disabled: client, collection, failures, operator; empty: it is not disabled
	HeldUntil time.Time // when it is enabled again by itself; zero: when somebody enables it
	Group     string    // of its runs: its own, or its collection's when it was last written; empty: none
	Job       *Job      // without its secrets in the answer

	Executions, Failures, Faults int64
	Last, Next                   time.Time // zero: none
}

// The JSON of a job, in its written order.
type (
	jobJSON struct {
		ID         string        `json:"id"`
		Type       string        `json:"type"`
		Name       string        `json:"name"`
		Properties jobProperties `json:"properties"`
	}
	jobProperties struct {
		StartTime  string          `json:"startTime,omitempty"`
		Action     json.RawMessage `json:"action"`
		Recurrence json.RawMessage `json:"recurrence,omitempty"`
		State      State           `json:"state"`
		Status     *jobStatus      `json:"status,omitempty"`
		Chime      jobExtensions   `json:"chime"`
	}
	jobStatus struct {
		LastExecutionTime string `json:"lastExecutionTime,omitempty"`
		NextExecutionTime string `json:"nextExecutionTime,omitempty"`
		ExecutionCount    int64  `json:"executionCount"`
		FailureCount      int64  `json:"failureCount"`
		FaultedCount      int64  `json:"faultedCount"`
	}
	jobExtensions struct {
		Overlap      chime.OverlapPolicy `json:"overlap"`
		Misfire      chime.MisfirePolicy `json:"misfire"`
		Grace        action.Interval     `json:"grace"`
		ImmediateRun bool                `json:"immediateRun"`
		DisableAfter int                 `json:"disableAfter,omitempty"`
		Group        string              `json:"group,omitempty"`
		History      jobHistory          `json:"history"`
		InGroup      string              `json:"effectiveGroup,omitempty"`
		Held         string              `json:"held,omitempty"`
		HeldUntil    string              `json:"heldUntil,omitempty"`
		Secrets      []string            `json:"secrets,omitempty"`
	}
	jobHistory struct {
		Keep int    `json:"keep"`
		Body string `json:"body"`
	}
)

const jobType = "Microsoft.Scheduler/jobCollections/jobs"

// Append appends the answer's JSON, without a newline.
func (v *JobView) Append(to []byte) []byte {
	properties := v.Job.properties(v.Job.Action.Public())
	properties.State = v.State
	properties.Status = &jobStatus{
		LastExecutionTime: Time(v.Last), NextExecutionTime: Time(v.Next),
		ExecutionCount: v.Executions, FailureCount: v.Failures, FaultedCount: v.Faults,
	}
	properties.Chime.Held, properties.Chime.HeldUntil, properties.Chime.InGroup = v.Held, Time(v.HeldUntil), v.Group
	properties.Chime.Secrets = v.Job.Action.SecretPaths()
	return appendJSON(to, jobJSON{ID: v.ID, Type: jobType, Name: v.Name.Collection + "/" + v.Name.Job, Properties: properties})
}

// properties is the writable part of the job, with the given action.
func (j *Job) properties(a *action.Action) jobProperties {
	p := jobProperties{
		State: j.State,
		Chime: jobExtensions{
			Overlap: j.Overlap, Misfire: j.Misfire, Grace: action.Interval(j.Grace), ImmediateRun: !j.NoImmediateRun, DisableAfter: j.DisableAfter,
			Group:   j.Group,
			History: jobHistory{Keep: j.KeepRuns, Body: excerptFailures},
		},
	}
	if a.Excerpt != action.ExcerptOfFailures {
		p.Chime.History.Body = string(a.Excerpt)
	}
	p.StartTime, p.Recurrence = j.ruleJSON()
	a = a.Clone()
	a.Excerpt = ""
	if a.ErrorAction != nil {
		a.ErrorAction.Excerpt = ""
	}
	p.Action, _ = action.Encode(a) // it contains no plain secret
	return p
}

// ruleJSON is the rule in the two fields of a job: its start, and the recurrence if there is one.
func (j *Job) ruleJSON() (start string, rule json.RawMessage) {
	text, err := j.Rule.MarshalJSON()
	if err != nil {
		return "", nil
	}
	v, bad := body.Parse(text)
	if bad != nil {
		return "", nil
	}
	rest := &body.Value{Kind: body.Object}
	for _, m := range v.Members {
		if m.Key == "startTime" {
			start = m.Value.Text
		} else {
			rest.Members = append(rest.Members, m)
		}
	}
	if len(rest.Members) == 0 {
		return start, nil
	}
	return start, rest.Append(nil)
}

// Patch applies a merge patch (RFC 7396) to the writable part of the job, and checks the result as a whole. Secrets that the patch does not name remain
// sealed; secrets that it sets to null are removed, and so are secrets inside a removed object.
func (j *Job) Patch(text []byte, n JobName) (*Job, []problem.Mistake) {
	patch, mistakes := parse(text)
	if mistakes != nil {
		return nil, mistakes
	}
	stored, bad := body.Parse(appendJSON(nil, j.properties(j.Action)))
	if bad != nil {
		return nil, []problem.Mistake{*bad}
	}
	target := stored.Store()
	target.Members = without(target.Members, "state") // the wanted state is kept unless the patch has a state
	if patch.Get("properties") != nil {
		target = &body.Value{Kind: body.Object, Members: []body.Member{{Key: "properties", Value: target}}}
	}
	patched, mistakes := readJob(body.Patch(target, patch), n)
	if patched != nil {
		patched.Patched = true
		patched.Now = patched.Now || j.Now && patched.Rule.Equal(j.Rule) // the server set this start, not the client
	}
	return patched, mistakes
}

func without(members []body.Member, key string) []body.Member {
	kept := members[:0:0]
	for _, m := range members {
		if m.Key != key {
			kept = append(kept, m)
		}
	}
	return kept
}

// Time is an instant in the form of answers; empty: none.
func Time(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.999Z07:00")
}

// appendJSON appends a value of this package as JSON.
func appendJSON(to []byte, v any) []byte {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		panic(err) // the value contains a secret in plain text
	}
	return append(to, bytes.TrimSuffix(out.Bytes(), []byte("\n"))...)
}

// Package arm converts exported resources of Azure Scheduler to bodies for the API: no HTTP, no store.
//
//	export, err := arm.Read(file, arm.Options{Secrets: secrets})
//	for _, job := range export.Jobs {
//		if !job.Ended() && len(job.Missing) == 0 {
//			// PUT /jobCollections/{job.Collection}/jobs/{job.Name} with job.Body
//		}
//	}
//
// It reads three forms: the template of an exported resource group, a list {"value": […]} from the service, and one resource. In a
// template the expressions parameters('name') and concat(…) are evaluated; a resource with another expression is refused, with the expression's text.
// Variables, nested templates and the order of dependsOn are not supported. Keys and types are found in any case.
//
// Everything in a file is reported: each resource of the scheduler is in exactly one of the lists of an [Export], and the types
// of the others are listed. If a list is one page of several, Export.More has the address of the next one.
package arm

import (
	"encoding/json"
	"fmt"
	"time"
)

// Options configure the reading of an export. The zero value is enough for an export without parameters.
type Options struct {
	// Parameters are the values of a template's parameters, by name. They override the template's defaults.
	Parameters map[string]any
	// Secrets are the values that no export contains. A key is "collection/job/", with the names in the file, and the path of a
	// field: "demo/report/action.request.authentication.password".
	Secrets map[string]string
	// Rename maps old names of collections to new ones. A collection that is not in it keeps its name.
	Rename map[string]string
	// Enable keeps enabled jobs enabled. Otherwise all jobs become disabled.
	Enable bool
}

// An Export is the content of a file, in its order.
type Export struct {
	Collections []Collection
	Jobs        []Job
	Refused     []Refusal // resources without a body, with the reason
	Others      []string  // the types of skipped resources, which are not the scheduler's, sorted, each once
	More        string    // the address of the next page, if the file has only one page of a list; empty: the file is complete
	Used        []string  // the keys of Options.Secrets that were used, sorted
}

// A Collection is a collection of jobs.
type Collection struct {
	Name  string          // the new name
	Place string          // its place in the file: resources[0]
	Body  json.RawMessage // for a PUT
}

// A Job is a job of a collection, which may be in another file.
type Job struct {
	Collection string          // the new name
	Name       string          // of the job
	Place      string          // its place in the file: resources[1]
	Body       json.RawMessage // for a PUT, with the secrets from Options; nil for a job that has ended
	State      string          // the exported state: enabled, disabled, completed, faulted; empty: not in the file
	Enabled    bool            // whether Body enables it
	Next       time.Time       // the next run in the old service, UTC; zero: not in the file
	Missing    []string        // the missing secrets that the job needs, as keys of Options.Secrets: the API would refuse the body
}

// Ended reports whether the job has run for the last time, so it need not be put.
func (j *Job) Ended() bool { return j.State == "completed" || j.State == "faulted" }

// A Refusal is a resource of the scheduler that cannot be converted.
type Refusal struct {
	Place string // its place in the file, as exactly as it is known: resources[1].properties.action.request.uri
	Name  string // "collection" or "collection/job", as far as it is known
	Why   string // the reason, and what to do
}

// String is all of it on one line.
func (r Refusal) String() string {
	if r.Name == "" {
		return fmt.Sprintf("%s: %s", r.Place, r.Why)
	}
	return fmt.Sprintf("%s (%s): %s", r.Name, r.Place, r.Why)
}

// refused returns a Refusal without a name.
func refused(place, format string, args ...any) *Refusal {
	return &Refusal{Place: place, Why: fmt.Sprintf(format, args...)}
}

// Package arm reads what Azure Scheduler's resources are exported as, and makes of it bodies for the API: no HTTP, no store.
//
//	export, err := arm.Read(file, arm.Options{Secrets: secrets})
//	for _, job := range export.Jobs {
//		if !job.Ended() && len(job.Missing) == 0 {
//			// PUT /jobCollections/{job.Collection}/jobs/{job.Name} with job.Body
//		}
//	}
//
// Three forms are read: the template that a resource group is exported as, a list {"value": […]} as the service answered, and one resource. Of a
// template the expressions parameters('name') and concat(…) are carried out; a resource with any other is refused, by the expression's text.
// Variables, nested templates and the order of dependsOn are left out. Keys and types are found in any case.
//
// Nothing that stands in a file is lost without a word: each resource of the scheduler's is in exactly one of the lists of an [Export], and the types
// of the others are named. Of a list that is one page of several, Export.More says where it goes on.
package arm

import (
	"encoding/json"
	"fmt"
	"time"
)

// Options say how an export is read. The zero value is good for one without parameters.
type Options struct {
	// Parameters are the values of a template's parameters, by name. They go before the defaults that the template has.
	Parameters map[string]any
	// Secrets fill in what no export holds. The key is where one belongs, "collection/job/" with the names as the file has them, and the path of a
	// field: "demo/report/action.request.authentication.password".
	Secrets map[string]string
	// Rename has the new names of collections by the old ones. One that is not named keeps its name.
	Rename map[string]string
	// Enable leaves jobs enabled that were enabled. Otherwise all are made disabled.
	Enable bool
}

// An Export is what a file has, in its order.
type Export struct {
	Collections []Collection
	Jobs        []Job
	Refused     []Refusal // what cannot be a body, and why
	Others      []string  // the types of resources that are not the scheduler's, sorted, each once; they were not read
	More        string    // where a list goes on that the file has a page of only; empty: the file has all of it
	Used        []string  // the keys of Options.Secrets that had a place, sorted
}

// A Collection is a collection of jobs.
type Collection struct {
	Name  string          // the new one
	Place string          // in the file: resources[0]
	Body  json.RawMessage // for a PUT
}

// A Job is a job of a collection, which need not be in the same file.
type Job struct {
	Collection string          // the new name
	Name       string          // of the job
	Place      string          // in the file: resources[1]
	Body       json.RawMessage // for a PUT, with the secrets that Options has; nil of a job that has ended
	State      string          // as it was: enabled, disabled, completed, faulted; empty: the file does not say
	Enabled    bool            // whether Body makes it enabled
	Next       time.Time       // when the old service was going to run it, UTC; zero: the file does not say
	Missing    []string        // the secrets that the job needs and nobody has given, as keys of Options.Secrets: the API would refuse the body
}

// Ended reports whether the job has run for the last time, and is not worth a PUT.
func (j *Job) Ended() bool { return j.State == "completed" || j.State == "faulted" }

// A Refusal is a resource of the scheduler's that cannot be a body.
type Refusal struct {
	Place string // in the file, as exact as it is known: resources[1].properties.action.request.uri
	Name  string // "collection" or "collection/job", as far as it is known
	Why   string // what is wrong, and what to do
}

// String has all of it.
func (r Refusal) String() string {
	if r.Name == "" {
		return fmt.Sprintf("%s: %s", r.Place, r.Why)
	}
	return fmt.Sprintf("%s (%s): %s", r.Name, r.Place, r.Why)
}

// refused makes one without a name.
func refused(place, format string, args ...any) *Refusal {
	return &Refusal{Place: place, Why: fmt.Sprintf(format, args...)}
}

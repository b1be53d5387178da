package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/chimejobs/chime/httpapi/arm"
)

// An importer puts the content of files, each thing once. Existing things are not changed, so an interrupted import can be repeated.
//
//	imported   the PUT has created it; with dry, it would
//	exists     something with that name exists
//	skipped    the job has ended
//	refused    it was not put; the reason is printed
type importer struct {
	remote *remote
	dry    bool
	say    func(result)

	collections map[string]bool // the collections that exist, or with dry would exist; false: the collection was refused
}

// A result is the result for one resource.
type result struct {
	File    string      `json:"file"`
	Place   string      `json:"place"`
	Kind    string      `json:"kind,omitempty"` // collection or job
	Name    string      `json:"name,omitempty"`
	Result  string      `json:"result"`
	Why     string      `json:"why,omitempty"`
	State   string      `json:"state,omitempty"`             // of an imported job
	Next    []time.Time `json:"next,omitempty"`              // its next runs, three at most, once it is enabled
	Was     *time.Time  `json:"nextExecutionTime,omitempty"` // the next run in the export
	Missing []string    `json:"missingSecrets,omitempty"`    // the secrets that -secrets has to contain
}

const (
	imported = "imported"
	exists   = "exists"
	skipped  = "skipped"
	refusal  = "refused"
)

// A file is an input that was read.
type file struct {
	name   string
	export *arm.Export
}

// run imports files: first all collections. The error is one that stops it.
func (i *importer) run(ctx context.Context, files []file) error {
	i.collections = map[string]bool{}
	for _, f := range files {
		for _, r := range f.export.Refused {
			i.say(result{File: f.name, Place: r.Place, Name: r.Name, Result: refusal, Why: r.Why})
		}
	}
	for _, f := range files {
		for _, c := range f.export.Collections {
			done, err := i.collection(ctx, c)
			if err != nil {
				return err
			}
			done.File, done.Place, done.Kind, done.Name = f.name, c.Place, "collection", c.Name
			i.collections[c.Name] = done.Result != refusal
			i.say(done)
		}
	}
	for _, f := range files {
		for _, j := range f.export.Jobs {
			done, err := i.job(ctx, &j)
			if err != nil {
				return err
			}
			done.File, done.Place, done.Kind, done.Name = f.name, j.Place, "job", j.Collection+"/"+j.Name
			if !j.Next.IsZero() {
				done.Was = &j.Next
			}
			i.say(done)
		}
	}
	return nil
}

func refusedFor(format string, args ...any) result {
	return result{Result: refusal, Why: fmt.Sprintf(format, args...)}
}

func (i *importer) collection(ctx context.Context, c arm.Collection) (result, error) {
	path := "/jobCollections/" + c.Name
	if i.collections[c.Name] { // it was in an earlier file
		return result{Result: exists}, nil
	}
	if !i.dry {
		put, err := i.remote.send(ctx, http.MethodPut, path, c.Body, true)
		switch {
		case err != nil:
			return result{}, err
		case put.status == http.StatusCreated:
			return result{Result: imported}, nil
		case put.status == http.StatusPreconditionFailed:
			return result{Result: exists}, nil
		case put.status != http.StatusForbidden: // a token for writing jobs may lack the permission to create collections
			return refusedFor("%s", put.why()), nil
		}
	}
	got, err := i.remote.send(ctx, http.MethodGet, path, nil, false)
	switch {
	case err != nil:
		return result{}, err
	case got.status == http.StatusOK:
		return result{Result: exists}, nil
	case got.status == http.StatusNotFound && i.dry:
		return result{Result: imported}, nil
	case got.status == http.StatusNotFound:
		return refusedFor("there is no such collection, and the token may not create it: that needs the permission admin"), nil
	}
	return refusedFor("%s", got.why()), nil
}

func (i *importer) job(ctx context.Context, j *arm.Job) (result, error) {
	path := "/jobCollections/" + j.Collection + "/jobs/" + j.Name
	if j.Ended() {
		return result{Result: skipped, Why: j.State}, nil
	}
	if there, known := i.collections[j.Collection]; known && !there {
		return refusedFor("its collection was refused"), nil
	}
	if i.dry || len(j.Missing) > 0 {
		got, err := i.remote.send(ctx, http.MethodGet, path, nil, false)
		switch {
		case err != nil:
			return result{}, err
		case got.status == http.StatusOK:
			return result{Result: exists}, nil
		case got.status != http.StatusNotFound:
			return refusedFor("%s", got.why()), nil
		}
	}
	if len(j.Missing) > 0 {
		return result{Result: refusal, Why: "secrets are missing: give them with -secrets", Missing: j.Missing}, nil
	}
	if i.dry {
		return i.tried(ctx, j)
	}
	put, err := i.remote.send(ctx, http.MethodPut, path, j.Body, true)
	switch {
	case err != nil:
		return result{}, err
	case put.status == http.StatusPreconditionFailed:
		return result{Result: exists}, nil
	case put.status != http.StatusCreated:
		return refusedFor("%s", put.why()), nil
	}
	done := result{Result: imported, State: "disabled"}
	next := &reply{}
	if j.Enabled {
		done.State = "enabled"
		next, err = i.remote.send(ctx, http.MethodGet, path+"/next?count=3", nil, false)
	} else { // a disabled job has no next run
		next, err = i.remote.send(ctx, http.MethodPost, "/preview?count=3", j.Body, false)
	}
	if err != nil {
		return result{}, err
	}
	done.Next = next.runs()
	return done, nil
}

// tried is the result of a PUT, as far as it is known without sending one: quotas are not checked.
func (i *importer) tried(ctx context.Context, j *arm.Job) (result, error) {
	if !i.collections[j.Collection] {
		got, err := i.remote.send(ctx, http.MethodGet, "/jobCollections/"+j.Collection, nil, false)
		switch {
		case err != nil:
			return result{}, err
		case got.status != http.StatusOK:
			return refusedFor("%s", got.why()), nil
		}
		i.collections[j.Collection] = true
	}
	got, err := i.remote.send(ctx, http.MethodPost, "/preview?count=3", j.Body, false)
	switch {
	case err != nil:
		return result{}, err
	case got.status != http.StatusOK:
		return refusedFor("%s", got.why()), nil
	}
	state := "disabled"
	if j.Enabled {
		state = "enabled"
	}
	return result{Result: imported, State: state, Next: got.runs()}, nil
}

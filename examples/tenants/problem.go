package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/recurrence"
)

// A problem is one mistake of a request. The answer has all of them: {"problems": [{…}, …]}.
type problem struct {
	Field  string `json:"field,omitempty"` // the place: "schedule.hours[0]", "n", "If-Match"
	Value  string `json:"value,omitempty"` // the given value
	Limit  string `json:"limit,omitempty"` // the wanted value
	Code   string `json:"code,omitempty"`  // the kind of mistake in a rule
	Reason string `json:"reason,omitempty"`
}

// fail answers a request that failed.
//
//	400 the request is invalid      404 there is no such schedule, or run     413 the body is too long
//	409 the name is taken           412 the schedule has changed since If-Match
//	503 the store does not answer, or is full: repeat the request
func fail(w http.ResponseWriter, r *http.Request, err error) {
	status, problems := problemsOf(r, err)
	if status == http.StatusServiceUnavailable {
		slog.ErrorContext(r.Context(), "a request failed", "path", r.URL.Path, "error", err) // for us, not for the tenant
		w.Header().Set("Retry-After", "5")
	}
	write(w, status, map[string]any{"problems": problems})
}

func problemsOf(r *http.Request, err error) (status int, problems []problem) {
	var conflict *chime.ConflictError
	var tooLong *http.MaxBytesError
	switch {
	case errors.As(err, &conflict) && r.Header.Get("If-Match") != "":
		return http.StatusPreconditionFailed, []problem{{Field: "If-Match", Value: r.Header.Get("If-Match"),
			Limit: fmt.Sprintf("%q", fmt.Sprint(conflict.Schedule.Revision)), Reason: "it was changed in the meantime"}}
	case errors.As(err, &conflict):
		return http.StatusConflict, []problem{{Field: "name", Value: r.PathValue("name"), Reason: "a schedule with that name exists; to change it send its ETag as If-Match"}}
	case errors.Is(err, errNoRun):
		return http.StatusNotFound, []problem{{Field: "id", Value: r.PathValue("id"), Reason: err.Error()}}
	case errors.Is(err, chime.ErrNotFound):
		return http.StatusNotFound, []problem{{Field: "name", Value: r.PathValue("name"), Reason: "there is no such schedule"}}
	case errors.As(err, &tooLong):
		return http.StatusRequestEntityTooLarge, []problem{{Field: "body", Limit: fmt.Sprintf("at most %d bytes", tooLong.Limit)}}
	}
	for _, wrong := range recurrence.Errors(err) {
		problems = append(problems, problem{Field: wrong.Field, Value: wrong.Value, Code: string(wrong.Code), Reason: wrong.Reason})
	}
	for _, wrong := range invalid(err) {
		if len(recurrence.Errors(wrong)) > 0 {
			continue // a mistake in the rule
		}
		problems = append(problems, problem{Field: wrong.Field, Value: wrong.Value, Limit: wrong.Limit})
	}
	switch {
	case len(problems) > 0:
		return http.StatusBadRequest, problems
	case errors.Is(err, context.Canceled): // the caller has disconnected and reads no answer
		return http.StatusBadRequest, nil
	}
	return http.StatusServiceUnavailable, []problem{{Reason: "the service is not available at the moment, please repeat the request"}}
}

// invalid returns every InvalidError in err: several may be joined.
func invalid(err error) []*chime.InvalidError {
	if wrong, ok := err.(*chime.InvalidError); ok {
		return []*chime.InvalidError{wrong}
	}
	var found []*chime.InvalidError
	switch err := err.(type) {
	case interface{ Unwrap() error }:
		found = invalid(err.Unwrap())
	case interface{ Unwrap() []error }:
		for _, one := range err.Unwrap() {
			found = append(found, invalid(one)...)
		}
	}
	return found
}

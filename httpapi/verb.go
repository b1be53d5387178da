package httpapi

import (
	"context"
	"errors"
	"net/http"

	"github.com/chimejobs/chime/httpapi/internal/problem"
	"github.com/chimejobs/chime/httpapi/internal/service"
)

// A Verb is what a program other than the API, such as a dashboard, does to a schedule, see [API.CheckVerb].
type Verb = service.Verb

// The verbs.
const (
	VerbRun    = service.VerbRun    // run it once now, with its own arguments
	VerbPause  = service.VerbPause  // pause it
	VerbResume = service.VerbResume // resume it
	VerbDefine = service.VerbDefine // change its definition, or run it with other arguments
	VerbOther  = service.VerbOther  // anything else
)

// CheckVerb returns the permission that the API demands for a verb on a schedule, and the reason if nobody may do it now. A program that gives the callers
// of the API access to the schedules of the store calls it before each change, so that they can do no more there than with the API:
//
//   - A job of a collection may be run with Run, unless it has ended or its collection is disabled. It may be paused and resumed with Write, except that it
//     is not resumed in a disabled collection, or if a client has disabled it. Its definition and its arguments are changed by the API only.
//   - Everything else needs Admin: other schedules belong to programs, and the API gives no access to them.
//
// status is 0 if err is nil. If a rule forbids the verb, it is 403, 404 or 409, and err has a text for the user. It is 503 with an error of the store, and
// 500 if the options of the API are invalid.
func (a *API) CheckVerb(ctx context.Context, schedule string, do Verb) (needs Permission, status int, err error) {
	if a.bad != nil {
		return Admin, http.StatusInternalServerError, a.bad
	}
	job, err := a.service.CheckVerb(ctx, schedule, do)
	needs = Admin
	switch {
	case job && do == VerbRun:
		needs = Run
	case job && (do == VerbPause || do == VerbResume):
		needs = Write
	}
	var refused *problem.Problem
	switch {
	case errors.As(err, &refused):
		return needs, refused.Code.Status(), errors.New(refused.Detail + " (" + string(refused.Code) + ")")
	case err != nil:
		return needs, http.StatusServiceUnavailable, err
	}
	return needs, 0, nil
}

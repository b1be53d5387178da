package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/chimejobs/chime/dashboard"
	"github.com/chimejobs/chime/httpapi"
)

// verbs are the actions of the dashboard on schedules, by the verb in dashboard.Action.Act.
var verbs = map[string]httpapi.Verb{
	"pause": httpapi.VerbPause, "resume": httpapi.VerbResume, "trigger": httpapi.VerbRun, "put": httpapi.VerbDefine,
	"backfill": httpapi.VerbOther, "delete": httpapi.VerbOther,
}

// checkByAPI gives the visitors of the dashboard no more than the API gives their tokens: a job of a collection needs the permission of the API's own
// route, and everything else an admin. Nobody has to be asked about a preview, which stores nothing.
func checkByAPI(api *httpapi.API) func(ctx context.Context, viewer dashboard.Viewer, action dashboard.Action, names []string) error {
	return func(ctx context.Context, viewer dashboard.Viewer, action dashboard.Action, names []string) error {
		verb, noun, _ := strings.Cut(action.Act, " ")
		do, known := verbs[verb]
		switch {
		case action.Act == "preview schedule":
			return nil
		case noun != "schedule" && noun != "schedules", !known:
			return needs(viewer, httpapi.Admin)
		case len(names) == 0 && do == httpapi.VerbDefine: // a new schedule is never a job of a collection
			return needs(viewer, httpapi.Admin)
		case do == httpapi.VerbRun && action.Args != "":
			do = httpapi.VerbDefine
		}
		for _, name := range names {
			permission, status, err := api.CheckVerb(ctx, name, do)
			if status == http.StatusServiceUnavailable {
				return &dashboard.Refusal{Status: status, Text: "No answer from Redis, so it is not known whether you may do this."}
			}
			if refused := needs(viewer, permission); refused != nil && status != http.StatusForbidden {
				return refused
			}
			if err != nil {
				return &dashboard.Refusal{Status: status, Text: err.Error()}
			}
		}
		return nil
	}
}

// needs returns a refusal if a viewer does not have a permission for all collections.
func needs(viewer dashboard.Viewer, permission httpapi.Permission) error {
	if right := dashboardRights[permission]; viewer.Rights&right == right {
		return nil
	}
	return &dashboard.Refusal{Text: fmt.Sprintf("This needs a token with the permission %s for all collections.", permission)}
}

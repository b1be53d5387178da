package main

import (
	"log/slog"
	"net/http"
	"strings"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/dashboard"
	"github.com/chimejobs/chime/httpapi"
	"github.com/chimejobs/chime/httpapi/action"
	"github.com/chimejobs/chime/internal/login"
)

// dashboardPrefix is the path of the dashboard.
const dashboardPrefix = "/dashboard"

// wholeStore is a name that no collection has. Only tokens for all collections have a permission for it.
const wholeStore = "*"

// dashboardRights are the rights that a permission for all collections adds in the dashboard, which shows the whole store. checkByAPI limits them.
var dashboardRights = map[httpapi.Permission]dashboard.Rights{
	httpapi.Read: dashboard.View, httpapi.Run: dashboard.Operate, httpapi.Write: dashboard.Edit, httpapi.Admin: dashboard.Delete | dashboard.Reveal,
}

// newDashboard returns the dashboard behind its login, whose password is a token.
func newDashboard(s *settings, known *credentials, store chime.Store, api *httpapi.API, log *slog.Logger) (*dashboard.Dashboard, http.Handler) {
	options := dashboard.Options{
		Prefix: dashboardPrefix, Title: "chimed", Authorize: login.Authorize, Write: s.dashboardWrite,
		Check: checkByAPI(api), Redact: maskSeals, Logger: log,
	}
	pages, gate := dashboard.New(store, options), login.New(known.viewer, log)
	if s.local != nil {
		return pages, gate.WrapLocal(pages)
	}
	return pages, gate.Wrap(pages)
}

// sealedField is the only field of a sealed secret in the JSON of an action.
const sealedField = "$secret"

// maskSeals hides the sealed secrets of an action from viewers who reveal its arguments: nobody needs them there, and a sealed text could be opened by
// somebody who gets the keys later.
func maskSeals(job *chime.JobInfo, payload any) any {
	if job.Name != action.JobName {
		return payload
	}
	return masked(payload)
}

// masked copies a decoded value without sealed secrets.
func masked(value any) any {
	switch value := value.(type) {
	case map[string]any:
		clean := make(map[string]any, len(value))
		for name, field := range value {
			if name == sealedField {
				field = "***"
			}
			clean[name] = masked(field)
		}
		return clean
	case []any:
		clean := make([]any, len(value))
		for i := range value {
			clean[i] = masked(value[i])
		}
		return clean
	}
	return value
}

// viewer is the viewer with a name and a token, by the tokens that were read last.
func (c *credentials) viewer(name, token string) (dashboard.Viewer, bool) {
	principal, err := (*c.who.Load())(&http.Request{Header: http.Header{"Authorization": {"Bearer " + token}}})
	isBearer := c.local != nil && name == ""
	if err != nil || principal.Name != name && !isBearer {
		return dashboard.Viewer{}, false
	}
	viewer := dashboard.Viewer{Name: principal.Name}
	for permission, rights := range dashboardRights {
		if principal.Allows(permission, wholeStore) {
			viewer.Rights |= rights
		}
	}
	return viewer, true
}

// withDashboard passes requests below dashboardPrefix to the dashboard, and all others to next.
func withDashboard(pages, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		switch path := request.URL.Path; {
		case path == dashboardPrefix:
			w.Header().Set("Location", strings.TrimPrefix(dashboardPrefix, "/")+"/") // relative: a proxy may have removed a prefix of the path
			w.WriteHeader(http.StatusPermanentRedirect)
		case strings.HasPrefix(path, dashboardPrefix+"/"):
			pages.ServeHTTP(w, request)
		default:
			next.ServeHTTP(w, request)
		}
	})
}

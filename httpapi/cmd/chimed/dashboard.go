package main

import (
	"log/slog"
	"net/http"
	"strings"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/dashboard"
	"github.com/chimejobs/chime/httpapi"
	"github.com/chimejobs/chime/internal/login"
)

// dashboardPrefix is the path of the dashboard.
const dashboardPrefix = "/dashboard"

// wholeStore is a name that no collection has. Only tokens for all collections have a permission for it.
const wholeStore = "*"

// dashboardRights are the rights that a permission for all collections adds in the dashboard, which shows the whole store.
var dashboardRights = map[httpapi.Permission]dashboard.Rights{
	httpapi.Read: dashboard.View, httpapi.Run: dashboard.Operate, httpapi.Write: dashboard.Edit, httpapi.Admin: dashboard.Delete | dashboard.Reveal,
}

// newDashboard returns the dashboard behind its login. Without tokens, browsers of this machine may use it. With tokens, a visitor
// needs a token as password.
func newDashboard(s *settings, known *credentials, store chime.Store, log *slog.Logger) (*dashboard.Dashboard, http.Handler) {
	options := dashboard.Options{Prefix: dashboardPrefix, Title: "chimed", Write: s.dashboardWrite, Logger: log}
	if s.tokens == "" {
		pages := dashboard.New(store, options)
		return pages, pages
	}
	options.Authorize = login.Authorize
	pages := dashboard.New(store, options)
	return pages, login.New(known.viewer, log).Wrap(pages)
}

// viewer is the viewer with a name and a token, by the tokens that were read last.
func (c *credentials) viewer(name, token string) (dashboard.Viewer, bool) {
	principal, err := c.authenticate(&http.Request{Header: http.Header{"Authorization": {"Bearer " + token}}})
	if err != nil || principal.Name != name {
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

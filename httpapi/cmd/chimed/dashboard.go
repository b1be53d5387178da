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

// dashboardPrefix is where the dashboard is.
const dashboardPrefix = "/dashboard"

// wholeStore is a name that no collection has. Only those have a permission for it whose tokens are for all collections.
const wholeStore = "*"

// dashboardRights are what a permission for all collections lets its holder do besides the ones before it: the dashboard shows all of the store.
var dashboardRights = map[httpapi.Permission]dashboard.Rights{
	httpapi.Read: dashboard.View, httpapi.Run: dashboard.Operate, httpapi.Write: dashboard.Edit, httpapi.Admin: dashboard.Delete | dashboard.Reveal,
}

// newDashboard makes the dashboard, and the handler that stands before it: browsers of this machine are let in without tokens, and else those
// who have one, which is their password.
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

// viewer is who has a name and a token, by what was read last.
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

// withDashboard leaves what is below dashboardPrefix to the dashboard, and all else to next.
func withDashboard(pages, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		switch path := request.URL.Path; {
		case path == dashboardPrefix:
			w.Header().Set("Location", strings.TrimPrefix(dashboardPrefix, "/")+"/") // relative: a proxy may have cut off what came before
			w.WriteHeader(http.StatusPermanentRedirect)
		case strings.HasPrefix(path, dashboardPrefix+"/"):
			pages.ServeHTTP(w, request)
		default:
			next.ServeHTTP(w, request)
		}
	})
}

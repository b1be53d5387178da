package dashboard

import (
	"net/http"
	"strings"
	"testing"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/dashboard/internal/visit"
)

// rightsOfRoutes are the rights of each route, from testdata/routes.txt. That file has to change too when a route is added or needs another right.
// If the field verb of a form selects one of several actions, each action has a line.
func rightsOfRoutes(t *testing.T) map[string]Rights {
	t.Helper()
	rights := map[string]Rights{}
	for route, right := range visit.Routes(t, "testdata/routes.txt") {
		for _, r := range []Rights{View, Operate, Edit, Delete, Reveal} {
			if r.String() == right {
				rights[route] = r
			}
		}
	}
	return rights
}

// routesOf returns the routes of a dashboard in the form of rightsOfRoutes.
func routesOf(d *Dashboard) map[string]Rights {
	all := map[string]Rights{}
	verbs := map[string]map[string]action{}
	for _, form := range forms {
		verbs[form.path] = form.actions
	}
	for _, r := range d.routes {
		name := r.method + " " + r.path
		if actions := verbs[r.path]; r.method == http.MethodPost && actions != nil {
			for verb, action := range actions {
				all[strings.TrimSpace(name+" "+verb)] = action.right
			}
			continue
		}
		all[name] = r.right
	}
	return all
}

func TestEachRouteNeedsTheRightThatIsWrittenDown(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		got := routesOf(newDashboard(t, store, Options{}))
		for name, right := range rightsOfRoutes(t) {
			if got[name] != right {
				t.Errorf("%q needs %s, want %s", name, got[name], right)
			}
			delete(got, name)
		}
		for name, right := range got {
			t.Errorf("%q needs %s, which this test does not know", name, right)
		}
	})
}

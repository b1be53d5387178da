package dashboard

import (
	"net/http"
	"strings"
	"testing"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/dashboard/internal/visit"
)

// rightsOfRoutes are the rights that each route needs, from testdata/routes.txt: whoever adds one, or changes what it needs, says so there too. Of a
// form that does one of several things, as its field verb says, each has a line.
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

// routesOf are the routes of a dashboard as rightsOfRoutes has them.
func routesOf(d *Dashboard) map[string]Rights {
	all := map[string]Rights{}
	verbs := map[string]map[string]deed{}
	for _, form := range forms {
		verbs[form.path] = form.deeds
	}
	for _, r := range d.routes {
		name := r.method + " " + r.path
		if deeds := verbs[r.path]; r.method == http.MethodPost && deeds != nil {
			for verb, deed := range deeds {
				all[strings.TrimSpace(name+" "+verb)] = deed.right
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

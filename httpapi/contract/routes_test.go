package contract_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/chimejobs/chime/httpapi"
	"github.com/chimejobs/chime/redisstore/embedded"
)

// GET / is built from the handler's table of routes.
func TestTheDocumentHasTheRoutesOfTheHandler(t *testing.T) {
	server := embedded.StartInMemory()
	defer func() { _ = server.Close() }()
	w := &wire{api: httpapi.New(server.Store(), httpapi.Options{Authenticate: httpapi.Loopback(), Logger: quiet()})}
	var home struct {
		Routes []struct{ Method, Path, Needs string }
	}
	if err := json.Unmarshal(w.send(t, "GET", "/", "").got, &home); err != nil {
		t.Fatal(err)
	}
	served := map[string]string{}
	for _, r := range home.Routes {
		served[r.Method+" "+r.Path] = r.Needs
	}
	described := map[string]string{}
	for _, o := range operations(model(t)) {
		needs := ""
		if _, rest, found := strings.Cut(o.Description, "Needs the permission "); found {
			needs, _, _ = strings.Cut(rest, ".")
		}
		described[o.method+" "+o.path] = needs
	}
	for _, route := range slices.Sorted(maps.Keys(served)) {
		if needs, there := described[route]; !there || needs != served[route] {
			t.Errorf("%s needs %q in the handler; in the document: %v, needs %q", route, served[route], there, needs)
		}
	}
	for _, route := range slices.Sorted(maps.Keys(described)) {
		if _, there := served[route]; !there {
			t.Errorf("%s is in the document, but not in the handler", route)
		}
	}
	if len(served) < 20 {
		t.Errorf("%d routes were found: this test searches in the wrong place", len(served))
	}
}

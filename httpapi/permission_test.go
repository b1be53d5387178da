package httpapi

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chimejobs/chime/httpapi/internal/resource"
)

// neededFor repeats the permission of each route. The test compares the table of routes with it.
var neededFor = map[string]string{
	"GET /":             "nothing",
	"GET /openapi.json": "no name",
	"GET /openapi.yaml": "no name",
	"POST /preview":     "nothing",

	"GET /jobCollections":                           "nothing", // it lists the collections that the caller may read
	"GET /jobCollections/{collection}":              "read",
	"PUT /jobCollections/{collection}":              "admin",
	"PATCH /jobCollections/{collection}":            "admin",
	"DELETE /jobCollections/{collection}":           "admin",
	"POST /jobCollections/{collection}/enable":      "run",
	"POST /jobCollections/{collection}/disable":     "run",
	"GET /jobCollections/{collection}/jobs":         "read",
	"POST /jobCollections/{collection}/jobs":        "write",
	"GET /jobCollections/{collection}/jobs/{job}":   "read",
	"PUT /jobCollections/{collection}/jobs/{job}":   "write",
	"PATCH /jobCollections/{collection}/jobs/{job}": "write",

	"DELETE /jobCollections/{collection}/jobs/{job}":      "write",
	"POST /jobCollections/{collection}/jobs/{job}/run":    "run",
	"GET /jobCollections/{collection}/jobs/{job}/history": "read",
	"GET /jobCollections/{collection}/jobs/{job}/next":    "read",

	"GET /jobCollections/{collection}/tasks":           "read",
	"POST /jobCollections/{collection}/tasks":          "write",
	"GET /jobCollections/{collection}/tasks/{task}":    "read",
	"DELETE /jobCollections/{collection}/tasks/{task}": "write",

	"GET /jobCollections/{collection}/acknowledgements":          "read",
	"POST /jobCollections/{collection}/jobs/{job}/acknowledge":   "run",
	"DELETE /jobCollections/{collection}/jobs/{job}/acknowledge": "run",
	"GET /jobCollections/{collection}/batches":                   "read",
	"POST /jobCollections/{collection}/batches":                  "write",
	"GET /jobCollections/{collection}/batches/{batch}":           "read",
	"DELETE /jobCollections/{collection}/batches/{batch}":        "write",
	"POST /jobCollections/{collection}/batches/{batch}/cancel":   "write",
}

// success is the status of each route on an existing resource.
var success = map[string]int{"POST /jobCollections/{collection}/jobs": http.StatusCreated}

// absent is the status of each route on a missing collection, for a caller with all permissions.
var absent = map[string]int{
	"PUT /jobCollections/{collection}":               http.StatusCreated,
	"DELETE /jobCollections/{collection}":            http.StatusNoContent,
	"DELETE /jobCollections/{collection}/jobs/{job}": http.StatusNoContent,

	"DELETE /jobCollections/{collection}/tasks/{task}":           http.StatusNoContent,
	"DELETE /jobCollections/{collection}/batches/{batch}":        http.StatusNoContent,
	"DELETE /jobCollections/{collection}/jobs/{job}/acknowledge": http.StatusNoContent,
}

func TestEveryRouteNeedsWhatTheTableSays(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range routes() {
		name := r.method + " " + strings.TrimSuffix(r.path, "{$}")
		seen[name] = true
		got := "nothing"
		switch {
		case r.open:
			got = "no name"
		case r.needs != 0:
			got = r.needs.String()
		}
		if got != neededFor[name] {
			t.Errorf("%s needs %s, want %q", name, got, neededFor[name])
		}
	}
	for name := range neededFor {
		if !seen[name] {
			t.Errorf("%s is not a route", name)
		}
	}
}

// bodies for the routes that have one.
func bodyOf(r *route) string {
	switch {
	case !r.body:
		return ""
	case r.method == http.MethodPatch, r.needs == Admin, r.needs == Run:
		return `{}`
	}
	if strings.HasSuffix(r.path, "/batches") {
		return `{"id": "import", "value": [{"job": {"name": "mail.send"}}]}`
	}
	return `{"action": {"type": "https", "request": {"uri": "https://example.com/r"}}}`
}

// Every route × every permission × four collections × both mounts. The collections: the principal's own, one of others, a missing one that would be
// the principal's, and a missing one that would be of others.
func TestAPermissionOpensItsRoutesOnItsCollectionsOnly(t *testing.T) {
	levels := []Permission{0, Read, Run, Write, Admin}
	for _, mount := range []string{"", "/subscriptions/s/resourceGroups/g/providers/Microsoft.Scheduler"} {
		for _, r := range routes() {
			if mount != "" && !r.arm() {
				continue
			}
			name := r.method + " " + strings.TrimSuffix(r.path, "{$}")
			for _, level := range levels {
				for _, c := range []struct {
					name  string
					own   bool
					there bool
				}{{"own-there", true, true}, {"own-gone", true, false}, {"foreign-there", false, true}, {"foreign-gone", false, false}} {
					api, backend := newTestAPI(t, Options{Authenticate: func(*http.Request) (Principal, error) {
						return Principal{Name: "p", Allows: func(asked Permission, collection string) bool {
							return asked <= level && strings.HasPrefix(collection, "own-")
						}}, nil
					}}, "own-there", "foreign-there")
					backend.addJob("own-there", "report")
					backend.addJob("foreign-there", "report")
					backend.addTask("own-there", "order")
					backend.addTask("foreign-there", "order")
					for _, name := range []string{"own-there", "foreign-there"} {
						n := resource.JobName{Collection: name, Job: "report"}
						backend.known[n] = &resource.AcknowledgementView{Job: n.Job}
					}
					backend.addBatch("own-there", "old")
					backend.addBatch("foreign-there", "old")
					before := backend.revision

					target := mount + strings.NewReplacer("{collection}", c.name, "{job}", "report", "{task}", "order", "{batch}", "old", "{$}", "").Replace(r.path) + "?api-version=2016-03-01"
					got := send(api, r.method, target, bodyOf(&r))

					aboutOne := strings.Contains(r.path, "{collection}")
					want := success[name]
					if want == 0 {
						want = http.StatusOK
					}
					switch {
					case !aboutOne:
					case !c.own || level < Read:
						want = http.StatusNotFound
					case level < r.needs:
						want = http.StatusForbidden
					case !c.there && absent[name] != 0:
						want = absent[name]
					case !c.there:
						want = http.StatusNotFound
					}
					if got.Code != want {
						t.Errorf("%s%s on %s with %v: got %d, want %d: %s", mount, name, c.name, level, got.Code, want, got.Body)
					}
					if want == http.StatusForbidden || aboutOne && (!c.own || level < Read) {
						if backend.calls != 0 || backend.revision != before {
							t.Errorf("%s%s on %s with %v: the store was called before the request was refused", mount, name, c.name, level)
						}
					}
				}
			}
		}
	}
}

// The answer for a collection that the caller may not read equals the answer for a missing one, word for word.
func TestAForeignCollectionLooksLikeAMissingOne(t *testing.T) {
	api, backend := newTestAPI(t, Options{Authenticate: func(*http.Request) (Principal, error) {
		return Principal{Name: "p", Allows: func(_ Permission, collection string) bool { return collection != "secret" }}, nil
	}}, "secret")
	for _, r := range routes() {
		if !strings.Contains(r.path, "{collection}") || absent[r.method+" "+r.path] != 0 {
			continue
		}
		asked := func(collection string) string {
			target := strings.NewReplacer("{collection}", collection, "{job}", "report", "{task}", "order", "{batch}", "old").Replace(r.path)
			got := send(api, r.method, target, bodyOf(&r), "X-Request-Id: same")
			return strings.ReplaceAll(got.Body.String(), collection, "NAME")
		}
		if foreign, none := asked("secret"), asked("nosuch"); foreign != none {
			t.Errorf("%s %s:\nforeign %s\nnone    %s", r.method, r.path, foreign, none)
		}
	}
	if backend.collections["secret"] == nil {
		t.Error("the foreign collection was deleted")
	}
}

// A permission to write without reading is a bug of the program. It allows nothing.
func TestAPermissionWithoutReadAllowsNothing(t *testing.T) {
	api, backend := newTestAPI(t, Options{Authenticate: func(*http.Request) (Principal, error) {
		return Principal{Name: "p", Allows: func(p Permission, _ string) bool { return p != Read }}, nil
	}}, "demo")
	if got := send(api, "DELETE", "/jobCollections/demo", ""); got.Code != 404 || backend.calls != 0 {
		t.Errorf("got %d after %d calls of the store, want 404 after none", got.Code, backend.calls)
	}
	nobody, _ := newTestAPI(t, Options{Authenticate: func(*http.Request) (Principal, error) { return Principal{Name: "p"}, nil }}, "demo")
	if got := send(nobody, "GET", "/jobCollections/demo", ""); got.Code != 404 {
		t.Errorf("a principal without Allows: got %d, want 404", got.Code)
	}
}

// A caller without the permission to change a collection cannot make the server read a body.
func TestABodyIsReadAfterThePermissionIsChecked(t *testing.T) {
	for want, may := range map[int]func(Permission) bool{404: func(Permission) bool { return false }, 403: func(p Permission) bool { return p == Read }} {
		api, _ := newTestAPI(t, Options{Authenticate: func(*http.Request) (Principal, error) {
			return Principal{Name: "p", Allows: func(p Permission, _ string) bool { return may(p) }}, nil
		}}, "demo")
		body := &endless{}
		r := httptest.NewRequest("PUT", "/jobCollections/demo/jobs/report", body)
		if got := serve(api, r); got.Code != want || body.read != 0 {
			t.Errorf("got %d after %d bytes of the body, want %d after none: %s", got.Code, body.read, want, got.Body)
		}
	}
}

func TestPermissionsAreReadAsTheyAreWritten(t *testing.T) {
	for _, p := range []Permission{Read, Run, Write, Admin} {
		text, _ := p.MarshalText()
		var got Permission
		if err := got.UnmarshalText(text); err != nil || got != p {
			t.Errorf("%v is read as %v, %v", p, got, err)
		}
	}
	var p Permission
	for _, wrong := range []string{"", "Read", "owner", "Permission(0)"} {
		if err := p.UnmarshalText([]byte(wrong)); err == nil {
			t.Errorf("%q is read as %v, want an error", wrong, p)
		}
	}
}

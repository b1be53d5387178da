package httpapi

import (
	"net/http"
	"testing"
)

// ownerOf is the owner of a collection in an answer; empty: it has none.
func ownerOf(t *testing.T, api *API, name, as string) string {
	t.Helper()
	got := answered(t, send(api, "GET", "/jobCollections/"+name, "", as))
	properties, _ := got["properties"].(map[string]any)
	of, _ := properties["chime"].(map[string]any)
	owner, _ := of["owner"].(string)
	return owner
}

// A collection belongs to who creates it. Whoever may change it, only an administrator of all collections gives it to somebody else: it uses up what its
// owner may have.
func TestACollectionBelongsToWhoCreatedIt(t *testing.T) {
	all := func(Permission, string) bool { return true }
	callers := map[string]Principal{
		"ann": {Name: "ann", Allows: func(_ Permission, collection string) bool { return collection != everyCollection }},
		"ben": {Name: "ben", Allows: func(_ Permission, collection string) bool { return collection != everyCollection }},
		"ops": {Name: "ops", Allows: all}, "bad": {Name: `a"b`, Allows: all}, "this machine": {Name: "loopback", Allows: all, unlimited: true},
	}
	api, _ := newTestAPI(t, Options{Authenticate: func(r *http.Request) (Principal, error) { return callers[r.Header.Get("Caller")], nil }})
	for i, step := range []struct {
		caller, method, name, body string
		status                     int
		owner                      string // afterwards
	}{
		{"ann", "PUT", "a", `{}`, 201, "ann"},
		{"ben", "PUT", "a", `{"chime": {"description": "x"}}`, 200, "ann"},
		{"ben", "PATCH", "a", `{"chime": null}`, 200, "ann"},
		{"ann", "PUT", "a", `{"chime": {"owner": "ann"}}`, 200, "ann"},
		{"ann", "PATCH", "a", `{"chime": {"owner": "ben"}}`, 403, "ann"},
		{"ben", "PATCH", "a", `{"chime": {"owner": "ben"}}`, 403, "ann"},
		{"ann", "PUT", "b", `{"chime": {"owner": "ben"}}`, 403, ""},
		{"ops", "PATCH", "a", `{"chime": {"owner": "ben"}}`, 200, "ben"},
		{"ops", "PUT", "b", `{"properties": {"chime": {"owner": "ann"}}}`, 201, "ann"},
		{"ops", "PUT", "c", `{}`, 201, "ops"},
		{"ops", "PATCH", "c", `{"chime": {"owner": "a\"b"}}`, 400, "ops"},
		{"ops", "PATCH", "c", `{"chime": {"owner": "a\u0007b"}}`, 400, "ops"},
		{"bad", "PUT", "d", `{}`, 201, ""},
		{"this machine", "PUT", "e", `{}`, 201, ""},
	} {
		if got := send(api, step.method, "/jobCollections/"+step.name, step.body, "Caller: "+step.caller); got.Code != step.status {
			t.Errorf("step %d: %+v: got %d: %s", i, step, got.Code, got.Body)
		}
		if owner := ownerOf(t, api, step.name, "Caller: ops"); owner != step.owner {
			t.Errorf("step %d: %+v: the owner is %q", i, step, owner)
		}
	}
}

func TestALineOfTokensHasQuotas(t *testing.T) {
	const sum, other = " 0000000000000000000000000000000000000000000000000000000000000001 ", " 0000000000000000000000000000000000000000000000000000000000000002 "
	quotas, err := TokenQuotas("# a comment collections=7\nann" + sum + "read * collections=500\nann" + sum + "write a collections=20 unfinished=256MiB\n" +
		"ben" + other + "admin b unfinished=1GiB\n")
	if err != nil {
		t.Fatal(err)
	}
	for owner, want := range map[string]Quota{"ann": {Collections: 500, UnfinishedBytes: 256 << 20}, "ben": {UnfinishedBytes: 1 << 30}, "cid": {}, "": {}, "#": {}} {
		if got := quotas(owner); got != want {
			t.Errorf("%s: %+v, want %+v", owner, got, want)
		}
	}
	for _, wrong := range []string{
		"collections=0", "collections=10001", "collections=x", "collections", "unfinished=1", "unfinished=0MiB", "unfinished=-1MiB", "unfinished=1.5MiB", "unfinished=1025GiB",
		"unfinished=99999999999GiB", "unfinished=1MB", "jobs=1", "collections=1 collections=2", "unfinished=1KiB unfinished=1KiB",
	} {
		if _, err := TokenQuotas("ann" + sum + "read * " + wrong); err == nil {
			t.Errorf("%q is accepted", wrong)
		}
		if _, err := Tokens("ann" + sum + "read * " + wrong); err == nil {
			t.Errorf("%q is accepted by Tokens", wrong)
		}
	}
	if _, err := Tokens("ann" + sum + "read * collections=1 unfinished=1024GiB"); err != nil {
		t.Error(err)
	}
}

package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/chimejobs/chime/httpapi"
)

func TestATokenIsWhatItsLineSays(t *testing.T) {
	got := command(t, strings.Fields("token -permission run ci -collections demo,ci-*"))
	token, line, ok := strings.Cut(got.out, "\n")
	if got.code != 0 || !ok || got.err != "" || strings.Contains(line, token) {
		t.Fatalf("got exit %d, %q, %q; want a token, and a line without it", got.code, got.out, got.err)
	}
	who, err := httpapi.Tokens(line)
	if err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	principal, err := who(&http.Request{Header: http.Header{"Authorization": {"Bearer " + token}}})
	if err != nil || principal.Name != "ci" || !principal.Allows(httpapi.Run, "ci-1") || principal.Allows(httpapi.Write, "ci-1") || principal.Allows(httpapi.Read, "else") {
		t.Errorf("got %q, %v; want ci with the permission run in demo and ci-* only", principal.Name, err)
	}
}

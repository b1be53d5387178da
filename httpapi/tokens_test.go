package httpapi

import (
	"net/http/httptest"
	"strings"
	"testing"
)

// The token of these tests, and its SHA-256.
const (
	someToken  = "chm_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
	otherToken = "chm_BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBB"
)

func TestANewTokenIsKnownByItsLine(t *testing.T) {
	token, line, err := NewToken("ci", Write, "demo", "ci-*")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(line, token) || strings.Contains(line, strings.TrimPrefix(token, tokenPrefix)) {
		t.Fatalf("the line %q has the token", line)
	}
	who, err := authenticateWith(t, line, "Bearer "+token)
	if err != nil || who.Name != "ci" {
		t.Fatalf("the token authenticates %q, %v; want ci", who.Name, err)
	}
	if again, _, _ := NewToken("ci", Write); again == token {
		t.Fatalf("two tokens are the same: %s", token)
	}
	for name, wrong := range map[string][]string{"": {"a"}, "a b": {"a"}, "a": {"b/c"}, "a\n": {"*"}} {
		if _, _, err := NewToken(name, Read, wrong...); err == nil {
			t.Errorf("NewToken(%q, …, %q) returns no error", name, wrong)
		}
	}
}

func TestALineGivesItsPermissionOnItsCollectionsOnly(t *testing.T) {
	for _, c := range []struct {
		collections string
		permission  Permission
		ask         Permission
		collection  string
		want        bool
	}{
		{"demo", Write, Read, "demo", true},
		{"demo", Write, Run, "demo", true},
		{"demo", Write, Write, "demo", true},
		{"demo", Write, Admin, "demo", false},
		{"demo", Read, Run, "demo", false},
		{"demo", Admin, Admin, "demo", true},
		{"demo", Admin, Read, "demo2", false},
		{"demo", Admin, Read, "dem", false},
		{"demo", Admin, Read, "Demo", false},
		{"a,demo", Admin, Read, "demo", true},
		{"*", Read, Read, "anything", true},
		{"ci-*", Read, Read, "ci-", true},
		{"ci-*", Read, Read, "ci-1", true},
		{"ci-*", Read, Read, "ci", false},
		{"ci-*", Read, Read, "my-ci-1", false},
		{"*-ci", Read, Read, "my-ci", true},
		{"*-ci", Read, Read, "my-ci2", false},
		{"a*b*c", Read, Read, "a1b2c", true},
		{"a*b*c", Read, Read, "abc", true},
		{"a*b*c", Read, Read, "acb", false},
		{"a*a", Read, Read, "a", false},
	} {
		_, line, err := NewToken("ci", c.permission, strings.Split(c.collections, ",")...)
		if err != nil {
			t.Fatal(err)
		}
		holders := map[[32]byte]*holder{}
		if err := addToken(holders, strings.Fields(line)); err != nil {
			t.Fatal(err)
		}
		for _, h := range holders {
			if got := h.allows(c.ask, c.collection); got != c.want {
				t.Errorf("%v on %s allows %v on %s: got %v, want %v", c.permission, c.collections, c.ask, c.collection, got, c.want)
			}
		}
	}
}

func TestLinesOfOneTokenAddUp(t *testing.T) {
	token, line, _ := NewToken("ci", Read)
	digest := strings.Fields(line)[1]
	who, err := authenticateWith(t, line+"\nci "+digest+" write ci-*\n", "Bearer "+token)
	if err != nil {
		t.Fatal(err)
	}
	if !who.may(Read, "demo") || who.may(Write, "demo") || !who.may(Write, "ci-1") {
		t.Fatalf("read on all and write on ci-* allow: read demo %v, write demo %v, write ci-1 %v; want true, false, true",
			who.may(Read, "demo"), who.may(Write, "demo"), who.may(Write, "ci-1"))
	}
}

func TestBadLinesAreRefusedByNumberAndWithoutTheirHash(t *testing.T) {
	_, good, _ := NewToken("ci", Read)
	digest := strings.Fields(good)[1]
	for _, c := range []struct{ name, lines, want string }{
		{"nothing", "", "no tokens found"},
		{"comments only", "# none yet\n\n", "no tokens found"},
		{"a field too few", good + "\nci " + digest + " read", "line 2: 3 fields, want 4"},
		{"a field too many", good + " more", `line 1: "more": want collections=NUMBER or unfinished=SIZE`},
		{"the token itself", "ci " + someToken + " read *", "line 1: the second field is a token itself"},
		{"a short hash", "ci " + digest[:60] + " read *", "line 1: the second field is not a SHA-256"},
		{"no hash", "ci " + strings.Repeat("g", 64) + " read *", "line 1: the second field is not a SHA-256"},
		{"an unknown permission", "ci " + digest + " reed *", `line 1: permission "reed": want read, run, write or admin`},
		{"a permission in capitals", "ci " + digest + " Read *", `line 1: permission "Read"`},
		{"an empty collection", "ci " + digest + " read a,,b", `line 1: collection ""`},
		{"an invalid collection", "ci " + digest + " read a/b", `line 1: collection "a/b"`},
		{"an invalid name", "-ci " + digest + " read *", `line 1: name "-ci"`},
		{"one token with two names", good + "\nother " + digest + " read *", `line 2: "other" has the token of "ci"`},
	} {
		_, err := Tokens(c.lines)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		} else if strings.Contains(err.Error(), digest[:8]) || strings.Contains(err.Error(), someToken[:12]) {
			t.Errorf("%s: the error %q has part of a hash or a token", c.name, err)
		}
	}
}

func TestOnlyAKnownTokenInTheHeaderAuthenticates(t *testing.T) {
	token, line, _ := NewToken("ci", Read)
	line += "\nplaceholder " + strings.Repeat("0", 64) + " admin *"
	for _, c := range []struct {
		name    string
		headers []string
		known   bool
	}{
		{"the token", []string{"Bearer " + token}, true},
		{"the scheme in small letters", []string{"bearer " + token}, true},
		{"none", nil, false},
		{"an empty header", []string{""}, false},
		{"the token alone", []string{token}, false},
		{"another scheme", []string{"Basic " + token}, false},
		{"another token", []string{"Bearer " + otherToken}, false},
		{"two headers", []string{"Bearer " + token, "Bearer " + token}, false},
		{"two spaces", []string{"Bearer  " + token}, false},
		{"a token and more", []string{"Bearer " + token + "A"}, false},
		{"the hash", []string{"Bearer " + strings.Fields(line)[1]}, false},
	} {
		_, err := authenticateWith(t, line, c.headers...)
		if known := err == nil; known != c.known {
			t.Errorf("%s: known %v, want %v (%v)", c.name, known, c.known, err)
		}
		if err != nil && (!strings.Contains(err.Error(), "Authorization: Bearer chm_") || !strings.Contains(err.Error(), "chimed token")) {
			t.Errorf("%s: %v: want the header, and how to create a token", c.name, err)
		}
	}
	authenticate, err := Tokens(line)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := authenticate(httptest.NewRequest("GET", "/?access_token="+token+"&token="+token, nil)); err == nil {
		t.Error("a token in the query authenticates")
	}
}

func authenticateWith(t *testing.T, lines string, headers ...string) (Principal, error) {
	t.Helper()
	authenticate, err := Tokens(lines)
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest("GET", "/", nil)
	r.Header["Authorization"] = headers
	return authenticate(r)
}

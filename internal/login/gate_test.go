package login

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chimejobs/chime/dashboard"
)

// try sends a request with a name and a token through a gate. With an empty name it sends neither.
func try(gate http.Handler, address, name, token string) *httptest.ResponseRecorder {
	r := httptest.NewRequest("GET", "/", nil)
	r.RemoteAddr = address
	if name != "" {
		r.SetBasicAuth(name, token)
	}
	w := httptest.NewRecorder()
	gate.ServeHTTP(w, r)
	return w
}

// behind writes the viewer of a request that has passed.
var behind = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	viewer, err := Authorize(r)
	fmt.Fprintln(w, viewer.Name, viewer.Rights, err)
})

func newUser(t *testing.T, name, may string) (token, line string) {
	t.Helper()
	token, line, err := NewUser(name, may)
	if err != nil {
		t.Fatal(err)
	}
	return token, line
}

func TestWhoHasATokenComesThrough(t *testing.T) {
	old, first := newUser(t, "anna", "view")
	new, second := newUser(t, "anna", "view,operate")
	other, third := newUser(t, "ben@example.com", "view,edit,delete,reveal")
	users, err := ReadUsers("# people\n\n" + first + "\n" + second + "\n  " + third)
	if err != nil {
		t.Fatal(err)
	}
	var logged strings.Builder
	gate := New(users.Check, slog.New(slog.NewTextHandler(&logged, nil))).Wrap(behind)
	for _, c := range []struct{ name, token, want string }{
		{"anna", old, "anna view <nil>\n"},
		{"anna", new, "anna view, operate <nil>\n"},
		{"ben@example.com", other, "ben@example.com view, edit, delete, reveal <nil>\n"},
	} {
		if got := try(gate, "192.0.2.1:1", c.name, c.token); got.Code != 200 || got.Body.String() != c.want {
			t.Errorf("%s: got %d %q, want %q", c.name, got.Code, got.Body, c.want)
		}
	}
	for what, c := range map[string][2]string{
		"nothing": {}, "the token of another one": {"ben@example.com", old}, "nobody": {"carl", old}, "no token": {"anna", ""},
		"its hash": {"anna", strings.Fields(first)[1]}, "a longer one": {"anna", old + "a"},
	} {
		got := try(gate, "192.0.2.1:1", c[0], c[1])
		if got.Code != 401 || got.Header().Get("WWW-Authenticate") != `Basic realm="chime", charset="UTF-8"` || strings.Contains(got.Body.String(), "anna") {
			t.Errorf("%s: got %d %v %q, want 401", what, got.Code, got.Header(), got.Body)
		}
	}
	if lines := logged.String(); strings.Count(lines, "event=dashboard.denied") != 5 || strings.Contains(lines, "chm_") || strings.Contains(lines, "carl") {
		t.Errorf("logged, want the five wrong ones, without their names and tokens:\n%s", lines)
	}
	if _, err := Authorize(httptest.NewRequest("GET", "/", nil)); err == nil {
		t.Error("a request that has not come through the gate is authorized")
	}
}

// The SHA-256 of a password that somebody has chosen gives nobody access: such a hash can be guessed.
func TestAPasswordThatIsNoTokenIsNotTaken(t *testing.T) {
	const ofSecret = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b" // of "secret"
	users, err := ReadUsers("anna " + ofSecret + " view")
	if err != nil {
		t.Fatal(err)
	}
	if viewer, ok := users.Check("anna", "secret"); ok {
		t.Errorf("got %v, want nobody", viewer)
	}
}

func TestWrongTriesAreSlowedDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		token, line := newUser(t, "anna", "view")
		users, err := ReadUsers(line)
		if err != nil {
			t.Fatal(err)
		}
		var logged strings.Builder
		gate := New(users.Check, slog.New(slog.NewTextHandler(&logged, nil))).Wrap(behind)
		for i := range maxWrong {
			if got := try(gate, fmt.Sprint("192.0.2.1:", i), "anna", "x"); got.Code != 401 {
				t.Fatalf("wrong attempt %d: got %d, want 401", i+1, got.Code)
			}
		}
		got := try(gate, "192.0.2.1:99", "anna", "x")
		if got.Code != 429 || got.Header().Get("Retry-After") != "60" || got.Header().Get("WWW-Authenticate") != "" {
			t.Errorf("one more: got %d %v, want 429", got.Code, got.Header())
		}
		if strings.Count(logged.String(), "\n") != maxWrong {
			t.Errorf("logged, want %d lines:\n%s", maxWrong, &logged)
		}
		for what, c := range map[string]struct {
			address, token string
			want           int
		}{"the right one": {"192.0.2.1:99", token, 200}, "elsewhere": {"192.0.2.2:1", "x", 401}} {
			if got := try(gate, c.address, "anna", c.token); got.Code != c.want {
				t.Errorf("%s: got %d, want %d", what, got.Code, c.want)
			}
		}
		if got := try(gate, "192.0.2.1:99", "", ""); got.Code != 401 {
			t.Errorf("a browser that was given nothing yet: got %d, want 401", got.Code)
		}
		time.Sleep(wrongFor) // fake time
		if got := try(gate, "192.0.2.1:99", "anna", "x"); got.Code != 401 {
			t.Errorf("a minute later: got %d, want 401", got.Code)
		}
	})
}

func TestLinesThatMeanNothing(t *testing.T) {
	token, line := newUser(t, "anna", "view")
	hash := strings.Fields(line)[1]
	for text, want := range map[string]string{
		"":                              "it has no users",
		"# none\n":                      "it has no users",
		"anna " + hash:                  "line 1: 2 fields, want 3",
		"\n-anna " + hash + " view":     `line 2: name "-anna": want`,
		"anna " + token + " view":       "line 1: the second field is a token itself",
		"anna abc view":                 "line 1: the second field is no SHA-256",
		"anna " + hash + " view,all":    `line 1: right "all": want some of view,operate`,
		"anna " + hash + " operate":     "want view among them",
		line + "\nben x view\ncarl x y": "line 3: ",
	} {
		if _, err := ReadUsers(text); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), hash) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
	if _, _, err := NewUser("a b", "view"); err == nil {
		t.Error("a name with a space is taken")
	}
	if viewer, ok := (Users{}).Check("", ""); ok || viewer.Rights != dashboard.Rights(0) {
		t.Errorf("nobody is %v", viewer)
	}
}

// Wrong attempts of at most maxAddresses addresses are counted separately, and all of them are forgotten after a minute.
func TestCountedAddressesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(func(string, string) (dashboard.Viewer, bool) { return dashboard.Viewer{}, false }, slog.New(slog.DiscardHandler))
		gate := g.Wrap(behind)
		for i := range maxAddresses + 1000 {
			try(gate, fmt.Sprintf("10.%d.%d.%d:1", i>>16, i>>8&255, i&255), "name", "token")
		}
		if len(g.wrong) > maxAddresses+1 {
			t.Errorf("%d addresses are counted, want %d at most", len(g.wrong), maxAddresses+1)
		}
		time.Sleep(wrongFor) // fake time
		try(gate, "10.0.0.1:1", "name", "token")
		if len(g.wrong) != 1 {
			t.Errorf("%d addresses are counted after a minute, want one", len(g.wrong))
		}
	})
}

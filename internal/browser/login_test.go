package browser

import (
	"log/slog"
	"net/http/httptest"
	"net/url"
	"os"
	"testing"

	"github.com/chimejobs/chime/dashboard"
	"github.com/chimejobs/chime/internal/login"
)

// chime dashboard --open gives a browser a file, which leads it past the login to a page whose address has no token: the page's stream works.
func TestAFileLeadsPastTheLogin(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	folder := t.TempDir()
	check(t, os.Chmod(folder, 0o700))
	env := func(name string) string { return map[string]string{"XDG_RUNTIME_DIR": folder}[name] }
	local, err := login.NewLocal(env)
	check(t, err)
	quiet := slog.New(slog.DiscardHandler)
	pages := dashboard.New(w.store, dashboard.Options{Authorize: login.Authorize, Write: true, Logger: quiet})
	server := httptest.NewUnstartedServer(nil)
	at := &url.URL{Scheme: "http", Host: server.Listener.Addr().String(), Path: "/"}
	server.Config.Handler = login.New(local.Check, quiet).WrapLocal(login.Land(at, pages))
	server.Start()
	t.Cleanup(func() { pages.Close(); server.Close() })
	file, err := local.WritePage(env, "chime-dashboard", server.Listener.Addr(), at)
	check(t, err)

	p, err := chromium.Open(desk)
	check(t, err)
	t.Cleanup(p.Close)
	check(t, p.Go(file.URL()))
	wait(t, p, `document.querySelector(".live .text")?.textContent.startsWith("live")`)
	if got := eval[string](t, p, `document.URL + " " + document.baseURI`); got != at.String()+" "+at.String() {
		t.Errorf("the browser is at %q, want %s", got, at)
	}
	check(t, p.Go(at.String()+"schedules/report")) // the browser keeps the login
	wait(t, p, `document.querySelector("h1")?.textContent === "report" && document.body.innerText.includes("local")`)
	unspoilt(t, "the page behind the login", p)
}

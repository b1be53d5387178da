package docs_test

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/redisstore/embedded"
)

func TestThePageOnOperatingShowsCodeThatRuns(t *testing.T) {
	shows(t, "operating.md", "operating_test.go", "operating_run_test.go", "operating_server_test.go", "../examples/outbox/outbox.go", "../examples/outbox/main.go")
}

// TimeoutStopSec is longer than the shutdown of a worker: 31 s with the default options and a scheduler.
func TestTheUnitOfThePageWaitsForTheShutdown(t *testing.T) {
	units := blocks(t, "operating.md", "ini")
	if len(units) != 1 {
		t.Fatalf("the page has %d units", len(units))
	}
	section, values := "", map[string]string{}
	for line := range strings.Lines(units[0]) {
		line = strings.TrimSpace(line)
		name, value, isValue := strings.Cut(line, "=")
		switch {
		case line == "":
		case strings.HasPrefix(line, "[") && strings.HasSuffix(line, "]"):
			section = line
		case isValue && section != "" && regexp.MustCompile(`^[A-Z][A-Za-z]+$`).MatchString(name):
			values[section+name] = value
		default:
			t.Errorf("%q is not a valid line of a unit", line)
		}
	}
	if stop, err := time.ParseDuration(values["[Service]TimeoutStopSec"]); err != nil || stop < 36*time.Second {
		t.Errorf("TimeoutStopSec is %q, want more than the 31 s of a shutdown", values["[Service]TimeoutStopSec"])
	}
	for _, want := range []string{"[Unit]After", "[Service]ExecStart", "[Service]Restart", "[Install]WantedBy"} {
		if values[want] == "" {
			t.Errorf("the unit does not contain %s", want)
		}
	}
}

// The web server and the worker of one program run, end together, and return no error. A port that is in use ends both.
func TestAWebServerAndAWorkerAreOneProgram(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	server := embedded.StartInMemory()
	defer server.Close()
	w := newWorld()
	if err := serveBoth(t.Context(), server.Store(), listener.Addr().String()); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("with a port that is in use: %v", err)
	}
	address := listener.Addr().String()
	check(t, listener.Close())
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- serveBoth(ctx, server.Store(), address) }()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	deadline := time.After(30 * time.Second)
	for answered := false; !answered || len(w.sent()) == 0; {
		select {
		case err := <-ended:
			t.Fatalf("it has ended: %v", err)
		case <-deadline:
			t.Fatalf("no mail was sent; the server has answered: %v", answered)
		case <-time.After(10 * time.Millisecond):
		}
		if !answered {
			if answer, err := client.PostForm("http://"+address+"/welcome", url.Values{"to": {"ada"}}); err == nil {
				_ = answer.Body.Close()
				if answered = answer.StatusCode == http.StatusAccepted; !answered {
					t.Fatalf("got %s", answer.Status)
				}
			}
		}
	}
	stop()
	check(t, <-ended)
}

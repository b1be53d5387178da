package docs_test

import (
	"regexp"
	"strings"
	"testing"
	"time"
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

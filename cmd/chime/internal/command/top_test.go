package command_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/cmd/chime/internal/command"
	"github.com/chimejobs/chime/cmd/chime/internal/process"
)

func TestTopRefusesWhatItCannotShow(t *testing.T) {
	for _, c := range []struct {
		terminal  bool
		arguments string
		want      string
	}{
		{false, "top", "top needs a terminal; chime queues list prints"},
		{true, "top --every 999ms", "--every 999ms: want 1s to 1m0s"},
		{true, "top --every 61s", "--every 1m1s: want 1s to 1m0s"},
		{true, "top -o json", "--output json: top shows a screen; chime queues list -o json prints"},
		{true, "top --redis http://x", "--redis: want redis://host:6379/0"},
	} {
		var out, err strings.Builder
		p := &process.Process{
			Args: strings.Fields(c.arguments), Env: func(string) string { return "" }, In: strings.NewReader(""), Out: &out, Err: &err, Now: time.Now,
			Local: time.UTC, AsksAt: c.terminal, ShowsOn: c.terminal, Width: func() int { return 80 },
		}
		if code := command.Run(context.Background(), p); !strings.Contains(err.String(), c.want) || out.Len() > 0 || code != 2 {
			t.Errorf("%s: exit %d, %q on stderr, %q on stdout; want exit 2 and %q", c.arguments, code, err.String(), out.String(), c.want)
		}
	}
}

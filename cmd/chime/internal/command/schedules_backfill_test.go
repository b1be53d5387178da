package command

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/cmd/chime/internal/connect"
	"github.com/chimejobs/chime/cmd/chime/internal/process"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/redisstore/embedded"
)

// Ctrl-C during the first step of a backfill lets this step end and prints where to continue; continuing there places the rest.
func TestAnInterruptStopsABackfillBetweenSteps(t *testing.T) {
	log := slog.Default()
	slog.SetDefault(slog.New(slog.DiscardHandler)) // embedded.Start warns that it forgets everything
	server, err := embedded.Start()
	slog.SetDefault(log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	if _, err := chime.NewSchedules(server.Store()).Put(t.Context(), "hourly", recurrence.Recurrence{Cron: "0 * * * *"}); err != nil {
		t.Fatal(err)
	}
	to := time.Now().UTC().Truncate(time.Hour)
	from := to.Add(-1200 * time.Hour)

	ctx, interrupt := context.WithCancel(t.Context())
	asked := 0
	var out, stderr bytes.Buffer
	s := &session{
		Process: &process.Process{Out: &out, Err: &stderr, Env: func(string) string { return "" }, Now: func() time.Time {
			if asked++; asked == 2 { // the progress of the first step
				interrupt()
			}
			return to
		}},
		opened: &connect.Connection{Store: server.Store(), Client: server.Client()}, format: "table", location: time.UTC,
	}
	s.connect.Timeout = 10 * time.Second
	err = s.backfill(ctx, &backfillPlan{Schedule: "hourly", Count: 1200}, from, to)
	goOn := from.Add(500 * time.Hour)
	if want := "placed 500 occurrences; continue with --from " + goOn.Format(time.RFC3339); !errors.Is(err, context.Canceled) || !strings.Contains(stderr.String(), want) || out.Len() > 0 {
		t.Errorf("%v, stderr %q, want %q; printed %q", err, stderr.String(), want, out.String())
	}
	if err := s.backfill(t.Context(), &backfillPlan{Schedule: "hourly", Count: 700}, goOn, to); err != nil || out.String() != "Placed 700 occurrences.\n" {
		t.Errorf("going on: %v, printed %q", err, out.String())
	}
}

package top_test

import (
	"log/slog"
	"os"
	"testing"

	"github.com/chimejobs/chime/cmd/chime/internal/command"
)

// asCommand makes the test binary the command itself, for a terminal to run.
const asCommand = "CHIME_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		os.Exit(command.Main())
	}
	slog.SetDefault(slog.New(slog.DiscardHandler)) // the log lines of the roles are not tested here
	os.Exit(m.Run())
}

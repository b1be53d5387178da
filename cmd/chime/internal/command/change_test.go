package command

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/chimejobs/chime/cmd/chime/internal/ask"
	"github.com/chimejobs/chime/cmd/chime/internal/process"
)

func TestReadOnlyRefusesWhatChangesSomething(t *testing.T) {
	s := &session{Process: &process.Process{Err: new(bytes.Buffer)}, readOnly: true}
	c := s.changes(&cobra.Command{Use: "drop", RunE: func(*cobra.Command, []string) error {
		t.Error("done")
		return nil
	}})
	if err := c.RunE(c, nil); code(err) != exitRefused || !strings.Contains(err.Error(), "--read-only: drop") {
		t.Errorf("%v: exit %d, want %d", err, code(err), exitRefused)
	}
}

func TestWhatIsNotConfirmedExitsAsRefused(t *testing.T) {
	for _, err := range []error{ask.ErrDeclined, ask.ErrNobody} {
		if got := code(fmt.Errorf("delete: %w", err)); got != exitRefused {
			t.Errorf("%v: exit %d, want %d", err, got, exitRefused)
		}
	}
}

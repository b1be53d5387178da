package ask_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/chimejobs/chime/cmd/chime/internal/ask"
	"github.com/chimejobs/chime/cmd/chime/internal/process"
)

// at returns a process with a terminal and a user who types.
func at(typed string) (*process.Process, *bytes.Buffer) {
	var shown bytes.Buffer
	return &process.Process{In: strings.NewReader(typed), Err: &shown, AsksAt: true}, &shown
}

func TestOnlyYesIsYes(t *testing.T) {
	for typed, want := range map[string]error{
		"y\n": nil, "Y\n": nil, "yes\n": nil, " YES \r\n": nil,
		"\n": ask.ErrDeclined, "n\n": ask.ErrDeclined, "": ask.ErrDeclined, "y": ask.ErrDeclined, "yep\n": ask.ErrDeclined,
		"\ny\n": ask.ErrDeclined, strings.Repeat("y", 5000) + "\n": ask.ErrDeclined,
	} {
		p, shown := at(typed)
		if err := ask.Confirm(t.Context(), p, false, "Delete 3 schedules?"); !errors.Is(err, want) {
			t.Errorf("%.10q: got %v, want %v", typed, err, want)
		}
		if got, want := shown.String(), "Delete 3 schedules? [y/N] "; got != want {
			t.Errorf("asked %q, want %q", got, want)
		}
	}
}

func TestWhatIsLostForGoodIsNamed(t *testing.T) {
	for typed, want := range map[string]error{
		"mail\n": nil, " mail \n": nil, "y\n": ask.ErrDeclined, "\n": ask.ErrDeclined, "Mail\n": ask.ErrDeclined, "mail": ask.ErrDeclined,
	} {
		p, shown := at(typed)
		if err := ask.ConfirmName(t.Context(), p, false, "Purge 312 jobs?", "mail"); !errors.Is(err, want) {
			t.Errorf("%q: got %v, want %v", typed, err, want)
		}
		if got, want := shown.String(), "Purge 312 jobs? Type mail to continue: "; got != want {
			t.Errorf("asked %q, want %q", got, want)
		}
	}
}

func TestTwoQuestionsReadALineEach(t *testing.T) {
	p, _ := at("y\nmail\n")
	if err := errors.Join(ask.Confirm(t.Context(), p, false, "Pause?"), ask.ConfirmName(t.Context(), p, false, "Purge?", "mail")); err != nil {
		t.Error(err)
	}
}

func TestWithoutATerminalNobodyIsAsked(t *testing.T) {
	p, shown := at("y\n")
	p.AsksAt = false
	for _, err := range []error{ask.Confirm(t.Context(), p, false, "Pause?"), ask.ConfirmName(t.Context(), p, false, "Purge?", "y")} {
		if !errors.Is(err, ask.ErrNobody) {
			t.Errorf("got %v, want ErrNobody", err)
		}
	}
	if err := errors.Join(ask.Confirm(t.Context(), p, true, "Pause?"), ask.ConfirmName(t.Context(), p, true, "Purge?", "mail")); err != nil {
		t.Errorf("with -y: %v", err)
	}
	if shown.Len() > 0 {
		t.Errorf("shown: %q", shown)
	}
}

func TestAnInterruptEndsAQuestion(t *testing.T) {
	nobodyTypes, close := io.Pipe()
	defer func() { _ = close.Close() }()
	p, _ := at("")
	p.In = nobodyTypes
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	if err := ask.Confirm(ctx, p, false, "Pause?"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestANameMovesNoCursorInAQuestion(t *testing.T) {
	p, shown := at("n\n")
	_ = ask.Confirm(t.Context(), p, false, "Delete \x1b[2J\n?")
	if got, want := shown.String(), `Delete \x1b[2J\x0a? [y/N] `; got != want {
		t.Errorf("asked %q, want %q", got, want)
	}
}

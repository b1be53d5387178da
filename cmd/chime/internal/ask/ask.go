// Package ask asks the user at the terminal before something is changed. The default answer is No: Enter alone, the end of the input and an unknown
// answer change nothing.
package ask

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/chimejobs/chime/cmd/chime/internal/output"
	"github.com/chimejobs/chime/cmd/chime/internal/process"
)

var (
	// ErrDeclined means that the answer was No.
	ErrDeclined = errors.New("declined; nothing was changed")
	// ErrNobody means that the input is not a terminal and -y was not given.
	ErrNobody = errors.New("the input is not a terminal, so nobody can answer, and -y is not given; nothing was changed")
)

// maxAnswer is how many bytes of an answer are used; the rest is read and ignored.
const maxAnswer = 1000

// Confirm asks a question that is answered by y or yes: "Pause 3 schedules?". It returns nil after y or yes, and without a question if yes is true
// (-y); else ErrDeclined, ErrNobody or ctx's error.
func Confirm(ctx context.Context, p *process.Process, yes bool, question string) error {
	if yes {
		return nil
	}
	answer, err := read(ctx, p, question+" [y/N] ")
	if err != nil {
		return err
	}
	if answer = strings.ToLower(answer); answer != "y" && answer != "yes" {
		return ErrDeclined
	}
	return nil
}

// ConfirmName is Confirm for changes that cannot be undone: only the name, or the number of what is deleted, is a yes.
func ConfirmName(ctx context.Context, p *process.Process, yes bool, question, name string) error {
	if yes {
		return nil
	}
	answer, err := read(ctx, p, fmt.Sprintf("%s Type %s to continue: ", question, name))
	if err != nil {
		return err
	}
	if answer != name {
		return ErrDeclined
	}
	return nil
}

// read shows a question and reads a line. If ctx ends first, the reading goroutine is left blocked on the input: it cannot be interrupted, and the
// process is about to end.
func read(ctx context.Context, p *process.Process, question string) (string, error) {
	if !p.AsksAt {
		return "", ErrNobody
	}
	if _, err := io.WriteString(p.Err, output.Printable(question)); err != nil {
		return "", err
	}
	answers := make(chan string, 1)
	go func() { answers <- line(p.In) }()
	select {
	case answer := <-answers:
		return answer, nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// line reads to the end of a line, byte by byte: the rest is for the next question. An incomplete line at the end of the input is not an answer.
func line(in io.Reader) string {
	var text []byte
	for b := make([]byte, 1); ; {
		n, err := in.Read(b)
		if n == 1 && b[0] == '\n' {
			return strings.TrimSpace(string(text))
		}
		if n == 1 && len(text) < maxAnswer {
			text = append(text, b[0])
		}
		if err != nil {
			return ""
		}
	}
}

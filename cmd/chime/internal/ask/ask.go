// Package ask asks whoever sits at the terminal before something is changed. The answer is No unless somebody says otherwise: Enter alone, the end
// of the input and whatever is not understood change nothing.
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
	// ErrDeclined says that the answer was No.
	ErrDeclined = errors.New("declined; nothing was changed")
	// ErrNobody says that there is no terminal to ask at, and that -y was not given.
	ErrNobody = errors.New("nobody can be asked, for the input is no terminal, and -y is not given; nothing was changed")
)

// maxAnswer is what is read of an answer; the rest is read and ignored.
const maxAnswer = 1000

// Confirm asks a question that is answered by y or yes: "Pause 3 schedules?". It returns nil if the answer is that or yes is given already (by -y),
// else ErrDeclined, ErrNobody or ctx's error.
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

// ConfirmName is Confirm for what cannot be undone: the answer is a name, or the number of what is lost, and nothing but that.
func ConfirmName(ctx context.Context, p *process.Process, yes bool, question, name string) error {
	if yes {
		return nil
	}
	answer, err := read(ctx, p, fmt.Sprintf("%s Type %s to go on: ", question, name))
	if err != nil {
		return err
	}
	if answer != name {
		return ErrDeclined
	}
	return nil
}

// read shows a question and reads a line. If ctx ends first the reading goroutine stays behind with the input: nothing can take it from there, and
// the process is about to end.
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

// line reads up to the end of a line, byte for byte: what follows is the next question's. A line that the input's end cuts off is no answer.
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

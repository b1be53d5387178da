// Package progress shows the progress of a command on standard error if it takes longer than a second.
package progress

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/chimejobs/chime/cmd/chime/internal/process"
	"github.com/chimejobs/chime/internal/format"
)

const (
	patience = time.Second // before anything is shown
	every    = 100 * time.Millisecond
	cells    = 20 // of the bar
)

// A Bar is one line that is drawn repeatedly if standard error is a terminal. It is used from one goroutine.
type Bar struct {
	process *process.Process
	what    string
	began   time.Time
	drawn   time.Time // zero: not yet
}

// New returns a bar for an action such as "requeue". It shows nothing yet.
func New(p *process.Process, what string) *Bar {
	return &Bar{process: p, what: what, began: p.Now()}
}

// Set sets the progress. A total of 0 is unknown: then the bar shows only the number.
func (b *Bar) Set(n, total int) {
	now := b.process.Now()
	if !b.process.TellsOn || now.Sub(b.began) < patience || !b.drawn.IsZero() && now.Sub(b.drawn) < every {
		return
	}
	b.drawn = now
	_, _ = io.WriteString(b.process.Err, "\r"+b.line(n, total)+"\x1b[K")
}

func (b *Bar) line(n, total int) string {
	if total <= 0 {
		return b.what + "  " + format.Count(n)
	}
	full := min(cells, n*cells/total)
	return fmt.Sprintf("%s  %s%s  %d %%  %s of %s", b.what, strings.Repeat("▓", full), strings.Repeat("░", cells-full), n*100/total, format.Count(n), format.Count(total))
}

// End removes the bar.
func (b *Bar) End() {
	if !b.drawn.IsZero() {
		_, _ = io.WriteString(b.process.Err, "\r\x1b[K")
		b.drawn = time.Time{}
	}
}

package top

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/cmd/chime/internal/output"
	"github.com/chimejobs/chime/internal/format"
	words "github.com/chimejobs/chime/internal/plain"
)

// MaxBatches is how many batches the screen has.
const MaxBatches = 100

// batchLine is the line of the head about batches in progress, cut if it does not fit; empty: no batch is in progress.
func (m *Model) batchLine(p painter) string {
	if len(m.inProgress) == 0 {
		return ""
	}
	const more = "  b lists them"
	line := " " + p.paint("batches", faint) + " " + m.batchCount() + " in progress"
	for i, b := range m.inProgress {
		text := ": "
		if i > 0 {
			text = ", "
		}
		text += ansi.Truncate(output.Printable(b.ID), 24, "…") + " " + progressOf(b)
		if ansi.StringWidth(line+text+more) > m.width {
			break
		}
		line += text
	}
	return line + p.paint(more, faint)
}

// batchCount formats how many batches are in progress.
func (m *Model) batchCount() string {
	if n := len(m.inProgress); n < MaxBatches {
		return format.Count(n)
	}
	return format.Count(MaxBatches) + " or more"
}

// progressOf formats how much of a batch has ended: 62%, or that it is open or was cancelled.
func progressOf(b *chime.BatchInfo) string {
	if b.State != chime.BatchRunning {
		return string(b.State)
	}
	return format.Count(100*(b.Total-b.Left)/max(b.Total, 1)) + "%"
}

var batchColumns = []column{
	{title: "BATCH", gives: 20}, {title: "STATE"}, {title: "LEFT", right: true}, {title: "ENDED", right: true}, {title: "DEAD", right: true}, {title: "TOTAL", right: true},
	{title: "FOR", right: true}, {title: "QUEUES", gives: 12}, {title: "NOTE", gives: 12},
}

// batchLines is the screen of batches in progress, the newest first.
func (m *Model) batchLines(p painter) []string {
	if len(m.inProgress) == 0 {
		return []string{p.paint("no batch is in progress", faint)}
	}
	var rows []row
	for _, b := range m.inProgress {
		state := words.Batch(b)
		var queues []string
		for _, q := range b.Queues {
			if q.Left > 0 {
				queues = append(queues, q.Queue+" "+format.Count(q.Left))
			}
		}
		rows = append(rows, row{cells: []cell{
			plain(b.ID), {state.String(), map[string]paint{words.Going: good, words.Warning: late, words.Stopped: paused}[state.Symbol]},
			tally(format.Count(b.Left), normal), tally(progressOf(b), normal), tally(format.Count(b.Dead), bad), tally(format.Count(b.Total), normal),
			{format.Span(max(0, m.clock().Sub(b.CreatedAt))), normal}, plain(strings.Join(queues, ", ")), plain(format.FirstLine(b.Note)),
		}})
		if b.State != chime.BatchRunning {
			rows[len(rows)-1].cells[3] = cell{}
		}
	}
	widths := layout(batchColumns, rows, m.width-3, true)
	heads := make([]cell, len(batchColumns))
	for i, c := range batchColumns {
		heads[i] = cell{c.title, faint}
	}
	lines := []string{p.line(batchColumns, widths, heads)}
	for _, r := range rows {
		lines = append(lines, p.line(batchColumns, widths, r.cells))
	}
	return lines
}

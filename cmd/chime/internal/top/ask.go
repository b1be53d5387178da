package top

import (
	"fmt"
	"strconv"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/chimejobs/chime/cmd/chime/internal/output"
	"github.com/chimejobs/chime/internal/format"
	"github.com/chimejobs/chime/internal/overview"
)

// An ask is a question before a change. Only y, or the wanted text and enter, is a yes.
type ask struct {
	action Action
	what   string // the question up to the name: Pause queue
	name   string // printable; empty: the question needs no name
	want   string // to be typed; empty: y is enough
	typed  string
}

// askFor asks whether to act on the marked rows or, without marks, on the row of the cursor. The rows do not change while the question is open.
func (m *Model) askFor(verb Verb) {
	if m.acting {
		return
	}
	p := &m.panels[m.focus]
	var rows []row
	for _, r := range m.allRows(m.focus) {
		if p.marked[r.key] {
			rows = append(rows, r)
		}
	}
	if len(rows) == 0 {
		r, is := m.row()
		if !is {
			return
		}
		rows = []row{r}
	}
	if verb == Pause && rows[0].paused {
		verb = Resume
	}
	a := &ask{action: Action{Verb: verb, Panel: m.focus}}
	jobs := 0
	for _, r := range rows {
		a.action.Targets = append(a.action.Targets, r.targets...)
		for _, t := range r.targets {
			jobs += len(t.IDs)
		}
	}
	if len(a.action.Targets) == 0 {
		m.note, m.failed, m.noted = "no selected job is dead or waits for a retry", true, m.now
		return
	}
	what := noun[m.focus] + " "
	switch {
	case m.focus == overview.Failures && len(rows) > 1:
		what = format.Plural(jobs, "failed job", "failed jobs") + " in " + format.Plural(len(rows), "group", "groups")
	case m.focus == overview.Failures:
		what = format.Plural(jobs, "failed job", "failed jobs") + " of "
	case len(rows) > 1:
		what = format.Plural(len(rows), noun[m.focus], noun[m.focus]+"s")
	}
	a.what = fmt.Sprintf("%s%s %s", string(verb[0]-'a'+'A'), verb[1:], what)
	if len(rows) == 1 {
		a.name = output.Printable(rows[0].name)
	}
	if verb == Delete {
		a.want = output.Printable(rows[0].name)
		if len(rows) > 1 {
			a.want = strconv.Itoa(len(rows))
		}
	}
	m.ask, m.note = a, ""
}

const (
	shortWant = 8 // cells of the wanted text that always fit
	minTyped  = 6 // cells of the typed text
)

// lines returns the question and its answers, which are visible on any terminal: on a narrow one they take two lines, and the middle of a long
// name is cut.
func (a *ask) lines(p painter, width int) []string {
	asked := func(room int) string {
		name := ""
		if a.name != "" {
			name = middle(a.name, room-ansi.StringWidth(" ⚠ "+a.what+"?"))
		}
		return " " + p.paint(middle("⚠ "+a.what+name+"?", room-1), title)
	}
	if a.want == "" {
		const answer = " y/N"
		return []string{asked(width-len(answer)) + answer}
	}
	whole := " ⚠ " + a.what + a.name + "? type " + a.want + " and enter: " + a.want + "█"
	if ansi.StringWidth(whole) <= width {
		line := asked(width) + " type " + p.paint(a.want, title) + " and enter: "
		return []string{line + end(output.Printable(a.typed), width-ansi.StringWidth(line)-1) + "█"}
	}
	line := " type the name and enter: "
	if ansi.StringWidth(a.want) <= shortWant {
		line = " type " + p.paint(a.want, title) + " and enter: "
	}
	return []string{asked(width), line + end(output.Printable(a.typed), max(minTyped, width-ansi.StringWidth(line)-1)) + "█"}
}

// middle cuts the middle of a text to fit a width.
func middle(text string, cells int) string {
	wide := ansi.StringWidth(text)
	if wide <= cells {
		return text
	}
	front := max(cells-1, 0) / 2
	return ansi.Truncate(text, front, "") + ansi.TruncateLeft(text, wide-max(cells-1-front, 0), "…")
}

// end cuts the beginning of a text to fit a width.
func end(text string, cells int) string {
	if wide := ansi.StringWidth(text); wide > cells {
		return ansi.TruncateLeft(text, wide-max(cells-1, 0), "…")
	}
	return text
}

// answer handles a key while a question is open. The default answer is no.
func (m *Model) answer(key tea.Key) tea.Cmd {
	a := m.ask
	name := key.String()
	if a.want != "" && name != "esc" && name != "enter" {
		a.typed = typed(a.typed, key)
		return nil
	}
	m.ask = nil
	if yes := a.want == "" && (name == "y" || name == "Y") || a.want != "" && name == "enter" && a.typed == a.want; !yes {
		m.note, m.failed, m.noted = "nothing was done", false, m.now
		return nil
	}
	m.acting, m.note, m.failed, m.noted = true, "…", false, m.now
	m.panels[a.action.Panel].marked = nil
	act, action := m.Act, a.action
	return func() tea.Msg {
		text, err := act(action)
		return actedMsg{text, err}
	}
}

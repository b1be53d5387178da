package top

import (
	"fmt"

	tea "charm.land/bubbletea/v2"

	"github.com/chimejobs/chime/cmd/chime/internal/output"
	"github.com/chimejobs/chime/internal/overview"
)

// An ask is a question before a change. Only y, or the text that is wanted and enter, is a yes.
type ask struct {
	action   Action
	question string
	want     string // to be typed; empty: y is enough
	typed    string
}

// askFor asks whether to do something to the marked rows, or to the one of the cursor. The rows are those of now, whatever moves meanwhile.
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
		m.note, m.failed, m.noted = "none of these jobs is dead or waits for a retry", true, m.now
		return
	}
	what := noun[m.focus] + " " + output.Printable(rows[0].name)
	switch {
	case m.focus == overview.Failures:
		what = plural(jobs, "failed job") + " of " + output.Printable(rows[0].name)
		if len(rows) > 1 {
			what = plural(jobs, "failed job") + " in " + plural(len(rows), "group")
		}
	case len(rows) > 1:
		what = plural(len(rows), noun[m.focus])
	}
	a.question = fmt.Sprintf("%s%s %s?", string(verb[0]-'a'+'A'), verb[1:], what)
	if verb == Delete {
		a.want = output.Printable(rows[0].name)
		if len(rows) > 1 {
			a.want = number(len(rows))
		}
	}
	m.ask, m.note = a, ""
}

// answer takes a key while a question is asked: the default is no.
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

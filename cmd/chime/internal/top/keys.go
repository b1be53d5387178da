package top

import (
	"slices"
	"strings"
	"time"
	"unicode"

	tea "charm.land/bubbletea/v2"
	"github.com/chimejobs/chime/internal/overview"
)

// A binding is a key and its meaning, for the help.
type binding struct{ key, does string }

var everywhere = []binding{
	{"tab, shift-tab", "go to the next panel, the previous one"},
	{"1 to 5", "one panel alone, and back"},
	{"↑ ↓ or k j", "move; page up, page down, home and end too"},
	{"enter", "open the row of the cursor"},
	{"esc", "back: close, stop typing, clear the filter, remove marks"},
	{"/", "filter the panel: only rows with this text"},
	{"s", "change the order of the panel"},
	{"space", "mark a row, for an action on several"},
	{"b", "the batches in progress, and back"},
	{"w", "charts of another window: 1 hour, 25 hours, 92 days, 15 minutes"},
	{"z", "show times in the next zone"},
	{"f", "freeze the screen, and unfreeze it"},
	{"?", "this help"},
	{"q, ctrl-c", "quit"},
}

// acts are the verbs of each panel's keys.
var acts = [overview.Panels]map[string]Verb{
	overview.Queues:   {"p": Pause, "d": Delete},
	overview.Next:     {"p": Pause, "t": Trigger, "d": Delete},
	overview.Running:  {"c": Cancel},
	overview.Failures: {"r": Retry, "d": Delete},
	overview.Workers:  {},
}

// actKeys are the keys of the verbs in the order of the last line.
var actKeys = []string{"p", "t", "r", "c", "d"}

// press handles a key.
func (m *Model) press(key tea.Key) tea.Cmd {
	name := key.String()
	if name == "ctrl+c" {
		return m.quit()
	}
	switch {
	case m.ask != nil:
		return m.answer(key)
	case m.filter:
		m.typeFilter(key)
		return nil
	case m.help:
		m.help = false
		return nil
	}
	p := &m.panels[m.focus]
	if m.batches && m.ofBatches(name) {
		return nil
	}
	switch name {
	case "q":
		return m.quit()
	case "?":
		m.help = true
	case "esc":
		m.back()
	case "tab":
		m.goTo((m.focus + 1) % overview.Panels)
	case "shift+tab":
		m.goTo((m.focus + overview.Panels - 1) % overview.Panels)
	case "1", "2", "3", "4", "5":
		to := overview.Panel(name[0] - '1')
		m.zoom = !m.zoom || to != m.focus
		m.goTo(to)
	case "b":
		m.batches, m.below = !m.batches, 0
	case "w":
		return m.widen()
	case "z":
		m.zone = (m.zone + 1) % len(m.Zones)
	case "f":
		return m.freeze()
	case "/":
		m.opened, m.filter = nil, true
	case "s":
		p.sort = (p.sort + 1) % len(orders[m.focus])
	case "space":
		m.mark()
	case "enter":
		return m.open()
	case "up", "k", "down", "j", "pgup", "pgdown", "home", "end":
		m.move(name)
	default:
		if verb, is := acts[m.focus][name]; is && !m.ReadOnly {
			m.askFor(verb)
		}
	}
	return nil
}

// ofBatches handles a key while the screen of batches is shown. It returns false for the keys that mean the same everywhere. Keys of panels leave the screen.
func (m *Model) ofBatches(name string) bool {
	switch name {
	case "q", "?", "b", "w", "z", "f":
		return false
	case "esc":
		m.batches = false
		return true
	case "up", "k", "down", "j", "pgup", "pgdown", "home", "end":
		m.below = max(m.below+steps[name], 0)
		return true
	}
	m.batches = false
	return strings.Contains(" enter space / s "+strings.Join(actKeys, " ")+" ", " "+name+" ")
}

// quit ends with an empty screen: a terminal that has grown in the meantime would otherwise keep some of its lines in the shell's screen.
func (m *Model) quit() tea.Cmd {
	m.over = true
	return tea.Quit
}

// back undoes the last of: open, type, filter, mark.
func (m *Model) back() {
	p := &m.panels[m.focus]
	switch {
	case m.opened != nil:
		m.opened = nil
	case len(p.marked) > 0:
		p.marked = nil
	case p.filter != "":
		p.filter = ""
	default:
		m.zoom = false
	}
}

func (m *Model) goTo(p overview.Panel) {
	m.focus, m.opened = p, nil
}

// freeze stops polling and the clock, or resumes them.
func (m *Model) freeze() tea.Cmd {
	if !m.frozen.IsZero() {
		m.frozen = time.Time{}
		if m.polling {
			return nil
		}
		return m.poll()
	}
	m.frozen = m.clock()
	return nil
}

// widen shows the charts of the next window when they have been read.
func (m *Model) widen() tea.Cmd {
	m.window = m.window.Next()
	if m.polling || !m.frozen.IsZero() {
		return nil // the poll under way is followed by one of that window
	}
	return m.poll()
}

// mark marks the row of the cursor or removes its mark, and moves to the next row.
func (m *Model) mark() {
	row, is := m.row()
	if !is || m.opened != nil {
		return
	}
	p := &m.panels[m.focus]
	if p.marked == nil {
		p.marked = map[string]bool{}
	}
	if p.marked[row.key] {
		delete(p.marked, row.key)
	} else {
		p.marked[row.key] = true
	}
	m.move("down")
}

// open opens the row of the cursor. It polls if the groups of a queue are to be counted.
func (m *Model) open() tea.Cmd {
	row, is := m.row()
	if !is || m.opened != nil {
		return nil
	}
	m.opened = &opened{panel: m.focus, key: row.key}
	if m.groupsOf() == "" || m.polling || !m.frozen.IsZero() {
		return nil
	}
	return m.poll()
}

// row returns the row of the cursor.
func (m *Model) row() (row, bool) {
	rows := m.rows(m.focus)
	if len(rows) == 0 {
		return row{}, false
	}
	return rows[m.at(m.focus, rows)], true
}

// at returns the index of the cursor's row in a panel; 0 if the row has gone.
func (m *Model) at(p overview.Panel, rows []row) int {
	return max(0, slices.IndexFunc(rows, func(r row) bool { return r.key == m.panels[p].at }))
}

const page = 10 // rows

// steps are how far each key moves.
var steps = map[string]int{"up": -1, "k": -1, "down": 1, "j": 1, "pgup": -page, "pgdown": page, "home": -1 << 20, "end": 1 << 20}

// move moves the cursor, or scrolls the opened item.
func (m *Model) move(key string) {
	by := steps[key]
	if m.opened != nil {
		m.opened.from = min(max(m.opened.from+by, 0), max(0, len(m.detail())-1))
		return
	}
	if rows := m.rows(m.focus); len(rows) > 0 {
		m.panels[m.focus].at = rows[min(max(m.at(m.focus, rows)+by, 0), len(rows)-1)].key
	}
}

// typeFilter handles a key while a filter is typed.
func (m *Model) typeFilter(key tea.Key) {
	p := &m.panels[m.focus]
	switch key.String() {
	case "enter":
		m.filter = false
	case "esc":
		m.filter, p.filter = false, ""
	default:
		p.filter = typed(p.filter, key)
	}
}

// paste types a text.
func (m *Model) paste(text string) {
	switch {
	case m.ask != nil && m.ask.want != "":
		m.ask.typed = typed(m.ask.typed, tea.Key{Text: text})
	case m.filter:
		m.panels[m.focus].filter = typed(m.panels[m.focus].filter, tea.Key{Text: text})
	}
}

const maxTyped = 200

// typed returns a text after a key has added or removed a character.
func typed(text string, key tea.Key) string {
	switch key.String() {
	case "backspace":
		if all := []rune(text); len(all) > 0 {
			return string(all[:len(all)-1])
		}
		return text
	case "ctrl+u":
		return ""
	}
	add := strings.Map(func(c rune) rune {
		if unicode.IsPrint(c) {
			return c
		}
		return -1
	}, key.Text)
	if len(text)+len(add) > maxTyped {
		return text
	}
	return text + add
}

// Package top is the live screen of chime: queues, what runs next and now, what failed, and workers, read again every few seconds. The Model
// does no I/O: it reads and acts through the functions of its Options.
package top

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/overview"
)

const (
	// MinEvery and MaxEvery limit the time between polls.
	MinEvery = time.Second
	MaxEvery = time.Minute
	// DefaultEvery is the default time between polls.
	DefaultEvery = 2 * time.Second

	staleAfter = 2 * time.Second // a poll that takes longer is late
	noteFor    = 10 * time.Second
)

// Options configure a Model.
type Options struct {
	Address  string // of the store, for people
	Every    time.Duration
	ReadOnly bool             // no key changes anything
	Plain    bool             // no colours
	Zones    []*time.Location // in the order of key z; the first one is shown first
	Now      time.Time        // the start

	Poll func(overview.Window) (*overview.Snapshot, error) // reads, with charts of the window
	Act  func(Action) (string, error)                      // changes

	// Groups counts the groups of a queue, or the first ones of very many. It is called with each poll while a queue is opened that has jobs of groups
	// waiting. nil: they are not counted.
	Groups func(queue string) (chime.GroupSum, error)

	// Batches reads the batches in progress, the newest first, at most MaxBatches. It is called with each poll. nil: they are not read.
	Batches func() ([]*chime.BatchInfo, error)
}

// A Model is the screen. Create it with New.
type Model struct {
	Options
	width, height int
	now           time.Time // of this machine

	shown   *overview.Snapshot // nil: nothing has been read yet
	heard   time.Time          // when it was received
	asked   time.Time          // when the poll under way began
	polling bool
	err     error // of the last poll
	frozen  time.Time
	window  overview.Window // of the wanted charts

	focus  overview.Panel
	zoom   bool
	zone   int
	help   bool
	opened *opened
	filter bool // a filter is typed
	ask    *ask
	panels [overview.Panels]panel

	batches    bool               // their screen is shown
	below      int                // the first line of it that is shown
	inProgress []*chime.BatchInfo // as the last poll has found them

	groups *counted // of the queue that was opened when the last poll began; nil: not counted

	over   bool // the user has quit
	acting bool
	note   string // the result of the last action
	failed bool   // it failed
	noted  time.Time
}

// A panel is the state of a panel.
type panel struct {
	at     string // key of the row that the cursor is on; empty: the first one
	filter string
	sort   int
	marked map[string]bool // keys of rows
}

// opened is the item that fills the body.
type opened struct {
	panel overview.Panel
	key   string
	from  int // the first line that is shown
}

// counted are the counts of the groups of a queue.
type counted struct {
	queue string
	sum   chime.GroupSum
	err   error
}

// The messages that a Model receives, except those of the terminal.
type (
	tickMsg time.Time
	readMsg struct {
		snapshot *overview.Snapshot
		err      error
		groups   *counted
		batches  []*chime.BatchInfo
	}
	actedMsg struct {
		text string
		err  error
	}
)

// New returns the screen before the first poll.
func New(o Options) *Model {
	if len(o.Zones) == 0 {
		o.Zones = []*time.Location{time.UTC}
	}
	return &Model{Options: o, width: 80, height: 24, now: o.Now}
}

// NewShowing returns the screen as it is after the first poll.
func NewShowing(o Options, width, height int, s *overview.Snapshot) *Model {
	m := New(o)
	m.width, m.height, m.asked, m.window = width, height, o.Now, s.Window
	m.take(readMsg{snapshot: s})
	return m
}

// Init begins to read.
func (m *Model) Init() tea.Cmd { return tea.Batch(m.poll(), tick()) }

func tick() tea.Cmd { return tea.Tick(time.Second, func(t time.Time) tea.Msg { return tickMsg(t) }) }

// poll begins a poll.
func (m *Model) poll() tea.Cmd {
	m.polling, m.asked = true, m.now
	poll, window, count, queue, batches := m.Poll, m.window, m.Groups, m.groupsOf(), m.Batches
	return func() tea.Msg {
		read := readMsg{}
		if read.snapshot, read.err = poll(window); read.err == nil && queue != "" {
			read.groups = &counted{queue: queue}
			read.groups.sum, read.groups.err = count(queue)
		}
		if read.err == nil && batches != nil {
			read.batches, read.err = batches()
		}
		return read
	}
}

// groupsOf returns the opened queue if its groups are to be counted; empty: none.
func (m *Model) groupsOf() string {
	if m.Groups == nil || m.shown == nil || m.opened == nil || m.opened.panel != overview.Queues {
		return ""
	}
	for _, q := range m.shown.Queues {
		if q.Name == m.opened.key && q.Groups.Waiting > 0 {
			return q.Name
		}
	}
	return ""
}

// Update handles a message.
func (m *Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case tickMsg:
		return m, tea.Batch(m.turn(time.Time(msg)), tick())
	case readMsg:
		m.take(msg)
		if m.err == nil && m.frozen.IsZero() && m.shown.Window != m.window {
			return m, m.poll() // the window has changed in the meantime
		}
	case actedMsg:
		m.acting, m.note, m.failed, m.noted = false, msg.text, msg.err != nil, m.now
		if msg.err != nil {
			m.note = msg.err.Error()
		}
		if !m.polling && m.frozen.IsZero() {
			return m, m.poll() // to show what it has changed
		}
	case tea.KeyPressMsg:
		return m, m.press(msg.Key())
	case tea.PasteMsg:
		m.paste(msg.Content)
	}
	return m, nil
}

// turn advances the clock, and begins a poll when it is due.
func (m *Model) turn(now time.Time) tea.Cmd {
	m.now = now
	if m.note != "" && now.Sub(m.noted) >= noteFor {
		m.note = ""
	}
	const slack = 100 * time.Millisecond // a tick comes a little early or late
	if m.polling || !m.frozen.IsZero() || now.Sub(m.asked) < m.Every-slack {
		return nil
	}
	return m.poll()
}

// take stores the result of a poll. While the screen is frozen it drops the result.
func (m *Model) take(read readMsg) {
	m.polling = false
	if m.err = read.err; read.err != nil || !m.frozen.IsZero() && m.shown != nil {
		return
	}
	m.shown, m.heard, m.groups, m.inProgress = read.snapshot, m.now, read.groups, read.batches
	for p := range m.panels { // rows that have gone lose their marks
		if len(m.panels[p].marked) == 0 {
			continue
		}
		left := map[string]bool{}
		for _, row := range m.allRows(overview.Panel(p)) {
			if m.panels[p].marked[row.key] {
				left[row.key] = true
			}
		}
		m.panels[p].marked = left
	}
}

// stale reports whether the shown data is too old, and its age.
func (m *Model) stale() (time.Duration, bool) {
	late := m.polling && m.now.Sub(m.asked) >= staleAfter
	if m.frozen.IsZero() && (m.err != nil || late) {
		since := m.heard
		if since.IsZero() {
			since = m.Now
		}
		return m.now.Sub(since), true
	}
	return 0, false
}

// clock is the store's clock.
func (m *Model) clock() time.Time {
	switch {
	case m.shown == nil:
		return m.now
	case !m.frozen.IsZero():
		return m.frozen
	}
	return m.shown.At.Add(m.now.Sub(m.heard))
}

func (m *Model) location() *time.Location { return m.Zones[m.zone%len(m.Zones)] }

package top

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/chimejobs/chime/internal/overview"
)

// Tick moves a model's clock on, as a message of its timer does, without waiting for the next one.
func Tick(m *Model, now time.Time) tea.Cmd { return m.turn(now) }

// Read is the message of a poll that has read a snapshot.
func Read(s *overview.Snapshot) tea.Msg { return readMsg{snapshot: s} }

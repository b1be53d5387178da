package top

import (
	"time"

	tea "charm.land/bubbletea/v2"
)

// Tick moves a model's clock on, as a message of its timer does, without waiting for the next one.
func Tick(m *Model, now time.Time) tea.Cmd { return m.turn(now) }

package top

import "charm.land/lipgloss/v2"

// A paint is the meaning of a text. It is shown in the terminal's colours, which add no information to the text.
type paint int

const (
	normal paint = iota
	faint
	title
	good
	running
	late
	bad
	paused
)

var painted = map[paint]lipgloss.Style{
	faint:   lipgloss.NewStyle().Faint(true),
	title:   lipgloss.NewStyle().Bold(true),
	good:    lipgloss.NewStyle().Foreground(lipgloss.Green),
	running: lipgloss.NewStyle().Foreground(lipgloss.Blue),
	late:    lipgloss.NewStyle().Foreground(lipgloss.Yellow),
	bad:     lipgloss.NewStyle().Foreground(lipgloss.Red),
	paused:  lipgloss.NewStyle().Foreground(lipgloss.Magenta),
}

// A painter paints a frame.
type painter struct {
	plain bool // no colours
	faint bool // all text is faint, because the shown data is old
}

func (p painter) paint(text string, with paint) string {
	if text == "" {
		return ""
	}
	if p.faint {
		with = faint
	}
	if with == normal || p.plain && with > title {
		return text
	}
	return painted[with].Render(text)
}

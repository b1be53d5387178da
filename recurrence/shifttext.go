package recurrence

import (
	"fmt"
	"strings"
)

// shifted describes where a run moves whose day is closed: " or else the next open day". days is the text about the days so far.
func (d *description) shifted(days string) string {
	which := map[Shift]string{
		ShiftNext: "next", ShiftNextInMonth: "next",
		ShiftPrevious: "previous", ShiftPreviousInMonth: "previous",
		ShiftNearest: "nearest", ShiftNearestInMonth: "nearest",
	}[d.Shift]
	if which == "" {
		return ""
	}
	text := " or else "
	if !strings.Contains(days, " on ") {
		text += "on "
	}
	text += "the " + which + " open day"
	if d.Shift >= ShiftNextInMonth {
		text += " of the month"
	}
	return text
}

// shiftedBy describes by how many days a run moves: ", moved 2 open days earlier". Without filters every day is open.
func (d *description) shiftedBy() string {
	noun, by, direction := "day", d.ShiftBy, "later"
	switch {
	case by == 0:
		return ""
	case by < 0:
		by, direction = -by, "earlier"
	}
	if d.hasFilters() {
		noun = "open day"
	}
	if by != 1 {
		noun += "s"
	}
	return fmt.Sprintf(", moved %d %s %s", by, noun, direction)
}

// clockChanges describes what happens to times that the clocks skip or repeat, unless it is the default.
func (d *description) clockChanges() string {
	switch d.ClockChanges {
	case ClockSkip:
		return ", not when the clocks skip it"
	case ClockShown:
		return ", each time the clocks show it"
	}
	return ""
}

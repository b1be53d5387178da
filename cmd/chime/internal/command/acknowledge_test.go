package command_test

import (
	"strings"
	"testing"
)

func TestProblemsAreAcknowledged(t *testing.T) {
	s := calendar(t)
	for _, c := range []struct {
		args []string
		want wants
	}{
		{[]string{"acknowledged", "-o", "name"}, wants{}},
		{[]string{"jobs", "acknowledge", "resize", "dial 10.0.0.1: connection refused", "--until", "+3d", "--note", "they know", "--queue", "media"}, wants{out: []string{"Acknowledged failures of resize until "}}},
		{[]string{"jobs", "acknowledge", "resize", "x", "--until", "-1d"}, wants{code: 2, err: []string{"want an instant in the future"}}},
		{[]string{"jobs", "acknowledge", "resize"}, wants{code: 2, err: []string{"arg"}}},
		{[]string{"schedules", "acknowledge", "nothing"}, wants{code: 3, err: []string{"nothing"}}},
		{[]string{"schedules", "acknowledge", "invoices", "--read-only"}, wants{code: 4, err: []string{"--read-only"}}},
		{[]string{"schedules", "acknowledge", "report"}, wants{code: 4, err: []string{"it is not failing"}}},
		{[]string{"schedules", "acknowledge", "report", "--end"}, wants{code: 3, err: []string{`schedule "report": not acknowledged`}}},
		{[]string{"schedules", "acknowledge", "invoices", "--note", "the bank"}, wants{out: []string{"invoices  acknowledged"}}},
		{[]string{"acknowledged"}, wants{out: []string{"WHAT ", "failures of resize", "they know", "schedule invoices", "the bank"}}},
		{[]string{"jobs", "acknowledge", "resize", "dial 10.0.0.2: connection refused", "--end"}, wants{out: []string{"Failures of resize are no longer acknowledged."}}},
		{[]string{"jobs", "acknowledge", "resize", "dial 10.0.0.2: connection refused", "--end"}, wants{code: 3, err: []string{"failures of resize with this error: not acknowledged"}}},
		{[]string{"schedules", "acknowledge", "invoices", "--end"}, wants{out: []string{"invoices  no longer acknowledged"}}},
	} {
		c.want.check(t, s.Run(t, c.args...), c.args...)
	}
	if got := s.Run(t, "acknowledged", "--json"); strings.Contains(got.Out, "resize") || strings.Contains(got.Out, "invoices") {
		t.Errorf("all are ended: %s", got.Out)
	}
}

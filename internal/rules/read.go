// Package rules reads rules that people type, lists their runs, and describes the effects of clock changes. Package recurrence computes all
// instants.
package rules

import (
	"errors"
	"fmt"
	"strings"

	"github.com/chimejobs/chime/recurrence"
)

// Read reads a rule: JSON if it begins with a brace, otherwise cron text. zone is for a rule that names no zone; empty: UTC. The error joins
// everything that is wrong, each with its field, its value and what is wanted.
func Read(text, zone string) (recurrence.Recurrence, error) {
	rule, err := read(strings.TrimSpace(text))
	if err != nil {
		return rule, wrong(err)
	}
	if zone != "" && rule.TimeZone != "" && rule.TimeZone != zone {
		return rule, fmt.Errorf("--rule-zone %q: the rule has timeZone %q; want one of them", zone, rule.TimeZone)
	}
	if zone != "" {
		rule.TimeZone = zone
		err = rule.Validate()
	}
	return rule, wrong(err)
}

func read(text string) (recurrence.Recurrence, error) {
	if strings.HasPrefix(text, "{") {
		return recurrence.Parse([]byte(text))
	}
	return recurrence.Cron(text)
}

// wrong rewrites the errors about a rule for the person who has typed it. It returns an error that is not about the rule unchanged.
func wrong(err error) error {
	found := recurrence.Errors(err)
	if len(found) == 0 {
		return err
	}
	all := make([]error, len(found))
	for i, mistake := range found {
		all[i] = &mistakeError{mistake}
	}
	return errors.Join(all...)
}

type mistakeError struct{ of *recurrence.Error }

func (e *mistakeError) Unwrap() error { return e.of }

func (e *mistakeError) Error() string {
	text := "the rule: "
	if e.of.Field != "" {
		text = "the rule's " + e.of.Field + ": "
	}
	text += e.of.Reason
	if e.of.Value != "" {
		text += fmt.Sprintf(", got %q", e.of.Value)
	}
	return text
}

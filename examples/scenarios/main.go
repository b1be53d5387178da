// Scenarios plays schedules in real situations, such as a clock change, an outage or a deployment, and prints a timeline of the runs.
//
//	go run ./examples/scenarios                # all of them
//	go run ./examples/scenarios outage pause   # these
//
// Months take seconds, because time is fake: each scenario runs real schedulers and workers on a store in the process, with package
// chimetest, in the year 2000. All times are printed in Berlin time. output.txt has the output of all scenarios.
package main

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"testing"
	_ "time/tzdata" // time zones, even on a system without them
)

// A scenario is one story. Its name is used on the command line.
type scenario struct {
	name, title string
	play        func(*stage)
}

var scenarios = []scenario{
	{"calendars", "Four business calendars, read from JSON: the turn of a month", calendars},
	{"months", "Payroll on the last Friday, invoices on the last day of the month", months},
	{"office", "Every 15 minutes in office hours: from Friday to Monday", office},
	{"clocks", "Nightly at 02:30, when the clocks change", clocks},
	{"zones", "09:00, where the customer is", zones},
	{"outage", "The program is down for three hours: three misfire policies", outage},
	{"overlap", "A run takes too long: four overlap policies", overlap},
	{"failures", "Runs that fail, are retried, and are dead in the end", failures},
	{"processes", "Three processes, of which two stop: each run runs once", processes},
	{"deployment", "A new version in the middle of the day", deployment},
	{"pause", "Paused, and resumed with and without the gap", pause},
	{"editors", "Two people change one schedule", editors},
	{"course", "Ten reminders at most, until a day, from a start in the past", course},
	{"trigger", "A manual run, in addition to the plan", trigger},
}

// Package chimetest needs a test, so the scenarios are tests. main runs them, and each prints its timeline.
func main() {
	tests, err := chosen(os.Args[1:], os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "scenarios:", err)
		os.Exit(2)
	}
	os.Args = os.Args[:1]
	testing.Main(regexp.MatchString, tests, nil, nil)
}

// chosen returns the scenarios with some names as tests; without names, all.
func chosen(names []string, out io.Writer) (tests []testing.InternalTest, err error) {
	for _, s := range scenarios {
		if len(names) == 0 {
			tests = append(tests, s.test(out))
		}
	}
	for _, name := range names {
		found := false
		for _, s := range scenarios {
			if s.name == name {
				tests, found = append(tests, s.test(out)), true
			}
		}
		if !found {
			return nil, fmt.Errorf("there is no scenario %q", name)
		}
	}
	return tests, nil
}

func (s scenario) test(out io.Writer) testing.InternalTest {
	return testing.InternalTest{Name: s.name, F: func(t *testing.T) { perform(t, s, out) }}
}

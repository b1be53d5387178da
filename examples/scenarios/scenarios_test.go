package main

import (
	"bytes"
	"flag"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/long"
)

//go:generate go test -tags long -run WhatTheScenariosPrint . -update

var update = flag.Bool("update", false, "write output.txt instead of comparing with it")

// slow are the scenarios that take seconds, because they play weeks and months: they run only with the tag long.
var slow = []string{"months", "calendars", "course", "clocks", "deployment"}

// output.txt has the output of the scenarios, to the minute.
func TestWhatTheScenariosPrint(t *testing.T) {
	committed, err := os.ReadFile("output.txt")
	if err != nil && !*update {
		t.Fatal(err)
	}
	var all bytes.Buffer
	for _, s := range scenarios {
		if !long.Enabled && slices.Contains(slow, s.name) {
			continue
		}
		var out bytes.Buffer
		if !t.Run(s.name, s.test(&out).F) {
			continue
		}
		if !*update && !strings.Contains(string(committed), out.String()) {
			t.Errorf("%s: this is not in output.txt; if it is correct, run go generate ./examples/scenarios\n%s", s.name, out.String())
		}
		all.Write(out.Bytes())
	}
	switch {
	case t.Failed():
	case *update:
		if err := os.WriteFile("output.txt", all.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	case long.Enabled && !bytes.Equal(all.Bytes(), committed):
		t.Error("output.txt has additional lines, or another order")
	}
}

func TestEachOutcomeHasWords(t *testing.T) {
	source, err := os.ReadFile("../../schedules_history.go")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`RunOutcome = "(.*)"`).FindAllStringSubmatch(string(source), -1)
	if len(found) < 10 {
		t.Fatalf("found %d outcomes, want at least 10", len(found))
	}
	for _, outcome := range found {
		if words[chime.RunOutcome(outcome[1])] == "" {
			t.Errorf("the outcome %q has no words", outcome[1])
		}
	}
}

func TestScenariosAreChosenByName(t *testing.T) {
	if all, err := chosen(nil, nil); err != nil || len(all) != len(scenarios) {
		t.Errorf("without a name: %d scenarios, %v", len(all), err)
	}
	if one, err := chosen([]string{"pause"}, nil); err != nil || len(one) != 1 || one[0].Name != "pause" {
		t.Errorf("pause: %v, %v", one, err)
	}
	if _, err := chosen([]string{"rain"}, nil); err == nil {
		t.Error("a scenario that does not exist was found")
	}
}

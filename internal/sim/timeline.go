package sim

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// A line is one moment of a time line.
type line struct {
	at   time.Duration
	text string
}

// String returns the plan as a time line.
func (p Plan) String() string {
	var lines []line
	for _, a := range p.Actors {
		text := fmt.Sprintf("%s starts", a.Name)
		if a.Role == Scheduler && a.Version > 1 {
			text += fmt.Sprintf(", version %d", a.Version)
		}
		lines = append(lines, line{a.Begin, text})
	}
	for _, a := range p.Acts {
		lines = append(lines, line{a.At, a.text()})
	}
	for _, f := range p.Faults {
		lines = append(lines, f.lines()...)
	}
	for _, at := range p.Rests {
		lines = append(lines, line{at, "everything rests"})
	}
	for _, n := range p.Nights {
		others := "every process"
		if len(n.Stay) > 0 {
			others += " but " + strings.Join(n.Stay, " and ")
		}
		lines = append(lines, line{n.From, others + " is asked to end"}, line{n.To, "these processes start again"})
	}
	slices.SortStableFunc(lines, func(a, b line) int { return cmp.Compare(a.at, b.at) })
	var text strings.Builder
	fmt.Fprintf(&text, "seed %d: %d processes, %d acts, %d faults\n", p.Seed, len(p.Actors), len(p.Acts), len(p.Faults))
	for _, l := range lines {
		fmt.Fprintf(&text, "  %s  %s\n", stamp(l.at), l.text)
	}
	return text.String()
}

// text describes an act.
func (a Act) text() string {
	text := fmt.Sprintf("%s: %s", a.By, a.Do)
	if a.Name != "" {
		text += " " + a.Name
	}
	switch a.Do {
	case Enqueue, EnqueueLater, EnqueueGroup, Follow, Limit, RuleGroup, Put, Backfill, Cancel, DeleteJobs, EnqueueOnce, Move, AddBatch, CancelBatch:
		text += fmt.Sprintf(" (%d)", a.N)
	}
	return text
}

// lines describes the begin and the end of a fault.
func (f Fault) lines() []line {
	on := f.On
	if on == "" {
		on = "every process"
	}
	switch f.Kind {
	case Kill:
		return []line{{f.At, on + " is killed"}, {f.End(), on + " starts again"}}
	case Terminate:
		return []line{{f.At, on + " is asked to end; another one starts"}}
	case GoBack:
		return []line{{f.At, "(the state to which " + on + " will go back)"}, {f.End(), on + " goes back"}}
	case ClockStep:
		return []line{{f.At, fmt.Sprintf("the server's clock steps %v ahead", f.By)}, {f.End(), "the server's clock steps back"}}
	case ScriptsOff:
		return []line{{f.At, "the server forgets its scripts"}}
	}
	text := fmt.Sprintf("%s for %s", f.Kind, on)
	if f.Percent > 0 && f.Percent < 100 {
		text += fmt.Sprintf(", %d %% of the calls", f.Percent)
	}
	if f.By > 0 {
		text += fmt.Sprintf(", by %v", f.By)
	}
	return []line{{f.At, "begin: " + text}, {f.End(), "end: " + text}}
}

// Save writes a plan as JSON, and Load reads it.
func (p Plan) Save(file string) error {
	text, err := json.MarshalIndent(p, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o644)
}

// Load reads a plan that Save has written.
func Load(file string) (p Plan, err error) {
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &p)
	}
	return p, err
}

package sim

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/faketime"
	"github.com/chimejobs/chime/internal/long"
)

func TestMain(m *testing.M) {
	redis.SetLogger(quiet{}) // it logs each connection that a fault prevents
	faketime.Main(m)
}

// quiet is a logger of go-redis that logs nothing.
type quiet struct{}

func (quiet) Printf(context.Context, string, ...any) {}

// The flags are for make sim.
var (
	forTime = flag.Duration("for", 0, "run the plans of new seeds for this long; 0: those of the seeds of this commit")
	seed    = flag.Uint64("seed", 0, "the first seed of -for; 0: by the clock")
	tries   = flag.Int("tries", 400, "how often a failing plan is run to make it smaller")
	keep    = flag.String("keep", "", "write the smallest failing plan to this file")
)

func TestRandomFaultsLoseAndDoubleNothing(t *testing.T) {
	total := &total{hits: map[Kind]int{}, began: time.Now()}
	if *forTime == 0 {
		rounds := 1
		if long.Enabled {
			rounds = wholeRounds
		}
		for _, seed := range long.Draw(1, 16) {
			total.run(t, seed, rounds)
		}
	} else {
		first := *seed
		if first == 0 {
			first = uint64(time.Now().UnixNano()) % 1e9
		}
		for seed := first; time.Since(total.began) < *forTime && !t.Failed(); seed++ {
			total.run(t, seed, wholeRounds)
		}
	}
	t.Log(total)
}

// A total adds up what plans have led to.
type total struct {
	began      time.Time
	seeds      []uint64
	simulated  time.Duration
	jobs, runs int
	hits       map[Kind]int
}

func (s *total) run(t *testing.T, seed uint64, rounds int) {
	plan := NewPlan(seed, rounds)
	result := Simulate(t, plan, false)
	s.seeds = append(s.seeds, seed)
	s.simulated += result.Simulated
	s.jobs += result.Jobs
	s.runs += result.Runs
	for kind, n := range result.Hits {
		s.hits[kind] += n
	}
	if len(result.Findings) > 0 {
		report(t, plan, result)
	}
}

// String has the figures.
func (s *total) String() string {
	var hits []string
	for _, kind := range slices.Sorted(maps.Keys(s.hits)) {
		hits = append(hits, fmt.Sprintf("%s %d", kind, s.hits[kind]))
	}
	took := time.Since(s.began)
	return fmt.Sprintf("%d plans, seeds %d to %d: %.1f simulated hours in %.0f s (%.0f hours a minute), %d jobs, %d runs; %s", len(s.seeds), slices.Min(s.seeds),
		slices.Max(s.seeds), s.simulated.Hours(), took.Seconds(), s.simulated.Hours()/took.Minutes(), s.jobs, s.runs, strings.Join(hits, ", "))
}

// report makes a failing plan smaller, and fails the test with a time line of it.
func report(t *testing.T, plan Plan, result *Result) {
	t.Helper()
	for i, f := range result.Findings {
		if i < 10 {
			t.Errorf("seed %d: %s: %s", plan.Seed, f.Kind, f.Text)
		}
	}
	kind := result.Findings[0].Kind
	until := shrinkUntil(t)
	smallest := Shrink(plan, *tries, func(smaller Plan) bool { return time.Now().Before(until) && fails(t, smaller, kind) })
	last := Simulate(t, smallest, true)
	t.Errorf("the smallest plan that fails: %s\n%s", smallest, describe(last))
	if *keep != "" {
		if err := smallest.Save(*keep); err != nil {
			t.Error(err)
		}
	}
}

// shrinkUntil returns when to stop making a plan smaller: the timeout of go test would end the process without its findings.
func shrinkUntil(t *testing.T) time.Time {
	now := time.Now()
	if deadline, ok := t.Deadline(); ok {
		return now.Add(deadline.Sub(now) / 2)
	}
	return now.Add(time.Hour)
}

// fails reports whether a plan leads to a finding of a kind. Not each run of a plan is the same: chime draws random numbers.
func fails(t *testing.T, plan Plan, kind string) bool {
	for range 2 {
		if slices.Contains(Simulate(t, plan, false).Findings.Kinds(), kind) {
			return true
		}
	}
	return false
}

// describe returns the findings of a run, and the log of its processes.
func describe(r *Result) string {
	var text strings.Builder
	for _, f := range r.Findings {
		fmt.Fprintf(&text, "%s: %s\n", f.Kind, f.Text)
	}
	lines := r.Log
	if len(lines) > 80 {
		lines = append(slices.Clone(lines[:60]), append([]string{"…"}, lines[len(lines)-20:]...)...)
	}
	for _, line := range lines {
		fmt.Fprintln(&text, "   ", line)
	}
	return text.String()
}

func TestAPlanDependsOnItsSeedAlone(t *testing.T) {
	if a, b := NewPlan(7, wholeRounds).String(), NewPlan(7, wholeRounds).String(); a != b {
		t.Errorf("two plans of one seed differ:\n%s\n%s", a, b)
	}
	if a, b := NewPlan(7, wholeRounds).String(), NewPlan(8, wholeRounds).String(); a == b {
		t.Error("two seeds have the same plan")
	}
	for seed := range uint64(200) {
		p := NewPlan(seed, wholeRounds)
		for _, f := range p.Faults {
			rest := p.Rests[slices.IndexFunc(p.Rests, func(at time.Duration) bool { return at > f.At })]
			if f.End() > rest-time.Minute || f.For < 0 {
				t.Errorf("seed %d: the fault %+v does not end a minute before the rest at %v", seed, f, rest)
			}
		}
		for i, n := range p.Nights {
			if n.From != p.Rests[i] || n.To%day != 0 || n.To-n.From < 20*time.Hour || n.To > 7*day {
				t.Errorf("seed %d: the night %+v does not begin with the rest at %v, is short, or ends late", seed, n, p.Rests[i])
			}
		}
	}
}

// Seven plans in a row have faults of every kind.
func TestPlansHaveFaultsOfEveryKind(t *testing.T) {
	for first := range uint64(50) {
		has := map[Kind]bool{}
		for seed := first; seed < first+7; seed++ {
			for _, f := range NewPlan(seed, wholeRounds).Faults {
				has[f.Kind] = true
			}
		}
		for _, kind := range kinds {
			if !has[kind] {
				t.Errorf("the plans of the seeds %d to %d have no fault of the kind %s", first, first+6, kind)
			}
		}
	}
}

// The least that fails is found: an act and a fault that fail together.
func TestShrinkFindsTheLeastThatFails(t *testing.T) {
	plan := NewPlan(11, wholeRounds)
	act, fault := plan.Acts[len(plan.Acts)/2], plan.Faults[len(plan.Faults)/2]
	got := Shrink(plan, 10_000, func(p Plan) bool {
		return slices.ContainsFunc(p.Acts, func(a Act) bool { return a.At == act.At && a.Do == act.Do }) &&
			slices.ContainsFunc(p.Faults, func(f Fault) bool { return f.At == fault.At && f.Kind == fault.Kind })
	})
	if len(got.Acts) != 1 || len(got.Faults) != 1 || len(got.Actors) > 2 || len(got.Rests) > 2 {
		t.Errorf("got %s, want one act and one fault", got)
	}
}

// The first round is dropped with the night after it: the second one begins at once.
func TestShrinkDropsNights(t *testing.T) {
	plan := NewPlan(11, wholeRounds)
	last := plan.Acts[len(plan.Acts)-1]
	got := Shrink(plan, 10_000, func(p Plan) bool {
		return slices.ContainsFunc(p.Acts, func(a Act) bool { return a.At%day == last.At%day && a.Do == last.Do })
	})
	if len(got.Nights) > 0 || len(got.Rests) != 1 || got.Rests[0] > day || len(got.Acts) != 1 || got.Acts[0].At != last.At%day {
		t.Errorf("got %s, want one round without a night", got)
	}
}

package plain_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/plain"
)

// constants reads the library's source and returns the values of its constants by type.
func constants(t *testing.T) map[string][]string {
	t.Helper()
	names, err := filepath.Glob("../../*.go")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]string{}
	for _, name := range names {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool { return addConstant(t, all, n) })
	}
	return all
}

// addConstant adds a constant that has a type and a string value. It reports whether to visit the node's children.
func addConstant(t *testing.T, all map[string][]string, n ast.Node) bool {
	spec, ok := n.(*ast.ValueSpec)
	if !ok || len(spec.Values) != 1 {
		return true
	}
	kind, named := spec.Type.(*ast.Ident)
	value, literal := spec.Values[0].(*ast.BasicLit)
	if named && literal && value.Kind == token.STRING {
		text, err := strconv.Unquote(value.Value)
		if err != nil {
			t.Fatal(err)
		}
		all[kind.Name] = append(all[kind.Name], text)
	}
	return true
}

var symbols = []string{"●", "‖", "✓", "✕", "⚠", "◌"}

func TestEveryStateOutcomeAndPolicyHasItsSentence(t *testing.T) {
	now := time.Now()
	sentence := func(text string) plain.State { return plain.State{Symbol: "●", Sentence: text} }
	sentences := map[string]func(value string) plain.State{
		"ScheduleState": func(v string) plain.State { return plain.Schedule(&chime.Schedule{State: chime.ScheduleState(v)}, now) },
		"JobState":      func(v string) plain.State { return plain.Job(chime.JobState(v)) },
		"RunOutcome":    func(v string) plain.State { return plain.Outcome(chime.RunOutcome(v)) },
		"OverlapPolicy": func(v string) plain.State { return sentence(plain.Overlap(chime.OverlapPolicy(v))) },
		"MisfirePolicy": func(v string) plain.State { return sentence(plain.Misfire(chime.MisfirePolicy(v))) },
	}
	found := constants(t)
	for kind, of := range sentences {
		if len(found[kind]) < 3 {
			t.Errorf("found %d constants of %s in the source: this test reads it wrongly", len(found[kind]), kind)
		}
		seen := map[string]string{}
		for _, value := range found[kind] {
			state := of(value)
			if !slices.Contains(symbols, state.Symbol) {
				t.Errorf("%s %s: the symbol is %q", kind, value, state.Symbol)
			}
			if state.Word != "" && state.Word != value {
				t.Errorf("%s %s is called %q", kind, value, state.Word)
			}
			if !isSentence(state.Sentence) || strings.Contains(state.Sentence, "not know") {
				t.Errorf("%s %s: %q is not a sentence about it", kind, value, state.Sentence)
			}
			if other, ok := seen[state.Sentence]; ok {
				t.Errorf("%s %s and %s have the same sentence", kind, value, other)
			}
			seen[state.Sentence] = value
		}
		if got := of("quantum"); !strings.Contains(got.Sentence, `does not know what "quantum" means`) {
			t.Errorf("%s: an unknown value is described as %+v", kind, got)
		}
	}
}

// isSentence reports whether a text begins with a capital, ends with a full stop and has no other full stop.
func isSentence(text string) bool {
	return len(text) > 10 && text[0] >= 'A' && text[0] <= 'Z' && strings.Index(text, ".") == len(text)-1
}

func TestALiveScheduleMayBeFailingOrLate(t *testing.T) {
	now := time.Date(2026, 11, 21, 13, 26, 48, 0, time.UTC)
	for name, c := range map[string]struct {
		schedule       chime.Schedule
		want, sentence string
	}{
		"on time":  {chime.Schedule{State: chime.StateLive, Next: now.Add(time.Minute)}, "● live", "as its rule says"},
		"taken":    {chime.Schedule{State: chime.StateLive}, "● live", "as its rule says"},
		"just due": {chime.Schedule{State: chime.StateLive, Next: now.Add(-plain.LateAfter)}, "● live", "as its rule says"},
		"late":     {chime.Schedule{State: chime.StateLive, Next: now.Add(-plain.LateAfter - 1)}, "⚠ late", "no worker has taken it"},
		"spread":   {chime.Schedule{State: chime.StateLive, Next: now.Add(-time.Minute), Offset: time.Minute}, "● live", "as its rule says"},
		"failed":   {chime.Schedule{State: chime.StateLive, Last: chime.LastRun{Outcome: chime.RunFailed, Failures: 22}}, "✕ failing", "the 22nd consecutive failure"},
		"dead":     {chime.Schedule{State: chime.StateLive, Last: chime.LastRun{Outcome: chime.RunDead, Failures: 1}}, "✕ failing", "job is dead; the next"},
		"both":     {chime.Schedule{State: chime.StateLive, Next: now.Add(-time.Hour), Last: chime.LastRun{Outcome: chime.RunDead}}, "✕ failing", "is dead"},
		"paused": {
			chime.Schedule{State: chime.StatePaused, Note: chime.Note{By: "anna", Text: "migration"}, Last: chime.LastRun{Outcome: chime.RunDead}},
			"‖ paused", `paused by anna, because of "migration".`,
		},
		"ended": {chime.Schedule{State: chime.StateCompleted, Last: chime.LastRun{Outcome: chime.RunFailed}}, "✓ completed", "no further"},
	} {
		got := plain.Schedule(&c.schedule, now)
		if got.String() != c.want || !strings.Contains(got.Sentence, c.sentence) || !isSentence(got.Sentence) {
			t.Errorf("%s: got %q: %q, want %q: …%q", name, got, got.Sentence, c.want, c.sentence)
		}
	}
}

func TestAQueueIsLivePausedOrWithoutAWorker(t *testing.T) {
	for want, c := range map[string]struct {
		queue  chime.QueueInfo
		served bool
	}{
		"● live: Workers take its jobs.": {chime.QueueInfo{}, true},
		`‖ paused: Workers take no jobs from it until it is resumed: it was paused by anna.`: {chime.QueueInfo{Paused: true, Note: chime.Note{By: "anna"}}, false},
		"⚠ no worker: No live worker serves it, so none of its jobs runs.":                   {chime.QueueInfo{Delayed: 1}, false},
		"◌ idle: No live worker serves it, and it has no jobs and no schedules.":             {chime.QueueInfo{Dead: 1}, false},
	} {
		if got := plain.Queue(&c.queue, c.served); got.String()+": "+got.Sentence != want {
			t.Errorf("got %v: %s, want %s", got, got.Sentence, want)
		}
	}
}

func TestPoliciesWithNumbers(t *testing.T) {
	for got, want := range map[string]string{
		plain.Grace(time.Minute):                                     "An occurrence is missed if no worker has taken it 1m after it is due.",
		plain.Spread(0, 0):                                           "Occurrences are due at their planned time.",
		plain.Spread(time.Hour, 90*time.Second):                      "Occurrences are due 1m 30s after their planned time; the schedule's name determines this part of 1h.",
		plain.Retry(chime.RetryPolicy{}, 0):                          "A job is tried 5 times, unless its handler or worker sets another number; they also set the wait between two attempts.",
		plain.Retry(chime.RetryPolicy{}, 1):                          "A job is tried once.",
		plain.Retry(chime.Exponential(time.Second, 10*time.Hour), 3): "A job is tried 3 times; between two attempts it waits 1s, then twice as long each time, to 10h.",
		plain.Retry(chime.Fixed(10*time.Minute), 3):                  "A job is tried 3 times; between two attempts it waits 10m.",
		plain.PauseAfter(0):                                          "Dead jobs never pause it.",
		plain.PauseAfter(1):                                          "It is paused after one dead job.",
		plain.PauseAfter(3):                                          "It is paused after 3 consecutive dead jobs.",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// What blocks a schedule replaces the guess of a late one, and the state of a live one.
func TestABlockedScheduleNamesOneReason(t *testing.T) {
	now := time.Date(2026, 11, 21, 13, 26, 48, 0, time.UTC)
	schedule := chime.Schedule{State: chime.StateLive, Next: now.Add(-time.Minute)}
	if got := plain.Blocked(plain.Schedule(&schedule, now), "no worker"); got.String() != "⚠ late" || got.Sentence != "An occurrence is due, but no worker has taken it." {
		t.Errorf("late and blocked: %+v", got)
	}
	if got := plain.Blocked(plain.Schedule(&schedule, now), ""); !strings.Contains(got.Sentence, "no worker is free") {
		t.Errorf("late: %+v", got)
	}
	schedule.Next = now.Add(time.Minute)
	if got := plain.Blocked(plain.Schedule(&schedule, now), "no worker"); got.String() != "⚠ no worker" || !isSentence(got.Sentence) {
		t.Errorf("blocked: %+v", got)
	}
	schedule.State = chime.StatePaused
	if got := plain.Blocked(plain.Schedule(&schedule, now), "no worker"); got.String() != "‖ paused" {
		t.Errorf("paused and blocked: %+v", got)
	}
}

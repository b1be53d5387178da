package recurrence_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/long"
	"github.com/chimejobs/chime/recurrence"
)

// A jsonWindow is what the engine and brute force are compared for.
type jsonWindow struct {
	created, from, to int64
	probes            []int64 // instants of Next and Prev
	form              bool    // also compare its canonical JSON and its RRULE
}

// difference compares the engine with brute force. It returns an empty text if they agree. refused reports that the engine refuses the rule because it
// never fires.
func difference(text string, w jsonWindow) (problem string, matches int, refused bool) {
	model := newJSONModel(readJSONRule(text), w.created)
	rule, err := recurrence.Parse([]byte(text))
	var series *recurrence.Series
	if err == nil {
		series, err = rule.Series(time.Unix(w.created, 0))
	}
	want := model.between(w.from, w.to)
	if err != nil {
		for _, e := range recurrence.Errors(err) {
			if e.Code != recurrence.CodeNeverFires && e.Code != recurrence.CodeEndBeforeStart {
				return fmt.Sprintf("refused: %v", err), len(want), true
			}
			if e.Code != recurrence.CodeNeverFires || len(model.also)+len(model.instants) > 0 {
				continue
			}
			if begin := min(model.start, w.from); model.hasDays() && !model.everyHour {
				want = model.between(begin, min(begin+2500*86400, int64(dayNumber(2074, 1, 1))*86400))
			}
			if len(want) > 0 {
				return fmt.Sprintf("refused: %v, want %v", err, instants(model, want)), len(want), true
			}
		}
		return "", 0, true
	}
	var got []int64
	for at := range series.Between(time.Unix(w.from, 0), time.Unix(w.to, 0)) {
		if got = append(got, at.Unix()); len(got) > len(want)+2 {
			break
		}
	}
	if !slices.Equal(got, want) {
		i := 0
		for i < len(got) && i < len(want) && got[i] == want[i] {
			i++
		}
		return fmt.Sprintf("from %s to %s, after %d equal matches\n got %v\nwant %v", instantText(w.from), instantText(w.to), i, instants(model, got[i:]), instants(model, want[i:])), len(want), false
	}
	if w.form {
		if problem := formProblem(rule); problem != "" {
			return problem, len(want), false
		}
	}
	if w.from <= w.created && w.created < w.to {
		runs := slices.DeleteFunc(slices.Clone(want), func(at int64) bool { return at < w.created })
		if model.startsAtOnce() && (len(runs) == 0 || runs[0] != w.created) {
			runs = slices.Insert(runs, 0, w.created)
		}
		i := 0
		for at := range series.All() {
			if at.Unix() >= w.to {
				break
			}
			if i == len(runs) || at.Unix() != runs[i] {
				return fmt.Sprintf("created %s: run %d is at %s, want the runs %v", instantText(w.created), i+1, at, instants(model, runs[i:])), len(want), false
			}
			if i++; i == 5 {
				break
			}
		}
		if i < min(5, len(runs)) {
			return fmt.Sprintf("created %s: %d runs, want also %v", instantText(w.created), i, instants(model, runs[i:])), len(want), false
		}
	}
	for _, probe := range w.probes {
		i, _ := slices.BinarySearch(want, probe)
		if at, ok := series.Prev(time.Unix(probe, 0)); i > 0 && !(ok && at.Unix() == want[i-1]) || i == 0 && ok && at.Unix() >= w.from {
			return fmt.Sprintf("before %s got %v, %v, want one of %v", instantText(probe), at, ok, instants(model, want[max(0, i-1):])), len(want), false
		}
		if i < len(want) && want[i] == probe {
			i++
		}
		if at, ok := series.Next(time.Unix(probe, 0)); i < len(want) && !(ok && at.Unix() == want[i]) || i == len(want) && ok && at.Unix() < w.to {
			return fmt.Sprintf("after %s got %v, %v, want one of %v", instantText(probe), at, ok, instants(model, want[i:])), len(want), false
		}
	}
	return "", len(want), false
}

// formProblem checks the canonical JSON of a rule, and the RRULE of a rule that has one.
func formProblem(rule recurrence.Recurrence) string {
	text, err := rule.MarshalJSON()
	if err != nil {
		return err.Error()
	}
	again, err := recurrence.Parse(text)
	if err != nil || !again.Equal(rule) {
		return fmt.Sprintf("its canonical JSON %s is another rule: %v", text, err)
	}
	if canonical, _ := again.MarshalJSON(); string(canonical) != string(text) {
		return fmt.Sprintf("canonical JSON %s, and again %s", text, canonical)
	}
	if rule.StartTime.IsZero() {
		return ""
	}
	limit := rule.StartTime.AddDate(3, 0, 0).Unix()
	if limit > int64(dayNumber(2074, 1, 1))*86400 {
		return ""
	}
	return exportProblem(rule, limit)
}

func instants(model *jsonModel, list []int64) (texts []string) {
	for _, at := range list[:min(4, len(list))] {
		texts = append(texts, time.Unix(at, 0).In(model.loc).Format(time.RFC3339))
	}
	return texts
}

// smaller returns the smallest rule it finds for which the engine and brute force still differ: without fields, entries and filters.
func smaller(text string, w jsonWindow) string {
	for shrunk := true; shrunk; {
		shrunk = false
		var tree any
		if err := json.Unmarshal([]byte(text), &tree); err != nil {
			panic(err)
		}
		for _, candidate := range without(tree) {
			candidateText, err := json.Marshal(candidate)
			if err != nil {
				panic(err)
			}
			if rule, err := recurrence.Parse(candidateText); err != nil || rule.Frequency == 0 && rule.Cron == "" && len(rule.Also) == 0 {
				continue
			}
			if problem, _, _ := difference(string(candidateText), w); problem != "" {
				text, shrunk = string(candidateText), true
				break
			}
		}
	}
	return text
}

// without returns all trees that lack one member or element of a tree.
func without(tree any) (list []any) {
	switch tree := tree.(type) {
	case map[string]any:
		for key, value := range tree {
			rest := map[string]any{}
			for other, value := range tree {
				if other != key {
					rest[other] = value
				}
			}
			list = append(list, rest)
			for _, part := range without(value) {
				changed := map[string]any{}
				for other, value := range tree {
					changed[other] = value
				}
				changed[key] = part
				list = append(list, changed)
			}
		}
	case []any:
		for i, value := range tree {
			list = append(list, slices.Delete(slices.Clone(tree), i, i+1))
			for _, part := range without(value) {
				changed := slices.Clone(tree)
				changed[i] = part
				list = append(list, changed)
			}
		}
	}
	return list
}

// windowOf returns a window for a rule: near its instant or at its next match, and as long as brute force can search in milliseconds.
func (g jsonGenerator) windowOf(r jsonRule, created int64) jsonWindow {
	model := newJSONModel(r, created)
	seconds := 0
	for _, list := range [][60]bool{model.hour, model.minute, model.second} {
		n := 0
		for _, given := range list {
			if given {
				n++
			}
		}
		seconds = max(seconds, 1) * n
	}
	span := int64(6 * 3600)
	switch {
	case model.hasDays() && model.everyHour:
		span = 5 * 86400
	case model.hasDays():
		span = int64(min(500, max(10, 600/seconds))) * 86400
	case r.Frequency == "hour":
		span = 2 * 86400
	case !model.hasSchedule() && r.Frequency == "second":
		span = 1800
	case model.hasSchedule() && r.Frequency == "minute":
		span = 86400
	}
	w := jsonWindow{created: created, from: g.near - g.Int64N(span), form: g.chance(3)}
	if len(r.Also) > 0 {
		span = min(span, 20*86400)
	}
	if rule, err := recurrence.Parse([]byte(r.text())); err == nil && g.chance(2) {
		if series, err := rule.Series(time.Unix(created, 0)); err == nil {
			if next, ok := series.Next(time.Unix(w.from, 0)); ok && next.Year() < 2070 {
				far := int64(10 * 365 * 86400) // brute force checks all of it
				if !model.hasDays() || len(r.Also) > 0 {
					far = 2 * 86400
				}
				if next.Unix()-w.from < far && model.hasDays() && !model.everyHour {
					span += next.Unix() - w.from
				} else {
					w.from = next.Unix() - g.Int64N(min(far, span)/2)
				}
			}
		}
	}
	w.to = min(w.from+span, int64(dayNumber(2074, 1, 1))*86400)
	for range 3 {
		w.probes = append(w.probes, w.from+g.Int64N(max(1, w.to-w.from)))
	}
	if w.from < w.to {
		if found := model.between(w.from, w.to); len(found) > 0 {
			w.probes = append(w.probes, found[0], found[len(found)-1], found[0]+1)
		}
	}
	return w
}

// TestJSONRulesRunAsBruteForceOfAnotherAuthor compares random rules with any fields. BRUTE_FORCE_RULES sets their number, BRUTE_FORCE_SEED the first
// seed.
func TestJSONRulesRunAsBruteForceOfAnotherAuthor(t *testing.T) {
	seeds := long.Chosen("BRUTE_FORCE_RULES", "BRUTE_FORCE_SEED", 300, 3000)
	exportsCompared = 0
	rules, running, refusals, all, failed := len(seeds), 0, 0, 0, 0
	for _, seed := range seeds {
		g := newJSONGenerator(seed)
		r, created := g.draw()
		w := g.windowOf(r, created)
		problem, matches, refused := difference(r.text(), w)
		if problem != "" {
			small := smaller(r.text(), w)
			if smallProblem, _, _ := difference(small, w); smallProblem != "" {
				problem = smallProblem
			}
			t.Errorf("seed %d: %s\ncreated %s: %s", seed, small, instantText(created), problem)
			if failed++; failed == 20 {
				return
			}
		}
		if matches > 0 {
			running++
			all += matches
		}
		if refused {
			refusals++
		}
	}
	t.Logf("%d rules: %d run in their window, %d matches; %d never fire; %d have an RRULE", rules, running, all, refusals, exportsCompared)
	if running < rules*2/5 {
		t.Errorf("only %d of %d rules run in their window", running, rules)
	}
}

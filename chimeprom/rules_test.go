package chimeprom_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/chimejobs/chime/chimeprom"
)

var metricName = regexp.MustCompile(`\bchime_[a-z0-9_]+`)

// resolve fails unless each metric in an expression is one of chimeprom's, with a suffix only if it is a histogram, and each label in a selector or
// a grouping is a label of its metric. It returns the metrics.
func resolve(t *testing.T, where, expr string) (found []string) {
	t.Helper()
	kinds := chimeprom.Kinds()
	for _, name := range metricName.FindAllString(expr, -1) {
		base := name
		for _, suffix := range []string{"_bucket", "_sum", "_count"} {
			if cut, ok := strings.CutSuffix(name, suffix); ok && kinds[cut] == "histogram" {
				base = cut
			}
		}
		if kinds[base] == "" || kinds[base] == "histogram" && base == name {
			t.Errorf("%s: there is no metric %s: %s", where, name, expr)
		}
		found = append(found, base)
	}
	if len(found) == 0 {
		t.Errorf("%s contains no metric: %s", where, expr)
	}
	known := []string{"le"}
	for _, name := range found {
		known = append(known, chimeprom.Labels(name)...)
	}
	for _, list := range regexp.MustCompile(`\b(?:by|on) \(([^)]*)\)`).FindAllStringSubmatch(expr, -1) {
		for label := range strings.SplitSeq(list[1], ", ") {
			if !slices.Contains(known, label) {
				t.Errorf("%s: %q is not a label of %v: %s", where, label, found, expr)
			}
		}
	}
	for _, chosen := range regexp.MustCompile(`[{,]([a-z]+)=`).FindAllStringSubmatch(expr, -1) {
		if !slices.Contains(known, chosen[1]) {
			t.Errorf("%s: %q is not a label of %v: %s", where, chosen[1], found, expr)
		}
	}
	return found
}

// maxLines is how many lines a panel may have.
const maxLines = 12

// linesOf returns how many lines an expression may have: those of topk, or one for each value of a label that has few values.
func linesOf(expr string) int {
	if most := regexp.MustCompile(`^topk\((\d+),`).FindStringSubmatch(expr); most != nil {
		n, _ := strconv.Atoi(most[1])
		return n
	}
	switch by := regexp.MustCompile(`^(?:sum|max)(?: by \(([a-z, ]+)\))?`).FindStringSubmatch(expr); {
	case by == nil || by[1] == "":
		return 1
	case by[1] == "outcome", by[1] == "event":
		return 8
	case by[1] == "state":
		return 7
	}
	return maxLines + 1
}

func TestTheDashboardShowsOnlyWhatThereIs(t *testing.T) {
	text, err := os.ReadFile("grafana.json")
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct {
			ID                       int
			Type, Title, Description string
			GridPos                  struct{ X, Y, W, H int }
			Targets                  []struct{ Expr, RefID string }
		}
		Annotations struct{ List []struct{ Expr string } }
		Templating  struct {
			List []struct{ Query string }
		}
	}
	if err := json.Unmarshal(text, &dashboard); err != nil {
		t.Fatal(err)
	}
	shown := map[string]bool{}
	places := map[string]bool{}
	for i, p := range dashboard.Panels {
		if p.ID != i+1 || p.Title == "" || p.Description == "" || len(p.Targets) == 0 || p.GridPos.X+p.GridPos.W > 24 {
			t.Errorf("panel %d: %+v", i+1, p)
		}
		place := fmt.Sprint(p.GridPos.X, " ", p.GridPos.Y)
		if places[place] {
			t.Errorf("two panels are at %s", place)
		}
		places[place] = true
		lines := 0
		for _, target := range p.Targets {
			for _, name := range resolve(t, p.Title, target.Expr) {
				shown[name] = true
			}
			lines += linesOf(target.Expr)
		}
		if lines > maxLines {
			t.Errorf("%s may have %d lines, want at most %d", p.Title, lines, maxLines)
		}
	}
	for _, a := range dashboard.Annotations.List {
		for _, name := range resolve(t, "annotation", a.Expr) {
			shown[name] = true
		}
	}
	for _, variable := range dashboard.Templating.List[1:] {
		resolve(t, "variable", variable.Query)
	}
	if len(dashboard.Panels) != 24 {
		t.Errorf("%d panels, want 24", len(dashboard.Panels))
	}
	// these are for alerts, or the queues' page of chime or another metric shows their content better
	elsewhere := []string{"chime_leader_changes_total", "chime_queue_outbox", "chime_queue_outbox_oldest_seconds", "chime_queue_paused", "chime_queue_sessions", "chime_schedule_next_timestamp_seconds", "chime_schedule_period_seconds"}
	for _, name := range slices.Sorted(maps.Keys(chimeprom.Kinds())) {
		if shown[name] == slices.Contains(elsewhere, name) {
			t.Errorf("%s is shown: %v", name, shown[name])
		}
	}
}

// exprs are the expressions of the alerts by name.
func exprs(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, rule := range strings.Split(string(text), "- alert: ")[1:] {
		name, rest, _ := strings.Cut(rule, "\n")
		expr, _, _ := strings.Cut(rest[strings.Index(rest, "expr:")+5:], "\n        labels:")
		expr, _, _ = strings.Cut(expr, "\n        for:")
		all[name] = strings.Join(strings.Fields(strings.TrimPrefix(strings.TrimSpace(expr), ">-")), " ")
	}
	return all
}

func TestAlertsUseOnlyWhatThereIsAndThePageExplainsThem(t *testing.T) {
	page, err := os.ReadFile("../docs/monitoring.md")
	if err != nil {
		t.Fatal(err)
	}
	alerts := exprs(t)
	for name, expr := range alerts {
		resolve(t, name, expr)
		if !strings.Contains(string(page), "\n### "+name+"\n") {
			t.Errorf("docs/monitoring.md has no heading %s", name)
		}
	}
	for _, want := range []string{"ChimeScheduleNotDone", "ChimeSchedulesLate", "ChimeDeadJobsGrow", "ChimeNobodyLeads", "ChimeJobsWaitLong"} {
		if alerts[want] == "" {
			t.Errorf("there is no alert %s", want)
		}
	}
}

// The page has the correct row for each metric.
func TestThePageListsEveryMetric(t *testing.T) {
	page, err := os.ReadFile("../docs/monitoring.md")
	if err != nil {
		t.Fatal(err)
	}
	for name, kind := range chimeprom.Kinds() {
		labels := strings.Join(chimeprom.Labels(name), ", ")
		if labels == "" {
			labels = "–"
		}
		if row := fmt.Sprintf("| `%s` | %s | %s | %s |", name, kind, labels, chimeprom.Help(name)); !strings.Contains(string(page), "\n"+row+"\n") {
			t.Errorf("docs/monitoring.md has no row\n%s", row)
		}
	}
	for _, name := range metricName.FindAllString(string(page), -1) {
		base := strings.TrimSuffix(strings.TrimSuffix(name, "_bucket"), "_count")
		if chimeprom.Kinds()[base] == "" {
			t.Errorf("docs/monitoring.md has %s, which is not a metric", name)
		}
	}
}

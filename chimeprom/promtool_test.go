//go:build real

package chimeprom_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// promtool runs the tool from Debian's package prometheus, which test.sh installs.
func promtool(t *testing.T, stdin string, args ...string) {
	t.Helper()
	tool := exec.Command("promtool", args...)
	tool.Stdin = strings.NewReader(stdin)
	if out, err := tool.CombinedOutput(); err != nil {
		t.Errorf("promtool %v: %v\n%s", args, err, out)
	}
}

func TestPromtoolHasNothingToSay(t *testing.T) {
	story, err := os.ReadFile("testdata/story.txt")
	if err != nil {
		t.Fatal(err)
	}
	promtool(t, string(story), "check", "metrics")
	promtool(t, "", "check", "rules", "alerts.yaml")
}

// A mark on the time axis is a new leader, also if the old leader's process and its metrics are gone, and if the term was absent while Redis was down.
func TestTheDashboardMarksEachNewLeaderOnce(t *testing.T) {
	text, err := os.ReadFile("grafana.json")
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Annotations struct {
			List []struct{ Name, Expr, Step string }
		}
	}
	if err := json.Unmarshal(text, &dashboard); err != nil {
		t.Fatal(err)
	}
	mark := dashboard.Annotations.List[0]
	if mark.Name != "New leader" || mark.Step != "60s" {
		t.Errorf("the marks are %q by %q, want new leaders minute by minute", mark.Name, mark.Step)
	}
	var tests strings.Builder
	fmt.Fprint(&tests, `
tests:
  - interval: 15s
    input_series: # b comes with the 5th minute and leads at once; in the 10th Redis is gone for two minutes, and then another one leads
      - series: 'chime_leader_term{instance="a"}'
        values: '4x19 _x60'
      - series: 'chime_leader_changes_total{instance="a"}'
        values: '1x19 _x60'
      - series: 'chime_leader_term{instance="b"}'
        values: '_x20 5x19 stale _x7 6x30'
      - series: 'chime_leader_changes_total{instance="b"}'
        values: '_x20 1x27 2x30'
    promql_expr_test:
`)
	for minute := range 16 {
		fmt.Fprintf(&tests, "      - expr: %q\n        eval_time: %dm\n", "("+mark.Expr+") > bool 0", minute)
		if minute == 5 || minute == 12 {
			fmt.Fprintf(&tests, "        exp_samples: [{value: 1}]\n")
		}
	}
	file := filepath.Join(t.TempDir(), "marks.yaml")
	if err := os.WriteFile(file, []byte(tests.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	promtool(t, "", "test", "rules", file)
}

// Prometheus's own tool tests each alert: it does not fire when all is well, and fires otherwise.
func TestAlertsFireWhenTheyAreToAndNotWhenAllIsWell(t *testing.T) {
	text, err := os.ReadFile("testdata/alerts_test.yaml")
	if err != nil {
		t.Fatal(err)
	}
	silent, fires := map[string]bool{}, map[string]bool{}
	for _, test := range strings.Split(string(text), "\n  - name: ")[1:] {
		well := strings.HasPrefix(test, "all is well\n")
		for _, one := range strings.Split(test, "alertname: ")[1:] {
			name := regexp.MustCompile(`^\w+`).FindString(one)
			if expects := strings.Contains(one, "exp_alerts:"); expects && !well {
				fires[name] = true
			} else if !expects && well {
				silent[name] = true
			}
		}
	}
	for name := range exprs(t) {
		if !silent[name] || !fires[name] {
			t.Errorf("%s: tested as silent when all is well: %v; tested as firing: %v", name, silent[name], fires[name])
		}
	}
	promtool(t, "", "test", "rules", "testdata/alerts_test.yaml")
}

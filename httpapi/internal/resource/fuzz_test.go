package resource

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/chimejobs/chime/httpapi/action"
)

// An accepted body is shown without secrets, and the shown JSON is accepted and gives the same job.
func FuzzReadJob(f *testing.F) {
	text, err := os.ReadFile("testdata/invalid_cases.json")
	if err != nil {
		f.Fatal(err)
	}
	var all []struct {
		Job json.RawMessage `json:"job"`
	}
	if err := json.Unmarshal(text, &all); err != nil {
		f.Fatal(err)
	}
	for _, s := range all {
		f.Add([]byte(s.Job))
	}
	f.Add([]byte(withSecrets))
	f.Add([]byte(`{"properties": {"action": {"type": "JOB", "job": {"name": "a", "payload": {"a": [1, "2"]}}}}}`))
	f.Add([]byte(`{"action": {"queueMessage": {"sasToken": "` + canary + `"}, "serviceBusQueueMessage": {"authentication": {"sasKey": "` + canary + `"}}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		j, mistakes := ReadJob(text, here)
		if len(mistakes) > 0 {
			if strings.Contains(short(mistakes), "without a detail") {
				t.Fatalf("%q: %+v", text, mistakes)
			}
			return
		}
		j.Action.Prepare(t.Context(), nil)
		if j.Action.Seal(ring, action.Place{}, nil) != nil {
			t.Fatalf("%q cannot be sealed", text)
		}
		first := shown(j)
		again, mistakes := ReadJob([]byte(first), here)
		if len(mistakes) > 0 {
			t.Fatalf("%q is shown as %s, which is refused: %+v", text, first, mistakes)
		}
		again.Action.Prepare(t.Context(), nil)
		again.Action.Keep(j.Action)
		if again.Action.Seal(ring, action.Place{}, j.Action) != nil {
			t.Fatalf("%q cannot be sealed again", text)
		}
		if second := shown(again); second != first {
			t.Fatalf("%q is shown as\n%s, and after a second put as\n%s", text, first, second)
		}
	})
}

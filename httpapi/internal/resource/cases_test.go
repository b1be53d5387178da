package resource

import (
	"encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/chimejobs/chime/httpapi/internal/problem"
	"github.com/chimejobs/chime/recurrence"
)

// A sample is a body from a file in testdata.
type sample struct {
	ID   string                     `json:"id"`
	Code string                     `json:"code"`
	Job  map[string]json.RawMessage `json:"job"`
}

func samples(t *testing.T, file string) []sample {
	t.Helper()
	text, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	var all []sample
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// bodies returns a job with an action in both forms.
func (s sample) bodies(t *testing.T) map[string][]byte {
	t.Helper()
	job := map[string]json.RawMessage{"action": json.RawMessage(`{"type":"https","request":{"uri":"https://example.com/r","method":"GET"}}`)}
	for key, value := range s.Job {
		job[key] = value
	}
	bare, err := json.Marshal(job)
	if err != nil {
		t.Fatal(err)
	}
	return map[string][]byte{"bare": bare, "with properties": []byte(`{"properties":` + string(bare) + `}`)}
}

var here = JobName{"demo", "report"}

func TestEverySampleIsReadInBothForms(t *testing.T) {
	all := samples(t, "seed_cases.json")
	for _, s := range all {
		job, err := json.Marshal(s.Job)
		if err != nil {
			t.Fatal(err)
		}
		want, err := recurrence.Parse(job)
		if err != nil {
			t.Fatal(err)
		}
		for form, text := range s.bodies(t) {
			j, mistakes := ReadJob(text, here)
			if len(mistakes) > 0 {
				t.Errorf("%s, %s: %+v", s.ID, form, mistakes)
				continue
			}
			if !j.Rule.Equal(want) {
				t.Errorf("%s, %s: the rule is %+v, want %+v", s.ID, form, j.Rule, want)
			}
			view := JobView{ID: "/jobCollections/demo/jobs/report", Name: here, State: Enabled, Job: j}
			again, mistakes := ReadJob(view.Append(nil), here)
			if len(mistakes) > 0 || !again.Rule.Equal(j.Rule) {
				t.Errorf("%s, %s: written and read again it is %+v, %+v; want %+v", s.ID, form, again, mistakes, j)
			}
		}
	}
	if len(all) < 70 {
		t.Errorf("got only %d samples", len(all))
	}
}

func TestEveryInvalidSampleIsRefusedWithItsCode(t *testing.T) {
	for _, s := range samples(t, "invalid_cases.json") {
		for form, text := range s.bodies(t) {
			_, mistakes := ReadJob(text, here)
			if len(mistakes) == 0 || mistakes[0].Code != s.Code {
				t.Errorf("%s, %s: %s: got %+v, want %s first", s.ID, form, text, mistakes, s.Code)
			}
			if slices.ContainsFunc(mistakes, func(m problem.Mistake) bool { return m.Field == "" || m.Detail == "" }) {
				t.Errorf("%s, %s: a mistake without a field or a detail: %+v", s.ID, form, mistakes)
			}
		}
	}
}

package jobfind

import (
	"testing"

	"github.com/chimejobs/chime"
)

func TestJobsAreFoundByTheValuesOfTheirArguments(t *testing.T) {
	job := &chime.JobInfo{Payload: []byte(`{"customer": 4711, "order": {"id": "a=b", "lines": [{"sku": "x1"}, {"sku": "x2"}], "tags": ["new", ["old"]]}, "a.b": true, "none": null, "big": 12345678901234567890}`)}
	for text, want := range map[string]bool{
		"arg:customer=4711":                true,
		"arg:customer=47":                  false,
		"arg:4711":                         true,
		"arg:x2":                           true,
		"arg:old":                          true,
		"arg:customer":                     false, // a name is not a value
		`arg:order.id=a=b`:                 true,
		"arg:order.lines.sku=x2":           true,
		"arg:order.lines.sku=x3":           false,
		"arg:order.tags=new":               true,
		"arg:order.tags=old":               true,
		"arg:order=new":                    false,
		"arg:a.b=true":                     true,
		"arg:none=null":                    true,
		"arg:big=12345678901234567890":     true,
		"arg:customer=4711 arg:a.b=true":   true,
		"arg:customer=4711 arg:a.b=false":  false,
		"arg:customer=4711 arg:order.id=c": false,
	} {
		f, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		arguments, ok := Decoded(job)
		if got := ok && f.argued(arguments); got != want {
			t.Errorf("%s: got %v, want %v", text, got, want)
		}
		if again, err := Parse(f.String()); err != nil || again.String() != f.String() || !again.beyond(chime.JobDead) {
			t.Errorf("%s prints as %q, which reads as %+v, %v", text, f.String(), again, err)
		}
	}
	if _, err := Parse("arg:a=1 arg:a=2"); err == nil {
		t.Error("a path that is there twice was accepted")
	}
	if _, ok := Decoded(&chime.JobInfo{}); ok {
		t.Error("a job without arguments has some")
	}
}

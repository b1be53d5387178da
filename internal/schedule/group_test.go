package schedule

import (
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/recurrence"
)

// A definition with a group has the form of one, so that a program that does not know groups does not place its occurrences. Its placements and its jobs
// have the group.
func TestADefinitionHasAGroup(t *testing.T) {
	declared, err := declaration("s", recurrence.Recurrence{Frequency: recurrence.Hour}, []option{jobName("j"), func(s *Spec) { s.Group = "tenant 42" }})
	if err != nil || declared.Group != "tenant 42" || !strings.HasPrefix(string(declared.Body), `{"version":3,`) {
		t.Fatalf("declared %+v, %s, %v; want the form 3", declared, declared.Body, err)
	}
	text := `{"revision":1,"state":"live","created":"2026-01-01T00:00:00Z","overlap":"skip",` + string(declared.Body)[1:]
	p, err := Compile([]byte(text))
	if err != nil || p.Group != "tenant 42" {
		t.Fatalf("compiled %+v, %v", p, err)
	}
	if placed := p.Next(protocol.Owed{Name: "s", Since: p.Created, Now: p.Created}); placed.Group != "tenant 42" {
		t.Errorf("placed %+v, want the group", placed)
	}
	if job := p.Job("s", p.Created.Add(time.Hour)); job.Details == nil || job.Details.Group != "tenant 42" {
		t.Errorf("its job has the details %+v, want the group", job.Details)
	}
	if _, err := Compile([]byte(strings.Replace(text, "tenant 42", `a\tb`, 1))); err == nil || !strings.Contains(err.Error(), "the definition's group") {
		t.Errorf("a group with a tab: %v, want it refused", err)
	}
	if plain, err := declaration("s", recurrence.Recurrence{Frequency: recurrence.Hour}, []option{jobName("j")}); err != nil || !strings.HasPrefix(string(plain.Body), `{"version":1,`) {
		t.Errorf("without a group: %s, %v; want the form 1", plain.Body, err)
	}
}

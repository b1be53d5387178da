package taskid

import (
	"strings"
	"testing"
)

func TestAnIDIsReadAsItWasWritten(t *testing.T) {
	for _, want := range []ID{{"demo", 1, "order-42"}, {"a-b_c", 1_795_417_144_011_667, "x"}, {"demo", 0, strings.Repeat("x", 100)}} {
		if got, ok := Parse(want.String()); !ok || got != want {
			t.Errorf("%s is read as %+v, %v, want %+v", want, got, ok, want)
		}
	}
}

// The sender takes the collection from the ID, so the ID of another job must not look like a task's.
func TestOtherIDsAreNoTasks(t *testing.T) {
	for _, text := range []string{
		"", "demo", "demo:order-42", "demo:task", "demo:task/1", "demo:task/1/", ":task/1/x", "task/1/x", "demo:task/1/x/y", "demo:task/01/x", "demo:task/+1/x",
		"demo:task/1/x#dead-7", "demo:task/1/x@2027-03-01T10:00:00Z", "demo:task/Z/x", "demo:task/!/x", "demo:job/1/x", "demo:task/1/" + strings.Repeat("x", 101),
	} {
		if id, ok := Parse(text); ok {
			t.Errorf("%q is read as %+v, want no task", text, id)
		}
	}
}

func TestTheIDOfABatchIsReadBack(t *testing.T) {
	id := BatchID{Collection: "demo", Creation: 1_700_000_000_000_000, Batch: "import-7"}
	if got, ok := ParseBatch(id.String()); !ok || got != id {
		t.Errorf("%s is read as %+v, %v", id, got, ok)
	}
	for _, text := range []string{"", "demo", "demo:task/kz/import", "demo:batch/KZ/import", "demo:batch/kz/", "demo:batch/kz/a#done", ":batch/kz/a", "demo:batch/-/a"} {
		if got, ok := ParseBatch(text); ok {
			t.Errorf("%q is read as %+v", text, got)
		}
	}
}

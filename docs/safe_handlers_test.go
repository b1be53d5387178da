package docs_test

import "testing"

func TestThePageOfSafeHandlersShowsTheExamples(t *testing.T) {
	files := []string{"../examples/outbox/charge.go", "../examples/outbox/charge_test.go", "../examples/outbox/fence.go", "../examples/outbox/fence_test.go", "../examples/outbox/main.go"}
	shows(t, "safe-handlers.md", files[0], files[1:]...)
	shows(t, "safe-handlers.md", files[2], append(files[3:], files[:2]...)...)
}

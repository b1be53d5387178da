package visit

import (
	"os"
	"strings"
	"testing"
)

// Routes reads a table of routes: the right, the method, the path, and the verb if a form has several actions. It returns rights by route, such as
// "view" for "GET schedules/{name}".
func Routes(t testing.TB, file string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	routes := map[string]string{}
	for line := range strings.Lines(string(text)) {
		right, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		method, path, ok := strings.Cut(strings.TrimSpace(rest), "/")
		if !ok {
			t.Fatalf("%s: %q does not have a right, a method and a path", file, line)
		}
		routes[strings.TrimSpace(method)+" "+path] = right
	}
	if len(routes) < 30 {
		t.Fatalf("found only %[2]d routes in %[1]s: it is read wrongly", file, len(routes))
	}
	return routes
}

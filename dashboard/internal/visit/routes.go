package visit

import (
	"os"
	"strings"
	"testing"
)

// Routes reads a table of routes: the right that each needs, its method, its path, and of a form that does one of several things the verb. It returns
// right by route, as "view" by "GET schedules/{name}".
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
			t.Fatalf("%s: %q is not a right, a method and a path", file, line)
		}
		routes[strings.TrimSpace(method)+" "+path] = right
	}
	if len(routes) < 30 {
		t.Fatalf("%s has %d routes: it is read wrongly", file, len(routes))
	}
	return routes
}

package deploy_test

import (
	"encoding/json"
	"strings"
	"testing"
)

// An image is the content of the Dockerfile.
type image struct {
	copied                  map[string]string // file of the build context → path in the image
	environment             []string
	entrypoint, healthcheck []string
	user                    string
}

func readImage(t testing.TB) *image {
	t.Helper()
	made := &image{copied: map[string]string{}}
	exec := func(text string) (command []string) {
		if err := json.Unmarshal([]byte(text), &command); err != nil {
			t.Fatalf("Dockerfile: %s: want a command without a shell: %v", text, err)
		}
		return command
	}
	for line := range strings.Lines(readFile(t, "Dockerfile")) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch word {
		case "", "#", "EXPOSE":
		case "FROM":
			if rest != "scratch" {
				t.Fatalf("FROM %s: this test knows the content of scratch only", rest)
			}
		case "COPY":
			fields := strings.Fields(rest)
			if len(fields) != 3 || !strings.HasPrefix(fields[0], "--chmod=0") {
				t.Fatalf("COPY %s: want a mode, a file and a path", rest)
			}
			made.copied[fields[1]] = fields[2]
		case "ENV":
			made.environment = append(made.environment, rest)
		case "USER":
			made.user = rest
		case "ENTRYPOINT":
			made.entrypoint = exec(rest)
		case "HEALTHCHECK":
			_, command, _ := strings.Cut(rest, " CMD ")
			made.healthcheck = exec(command)
		default:
			t.Fatalf("Dockerfile: this test does not know %s", word)
		}
	}
	return made
}

package httpapi_test

import (
	"context"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/httpapi"
	"github.com/chimejobs/chime/httpapi/action"
)

// The guide shows the program from here.

func jobsOverHTTP(ctx context.Context, store chime.Store, mux *http.ServeMux, tokens, keys string) error {
	authenticate, err := httpapi.Tokens(tokens)
	if err != nil {
		return err
	}
	ring, err := action.ParseRing(keys)
	if err != nil {
		return err
	}
	api := httpapi.New(store, httpapi.Options{Authenticate: authenticate, Secrets: ring, PublicURL: "https://jobs.example.com"})
	mux.Handle("/", api)
	worker := chime.NewWorker(store, chime.WorkerOptions{})
	api.Register(worker)
	return chime.Run(ctx, chime.NewScheduler(store, chime.SchedulerOptions{}), worker, api)
}

// The program of the guide ends here.

var goBlock = regexp.MustCompile("(?s)```go\n(.*?)```")

func TestTheGuidesProgramIsCompiled(t *testing.T) {
	page, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("guide_program_test.go")
	if err != nil {
		t.Fatal(err)
	}
	blocks := goBlock.FindAllStringSubmatch(string(page), -1)
	if len(blocks) != 1 {
		t.Fatalf("the guide has %d programs, want 1", len(blocks))
	}
	if !strings.Contains(string(source), blocks[0][1]) {
		t.Errorf("the guide shows\n%s\nbut it is not in guide_program_test.go", blocks[0][1])
	}
}

func TestTheGuidesProgramSaysWhatIsWrong(t *testing.T) {
	if err := jobsOverHTTP(t.Context(), nil, http.NewServeMux(), "no token", ""); err == nil || !strings.Contains(err.Error(), "line 1") {
		t.Errorf("a bad line of tokens: %v, want an error that names the line", err)
	}
}

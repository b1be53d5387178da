//go:build npm

package contract_test

import (
	"context"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/httpapi"
	"github.com/chimejobs/chime/httpapi/action"
	"github.com/chimejobs/chime/redisstore/embedded"
)

// A client in TypeScript, openapi-fetch, with types that openapi-typescript generates from the document, adds tasks and waits for a result. The compiler
// checks its program against the types first. npm installs the versions of package-lock.json into a folder of the test.
func TestAClientInTypeScriptWorks(t *testing.T) {
	token, line, err := httpapi.NewToken("ci", httpapi.Admin)
	if err != nil {
		t.Fatal(err)
	}
	tokens, err := httpapi.Tokens(line)
	if err != nil {
		t.Fatal(err)
	}
	store := embedded.StartInMemory()
	t.Cleanup(func() { _ = store.Close() })
	api := httpapi.New(store.Store(), httpapi.Options{Authenticate: tokens, Logger: quiet()})
	worker := chime.NewWorker(store.Store(), chime.WorkerOptions{Logger: quiet()})
	worker.Handle("mail.send", sent)
	worker.Handle(action.JobName, refused)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- chime.Run(ctx, worker, api) }()
	server := httptest.NewServer(api)
	t.Cleanup(func() {
		server.Close()
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})

	document, err := filepath.Abs("../openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	if err := os.CopyFS(folder, os.DirFS("testdata/openapi-fetch")); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{
		"npm ci --ignore-scripts --no-audit --no-fund",
		"npx --no-install openapi-typescript " + document + " --default-non-nullable=false -o api.d.ts",
		"npx --no-install tsc -p .",
		"node tasks.js",
	} {
		words := strings.Fields(command)
		run := exec.CommandContext(t.Context(), words[0], words[1:]...)
		run.Dir, run.Env = folder, append(os.Environ(), "CHIME_URL="+server.URL, "CHIME_TOKEN="+token)
		if out, err := run.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
	}
}

package docs_test

import (
	"context"
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/redisstore/embedded"
)

func TestThePageOnSealingShowsAProgramThatRuns(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(file, []byte("k1:"+base64.StdEncoding.EncodeToString(make([]byte, 32))), 0o600); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		server := embedded.StartInMemory()
		defer server.Close()
		store, err := open(server.Client(), file)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := chime.NewEnqueuer(store, chime.EnqueuerOptions{}).Enqueue(t.Context(), "job", "canary", chime.ID("a")); err != nil {
			t.Fatal(err)
		}
		stored := server.Client().HGet(context.Background(), "chime:{default}:jobs", "a").Val()
		if stored == "" || strings.Contains(stored, "canary") {
			t.Errorf("stored as %q", stored)
		}
	})
	shows(t, "sealing.md", "sealing_program_test.go", "sealing_test.go")
}

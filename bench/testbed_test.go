package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWithoutRedisTheErrorSaysWhatToInstallAndNothingIsLeft(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("TMPDIR", folder)
	t.Setenv("PATH", folder)
	if _, err := startRedis(t.Context(), false); err == nil || !strings.Contains(err.Error(), "apt install redis-server") {
		t.Errorf("got %v, want a hint what to install", err)
	}
	nothingIn(t, folder)
}

func TestARedisThatDoesNotStartLeavesNothing(t *testing.T) {
	folder, programs := t.TempDir(), t.TempDir()
	t.Setenv("TMPDIR", folder)
	t.Setenv("PATH", programs)
	if err := os.WriteFile(filepath.Join(programs, "redis-server"), []byte("no program"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := startRedis(t.Context(), false); err == nil {
		t.Error("a file that is no program has started")
	}
	nothingIn(t, folder)
}

func nothingIn(t *testing.T, folder string) {
	t.Helper()
	left, err := os.ReadDir(folder)
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

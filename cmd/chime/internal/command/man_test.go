package command_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chimejobs/chime/cmd/chime/internal/commandtest"
)

// Every command that the help lists has a manual page, and the same pages have the same bytes.
func TestEveryCommandHasAManualPage(t *testing.T) {
	var terminal commandtest.Terminal
	first, second := filepath.Join(t.TempDir(), "new", "man1"), t.TempDir()
	for _, folder := range []string{first, second} {
		if got := terminal.Run(t, "man", folder); got.Code != 0 || !strings.Contains(got.Out, " pages; man -l "+folder+"/chime.1") {
			t.Fatalf("man: %+v", got)
		}
	}
	for page, want := range map[string]string{
		"chime": "chime-schedules(1)", "chime-next": "rule-zone", "chime-schedules-list": "failing", "chime-jobs-requeue": "filter", "chime-queues-purge": "confirm",
		"chime-top": "every", "chime-dashboard": "auth-file", "chime-dashboard-token": "reveal", "chime-completion-bash": "bash",
	} {
		text, err := os.ReadFile(filepath.Join(first, page+".1"))
		if err != nil {
			t.Error(err)
			continue
		}
		again, err := os.ReadFile(filepath.Join(second, page+".1"))
		if err != nil || string(again) != string(text) {
			t.Errorf("%s: the second time it is another one (%v)", page, err)
		}
		if !strings.Contains(string(text), want) {
			t.Errorf("%s does not say %q", page, want)
		}
	}
	text, err := os.ReadFile(filepath.Join(first, "chime-jobs-requeue.1"))
	if err != nil || strings.Contains(string(text), "[=false]") || !strings.Contains(string(text), "\nstate:dead              waiting, delayed") {
		t.Errorf("the keys of a filter are not a line each, or a flag has a value that it does not take (%v):\n%s", err, text)
	}
	file := filepath.Join(second, "chime.1")
	if got := terminal.Run(t, "man", file); got.Code != 2 || !strings.Contains(got.Err, file) {
		t.Errorf("man with a file in place of a folder: %+v, want exit 2 and its name", got)
	}
}

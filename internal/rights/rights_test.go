package rights

import (
	"errors"
	"fmt"
	"testing"
)

func TestAnswersOfAServerAboutRights(t *testing.T) {
	for text, want := range map[string]bool{
		"NOPERM User viewer has no permissions to run the 'del' command":                          true,
		"NOAUTH Authentication required.":                                                         true,
		"WRONGPASS invalid username-password pair or user is disabled.":                           true,
		"ERR The user executing the script can't run this command or subcommand script: 1a2b":     true,
		"ERR The user executing the script can't access at least one of the keys mentioned in it": true,
		"dial tcp 127.0.0.1:1: connect: connection refused":                                       false,
		"OOM command not allowed when used memory > 'maxmemory'.":                                 false,
	} {
		if got := Missing(fmt.Errorf("chime: pause queue %q: %w", "mail", errors.New(text))); got != want {
			t.Errorf("%s: got %v, want %v", text, got, want)
		}
	}
	if Missing(nil) {
		t.Error("nil counts as an error about rights")
	}
}

package redistest

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

var userLine = regexp.MustCompile(`(?m)^user (chime-(\w+) on >SECRET .*)$`)

// DocumentedUsers returns the users of docs/access.md by use, each in the form of Options.Users. Their password is SECRET.
func DocumentedUsers(t testing.TB) map[string]string {
	t.Helper()
	users := map[string]string{}
	for _, line := range userLine.FindAllStringSubmatch(string(accessDocs(t)), -1) {
		users[line[2]] = line[1]
	}
	return users
}

// accessDocs reads docs/access.md, which is beside or above the folder of the test.
func accessDocs(t testing.TB) []byte {
	t.Helper()
	folder, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		text, err := os.ReadFile(filepath.Join(folder, "docs", "access.md"))
		if err == nil {
			return text
		}
		if parent := filepath.Dir(folder); errors.Is(err, fs.ErrNotExist) && parent != folder {
			folder = parent
			continue
		}
		t.Fatal(err)
	}
}

package redistest

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

var (
	userLine     = regexp.MustCompile(`(?m)^user (chime-(\w+) on >SECRET .*)$`)
	oneQueueLine = regexp.MustCompile(`(?m)^user (mail-producer on >SECRET .*)$`)
)

// DocumentedUsers returns the users of docs/access.md by use, each in the form of Options.Users. Their password is SECRET.
func DocumentedUsers(t testing.TB) map[string]string {
	t.Helper()
	users := map[string]string{}
	for _, line := range userLine.FindAllStringSubmatch(string(accessDocs(t)), -1) {
		users[line[2]] = line[1]
	}
	return users
}

// ProducerOfOneQueue returns the user mail-producer of docs/access.md, in the form of Options.Users. Its queue is mail, and its password is SECRET.
func ProducerOfOneQueue(t testing.TB) string {
	t.Helper()
	line := oneQueueLine.FindSubmatch(accessDocs(t))
	if line == nil {
		t.Fatal("docs/access.md has no user mail-producer")
	}
	return string(line[1])
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

package command

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/chimejobs/chime/cmd/chime/internal/process"
)

// The commands on a page: in code within a line, and at the prompt of a session.
var named = regexp.MustCompile("(?m)`chime ([a-z][^`]*)`|^\\$ (?:.*; )?chime ([a-z].*)$")

// Every command that the pages name exists, with the flags that they show; and the page of the command names all commands.
func TestEveryCommandThatThePagesNameIsThere(t *testing.T) {
	s := &session{Process: &process.Process{Env: func(string) string { return "" }}}
	root := s.root()
	root.InitDefaultCompletionCmd()
	pages, err := filepath.Glob("../../../../docs/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("%v, %d pages", err, len(pages))
	}
	onPage := map[*cobra.Command]bool{}
	for _, page := range append(pages, "../../../../README.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range named.FindAllStringSubmatch(string(text), -1) {
			line := match[1] + match[2]
			found, err := lookUp(root, line)
			if err != "" {
				t.Errorf("%s names chime %s: %s", filepath.Base(page), line, err)
			}
			if filepath.Base(page) == "command.md" {
				onPage[found] = true
			}
		}
	}
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		if !c.HasSubCommands() && !onPage[c] && c.Name() != "help" && c.Parent().Name() != "completion" {
			t.Errorf("command.md does not name %s", c.CommandPath())
		}
		for _, below := range c.Commands() {
			walk(below)
		}
	}
	walk(root)
}

// lookUp finds the command of a line, and returns an error if the line is wrong.
func lookUp(root *cobra.Command, line string) (*cobra.Command, string) {
	at := root
	for _, word := range strings.Fields(line) {
		if flag, isFlag := strings.CutPrefix(word, "--"); isFlag {
			flag, _, _ = strings.Cut(flag, "=")
			if at.Flags().Lookup(flag) == nil && at.InheritedFlags().Lookup(flag) == nil && at.PersistentFlags().Lookup(flag) == nil {
				return at, "it has no flag --" + flag
			}
			continue
		}
		if !at.HasSubCommands() {
			continue
		}
		below, _, err := at.Find([]string{word})
		if err != nil || below == at {
			return at, "there is no " + word
		}
		at = below
	}
	return at, ""
}

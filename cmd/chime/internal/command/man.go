package command

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// man writes the manual pages of all commands, for packages of the command.
func (s *session) man() *cobra.Command {
	return &cobra.Command{
		Use: "man FOLDER", Short: "Write the manual pages", GroupID: groupTools, Args: cobra.ExactArgs(1),
		Long: "Write a manual page of each command to a folder, which is created if necessary. man -l FOLDER/chime.1 shows the first page.",
		RunE: func(c *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return usage("%w", err)
			}
			root := c.Root()
			root.DisableAutoGenTag = true
			keepLines(root)
			epoch := time.Unix(0, 0).UTC() // so that two calls write the same bytes
			if err := doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: "chime", Manual: "chime", Date: &epoch}, args[0]); err != nil {
				return err
			}
			pages, err := filepath.Glob(filepath.Join(args[0], "*.1"))
			if err != nil {
				return err
			}
			for _, page := range pages {
				if err := tidyFlags(page); err != nil {
					return err
				}
			}
			_, err = fmt.Fprintf(s.Out, "%d pages; man -l %s shows the first\n", len(pages), filepath.Join(args[0], "chime.1"))
			return err
		},
	}
}

// keepLines marks the indented lines of the help as code, so that the pages do not join them.
func keepLines(c *cobra.Command) {
	lines := strings.Split(c.Long, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "  ") {
			lines[i] = "    " + strings.TrimPrefix(line, "  ")
		}
	}
	c.Long = strings.Join(lines, "\n")
	for _, below := range c.Commands() {
		keepLines(below)
	}
}

// tidyFlags removes the values of flags that take no value from a page.
func tidyFlags(page string) error {
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	return os.WriteFile(page, bytes.ReplaceAll(text, []byte("[=false]"), nil), 0o644)
}

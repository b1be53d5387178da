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

// man writes manual pages of the tree that it is in: packages of the command have them.
func (s *session) man() *cobra.Command {
	return &cobra.Command{
		Use: "man FOLDER", Short: "Write the manual pages", GroupID: groupTools, Args: cobra.ExactArgs(1),
		Long: "Write a manual page of each command into a folder, which is made if there is none: man -l FOLDER/chime.1 shows the first.",
		RunE: func(c *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return usage("%w", err)
			}
			root := c.Root()
			root.DisableAutoGenTag = true
			keepLines(root)
			epoch := time.Unix(0, 0).UTC() // the same bytes twice
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

// keepLines has lines of the help that are set in stay lines of their own on the pages: to their markup they are code.
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

// tidyFlags takes from a page the values of flags that take none.
func tidyFlags(page string) error {
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	return os.WriteFile(page, bytes.ReplaceAll(text, []byte("[=false]"), nil), 0o644)
}

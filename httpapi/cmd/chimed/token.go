package main

import (
	"fmt"
	"strings"

	"github.com/chimejobs/chime/httpapi"
)

const tokenUsage = `chimed token NAME makes a token: the first line that it prints is for its holder and stands nowhere else, the second one goes
into the file of chimed -tokens.

  -permission WORD    read, run, write or admin, each with those before it; write
  -collections A,B    the collections that it is for, * stands for any run of characters; all
`

func (p process) token() error {
	var word, collections string
	f := newFlags("token")
	f.StringVar(&word, "permission", "write", "")
	f.StringVar(&collections, "collections", "*", "")
	rest, err := f.parse(p, tokenUsage)
	if err != nil {
		return err
	}
	if len(rest) != 1 {
		return badUsage("token needs one name: chimed token NAME")
	}
	var permission httpapi.Permission
	if err := permission.UnmarshalText([]byte(word)); err != nil {
		return badUsage("-permission: %w", err)
	}
	if len(list(collections)) == 0 { // of NewToken that would mean all
		return badUsage("-collections: want names with commas between them, * stands for any run of characters")
	}
	token, line, err := httpapi.NewToken(rest[0], permission, list(collections)...)
	if err != nil {
		return usageError{err}
	}
	fmt.Fprintf(p.out, "%s\n%s\n", token, line)
	return nil
}

// list is a text with commas as its parts.
func list(text string) []string {
	var parts []string
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part != "" {
			parts = append(parts, part)
		}
	}
	return parts
}

package main

import (
	"fmt"
	"strings"

	"github.com/chimejobs/chime/httpapi"
)

const tokenUsage = `chimed token NAME creates a token and prints two lines. The first is the token for its owner: it is not stored. The second
belongs into the file of chimed -tokens.

  -permission WORD    read, run, write or admin; each includes the ones before it; default write
  -collections A,B    its collections; * matches any characters; default all
`

func (p process) token() error {
	var word, collections string
	f := newFlags("token")
	f.StringVar(&word, "permission", "write", "")
	f.listVar(&collections, "collections", "*")
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
	if len(list(collections)) == 0 { // for NewToken no name means all collections
		return badUsage("-collections: want names separated by commas; * matches any characters")
	}
	token, line, err := httpapi.NewToken(rest[0], permission, list(collections)...)
	if err != nil {
		return usageError{err}
	}
	fmt.Fprintf(p.out, "%s\n%s\n", token, line)
	return nil
}

// list splits a text at its commas.
func list(text string) []string {
	var parts []string
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part != "" {
			parts = append(parts, part)
		}
	}
	return parts
}

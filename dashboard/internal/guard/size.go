package guard

import (
	"fmt"
	"net/http"
)

const (
	// MaxQuery is how long the query of an address may be, in bytes.
	MaxQuery = 2 << 10
	// MaxBody is how long the body of a form may be, in bytes; MaxDefinition that of a form with a schedule's definition, which may have
	// arguments of 1 MiB.
	MaxBody       = 64 << 10
	MaxDefinition = 1<<20 + 100<<10

	maxPath = 4 << 10 // an ID has at most 1 KiB, of which each byte is at most three in an address
)

// TooLong says what of a request is longer than it may be; empty: nothing is. body is how long its body may be.
func TooLong(r *http.Request, body int64) string {
	switch {
	case len(r.URL.EscapedPath()) > maxPath:
		return fmt.Sprintf("the path of the address has %d bytes, want at most %d", len(r.URL.EscapedPath()), maxPath)
	case len(r.URL.RawQuery) > MaxQuery:
		return fmt.Sprintf("the query of the address has %d bytes, want at most %d", len(r.URL.RawQuery), MaxQuery)
	case r.ContentLength > body:
		return fmt.Sprintf("the form has %d bytes, want at most %d", r.ContentLength, body)
	}
	return ""
}

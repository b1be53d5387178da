package guard

import (
	"fmt"
	"net/http"
)

const (
	// MaxQuery is the maximum length of the query of an address, in bytes.
	MaxQuery = 2 << 10
	// MaxBody is the maximum length of the body of a form, in bytes. MaxDefinition is the maximum for a form with a schedule's definition, which may have
	// arguments of 1 MiB.
	MaxBody       = 64 << 10
	MaxDefinition = 1<<20 + 100<<10

	maxPath = 4 << 10 // an ID has at most 1 KiB, and each byte takes at most three bytes in an address
)

// TooLong describes the part of a request that is too long, or returns "". body is the maximum length of its body.
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

package httpapi

import (
	"fmt"
	"net/http"

	"github.com/chimejobs/chime/httpapi/internal/resource"
)

// An Authenticator returns who sends a request. Its error is answered with 401, and logged; the client does not receive its text, unless it comes from
// [Tokens] or [Loopback]. It must be safe for concurrent use.
type Authenticator func(*http.Request) (Principal, error)

// A Principal is the sender of a request.
type Principal struct {
	// Name identifies the principal in logs and rate limits. It is the owner of the collections that the principal creates, if it has 1 to 100 characters
	// without control characters, quotes and backslashes; else they have no owner, and each counts as its own.
	Name string

	// Allows reports whether the principal has a permission for a collection, which need not exist. It is called before the store is read. If the
	// principal may not read a collection, its answers are the same as for a missing one. Nil allows nothing.
	Allows func(permission Permission, collection string) bool

	unlimited bool     // set by Loopback: no rate limit
	sets      []string // set by Tokens: Allows permits only collections in these sets, where * matches any characters; nil: any
}

// owner is the owner of the collections that the principal creates; empty: they have none.
func (p *Principal) owner() string {
	if p.unlimited || !resource.IsOwner(p.Name) {
		return ""
	}
	return p.Name
}

// may reports whether the principal has a permission, and the permission to read.
func (p *Principal) may(permission Permission, collection string) bool {
	return p.Allows != nil && p.Allows(Read, collection) && (permission == Read || p.Allows(permission, collection))
}

// A Permission is an access level for a collection. Each level includes the levels before it.
type Permission int

// The permissions.
const (
	Read  Permission = iota + 1 // see the collection, its jobs and their history
	Run                         // run jobs now; enable and disable the collection
	Write                       // create, change and delete jobs
	Admin                       // create, change and delete the collection itself
)

var permissions = map[Permission]string{Read: "read", Run: "run", Write: "write", Admin: "admin"}

// String is the permission's name: read, run, write or admin.
func (p Permission) String() string {
	if word, ok := permissions[p]; ok {
		return word
	}
	return fmt.Sprintf("Permission(%d)", int(p))
}

// MarshalText is String.
func (p Permission) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText reads one of the words read, run, write and admin.
func (p *Permission) UnmarshalText(text []byte) error {
	for permission, word := range permissions {
		if string(text) == word {
			*p = permission
			return nil
		}
	}
	return fmt.Errorf("httpapi: permission %.40q: want read, run, write or admin", text)
}

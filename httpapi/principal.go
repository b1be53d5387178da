package httpapi

import (
	"fmt"
	"net/http"
)

// An Authenticator says who sends a request. Its error is answered with 401, and logged: the client is not told it, unless it comes from [Tokens]
// or [Loopback]. It may be called by many goroutines.
type Authenticator func(*http.Request) (Principal, error)

// A Principal is who sends a request.
type Principal struct {
	// Name is what logs and rates know the principal by.
	Name string

	// Allows says what the principal may do with a collection, which need not exist. It is asked before anything is looked up. Who may not read a
	// collection is told of it what is told of one that does not exist. Nil allows nothing.
	Allows func(permission Permission, collection string) bool

	unlimited bool // by Loopback: no rate
}

// may reports whether the principal has a permission, and may read at all.
func (p *Principal) may(permission Permission, collection string) bool {
	return p.Allows != nil && p.Allows(Read, collection) && (permission == Read || p.Allows(permission, collection))
}

// A Permission is what a principal may do with a collection. Each includes those before it.
type Permission int

// The permissions.
const (
	Read  Permission = iota + 1 // see the collection, its jobs and their history
	Run                         // run jobs now; enable and disable the collection
	Write                       // create, change and delete jobs
	Admin                       // create, change and delete the collection itself
)

var permissions = map[Permission]string{Read: "read", Run: "run", Write: "write", Admin: "admin"}

// String is the permission's word: read, run, write or admin.
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

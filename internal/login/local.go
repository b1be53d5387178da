package login

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"strings"

	"github.com/chimejobs/chime/dashboard"
)

const (
	// LocalUser is the user name that belongs to a local token.
	LocalUser = "local"
	// LocalVariable is the environment variable that sets a local token. Without it, each start has a new one.
	LocalVariable = "CHIMED_LOCAL_TOKEN"

	allRights = dashboard.View | dashboard.Operate | dashboard.Edit | dashboard.Delete | dashboard.Reveal
)

// A Local is the token of a server that has no file of tokens. It gives every right until the server ends. It proves that its holder is the user who
// started the server: only that user's terminal shows it, or a file that nobody else can read has it. The address of a request proves nothing, because
// the clients of every proxy and port-forward on this machine have the same address.
type Local struct {
	token string
	given bool // by LocalVariable
}

// NewLocal returns the token in LocalVariable, or a new one of 32 random bytes. The error does not contain the token.
func NewLocal(env func(name string) string) (*Local, error) {
	token := env(LocalVariable)
	switch {
	case token == "":
		return &Local{token: newToken()}, nil
	case !tokenForm.MatchString(token):
		return nil, errors.New(LocalVariable + ": want " + tokenPrefix + " and 43 characters of A-Z a-z 0-9 _ -, as chimed token and chime dashboard token print")
	}
	return &Local{token: token, given: true}, nil
}

// Given reports whether LocalVariable has set the token. Then its user knows it already.
func (l *Local) Given() bool { return l.given }

// Line returns the line of a file of tokens with the token's SHA-256, in the forms of chimed and of ReadUsers. may is what follows the SHA-256.
func (l *Local) Line(may string) string {
	return strings.Join([]string{LocalUser, digestOf(l.token), may}, " ")
}

// Check is a Check of the token, with the name LocalUser or as a bearer token. The viewer has all rights.
func (l *Local) Check(name, token string) (dashboard.Viewer, bool) {
	got, want := sha256.Sum256([]byte(token)), sha256.Sum256([]byte(l.token))
	if subtle.ConstantTimeCompare(got[:], want[:]) == 0 || name != LocalUser && name != "" {
		return dashboard.Viewer{}, false
	}
	return dashboard.Viewer{Name: LocalUser, Rights: allRights}, true
}

// Export returns the line for a shell that sets TOKEN. The line contains the token, unless LocalVariable has set it: it is for terminals only.
func (l *Local) Export() string {
	if l.given {
		return `export TOKEN="$` + LocalVariable + `"`
	}
	return "export TOKEN=" + l.token
}

// ExportFrom returns the line for a shell that sets TOKEN to the contents of a file.
func ExportFrom(file *PrivateFile) string {
	return `export TOKEN="$(cat '` + strings.ReplaceAll(file.Path, "'", `'\''`) + `')"`
}

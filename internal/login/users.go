package login

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/chimejobs/chime/dashboard"
)

const tokenPrefix = "chm_"

var (
	tokenForm = regexp.MustCompile(`^` + tokenPrefix + `[A-Za-z0-9_-]{43}$`) // base64 of 32 bytes
	userName  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.@-]{0,63}$`)
)

// rights maps the words of a line to rights.
var rights = map[string]dashboard.Rights{
	"view": dashboard.View, "operate": dashboard.Operate, "edit": dashboard.Edit, "delete": dashboard.Delete, "reveal": dashboard.Reveal,
}

// Rights reads rights, with commas between them. view has to be one of them: without it a user may do nothing.
func Rights(text string) (dashboard.Rights, error) {
	var all dashboard.Rights
	for word := range strings.SplitSeq(text, ",") {
		right, ok := rights[word]
		if !ok {
			return 0, fmt.Errorf("right %.40q: want some of view,operate,edit,delete,reveal", word)
		}
		all |= right
	}
	if all&dashboard.View == 0 {
		return 0, fmt.Errorf("rights %.80q: want view among them: without it nothing is shown", text)
	}
	return all, nil
}

// Users are the people who may log in, by name, with their rights and the hashes of their tokens.
type Users map[string][]user

// A user is one line.
type user struct {
	digest [sha256.Size]byte
	rights dashboard.Rights
}

// ReadUsers reads lines of a name, the SHA-256 of a token in hex, and rights with commas between them:
//
//	# what NewUser returns as its line
//	anna 2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae view,operate
//
// A name may have several lines: to replace a token, first add a line with the new token, and later remove the old line. Empty lines, and those
// that begin with #, are ignored. The error lists everything that is wrong, by line, and contains no part of a hash.
func ReadUsers(text string) (Users, error) {
	users := Users{}
	var bad []error
	n := 0
	for line := range strings.Lines(text) {
		n++
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		if err := users.add(strings.Fields(line)); err != nil {
			bad = append(bad, fmt.Errorf("line %d: %w", n, err))
		}
	}
	if len(users) == 0 && len(bad) == 0 {
		bad = append(bad, errors.New("it has no users; a line has name, SHA-256 of the token, rights"))
	}
	return users, errors.Join(bad...)
}

func (u Users) add(fields []string) error {
	if len(fields) != 3 {
		return fmt.Errorf("%d fields, want 3: name, SHA-256 of the token, rights", len(fields))
	}
	name := fields[0]
	if !userName.MatchString(name) {
		return fmt.Errorf("name %.40q: want 1 to 64 of A-Z a-z 0-9 _ . @ -, a letter or a digit first", name)
	}
	if strings.HasPrefix(fields[1], tokenPrefix) {
		return errors.New("the second field is a token itself: want its SHA-256 in hex; use another token, because this one has been written down")
	}
	digest, err := hex.DecodeString(fields[1])
	if err != nil || len(digest) != sha256.Size {
		return errors.New("the second field is no SHA-256: want 64 hexadecimal digits")
	}
	may, err := Rights(fields[2])
	if err != nil {
		return err
	}
	u[name] = append(u[name], user{[sha256.Size]byte(digest), may})
	return nil
}

// Check is a Check of these users. It accepts only tokens of 32 random bytes, which cannot be found from their fast hash.
func (u Users) Check(name, token string) (dashboard.Viewer, bool) {
	digest := sha256.Sum256([]byte(token))
	viewer, ok := dashboard.Viewer{Name: name}, false
	for _, known := range u[name] {
		if subtle.ConstantTimeCompare(digest[:], known.digest[:]) == 1 {
			viewer.Rights, ok = viewer.Rights|known.rights, true
		}
	}
	return viewer, ok && tokenForm.MatchString(token)
}

// NewUser makes a token for a user, and the line with which ReadUsers recognises it. The line is not secret. may is as in a line.
func NewUser(name, may string) (token, line string, err error) {
	token = newToken()
	fields := []string{name, digestOf(token), may}
	return token, strings.Join(fields, " "), Users{}.add(fields)
}

// newToken returns a token of 32 random bytes.
func newToken() string {
	secret := make([]byte, 32)
	_, _ = rand.Read(secret) // never fails
	return tokenPrefix + base64.RawURLEncoding.EncodeToString(secret)
}

// digestOf returns the SHA-256 of a token in hex.
func digestOf(token string) string {
	digest := sha256.Sum256([]byte(token))
	return hex.EncodeToString(digest[:])
}

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

// rights are the words for them in a line.
var rights = map[string]dashboard.Rights{
	"view": dashboard.View, "operate": dashboard.Operate, "edit": dashboard.Edit, "delete": dashboard.Delete, "reveal": dashboard.Reveal,
}

// Rights reads rights, with commas between them. Who may not view may do nothing, so view has to be one of them.
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
		return 0, fmt.Errorf("rights %.80q: want view among them, without which nothing is shown", text)
	}
	return all, nil
}

// Users are those who may log in, with what is known of their tokens, by name.
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
// A name may have several lines: so a token is replaced, the new one beside the old one first. Empty lines, and those that begin with #, are ignored.
// The error says all that is wrong, by line, and has no part of a hash.
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
		bad = append(bad, errors.New("nobody is in it; a line has name, SHA-256 of the token, rights"))
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
		return errors.New("the second field is a token itself: want its SHA-256 in hex, and another token, for this one has been written down")
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

// Check is a Check of these users. Only tokens of 32 random bytes are taken, so that a fast hash of them tells nobody what they are.
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

// NewUser makes a token for somebody, and the line that ReadUsers knows it by, which is no secret. may is as in a line.
func NewUser(name, may string) (token, line string, err error) {
	secret := make([]byte, 32)
	_, _ = rand.Read(secret) // never fails
	token = tokenPrefix + base64.RawURLEncoding.EncodeToString(secret)
	digest := sha256.Sum256([]byte(token))
	fields := []string{name, hex.EncodeToString(digest[:]), may}
	return token, strings.Join(fields, " "), Users{}.add(fields)
}

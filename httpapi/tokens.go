package httpapi

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/chimejobs/chime/httpapi/internal/pattern"
	"github.com/chimejobs/chime/httpapi/internal/problem"
)

const tokenPrefix = "chm_"

var (
	tokenForm     = regexp.MustCompile(`^` + tokenPrefix + `[A-Za-z0-9_-]{43}$`) // base64 of 32 bytes
	principalName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.@-]{0,63}$`)
	collectionSet = regexp.MustCompile(`^[A-Za-z0-9_*-]{1,40}$`)
)

// A grant is the permission from one line of tokens.
type grant struct {
	permission  Permission
	collections []string // names; * matches any characters
}

// A holder is the owner of a token.
type holder struct {
	name   string
	grants []grant
}

// Tokens authenticates by bearer tokens: "Authorization: Bearer chm_…". Each line has the name of the token's owner, the token's SHA-256 in hex, a
// permission, and the names of its collections, separated by commas; * in a name matches any characters:
//
//	# what [NewToken] returns as its line
//	ci 2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae write demo,ci-*
//
// A line may end with quotas of its name as an owner of collections, see [TokenQuotas]: "collections=500", "unfinished=256MiB".
//
// Several lines with the same name and the same SHA-256 add up. Two tokens with one name are one principal, so you can replace a token without a gap:
// add the new one, then remove the old one. Empty lines and lines that begin with # are ignored. The error lists all mistakes with their lines; it never
// contains part of a hash. A text without any token is an error, because nobody could use the API.
func Tokens(lines string) (Authenticator, error) {
	holders := map[[sha256.Size]byte]*holder{}
	var bad []error
	n := 0
	for line := range strings.Lines(lines) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		if err := addToken(holders, strings.Fields(line)); err != nil {
			bad = append(bad, fmt.Errorf("httpapi: tokens: line %d: %w", n, err))
		}
	}
	if len(holders) == 0 && len(bad) == 0 {
		bad = append(bad, errors.New("httpapi: tokens: no tokens found; a line has name, SHA-256 of the token, permission, collections"))
	}
	if len(bad) > 0 {
		return nil, errors.Join(bad...)
	}
	return func(r *http.Request) (Principal, error) {
		digest, ok := bearer(r)
		found := holders[digest]
		if !ok || found == nil {
			return Principal{}, problem.New(problem.Unauthenticated, "the token is missing or unknown: send the header `Authorization: Bearer %s…`; `chimed token NAME` creates a token and its line for the server", tokenPrefix)
		}
		return Principal{Name: found.name, Allows: found.allows, sets: found.sets()}, nil
	}, nil
}

// addToken adds the grant of a line.
func addToken(holders map[[sha256.Size]byte]*holder, fields []string) error {
	if len(fields) < 4 {
		return fmt.Errorf("%d fields, want 4: name, SHA-256 of the token, permission, collections", len(fields))
	}
	if !principalName.MatchString(fields[0]) {
		return fmt.Errorf("name %.40q: want 1 to 64 of A-Z a-z 0-9 _ . @ -, a letter or a digit first", fields[0])
	}
	if strings.HasPrefix(fields[1], tokenPrefix) {
		return errors.New("the second field is a token itself: want its SHA-256 in hex; use another token, because this one has been written down")
	}
	digest, err := hex.DecodeString(fields[1])
	if err != nil || len(digest) != sha256.Size {
		return errors.New("the second field is not a SHA-256: want 64 hexadecimal digits")
	}
	var g grant
	if err := g.permission.UnmarshalText([]byte(fields[2])); err != nil {
		return fmt.Errorf("permission %.40q: want read, run, write or admin", fields[2])
	}
	for set := range strings.SplitSeq(fields[3], ",") {
		if !collectionSet.MatchString(set) {
			return fmt.Errorf("collection %.40q: want 1 to 40 of A-Z a-z 0-9 _ -, and * for any characters", set)
		}
		g.collections = append(g.collections, set)
	}
	if _, err := readQuota(fields[4:]); err != nil {
		return err
	}
	key := [sha256.Size]byte(digest)
	if holders[key] == nil {
		holders[key] = &holder{name: fields[0]}
	}
	if holders[key].name != fields[0] {
		return fmt.Errorf("%q has the token of %q: want a different token for each name", fields[0], holders[key].name)
	}
	holders[key].grants = append(holders[key].grants, g)
	return nil
}

// allows reports whether one of the lines gives the permission.
func (h *holder) allows(permission Permission, collection string) bool {
	return slices.ContainsFunc(h.grants, func(g grant) bool {
		return g.permission >= permission && slices.ContainsFunc(g.collections, func(set string) bool { return pattern.Match(set, collection) })
	})
}

// sets are the collections of all lines.
func (h *holder) sets() []string {
	var all []string
	for _, g := range h.grants {
		all = append(all, g.collections...)
	}
	return all
}

// bearer is the SHA-256 of the request's token; ok is false if the request has no token, or two.
func bearer(r *http.Request) (digest [sha256.Size]byte, ok bool) {
	headers := r.Header["Authorization"]
	if len(headers) != 1 {
		return digest, false
	}
	scheme, token, _ := strings.Cut(headers[0], " ")
	if !strings.EqualFold(scheme, "Bearer") || !tokenForm.MatchString(token) {
		return digest, false
	}
	return sha256.Sum256([]byte(token)), true
}

// NewToken creates a token of 32 random bytes for its owner, and its line for [Tokens]. The line is not secret. Without collections the token is
// valid for all.
func NewToken(name string, permission Permission, collections ...string) (token, line string, err error) {
	secret := make([]byte, 32)
	_, _ = rand.Read(secret) // never fails
	token = tokenPrefix + base64.RawURLEncoding.EncodeToString(secret)
	digest := sha256.Sum256([]byte(token))
	if len(collections) == 0 {
		collections = []string{"*"}
	}
	fields := []string{name, hex.EncodeToString(digest[:]), permission.String(), strings.Join(collections, ",")}
	if err := addToken(map[[sha256.Size]byte]*holder{}, fields); err != nil {
		return "", "", fmt.Errorf("httpapi: new token: %w", err)
	}
	return token, strings.Join(fields, " "), nil
}

package action

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// A Ring is the keys for secrets, AES-256-GCM. The first key seals, all keys open. To change keys, put a new key in front and keep the
// old one until nothing that it has sealed is stored any more.
//
// A printed Ring shows only the names of its keys. It is safe for concurrent use.
type Ring struct {
	names   []string
	ciphers map[string]cipher.AEAD
}

// A Place is where a secret belongs: it cannot be opened at another place. Both fields are empty for actions without a schedule.
type Place struct {
	Collection string // the part of the schedule's name before its first ":"
	Job        string // the rest, or all of a name without ":"
}

// PlaceOf is the place of a schedule's actions, from its name "collection:job".
func PlaceOf(schedule string) Place {
	collection, job, found := strings.Cut(schedule, ":")
	if !found {
		return Place{Job: schedule}
	}
	return Place{collection, job}
}

const maxKeys = 100

var keyName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,32}$`)

// ParseRing reads "k2:<base64 of 32 bytes>,k1:<…>": 1 to 100 keys, each with a name of 1 to 32 of A-Z a-z 0-9 _ -. White space around keys
// is ignored. Its errors contain no part of a key.
func ParseRing(text string) (*Ring, error) {
	ring := &Ring{ciphers: map[string]cipher.AEAD{}}
	for i, entry := range strings.Split(strings.TrimSpace(text), ",") {
		name, encoded, ok := strings.Cut(strings.TrimSpace(entry), ":")
		if !ok || !keyName.MatchString(name) {
			return nil, fmt.Errorf("action: key %d of the ring: want name:key, with a name of 1 to 32 of A-Z a-z 0-9 _ -", i+1)
		}
		key, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil || len(key) != 32 {
			return nil, fmt.Errorf("action: key %q of the ring: want base64 of 32 bytes, as printed by `openssl rand -base64 32`", name)
		}
		if _, ok := ring.ciphers[name]; ok {
			return nil, fmt.Errorf("action: the ring has two keys %q", name)
		}
		block, err := aes.NewCipher(key)
		if err != nil {
			return nil, fmt.Errorf("action: key %q of the ring: %w", name, err)
		}
		if ring.ciphers[name], err = cipher.NewGCM(block); err != nil {
			return nil, fmt.Errorf("action: key %q of the ring: %w", name, err)
		}
		ring.names = append(ring.names, name)
	}
	if len(ring.names) > maxKeys {
		return nil, fmt.Errorf("action: the ring has %d keys, want %d at most", len(ring.names), maxKeys)
	}
	return ring, nil
}

// String names the keys.
func (r *Ring) String() string {
	if r == nil {
		return "no keys"
	}
	return "keys " + strings.Join(r.names, ", ")
}

// Format prints String for every verb.
func (r *Ring) Format(f fmt.State, verb rune) {
	_, _ = fmt.Fprintf(f, fmt.FormatString(f, 's'), r.String())
}

// ErrNoKeys means that an action has secrets, but there is no Ring to seal or open them with.
var ErrNoKeys = errors.New("action: there are no keys for secrets")

// errSealed means that a secret cannot be opened: it was copied from elsewhere, changed, or sealed by a key that the ring does not have. It has no details.
var errSealed = errors.New("a secret cannot be opened: its key is not in the ring, or it was sealed for another place")

func (p Place) bound(path string) []byte {
	return []byte(p.Collection + "\x00" + p.Job + "\x00" + path)
}

// seal encrypts a text for one place and path.
func (r *Ring) seal(text string, at Place, path string) Secret {
	name := r.names[0]
	gcm := r.ciphers[name]
	nonce := make([]byte, gcm.NonceSize())
	_, _ = rand.Read(nonce) // never fails
	encode := base64.RawURLEncoding.EncodeToString
	return Secret{name + "." + encode(nonce) + "." + encode(gcm.Seal(nil, nonce, []byte(text), at.bound(path))), true}
}

// open decrypts a secret that was sealed for this place and path.
func (r *Ring) open(s Secret, at Place, path string) (string, error) {
	if r == nil {
		return "", ErrNoKeys
	}
	parts := strings.Split(s.text, ".")
	if len(parts) != 3 {
		return "", errSealed
	}
	gcm, ok := r.ciphers[parts[0]]
	if !ok {
		return "", errSealed
	}
	nonce, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil || len(nonce) != gcm.NonceSize() {
		return "", errSealed
	}
	sealed, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil {
		return "", errSealed
	}
	text, err := gcm.Open(nil, nonce, sealed, at.bound(path))
	if err != nil {
		return "", errSealed
	}
	return string(text), nil
}

// sealedByFirst reports whether the first key of the ring has sealed a secret.
func (r *Ring) sealedByFirst(s Secret) bool {
	return strings.HasPrefix(s.text, r.names[0]+".")
}

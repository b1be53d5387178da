package action

import (
	"cmp"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/chimejobs/chime/internal/keyring"
)

// A Ring is the keys for secrets, AES-256-GCM. The first key seals, all keys open. To change keys, put a new key in front and keep the
// old one until nothing that it has sealed is stored any more.
//
// A sealed secret has a version, which decides what it is bound to: it can be opened only where everything is the same.
//
//   - Version 1 is bound to the collection, the job and the path of the secret in the action. Somebody who may write to the store can copy it into another
//     action at the same path, and a Sender sends it to that action's host.
//   - Version 2 is also bound to the action: to the bytes in which it is stored, without the sealed texts. It opens in no other action.
//
// Version 2 cannot be opened by programs that only know version 1. A ring opens both and seals version 2, unless [Ring.Sealing] changes that.
//
// A printed Ring shows only the names of its keys. It is safe for concurrent use.
type Ring struct {
	names   []string
	ciphers map[string]cipher.AEAD
	version int // that is sealed; 0: the newest
	least   int // the oldest version that is opened; 0: 1
}

const (
	sealedForPath   = 1
	sealedForAction = 2
	newestSeal      = sealedForAction
)

// Sealing returns a ring with the same keys that seals secrets in a version, 1 or 2, and opens secrets of the version least or newer. A secret never
// goes back to an older version. Other values count as the nearest of the two; nil remains nil.
func (r *Ring) Sealing(version, least int) *Ring {
	if r == nil {
		return nil
	}
	c := *r
	c.least = min(max(least, sealedForPath), newestSeal)
	c.version = min(max(version, c.least), newestSeal)
	return &c
}

// seals is the version in which the ring seals.
func (r *Ring) seals() int { return cmp.Or(r.version, newestSeal) }

// A Place is where a secret belongs: it cannot be opened at another place. Both fields are empty for actions without a schedule, except tasks.
type Place struct {
	Collection string // the part of the schedule's name, or of the task's ID, before its first ":"
	Job        string // the rest, or all of a name without ":"
}

// PlaceOf is the place of a schedule's actions, from its name "collection:job", or of a task's action, from the ID of its job.
func PlaceOf(schedule string) Place {
	collection, job, found := strings.Cut(schedule, ":")
	if !found {
		return Place{Job: schedule}
	}
	return Place{collection, job}
}

// ParseRing reads "k2:<base64 of 32 bytes>,k1:<…>": 1 to 100 keys, each with a name of 1 to 32 of A-Z a-z 0-9 _ -. White space around keys
// is ignored, and so is the key of IDs of package chimeseal, which reads the same rings. Its errors contain no part of a key.
func ParseRing(text string) (*Ring, error) {
	read, err := keyring.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("action: %w", err)
	}
	ring := &Ring{names: read.Names(), ciphers: make(map[string]cipher.AEAD, len(read.Keys))}
	for _, key := range read.Keys {
		block, err := aes.NewCipher(key.Secret)
		if err == nil {
			ring.ciphers[key.Name], err = cipher.NewGCM(block)
		}
		if err != nil {
			return nil, fmt.Errorf("action: key %q of the ring: %w", key.Name, err)
		}
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
var errSealed = errors.New("a secret cannot be opened: its key is not in the ring, or it was sealed for another place or another action")

// errOldSeal means that a secret has a version that the ring does not open any more.
var errOldSeal = errors.New("a secret cannot be opened: it has an old seal; `chimed rekey` renews the seals")

// A SealedError means that a stored secret cannot be opened where it is.
type SealedError struct {
	Field string // the secret's path, such as action.request.authentication.password
	cause error
}

// Error names the field and the reason.
func (e *SealedError) Error() string { return "action: " + e.Field + ": " + e.cause.Error() }

// Unwrap returns the reason.
func (e *SealedError) Unwrap() error { return e.cause }

// A binding is everything that a sealed secret is bound to.
type binding struct {
	at     Place
	path   string
	action [sha256.Size]byte // the digest of its action, for version 2
}

// data is the additional data of the encryption. In version 2 each part has its length in front, so that no two bindings have the same data.
func (b *binding) data(version int) []byte {
	if version == sealedForPath {
		return []byte(b.at.Collection + "\x00" + b.at.Job + "\x00" + b.path)
	}
	var out []byte
	for _, part := range []string{strconv.Itoa(version), b.at.Collection, b.at.Job, b.path, string(b.action[:])} {
		out = append(binary.BigEndian.AppendUint32(out, uint32(len(part))), part...)
	}
	return out
}

// A sealedText is the content of a sealed secret: "<key>.<nonce>.<ciphertext>" in version 1, the same after "2." in version 2.
type sealedText struct {
	version            int
	key, nonce, cipher string
}

func parseSealed(text string) (sealedText, bool) {
	version := sealedForPath
	if rest, ok := strings.CutPrefix(text, "2."); ok && strings.Count(text, ".") == 3 {
		version, text = sealedForAction, rest
	}
	parts := strings.Split(text, ".")
	if len(parts) != 3 {
		return sealedText{}, false
	}
	return sealedText{version, parts[0], parts[1], parts[2]}, true
}

// seal encrypts a text in the ring's version, or in a newer one that it had before.
func (r *Ring) seal(text string, atLeast int, to binding) Secret {
	name, version := r.names[0], max(r.seals(), atLeast)
	gcm := r.ciphers[name]
	nonce := make([]byte, gcm.NonceSize())
	_, _ = rand.Read(nonce) // never fails
	encode := base64.RawURLEncoding.EncodeToString
	sealed := name + "." + encode(nonce) + "." + encode(gcm.Seal(nil, nonce, []byte(text), to.data(version)))
	if version == sealedForAction {
		sealed = "2." + sealed
	}
	return Secret{sealed, true}
}

// open decrypts a secret that was sealed for this binding.
func (r *Ring) open(s Secret, bound binding) (string, error) {
	if r == nil {
		return "", ErrNoKeys
	}
	sealed, ok := parseSealed(s.text)
	if !ok {
		return "", errSealed
	}
	if sealed.version < r.least {
		return "", errOldSeal
	}
	gcm, ok := r.ciphers[sealed.key]
	if !ok {
		return "", errSealed
	}
	nonce, err := base64.RawURLEncoding.DecodeString(sealed.nonce)
	if err != nil || len(nonce) != gcm.NonceSize() {
		return "", errSealed
	}
	encrypted, err := base64.RawURLEncoding.DecodeString(sealed.cipher)
	if err != nil {
		return "", errSealed
	}
	text, err := gcm.Open(nil, nonce, encrypted, bound.data(sealed.version))
	if err != nil {
		return "", errSealed
	}
	return string(text), nil
}

// byFirst reports whether the first key of the ring has sealed a secret.
func (r *Ring) byFirst(s Secret) bool {
	sealed, ok := parseSealed(s.text)
	return ok && sealed.key == r.names[0]
}

// current reports whether a sealed secret has the ring's first key and its version, or a newer one.
func (r *Ring) current(s Secret) bool { return r.byFirst(s) && s.version() >= r.seals() }

// version is the version of a sealed secret; 0: it has no known form.
func (s Secret) version() int {
	sealed, _ := parseSealed(s.text)
	return sealed.version
}

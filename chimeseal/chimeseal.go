// Package chimeseal seals the data of jobs with keys that Redis does not have: arguments, results, progress, notes and error texts. It is a
// chime.Codec, which chime.WithCodec applies to everything that a program reads and writes:
//
//	ring, err := chimeseal.ReadFile("/etc/billing/keys")
//	...
//	store := chime.WithCodec(redisstore.New(client, redisstore.Options{}), ring, chime.CodecOptions{})
//
// A ring has one or more keys of 32 bytes. The first one seals and all of them open, so keys can be rotated while programs run. The command
// "chime keys" makes and changes files with rings. docs/sealing.md lists what is sealed and what is not.
//
// The algorithm is XAES-256-GCM with random nonces of 24 bytes. A sealed value is 42 bytes longer than the plain one, plus the length of the key's name.
package chimeseal

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/chimejobs/chime/internal/keyring"
)

// version is the first byte of a sealed value. The length of the key's name, the name, the nonce, and what AES-GCM returns follow.
const version = 1

// A Ring is a list of keys. Its first key seals, all keys open. A printed Ring shows only the names of its keys. It is safe for concurrent use.
type Ring struct {
	names []string
	keys  map[string]*xaes
	id    []byte // nil: none
}

// Parse reads "k2:<base64 of 32 bytes>,k1:<…>": 1 to 100 keys, each with a name of 1 to 32 of A-Z a-z 0-9 _ -, and, if the option chime.ArgsID is
// used, the key of IDs as "@ids:<base64 of 32 bytes>". White space around keys is ignored. Its errors contain no part of a key.
func Parse(text string) (*Ring, error) {
	read, err := keyring.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("chimeseal: %w", err)
	}
	ring := &Ring{names: read.Names(), keys: make(map[string]*xaes, len(read.Keys))}
	for _, key := range read.Keys {
		if ring.keys[key.Name], err = newXAES(derived(key.Secret, "XAES-256-GCM")); err != nil {
			return nil, fmt.Errorf("chimeseal: key %q of the ring: %w", key.Name, err)
		}
	}
	if read.ID != nil {
		ring.id = derived(read.ID, "ArgsID")
	}
	return ring, nil
}

// derived returns the key for one purpose. The HTTP API uses the keys of a ring for other purposes and with another algorithm.
func derived(secret []byte, purpose string) []byte {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte("chimeseal 1 " + purpose))
	return mac.Sum(nil)
}

// ReadFile reads a ring from a file, as "chime keys" writes it. A file that users other than its owner and its group can access is refused.
func ReadFile(path string) (*Ring, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("chimeseal: %w", err)
	}
	if mode := info.Mode().Perm(); runtime.GOOS != "windows" && mode&0o007 != 0 { // on Windows the folder of a user has rights of another form
		return nil, fmt.Errorf("chimeseal: file %s has mode %04o, so every user of this machine can access its keys: want 0600 or 0640", path, mode)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("chimeseal: %w", err)
	}
	return Parse(string(text))
}

// Names returns the names of the keys. The first one seals.
func (r *Ring) Names() []string { return slices.Clone(r.names) }

// Seal seals a plain text with the first key. It opens only with the same additional data.
func (r *Ring) Seal(plain, aad []byte) ([]byte, error) {
	name := r.names[0]
	head := 2 + len(name)
	sealed := make([]byte, head+nonceSize, head+nonceSize+len(plain)+tagSize)
	sealed[0], sealed[1] = version, byte(len(name))
	copy(sealed[2:], name)
	nonce := sealed[head:]
	_, _ = rand.Read(nonce) // never fails
	return r.keys[name].seal(sealed, nonce, plain, aad)
}

var (
	errForm  = errors.New("chimeseal: the sealed value has an unknown form")
	errWrong = errors.New("chimeseal: the sealed value was changed, or sealed for another place")
)

// Open opens what Seal has returned, with any key of the ring. An error means that the ring does not have the key, that the additional data
// differ, or that the value was changed.
func (r *Ring) Open(sealed, aad []byte) ([]byte, error) {
	name, rest, ok := split(sealed)
	if !ok {
		return nil, errForm
	}
	key := r.keys[name]
	if key == nil {
		return nil, fmt.Errorf("chimeseal: the ring has no key %q", name)
	}
	plain, err := key.open(rest[:nonceSize], rest[nonceSize:], aad)
	if err != nil {
		return nil, errWrong // the same text for every reason
	}
	return plain, nil
}

// Key returns the name of the key that has sealed a value, which the ring need not have; empty: the value has another form.
func (r *Ring) Key(sealed []byte) string {
	name, _, _ := split(sealed)
	return name
}

// split returns the name of the key, and the nonce with the rest.
func split(sealed []byte) (name string, rest []byte, ok bool) {
	if len(sealed) < 2 || sealed[0] != version || sealed[1] == 0 || sealed[1] > 32 {
		return "", nil, false
	}
	head := 2 + int(sealed[1])
	if len(sealed) < head+nonceSize+tagSize {
		return "", nil, false
	}
	return string(sealed[2:head]), sealed[head:], true
}

// ArgsID returns the digest from which the option chime.ArgsID makes an ID: HMAC-SHA-256 with the key of IDs. A digest without a key would let
// everybody who can read Redis test whether guessed arguments are those of a job. ok is false if the ring has no key of IDs.
func (r *Ring) ArgsID(data []byte) (digest []byte, ok bool) {
	if r.id == nil {
		return nil, false
	}
	mac := hmac.New(sha256.New, r.id)
	mac.Write(data)
	return mac.Sum(nil), true
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

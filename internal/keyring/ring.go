// Package keyring reads and writes rings of keys.
package keyring

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Size is the length of a key in bytes.
const Size = 32

// MaxKeys is the maximum number of keys of a ring.
const MaxKeys = 100

// idKey is the name of the key that IDs are made with. It seals nothing, and no other key can have this name.
const idKey = "@ids"

var keyName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,32}$`)

// A Key seals and opens.
type Key struct {
	Name   string // 1 to 32 of A-Z a-z 0-9 _ -
	Secret []byte // Size bytes
}

// A Ring is a list of keys. The first one seals, all open. A printed Ring shows only the names of its keys.
type Ring struct {
	Keys []Key
	ID   []byte // the key of IDs, Size bytes; nil: none
}

// Parse reads "k2:<base64 of 32 bytes>,k1:<…>": 1 to MaxKeys keys, and "@ids:<base64>" for the key of IDs. White space around keys is
// ignored. Its errors contain no part of a key.
func Parse(text string) (*Ring, error) {
	ring := new(Ring)
	for i, entry := range strings.Split(strings.TrimSpace(text), ",") {
		name, encoded, ok := strings.Cut(strings.TrimSpace(entry), ":")
		if !ok || name != idKey && !keyName.MatchString(name) {
			return nil, fmt.Errorf("key %d of the ring: want name:key, with a name of 1 to 32 of A-Z a-z 0-9 _ -", i+1)
		}
		secret, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil || len(secret) != Size {
			return nil, fmt.Errorf("key %q of the ring: want base64 of %d bytes, as printed by `openssl rand -base64 %d`", name, Size, Size)
		}
		if ring.Key(name) != nil || name == idKey && ring.ID != nil {
			return nil, fmt.Errorf("the ring has two keys %q", name)
		}
		if name == idKey {
			ring.ID = secret
			continue
		}
		ring.Keys = append(ring.Keys, Key{name, secret})
	}
	switch n := len(ring.Keys); {
	case n == 0:
		return nil, errors.New("the ring has only the key of IDs, want 1 key or more that seals")
	case n > MaxKeys:
		return nil, fmt.Errorf("the ring has %d keys, want %d at most", n, MaxKeys)
	}
	return ring, nil
}

// Key returns the key with this name; nil: none.
func (r *Ring) Key(name string) *Key {
	for i := range r.Keys {
		if r.Keys[i].Name == name {
			return &r.Keys[i]
		}
	}
	return nil
}

// Names returns the names of the keys that seal and open, in order.
func (r *Ring) Names() []string {
	names := make([]string, len(r.Keys))
	for i := range r.Keys {
		names[i] = r.Keys[i].Name
	}
	return names
}

// Text returns the ring in the form that Parse reads, with a key on each line. It contains the keys themselves.
func (r *Ring) Text() string {
	entries := make([]string, 0, len(r.Keys)+1)
	for _, key := range r.Keys {
		entries = append(entries, key.Name+":"+base64.StdEncoding.EncodeToString(key.Secret))
	}
	if r.ID != nil {
		entries = append(entries, idKey+":"+base64.StdEncoding.EncodeToString(r.ID))
	}
	return strings.Join(entries, ",\n") + "\n"
}

// Add appends a new random key, which opens and does not seal yet, unless it is the first one. An empty name is the first free one of k1, k2, ….
func (r *Ring) Add(name string) (string, error) {
	if len(r.Keys) >= MaxKeys {
		return "", fmt.Errorf("the ring has %d keys, want %d at most", len(r.Keys), MaxKeys)
	}
	for n := len(r.Keys) + 1; name == ""; n++ {
		if free := fmt.Sprint("k", n); r.Key(free) == nil {
			name = free
		}
	}
	if !keyName.MatchString(name) {
		return "", fmt.Errorf("key %.40q: want a name of 1 to 32 of A-Z a-z 0-9 _ -", name)
	}
	if r.Key(name) != nil {
		return "", fmt.Errorf("the ring has a key %q already", name)
	}
	r.Keys = append(r.Keys, Key{name, random()})
	return name, nil
}

// AddID creates the key of IDs, unless the ring has one.
func (r *Ring) AddID() {
	if r.ID == nil {
		r.ID = random()
	}
}

// First moves a key to the front, where it seals.
func (r *Ring) First(name string) error {
	at := slices.IndexFunc(r.Keys, func(k Key) bool { return k.Name == name })
	if at < 0 {
		return fmt.Errorf("the ring has no key %.40q: it has %s", name, strings.Join(r.Names(), ", "))
	}
	key := r.Keys[at]
	r.Keys = slices.Insert(slices.Delete(r.Keys, at, at+1), 0, key)
	return nil
}

func random() []byte {
	secret := make([]byte, Size)
	_, _ = rand.Read(secret) // never fails
	return secret
}

// String names the keys.
func (r *Ring) String() string {
	if r == nil {
		return "no keys"
	}
	return "keys " + strings.Join(r.Names(), ", ")
}

// Format prints String for every verb.
func (r *Ring) Format(f fmt.State, verb rune) {
	_, _ = fmt.Fprintf(f, fmt.FormatString(f, 's'), r.String())
}

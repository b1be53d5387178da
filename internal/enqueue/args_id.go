package enqueue

import (
	"crypto/sha256"
	"encoding/base64"
)

// argsIDLength is the length of an ID that is made of arguments: 162 bits.
const argsIDLength = 27

// ArgsID returns the ID of a job with this name and payload, in which the keys of all maps are sorted. It is the same in every process and
// version, and never changes: otherwise jobs that were enqueued under the old ID would run once more.
func ArgsID(name string, payload []byte) string {
	hash := sha256.New()
	hash.Write([]byte(name))
	hash.Write([]byte{0}) // no name contains it
	hash.Write(payload)
	return argsID(hash.Sum(nil))
}

// argsID returns ArgsID, or the ID of a job that is sealed: a digest without a key would show who guesses the arguments that the guess is right.
func (e *Enqueuer) argsID(name string, payload []byte) (string, error) {
	if e.options.Sealing == nil {
		return ArgsID(name, payload), nil
	}
	digest, err := e.options.Sealing.ArgsID(append(append([]byte(name), 0), payload...))
	if err != nil {
		return "", err
	}
	return argsID(digest), nil
}

func argsID(digest []byte) string { return base64.RawURLEncoding.EncodeToString(digest)[:argsIDLength] }

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
	return base64.RawURLEncoding.EncodeToString(hash.Sum(nil))[:argsIDLength]
}

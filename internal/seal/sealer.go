// Package seal seals the secrets of jobs and schedules on their way to a store, and opens them on their way back. So the roles work with plain data.
package seal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/wire"
)

// A Codec seals and opens, see chime.Codec.
type Codec interface {
	Seal(plain, aad []byte) ([]byte, error)
	Open(sealed, aad []byte) ([]byte, error)
	Key(sealed []byte) string
}

// An argsIDer is a Codec that makes the digests of IDs.
type argsIDer interface {
	ArgsID(data []byte) (digest []byte, ok bool)
}

// minDigest is the minimum length of a digest of an ID, in bytes.
const minDigest = 24

// A kind says what a sealed value is.
type kind string

const (
	kindArgs     kind = "args"     // of a job
	kindErrors   kind = "errors"   // texts of a job's errors
	kindFollow   kind = "follow"   // args of a job that is added at the end of another one
	kindFailed   kind = "failed"   // errors of such a job
	kindResult   kind = "result"   // error, note and value of a job that has ended
	kindProgress kind = "progress" // of a job that runs
	kindError    kind = "error"    // of an attempt in the history of a schedule
	kindNote     kind = "note"     // likewise
	kindSchedule kind = "schedule" // args, OnDone and OnDeath of a schedule
)

// A place is where a sealed value belongs: it opens at no other one.
type place struct {
	queue string // empty: of values that are not in one queue
	id    string // of the job, or the name of the schedule
}

// A sealer has what is the same for all values of a store.
type sealer struct {
	codec     Codec
	namespace string
	required  bool // what is not sealed is refused in Work, and never becomes sealed
}

// aad is the additional data of a value. Each part has its length before it, so that no two places have the same data.
func (s *sealer) aad(k kind, at place) []byte {
	parts := [...]string{"chime 1", s.namespace, string(k), at.queue, at.id}
	size := 0
	for _, part := range parts {
		size += 4 + len(part)
	}
	out := make([]byte, 0, size)
	for _, part := range parts {
		out = append(binary.BigEndian.AppendUint32(out, uint32(len(part))), part...)
	}
	return out
}

// seal returns an *InvalidError if the codec fails.
func (s *sealer) seal(k kind, at place, plain []byte) ([]byte, error) {
	sealed, err := s.codec.Seal(plain, s.aad(k, at))
	switch {
	case err != nil:
	case len(sealed) == 0:
		err = errors.New("it returned nothing")
	case len(sealed) > len(plain)+wire.MaxSealing:
		err = fmt.Errorf("it returned %d bytes for %d", len(sealed), len(plain))
	}
	if err != nil {
		limit := fmt.Sprintf("a sealed value of at most %d bytes more, without an error", wire.MaxSealing)
		return nil, protocol.Wrapping(protocol.Invalid("codec", string(k)+" of "+at.id, limit), err)
	}
	return sealed, nil
}

// open returns a *SealedError if the codec cannot open the value at this place.
func (s *sealer) open(k kind, at place, sealed []byte) ([]byte, error) {
	plain, err := s.codec.Open(sealed, s.aad(k, at))
	if err != nil {
		return nil, &protocol.SealedError{Key: wire.Printable(s.codec.Key(sealed), 100), Cause: err}
	}
	return plain, nil
}

// refused returns the *SealedError in an error; other errors, which the form of a value may have, become one.
func (s *sealer) refused(err error) *protocol.SealedError {
	if err == nil {
		return nil
	}
	if sealed := (*protocol.SealedError)(nil); errors.As(err, &sealed) {
		return sealed
	}
	return &protocol.SealedError{Cause: err}
}

// rootOf returns the part of an ID that a job has in common with those that are added at its end: the ID up to its first "#".
func rootOf(id string) string {
	root, _, _ := strings.Cut(id, "#")
	return root
}

var followerEnding = regexp.MustCompile(`^#(?:done-\d+\.\d\d?|dead-\d+(?:\.\d\d?)?)$`)

// follows reports whether an ID is that of a job that was added at the end of another one: see protocol.FollowerID.
func follows(id string) bool {
	at := strings.LastIndexByte(id, '#')
	return at >= 0 && followerEnding.MatchString(id[at:])
}

// A holder is the place of a job's own secrets, with their kinds. The ID of a job that is added at the end of another one is not known when it is
// sealed, so it is bound to the root's.
type holder struct {
	place
	args, errors kind
}

func holderOf(queue, id string) holder {
	if follows(id) {
		return followerOf(queue, id)
	}
	return holder{place{queue, id}, kindArgs, kindErrors}
}

// followerOf is the place of what is stored with a job to be added at its end.
func followerOf(queue, id string) holder {
	return holder{place{queue, rootOf(id)}, kindFollow, kindFailed}
}

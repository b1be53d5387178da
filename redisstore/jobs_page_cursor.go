package redisstore

import (
	"encoding/base64"
	"encoding/binary"
	"math"
	"strconv"

	"github.com/chimejobs/chime/internal/protocol"
)

// A jobCursor is the position of the pages of a queue's jobs in one state: the job that was shown last. The zero value, with the state set,
// is the beginning.
type jobCursor struct {
	state     string
	partition int
	list      string  // of a partition with several: the session, or the job name of parked ones; of waiting jobs, lineList or behindList
	member    string  // of the list: shown last; empty: nothing was shown
	follower  string  // waiting: the job that came after it
	score     float64 // of the member: in a sorted set; of a session: its fence, math.Inf(1) if all of it was shown
	at        int     // about where the member stood in its list
	shown     int     // waiting: how many jobs of the partition were shown
}

const cursorVersion = "1"

// String returns the cursor as callers get it: letters, digits, - and _. Only parseJobCursor should read it.
func (c jobCursor) String() string {
	var b []byte
	for _, field := range []string{
		cursorVersion, c.state, strconv.Itoa(c.partition), c.list, c.member, c.follower, strconv.FormatFloat(c.score, 'g', -1, 64), strconv.Itoa(c.at), strconv.Itoa(c.shown),
	} {
		b = append(binary.AppendUvarint(b, uint64(len(field))), field...)
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

// parseJobCursor reads what String returned, for the same state and a queue with the same number of partitions; "" is the beginning. It
// trusts no input: any other text is an *InvalidError, and a cursor is only compared with what is stored, never used to name a key.
func parseJobCursor(text, state string, partitions int) (jobCursor, error) {
	if text == "" {
		return jobCursor{state: state}, nil
	}
	bad := protocol.InvalidCursor(text)
	b, err := base64.RawURLEncoding.DecodeString(text)
	var fields []string
	for err == nil && len(b) > 0 {
		n, width := binary.Uvarint(b)
		if width <= 0 || n > uint64(len(b)-width) {
			return jobCursor{}, bad
		}
		fields = append(fields, string(b[width:width+int(n)]))
		b = b[width+int(n):]
	}
	if err != nil || len(fields) != 9 || fields[0] != cursorVersion || fields[1] != state {
		return jobCursor{}, bad
	}
	c := jobCursor{state: state, list: fields[3], member: fields[4], follower: fields[5]}
	for i, to := range map[int]*int{2: &c.partition, 7: &c.at, 8: &c.shown} {
		n, err := strconv.Atoi(fields[i])
		if err != nil || n < 0 || n > math.MaxInt32 {
			return jobCursor{}, bad
		}
		*to = n
	}
	if c.score, err = strconv.ParseFloat(fields[6], 64); err != nil || math.IsNaN(c.score) || c.partition >= partitions {
		return jobCursor{}, bad
	}
	return c, nil
}

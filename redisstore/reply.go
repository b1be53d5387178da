package redisstore

import (
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
)

// A reply is what a script returned: numbers, strings and lists of them. A value of another type than asked for, or none, reads as
// zero: the scripts are known, and what they return from keys is checked where it is decoded.
type reply []any

// list returns the answer of a command as a reply.
func list(act, subject string, cmd *redis.Cmd) (reply, error) {
	if err := cmd.Err(); err != nil {
		return nil, failure(act, subject, err)
	}
	values, ok := cmd.Val().([]any)
	if !ok {
		return nil, fmt.Errorf("redisstore: %s %q: the script answered %T, want a list", act, subject, cmd.Val())
	}
	return values, nil
}

// complete returns an error if an HMGET or a ZMSCORE among the commands has not a value for each field that it asked for. A server
// never answers so, but what stands between may, and a missing value must not be read as one that is not stored.
func complete(cmds ...redis.Cmder) error {
	for _, cmd := range cmds {
		var values int
		switch c := cmd.(type) {
		case *redis.SliceCmd:
			values = len(c.Val())
		case *redis.FloatSliceCmd:
			values = len(c.Val())
		default:
			continue
		}
		if asked := len(cmd.Args()) - 2; values != asked { // the arguments are its name, the key and the fields
			return fmt.Errorf("%s of %v answered %d values, want %d", cmd.Name(), cmd.Args()[1], values, asked)
		}
	}
	return nil
}

func (r reply) text(i int) string {
	if i < len(r) {
		if text, ok := r[i].(string); ok {
			return text
		}
	}
	return ""
}

func (r reply) number(i int) int64 {
	if i >= len(r) {
		return 0
	}
	switch v := r[i].(type) {
	case int64:
		return v
	case string:
		n, _ := strconv.ParseInt(v, 10, 64)
		return n
	}
	return 0
}

func (r reply) list(i int) reply {
	if i < len(r) {
		if values, ok := r[i].([]any); ok {
			return values
		}
	}
	return nil
}

// now reads the server's time, Unix µs: every answer begins with it.
func (r reply) now() time.Time { return time.UnixMicro(r.number(0)).UTC() }

// milli reads an instant in Unix ms; a negative number is the zero Time.
func (r reply) milli(i int) time.Time {
	if ms := r.number(i); ms >= 0 {
		return time.UnixMilli(ms).UTC()
	}
	return time.Time{}
}

func (r reply) texts(i int) []string {
	values := r.list(i)
	if len(values) == 0 {
		return nil
	}
	texts := make([]string, len(values))
	for j := range values {
		texts[j] = values.text(j)
	}
	return texts
}

// rest returns the values from i on, as texts.
func (r reply) rest(i int) []string {
	var texts []string
	for ; i < len(r); i++ {
		texts = append(texts, r.text(i))
	}
	return texts
}

// waitHint reads, from i on: more, paused, next, which keeper of the alarm the caller is, the mark of what is parked, lapse, lapsed sessions.
func (r reply) waitHint(i int) protocol.WaitHint {
	h := protocol.WaitHint{
		More: r.number(i) == 1, Paused: r.number(i+1) == 1, Second: r.number(i+3) == 2,
		ParkedMark: r.number(i + 4), Lapse: r.milli(i + 5),
	}
	if next := r.milli(i + 2); !next.IsZero() {
		h.Next = max(next.Sub(r.now()), time.Microsecond)
	}
	lapsed := r.list(i + 6)
	for j := 0; j+1 < len(lapsed); j += 2 {
		h.Lapsed = append(h.Lapsed, protocol.LapsedSession{Session: lapsed.text(j), Lapse: lapsed.milli(j + 1)})
	}
	return h
}

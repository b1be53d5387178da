package simredis

import (
	"strconv"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2/server"
)

// With ClockTTL, miniredis sorts the names of all keys whenever a command comes at a later time than the one before. So a Server begins with it when
// the first command comes that may set a TTL: before, no key can expire.

// setsTTL reports whether a command may set a TTL. It may be wrong about commands that set none.
func setsTTL(cmd string, args []string) bool {
	switch {
	case strings.Contains(cmd, "EXPIRE"): // EXPIRE, PEXPIREAT, HEXPIRE, …
		return true
	case strings.HasSuffix(cmd, "EX"): // SETEX, GETEX, HSETEX, …; not ZRANGEBYLEX and its like
		return cmd != "LINDEX" && !strings.HasSuffix(cmd, "LEX")
	case cmd == "SET":
		return len(args) > 2
	}
	return cmd == "RESTORE"
}

// watchTTL is called before each command of clients and scripts.
func (s *Server) watchTTL(c *server.Peer, cmd string, args []string) {
	switch {
	case s.expires.Load() || !setsTTL(cmd, args):
	case stateOf(c.Ctx).nested: // Miniredis is locked until the script ends, and time does not pass for a script
		s.lua.expires = true
	default:
		s.beginTTL()
	}
}

// beginTTL makes TTLs decrease from now on.
func (s *Server) beginTTL() {
	if s.expires.CompareAndSwap(false, true) {
		s.ClockTTL(true)
	}
}

// SetOffset makes the clock of TIME wrong: it is ahead of time.Now by an offset, or behind. So scripts get another time than clients. TTLs of keys and
// IDs of streams are not affected.
func (s *Server) SetOffset(offset time.Duration) { s.offset.Store(int64(offset)) }

// answerTime answers TIME if the clock is wrong.
func (s *Server) answerTime(c *server.Peer) bool {
	offset := time.Duration(s.offset.Load())
	if offset == 0 {
		return false
	}
	now := time.Now().Add(offset)
	c.WriteLen(2)
	c.WriteBulk(strconv.FormatInt(now.Unix(), 10))
	c.WriteBulk(strconv.Itoa(now.Nanosecond() / 1000))
	return true
}

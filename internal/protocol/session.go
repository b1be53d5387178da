package protocol

import (
	"crypto/rand"
	"strconv"
	"strings"
	"time"
)

// NewSession returns a name for a session: random, used once, and with the session's time to live at its end, "~<ms>". So a process that
// finds it lapsed knows how often its worker sends a heartbeat, and how far ahead its lapse can be.
func NewSession(ttl time.Duration) string {
	return rand.Text() + "~" + strconv.FormatInt(ttl.Milliseconds(), 10)
}

// SessionTTL returns the time to live that the name of a session ends with.
func SessionTTL(session string) (ttl time.Duration, ok bool) {
	at := strings.LastIndexByte(session, '~')
	ms, err := strconv.ParseInt(session[at+1:], 10, 64)
	if at < 0 || err != nil || ms <= 0 || ms > time.Hour.Milliseconds()*24 {
		return 0, false
	}
	return time.Duration(ms) * time.Millisecond, true
}

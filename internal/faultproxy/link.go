package faultproxy

import (
	"math/rand/v2"
	"time"
)

// A Link is a slow network for replies: the proxy cannot lose a packet, but it can delay one as long as TCP needs to send it again. The zero
// value has no delay.
type Link struct {
	Delay  time.Duration // of every reply
	Jitter time.Duration // random, up to this much more or less
	Loss   float64       // this part of the replies, 0 to 1, is also delayed by Resend
	Resend time.Duration // how long TCP waits before it sends again
	Rate   int           // bytes a second of each connection; 0: no limit
}

// delay returns the delay of a reply of this many bytes.
func (l Link) delay(bytes int) time.Duration {
	d := l.Delay
	if l.Jitter > 0 {
		d += rand.N(2*l.Jitter) - l.Jitter
	}
	if l.Loss > 0 && rand.Float64() < l.Loss {
		d += l.Resend
	}
	if l.Rate > 0 {
		d += time.Duration(float64(bytes) / float64(l.Rate) * float64(time.Second))
	}
	return d
}

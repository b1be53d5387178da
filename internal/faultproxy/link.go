package faultproxy

import (
	"math/rand/v2"
	"time"
)

// A Link is a slow network, as replies meet it: the proxy cannot lose a packet, but it can be as late as one that is sent again. The
// zero value is no delay at all.
type Link struct {
	Delay  time.Duration // of every reply
	Jitter time.Duration // at random, up to so much more or less
	Loss   float64       // of the replies so many are late by Resend too, 0 to 1
	Resend time.Duration // how long TCP waits until it sends again
	Rate   int           // bytes a second of each connection; 0: no limit
}

// delay returns how late a reply of so many bytes is.
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

package action

import (
	"math"
	"time"
)

// Limits bound an action. Zero fields have their default; a value above the maximum in brackets counts as the maximum.
type Limits struct {
	JobBytes    int // of the action in canonical JSON, without secrets; 16 KiB (512 KiB)
	SecretBytes int // of all its secrets together; 64 KiB (64 KiB)
	BodyChars   int // of a body, or of a message; 8,192 (262,144)
	URIChars    int // of a URI; 2,048 (8,192)
	Headers     int // their number; 50 (100)
	HeaderChars int // of their names and values together; 4,096 (32,768)
}

// widest are the maximums in brackets.
var widest = Limits{math.MaxInt, math.MaxInt, math.MaxInt, math.MaxInt, math.MaxInt, math.MaxInt}.OrDefault()

// OrDefault returns the effective limits.
func (l Limits) OrDefault() Limits {
	set := func(n *int, standard, most int) {
		if *n <= 0 {
			*n = standard
		}
		*n = min(*n, most)
	}
	set(&l.JobBytes, 16<<10, 512<<10)
	set(&l.SecretBytes, 64<<10, 64<<10)
	set(&l.BodyChars, 8192, 256<<10)
	set(&l.URIChars, 2048, 8192)
	set(&l.Headers, 50, 100)
	set(&l.HeaderChars, 4096, 32<<10)
	return l
}

// Rules are the limits that an action is checked against.
type Rules struct {
	Limits Limits    // zero: the defaults
	Egress Egress    // the addresses that requests may go to; zero: public addresses
	Now    time.Time // for certificates; zero: nothing has expired
}

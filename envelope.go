package chime

import (
	"errors"
	"fmt"
	"strconv"
	"time"
	"unicode"
	"unicode/utf8"
)

// envelopeVersion is the first byte of every body. The layout behind it may change with it, but for one thing: a msgpack
// array follows whose first element is the job's name. A byte 0 is the store's own.
const envelopeVersion = 1

// noName stands for a name that cannot be read or is none. No handler can have it, so the job is parked.
const noName = "?"

const (
	maxErrorText = 1 << 10
	maxStackText = 4 << 10
)

// errNewerVersion: the body was written by a newer chime. The envelope has its name, or noName, and nothing else.
var errNewerVersion = errors.New("written by a newer version")

// envelope is a job as the store keeps it. ID, crashes and fence are not in it: they are the store's.
// It is the array [name, payload, planned (Unix ms or nil), max attempts, timeout in ms, failures, schedule, last error, stack],
// which ends after the last element that is not zero.
type envelope struct {
	name        string
	payload     []byte
	planned     time.Time     // milliseconds; zero: unknown
	maxAttempts int           // 0: the worker's
	timeout     time.Duration // milliseconds, rounded up; 0: the handler's
	failures    int           // attempt = failures + 1
	schedule    string        // empty: the job was enqueued
	lastError   string        // kept to 1 KiB, control characters escaped
	stack       string        // kept to 4 KiB, control characters but line ends and tabs escaped
}

// encode returns the body, in memory of its own.
func (e *envelope) encode() []byte {
	lastError := printable(e.lastError, maxErrorText, false)
	stack := printable(e.stack, maxStackText, true)
	fields := 9
	switch {
	case stack != "":
	case lastError != "":
		fields = 8
	case e.schedule != "":
		fields = 7
	case e.failures != 0:
		fields = 6
	case e.timeout != 0:
		fields = 5
	case e.maxAttempts != 0:
		fields = 4
	default:
		fields = 3
	}
	size := 64 + len(e.name) + len(e.payload) + len(e.schedule) + len(lastError) + len(stack)
	if fields == 3 {
		size = 22 + len(e.name) + len(e.payload)
	}
	b := append(make([]byte, 0, size), envelopeVersion)
	b = appendBinary(appendText(appendArray(b, fields), e.name), e.payload)
	if e.planned.IsZero() {
		b = append(b, 0xc0)
	} else {
		b = appendNumber(b, e.planned.UnixMilli())
	}
	if fields > 3 {
		b = appendNumber(b, int64(e.maxAttempts))
	}
	if fields > 4 {
		b = appendNumber(b, int64((e.timeout+time.Millisecond-1)/time.Millisecond))
	}
	if fields > 5 {
		b = appendNumber(b, int64(e.failures))
	}
	if fields > 6 {
		b = appendText(b, e.schedule)
	}
	if fields > 7 {
		b = appendText(b, lastError)
	}
	if fields > 8 {
		b = appendText(b, stack)
	}
	return b
}

// decodeEnvelope reads a body, which may be anything. The payload shares its memory. A name that is none becomes noName;
// elements behind the known ones are ignored. Any error but errNewerVersion is for good.
func decodeEnvelope(body []byte) (envelope, error) {
	var e envelope
	err := e.decode(body, nil)
	return e, err
}

// decode reads a body. Names with a handler are the handlers' own text.
func (e *envelope) decode(body []byte, handlers map[string]*registration) error {
	if len(body) == 0 {
		*e = envelope{name: noName}
		return errors.New("body is empty")
	}
	if body[0] > envelopeVersion {
		*e = envelope{name: newerName(body[1:])}
		return errNewerVersion
	}
	*e = envelope{name: noName}
	if body[0] != envelopeVersion {
		return fmt.Errorf("body has version %d", body[0])
	}
	body = body[1:]
	if err := walk(body, nil); err != nil {
		return err
	}
	at, fields, _ := head(body, 0)
	if body[0]&0xf0 != 0x90 && body[0] != 0xdc && body[0] != 0xdd || fields < 3 {
		return errors.New("body is no array of a name, a payload and an instant")
	}
	for field := range min(fields, 9) {
		end, inside, _ := head(body, at)
		if inside > 0 || !e.set(field, body, at, end, handlers) {
			return fmt.Errorf("body: element %d of the array is not what belongs there", field)
		}
		at = end
	}
	return nil
}

// set sets one element of the array from the value in body[at:end]. It returns false if that is none of its values.
func (e *envelope) set(field int, body []byte, at, end int, handlers map[string]*registration) bool {
	switch field {
	case 2, 3, 4, 5:
		if field == 2 && body[at] == 0xc0 {
			return true
		}
		n, ok := numberAt(body, at, end)
		return ok && e.setNumber(field, n)
	}
	text, ok := bytesAt(body, at, end)
	if !ok {
		return false
	}
	switch field {
	case 0:
		if r := handlers[string(text)]; r != nil {
			e.name = r.name
		} else if name := string(text); checkName("name", name) == nil {
			e.name = name
		}
	case 1:
		if len(text) > 0 {
			e.payload = text
		}
	case 6:
		if len(text) > nameLength {
			return false
		}
		e.schedule = string(text)
	case 7:
		e.lastError = printable(string(text[:min(len(text), 4*maxErrorText)]), maxErrorText, false)
	case 8:
		e.stack = printable(string(text[:min(len(text), 4*maxStackText)]), maxStackText, true)
	}
	return true
}

func (e *envelope) setNumber(field int, n int64) bool {
	switch field {
	case 2:
		e.planned = time.UnixMilli(n).UTC()
		return n > -1<<46 && n < 1<<46 // about 2,200 years
	case 3:
		e.maxAttempts = int(n)
	case 4:
		e.timeout = time.Duration(n) * time.Millisecond
		return n >= 0 && n <= int64(longestDelay/time.Millisecond)
	case 5:
		e.failures = int(n)
	}
	return n >= 0 && n < 1<<31
}

// newerName reads the name out of a layout of which nothing else is known.
func newerName(b []byte) string {
	at, fields, err := head(b, 0)
	if err != nil || fields == 0 || b[0]&0xf0 != 0x90 && b[0] != 0xdc && b[0] != 0xdd {
		return noName
	}
	end, _, err := head(b, at)
	if err != nil {
		return noName
	}
	text, _ := bytesAt(b, at, end)
	if len(text) > nameLength || checkName("name", string(text)) != nil {
		return noName
	}
	return string(text)
}

// printable shortens s to at most limit bytes and escapes what a terminal or a log would act on. Lines keeps line ends and
// tabs.
func printable(s string, limit int, lines bool) string {
	const more = "…"
	plain := func(r rune) bool { return lines && (r == '\n' || r == '\t') || unicode.IsPrint(r) }
	if len(s) <= limit {
		clean := utf8.ValidString(s)
		for _, r := range s {
			if !clean {
				break
			}
			clean = plain(r)
		}
		if clean {
			return s
		}
	}
	b := make([]byte, 0, min(limit, 2*len(s)))
	var escape [12]byte
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		piece := append(escape[:0], s[i:i+size]...)
		switch {
		case r == utf8.RuneError && size == 1:
			piece = append(escape[:0], '\\', 'x', hexDigits[s[i]>>4], hexDigits[s[i]&15])
		case !plain(r):
			quoted := strconv.AppendQuoteRuneToASCII(nil, r)
			piece = append(escape[:0], quoted[1:len(quoted)-1]...)
		}
		room := limit - len(b)
		if len(piece) > room || len(piece) > room-len(more) && i+size < len(s) {
			return string(append(b, more...))
		}
		b = append(b, piece...)
		i += size
	}
	return string(b)
}

const hexDigits = "0123456789abcdef"

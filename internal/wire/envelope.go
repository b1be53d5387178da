package wire

import (
	"errors"
	"fmt"
	"strconv"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/chimejobs/chime/internal/protocol"
)

// envelopeVersion is the first byte of every body. The layout behind it may change with it, but for one thing: a msgpack
// array follows whose first element is the job's name. A byte 0 is the store's own.
const Version = 1

// noName stands for a name that cannot be read or is none. No handler can have it, so the job is parked.
const NoName = "?"

const (
	maxErrorText = 1 << 10
	maxStackText = 4 << 10
)

// errNewerVersion: the body was written by a newer chime. The envelope has its name, or noName, and nothing else.
var ErrNewerVersion = errors.New("written by a newer version")

// envelope is a job as the store keeps it. ID, crashes and fence are not in it: they are the store's.
// It is the array [name, payload, planned (Unix ms or nil), max attempts, timeout in ms, failures, schedule, last error, stack],
// which ends after the last element that is not zero.
type Envelope struct {
	Name        string
	Payload     []byte
	Planned     time.Time     // milliseconds; zero: unknown
	MaxAttempts int           // 0: the worker's
	Timeout     time.Duration // milliseconds, rounded up; 0: the handler's
	Failures    int           // attempt = failures + 1
	Schedule    string        // empty: the job was enqueued
	LastError   string        // kept to 1 KiB, control characters escaped
	Stack       string        // kept to 4 KiB, control characters but line ends and tabs escaped
}

// encode returns the body, in memory of its own.
func (e *Envelope) Encode() []byte {
	clean := *e
	clean.LastError = printable(e.LastError, maxErrorText, false)
	clean.Stack = printable(e.Stack, maxStackText, true)
	return clean.appendTo(make([]byte, 0, clean.room()))
}

// fields is how many elements the array has.
func (e *Envelope) fields() int {
	switch {
	case e.Stack != "":
		return 9
	case e.LastError != "":
		return 8
	case e.Schedule != "":
		return 7
	case e.Failures != 0:
		return 6
	case e.Timeout != 0:
		return 5
	case e.MaxAttempts != 0:
		return 4
	}
	return 3
}

// room is a length that no body of e exceeds.
func (e *Envelope) room() int {
	if e.fields() == 3 {
		return 22 + len(e.Name) + len(e.Payload)
	}
	return 64 + len(e.Name) + len(e.Payload) + len(e.Schedule) + len(e.LastError) + len(e.Stack)
}

// appendTo appends the body of an envelope whose texts are printable.
func (e *Envelope) appendTo(b []byte) []byte {
	fields := e.fields()
	b = append(b, Version)
	b = appendBinary(appendText(appendArray(b, fields), e.Name), e.Payload)
	if e.Planned.IsZero() {
		b = append(b, 0xc0)
	} else {
		b = appendNumber(b, e.Planned.UnixMilli())
	}
	if fields > 3 {
		b = appendNumber(b, int64(e.MaxAttempts))
	}
	if fields > 4 {
		b = appendNumber(b, int64((e.Timeout+time.Millisecond-1)/time.Millisecond))
	}
	if fields > 5 {
		b = appendNumber(b, int64(e.Failures))
	}
	if fields > 6 {
		b = appendText(b, e.Schedule)
	}
	if fields > 7 {
		b = appendText(b, e.LastError)
	}
	if fields > 8 {
		b = appendText(b, e.Stack)
	}
	return b
}

// Bodies is memory in which bodies lie one behind the other, to be used again when the store has them all.
type Bodies struct{ b []byte }

// Add returns the body of an envelope whose texts are printable. Appending to it changes no other body.
func (m *Bodies) Add(e *Envelope) []byte {
	if need := e.room(); need > cap(m.b)-len(m.b) { // bodies made so far keep the memory they lie in
		m.b = make([]byte, 0, max(need, min(2*cap(m.b), protocol.MaxBytes)))
	}
	from := len(m.b)
	m.b = e.appendTo(m.b)
	return m.b[from:len(m.b):len(m.b)]
}

// Reset forgets the bodies and keeps at most so many bytes of memory for others.
func (m *Bodies) Reset(most int) {
	if m.b = m.b[:0]; cap(m.b) > most {
		m.b = nil
	}
}

// Forget leaves the memory to whoever still reads it.
func (m *Bodies) Forget() { m.b = nil }

// decodeEnvelope reads a body, which may be anything. The payload shares its memory. A name that is none becomes noName;
// elements behind the known ones are ignored. Any error but errNewerVersion is for good.
func DecodeEnvelope(body []byte) (Envelope, error) {
	var e Envelope
	err := e.Decode(body, nil)
	return e, err
}

// decode reads a body as decodeEnvelope does. A name that is in names is that string: most are, and need no memory of their own.
func (e *Envelope) Decode(body []byte, names map[string]string) error {
	if len(body) == 0 {
		*e = Envelope{Name: NoName}
		return errors.New("body is empty")
	}
	if body[0] > Version {
		*e = Envelope{Name: newerName(body[1:])}
		return ErrNewerVersion
	}
	*e = Envelope{Name: NoName}
	if body[0] != Version {
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
		if inside > 0 || !e.set(field, body, at, end, names) {
			return fmt.Errorf("body: element %d of the array is not what belongs there", field)
		}
		at = end
	}
	return nil
}

// set sets one element of the array from the value in body[at:end]. It returns false if that is none of its values.
func (e *Envelope) set(field int, body []byte, at, end int, names map[string]string) bool {
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
		if known, ok := names[string(text)]; ok {
			e.Name = known
		} else if name := string(text); protocol.CheckName("name", name) == nil {
			e.Name = name
		}
	case 1:
		if len(text) > 0 {
			e.Payload = text
		}
	case 6:
		if len(text) > protocol.MaxName {
			return false
		}
		e.Schedule = string(text)
	case 7:
		e.LastError = printable(string(text[:min(len(text), 4*maxErrorText)]), maxErrorText, false)
	case 8:
		e.Stack = printable(string(text[:min(len(text), 4*maxStackText)]), maxStackText, true)
	}
	return true
}

func (e *Envelope) setNumber(field int, n int64) bool {
	switch field {
	case 2:
		e.Planned = time.UnixMilli(n).UTC()
		return n > -1<<46 && n < 1<<46 // about 2,200 years
	case 3:
		e.MaxAttempts = int(n)
	case 4:
		e.Timeout = time.Duration(n) * time.Millisecond
		return n >= 0 && n <= int64(protocol.MaxDelay/time.Millisecond)
	case 5:
		e.Failures = int(n)
	}
	return n >= 0 && n < 1<<31
}

// newerName reads the name out of a layout of which nothing else is known.
func newerName(b []byte) string {
	at, fields, err := head(b, 0)
	if err != nil || fields == 0 || b[0]&0xf0 != 0x90 && b[0] != 0xdc && b[0] != 0xdd {
		return NoName
	}
	end, _, err := head(b, at)
	if err != nil {
		return NoName
	}
	text, _ := bytesAt(b, at, end)
	if len(text) > protocol.MaxName || protocol.CheckName("name", string(text)) != nil {
		return NoName
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

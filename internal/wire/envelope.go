package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/chimejobs/chime/internal/protocol"
)

// Version is the first byte of every body. A later version may change the layout after it, with one exception: a msgpack array
// follows, and its first element is the job's name. A store uses the byte 0 for marks of its own.
const Version = 1

// ExpiringVersion is the first byte of the body of a job that expires. Programs that do not know the instant of its expiry must not read the body,
// because they would run the job after that instant. Apart from this byte it is a body of Version with one more element, which Version allows too.
const ExpiringVersion = 2

// SealedFlag is added to the version of a body whose secrets are sealed: see Envelope.Sealed. Programs that do not know it read a newer version.
const SealedFlag = 16

// NoName replaces a name that is unreadable or invalid. No handler can have it, so the job is parked.
const NoName = "?"

const (
	maxErrorText = 1 << 10
	maxStackText = 4 << 10
)

// ErrNewerVersion means that a newer chime wrote the body. The envelope then has the job's name, or NoName, and nothing else.
var ErrNewerVersion = errors.New("written by a newer version")

// An Envelope is a job as the store keeps it, without ID, crashes and fence, which the store keeps separately. It is stored as the
// array [name, payload, planned (Unix ms or nil), max attempts, timeout in ms, failures, schedule, last error, stack, details]. The array
// ends after the last element that is not zero, and has at least three elements. If the job expires, the version is ExpiringVersion, and the
// last element is the instant in Unix ms, always in nine bytes: scripts write it and change the version (see scripts/lib/expiry.lua).
//
// If Sealed is set, the payload is sealed, and Details.Sealed contains the texts of its errors. Payload is nil, and LastError, Stack and the texts of
// Details.Failures are empty, except what chime itself has written since. Bodies inside Details are sealed each by itself. Encode keeps what is sealed.
type Envelope struct {
	Name        string
	Payload     []byte
	Sealed      []byte        // nil: nothing is sealed; it is stored in place of the payload
	Planned     time.Time     // milliseconds; zero: unknown
	MaxAttempts int           // 0: the worker's
	Timeout     time.Duration // milliseconds, rounded up; 0: the handler's
	Failures    int           // attempt = failures + 1
	Schedule    string        // empty: the job was enqueued
	LastError   string        // cut to 1 KiB, control characters except line ends and tabs escaped
	Stack       string        // cut to 4 KiB, control characters except line ends and tabs escaped
	Details     *Details      // nil: none
	Expires     time.Time     // milliseconds; if the job has not begun by then it ends; zero: it does not expire
}

// Due returns when the job was first due.
func (e *Envelope) Due() time.Time {
	if e.Details == nil {
		return e.Planned
	}
	return e.Planned.Add(e.Details.Offset)
}

// Follows reports whether the job was added because another one has ended.
func (e *Envelope) Follows() bool {
	return e.Details != nil && (e.Details.Death != nil || e.Details.Prior != nil)
}

// Encode returns the body, in newly allocated memory.
func (e *Envelope) Encode() []byte {
	clean := *e
	clean.LastError = PrintableLines(e.LastError, maxErrorText)
	clean.Stack = PrintableLines(e.Stack, maxStackText)
	details := clean.details()
	return clean.appendTo(make([]byte, 0, clean.room()+len(details)), details)
}

// fields returns the number of elements of the array.
func (e *Envelope) fields() int {
	switch {
	case !e.Expires.IsZero():
		return 11
	case e.Details != nil:
		return 10
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

// details returns the last element.
func (e *Envelope) details() []byte {
	switch {
	case e.Details != nil:
		return e.Details.encode()
	case !e.Expires.IsZero():
		return []byte{0x80} // an empty map
	}
	return nil
}

// room returns an upper bound of the body's length without its details.
func (e *Envelope) room() int {
	if e.fields() == 3 {
		return 22 + len(e.Name) + len(e.Payload) + len(e.Sealed)
	}
	return 64 + len(e.Name) + len(e.Payload) + len(e.Sealed) + len(e.Schedule) + len(e.LastError) + len(e.Stack)
}

// appendTo appends the body. The envelope's texts must be printable; details is its last element.
func (e *Envelope) appendTo(b, details []byte) []byte {
	fields, version, payload := e.fields(), byte(Version), e.Payload
	if fields > 10 {
		version = ExpiringVersion
	}
	if e.Sealed != nil {
		version, payload = version|SealedFlag, e.Sealed
	}
	b = appendBinary(appendText(appendArray(append(b, version), fields), e.Name), payload)
	if e.Planned.IsZero() {
		b = append(b, 0xc0)
	} else {
		b = appendNumber(b, e.Planned.UnixMilli())
	}
	if fields > 3 {
		b = appendNumber(b, int64(e.MaxAttempts))
	}
	if fields > 4 {
		b = appendNumber(b, ceilMillis(e.Timeout))
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
	if fields > 9 {
		b = appendBinary(b, details)
	}
	if fields > 10 {
		b = binary.BigEndian.AppendUint64(append(b, 0xcf), uint64(e.Expires.UnixMilli()))
	}
	return b
}

// Bodies holds the bodies of many envelopes in one piece of memory, which is reused once the store has them.
type Bodies struct{ b []byte }

// Add returns the body of an envelope, whose texts must be printable. Appending to it changes no other body.
func (m *Bodies) Add(e *Envelope) []byte {
	details := e.details()
	if need := e.room() + len(details); need > cap(m.b)-len(m.b) { // earlier bodies remain in the old memory
		m.b = make([]byte, 0, max(need, min(2*cap(m.b), protocol.MaxBytes)))
	}
	from := len(m.b)
	m.b = e.appendTo(m.b, details)
	return m.b[from:len(m.b):len(m.b)]
}

// Reset forgets the bodies. It keeps their memory for reuse if that is at most limit bytes.
func (m *Bodies) Reset(limit int) {
	if m.b = m.b[:0]; cap(m.b) > limit {
		m.b = nil
	}
}

// Forget releases the memory without reuse, because a call may still read it.
func (m *Bodies) Forget() { m.b = nil }

// DecodeEnvelope reads a body, which may be any bytes. The payload shares its memory. An invalid name becomes NoName, and elements
// after the known ones are ignored. Every error except ErrNewerVersion is permanent.
func DecodeEnvelope(body []byte) (Envelope, error) {
	var e Envelope
	err := e.Decode(body, nil)
	return e, err
}

// Decode reads a body as DecodeEnvelope does. It takes the name's string from names if it is there, which avoids an allocation.
func (e *Envelope) Decode(body []byte, names map[string]string) error {
	if len(body) == 0 {
		*e = Envelope{Name: NoName}
		return errors.New("body is empty")
	}
	version, sealed := body[0]&^SealedFlag, body[0]&SealedFlag != 0
	if version > ExpiringVersion {
		*e = Envelope{Name: newerName(body[1:])}
		return ErrNewerVersion
	}
	*e = Envelope{Name: NoName}
	known := 10
	switch version {
	case Version:
	case ExpiringVersion:
		known++
	default:
		return fmt.Errorf("body has version %d", body[0])
	}
	body = body[1:]
	if err := walk(body, nil); err != nil {
		return err
	}
	at, fields, _ := head(body, 0)
	if body[0]&0xf0 != 0x90 && body[0] != 0xdc && body[0] != 0xdd || fields < 3 {
		return errors.New("body is not an array of a name, a payload and an instant")
	}
	for field := range min(fields, known) {
		end, inside, _ := head(body, at)
		if inside > 0 || !e.set(field, body, at, end, names) {
			return fmt.Errorf("body: element %d of the array has the wrong type or is out of range", field)
		}
		at = end
	}
	if sealed {
		if e.Sealed, e.Payload = e.Payload, nil; e.Sealed == nil {
			return errors.New("body: its payload is sealed and empty")
		}
	}
	return nil
}

// set sets the field of one element of the array from body[at:end]. It returns false if the value has the wrong type or is out of
// range.
func (e *Envelope) set(field int, body []byte, at, end int, names map[string]string) bool {
	switch field {
	case 2, 3, 4, 5, 10:
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
		if len(text) > protocol.MaxID {
			return false
		}
		e.Schedule = string(text)
	case 7:
		e.LastError = PrintableLines(string(text[:min(len(text), 4*maxErrorText)]), maxErrorText)
	case 8:
		e.Stack = PrintableLines(string(text[:min(len(text), 4*maxStackText)]), maxStackText)
	case 9:
		details, err := decodeDetails(text)
		e.Details = details
		return err == nil
	}
	return true
}

func (e *Envelope) setNumber(field int, n int64) bool {
	switch field {
	case 2:
		e.Planned = time.UnixMilli(n).UTC()
		return validInstant(n)
	case 3:
		e.MaxAttempts = int(n)
	case 4:
		e.Timeout = time.Duration(n) * time.Millisecond
		return validDelay(n)
	case 5:
		e.Failures = int(n)
	case 10:
		e.Expires = time.UnixMilli(n).UTC()
		return validInstant(n)
	}
	return n >= 0 && n < 1<<31
}

// newerName reads the name from the array of a newer version.
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

// Printable cuts a text for one line of a log to at most limit bytes and escapes characters that are not printable.
func Printable(s string, limit int) string { return printable(s, limit, false) }

// PrintableLines cuts a text of one or more lines to at most limit bytes and escapes characters that are not printable, except line ends and tabs. A
// line end is "\n": "\r\n" becomes that.
func PrintableLines(s string, limit int) string { return printable(s, limit, true) }

// ErrorText returns the text of an error as an envelope stores it.
func ErrorText(err error) string {
	return PrintableLines(fmt.Sprint(err), maxErrorText) // fmt recovers if the Error method panics
}

// printable cuts s to at most limit bytes and escapes invalid UTF-8 and every character that is not printable. With lines, it keeps
// line ends and tabs.
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
		case lines && r == '\r' && i+1 < len(s) && s[i+1] == '\n':
			piece = nil
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

package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// The limits of a value. A store may hold any bytes, and a msgpack decoder trusts the lengths that it reads: five bytes make it
// allocate gigabytes, and a few megabytes of nested arrays overflow its stack. So walk checks every value before it is decoded.
const (
	maxDepth  = 64
	maxValues = 1 << 20
)

var (
	errShort    = errors.New("msgpack: ends too early")
	errTrailing = errors.New("msgpack: bytes after the end")
	errTooDeep  = fmt.Errorf("msgpack: nested deeper than %d", maxDepth)
	errTooMany  = fmt.Errorf("msgpack: more than %d values", maxValues)
)

// A span is the part [from:to] of a body.
type span struct{ from, to int }

// walk checks that b is exactly one msgpack value, that it is within maxDepth and maxValues, and that its lengths fit into b. The
// timestamp is the only extension that it accepts. If found is not nil, walk notes there what it finds.
func walk(b []byte, found *scan) error {
	var left [maxDepth]int // values still to come in each open array and map
	depth, at := 0, 0
	for count := 1; ; count++ {
		if count > maxValues {
			return errTooMany
		}
		end, inside, err := head(b, at)
		if err != nil {
			return err
		}
		if found != nil {
			switch code := b[at]; {
			case code <= 0x7f:
				found.most = max(found.most, uint64(code))
			case code >= 0x90 && code <= 0x9f || code >= 0xc0: // neither a map nor a short text
				found.note(b, at, end, inside)
			}
		}
		at = end
		if inside > 0 {
			if depth == maxDepth {
				return errTooDeep
			}
			left[depth] = inside
			depth++
			continue
		}
		for depth > 0 {
			left[depth-1]--
			if left[depth-1] > 0 {
				break
			}
			depth--
		}
		if depth == 0 {
			break
		}
	}
	if at != len(b) {
		return errTrailing
	}
	return nil
}

// head reads the value that begins at b[at]. It returns the end of the value's own bytes and the number of values inside it. Each
// of those takes at least a byte, so head refuses a count that is larger than the rest of b.
func head(b []byte, at int) (end, inside int, err error) {
	if at >= len(b) {
		return 0, 0, errShort
	}
	code, rest := b[at], b[at+1:]
	var (
		width  int    // of the length or count after the code, in bytes
		length uint64 // of the value's data, in bytes
		values uint64 // inside the value
	)
	switch {
	case code <= 0x7f, code >= 0xe0, code == 0xc0, code == 0xc2, code == 0xc3:
	case code <= 0x8f:
		values = 2 * uint64(code&0x0f)
	case code <= 0x9f:
		values = uint64(code & 0x0f)
	case code <= 0xbf:
		length = uint64(code & 0x1f)
	case code >= 0xc4 && code <= 0xc6: // bin
		width = 1 << (code - 0xc4)
	case isExt(code):
		return headTimestamp(b, at)
	case code == 0xca:
		length = 4
	case code == 0xcb:
		length = 8
	case code >= 0xcc && code <= 0xcf: // uint
		length = 1 << (code - 0xcc)
	case code >= 0xd0 && code <= 0xd3: // int
		length = 1 << (code - 0xd0)
	case code >= 0xd9 && code <= 0xdb: // str
		width = 1 << (code - 0xd9)
	case code >= 0xdc && code <= 0xdf: // array, map
		width = 2 << (code & 1)
	default:
		return 0, 0, fmt.Errorf("msgpack: no value begins with %#x", code)
	}
	if len(rest) < width {
		return 0, 0, errShort
	}
	var n uint64
	switch width {
	case 1:
		n = uint64(rest[0])
	case 2:
		n = uint64(binary.BigEndian.Uint16(rest))
	case 4:
		n = uint64(binary.BigEndian.Uint32(rest))
	}
	switch {
	case width > 0 && code >= 0xde:
		values = 2 * n
	case width > 0 && code >= 0xdc:
		values = n
	case width > 0:
		length = n
	}
	if remaining := uint64(len(rest) - width); length > remaining || values > remaining {
		return 0, 0, errShort
	}
	return at + 1 + width + int(length), int(values), nil
}

func isExt(code byte) bool { return code >= 0xc7 && code <= 0xc9 || code >= 0xd4 && code <= 0xd8 }

// headTimestamp is head for an extension. It accepts timestamps only: type -1 with 4, 8 or 12 bytes of data.
func headTimestamp(b []byte, at int) (end, inside int, err error) {
	rest := b[at:]
	switch {
	case len(rest) < 3:
		return 0, 0, errShort
	case rest[0] == 0xd6 && rest[1] == 0xff:
		end = at + 2 + 4
	case rest[0] == 0xd7 && rest[1] == 0xff:
		end = at + 2 + 8
	case rest[0] == 0xc7 && rest[1] == 12 && rest[2] == 0xff:
		end = at + 3 + 12
	default:
		return 0, 0, fmt.Errorf("msgpack: %#x begins an extension that is not a timestamp", rest[0])
	}
	if end > len(b) {
		return 0, 0, errShort
	}
	return end, 0, nil
}

func appendArray(b []byte, n int) []byte {
	return append(b, 0x90|byte(n)) // at most 15
}

func appendText(b []byte, s string) []byte {
	switch n := len(s); {
	case n < 32:
		b = append(b, 0xa0|byte(n))
	case n <= math.MaxUint8:
		b = append(b, 0xd9, byte(n))
	case n <= math.MaxUint16:
		b = binary.BigEndian.AppendUint16(append(b, 0xda), uint16(n))
	default:
		b = binary.BigEndian.AppendUint32(append(b, 0xdb), uint32(n))
	}
	return append(b, s...)
}

func appendBinary(b, p []byte) []byte {
	switch n := len(p); {
	case n <= math.MaxUint8:
		b = append(b, 0xc4, byte(n))
	case n <= math.MaxUint16:
		b = binary.BigEndian.AppendUint16(append(b, 0xc5), uint16(n))
	default:
		b = binary.BigEndian.AppendUint32(append(b, 0xc6), uint32(n))
	}
	return append(b, p...)
}

func appendNumber(b []byte, n int64) []byte {
	switch {
	case n < 0:
		return binary.BigEndian.AppendUint64(append(b, 0xd3), uint64(n))
	case n <= 0x7f:
		return append(b, byte(n))
	case n <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(b, 0xcd), uint16(n))
	case n <= math.MaxUint32:
		return binary.BigEndian.AppendUint32(append(b, 0xce), uint32(n))
	}
	return binary.BigEndian.AppendUint64(append(b, 0xcf), uint64(n))
}

// bytesAt returns the bytes of the string or binary in b[at:end]; false: it is another type.
func bytesAt(b []byte, at, end int) ([]byte, bool) {
	switch code := b[at]; {
	case code >= 0xa0 && code <= 0xbf:
		return b[at+1 : end : end], true
	case code == 0xc4, code == 0xd9:
		return b[at+2 : end : end], true
	case code == 0xc5, code == 0xda:
		return b[at+3 : end : end], true
	case code == 0xc6, code == 0xdb:
		return b[at+5 : end : end], true
	}
	return nil, false
}

// numberAt returns the integer in b[at:end]; false: it is not an integer, or does not fit into an int64.
func numberAt(b []byte, at, end int) (int64, bool) {
	code := b[at]
	switch {
	case code <= 0x7f, code >= 0xe0:
		return int64(int8(code)), true
	case code < 0xcc, code > 0xd3:
		return 0, false
	}
	var n uint64
	for _, c := range b[at+1 : end] {
		n = n<<8 | uint64(c)
	}
	if code <= 0xcf {
		return int64(n), n <= math.MaxInt64
	}
	unused := 64 - 8*(end-at-1)
	return int64(n<<unused) >> unused, true
}

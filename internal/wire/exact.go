package wire

import (
	"encoding/binary"
	"errors"
	"math"
	"reflect"
	"sync"
)

// The msgpack library cuts a whole number to the width of its target, and reads an array into the fields of a struct by their order. Both change
// values without an error. A scan of the payload and the extent of the target's type show whether this could happen; only then fits compares
// each value with its target.

// A scan has what walk has found in a payload.
type scan struct {
	exts    []span // the data of its timestamps
	least   int64  // of the whole numbers in it, or 0
	most    uint64
	lengths uint64 // of its arrays: bit n for n elements, bit 63 for 63 or more
}

// note notes the value in b[at:end], unless it is a number below 128.
func (s *scan) note(b []byte, at, end, inside int) {
	switch code := b[at]; {
	case isExt(code):
		size := 4
		switch code {
		case 0xc7:
			size = 12
		case 0xd7:
			size = 8
		}
		s.exts = append(s.exts, span{end - size, end})
	case isArray(code):
		s.lengths |= 1 << min(inside, 63)
	case code == 0xcf:
		s.most = max(s.most, binary.BigEndian.Uint64(b[at+1:]))
	case code >= 0xcc && code <= 0xd3, code >= 0xe0:
		n, _ := numberAt(b, at, end)
		s.least, s.most = min(s.least, n), max(s.most, uint64(max(n, 0)))
	}
}

// An extent is the range of values that every whole number, float and struct of a type can hold.
type extent struct {
	least     int64
	most      uint64
	lengths   uint64 // of arrays that could be taken for a struct: as in scan
	recursive bool   // the library would overflow the stack
}

var extents sync.Map // reflect.Type -> *extent

func extentOf(t reflect.Type) *extent {
	if known, ok := extents.Load(t); ok {
		return known.(*extent)
	}
	e := &extent{least: math.MinInt64, most: math.MaxUint64}
	e.add(t, map[reflect.Type]bool{})
	extents.Store(t, e)
	return e
}

func (e *extent) add(t reflect.Type, visited map[reflect.Type]bool) {
	if visited[t] || t.Kind() != reflect.Pointer && reads(t) {
		return
	}
	visited[t] = true
	limit := func(least int64, most uint64) { e.least, e.most = max(e.least, least), min(e.most, most) }
	switch t.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		limit(math.MinInt64>>(64-t.Bits()), math.MaxInt64>>(64-t.Bits()))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		limit(0, math.MaxUint64>>(64-t.Bits()))
	case reflect.Float32:
		limit(-1<<24, 1<<24)
	case reflect.Float64:
		limit(-exactFloat, exactFloat)
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() != reflect.Uint8 { // else it is decoded from binary data
			e.add(t.Elem(), visited)
		}
	case reflect.Pointer:
		e.add(t.Elem(), visited)
	case reflect.Map:
		e.add(t.Key(), visited)
		e.add(t.Elem(), visited)
	case reflect.Struct:
		fs := fieldsOf(t)
		e.recursive = e.recursive || fs.recursive
		if !fs.asArray {
			e.lengths |= 1 | 1<<min(len(fs.list), 63)
		}
		for i := range fs.list {
			e.add(fs.list[i].typ, visited)
		}
	}
}

var (
	errMisfit    = errors.New("a value that does not fit its target")
	errRecursive = errors.New("a struct that embeds itself")
)

// check returns an error if the library would change a value of a payload that walk has scanned, or would overflow the stack.
func (e *extent) check(s *scan, payload []byte, t reflect.Type) error {
	if e.recursive {
		return errRecursive
	}
	if s.least >= e.least && s.most <= e.most && s.lengths&e.lengths == 0 {
		return nil
	}
	if _, ok := fits(payload, 0, t); !ok {
		return errMisfit
	}
	return nil
}

// fits reports whether the value that begins at b[at] can be decoded into a type so that no number and no place changes. The decoder finds other
// mismatches. end is the end of the value.
func fits(b []byte, at int, t reflect.Type) (end int, ok bool) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	end, inside, _ := head(b, at)
	switch code := b[at]; {
	case inside == 0 && !isWhole(code) && !isArray(code):
		return end, true
	case t.Kind() == reflect.Interface || readsItself(t):
		return endOf(b, at), true
	case isWhole(code):
		return end, holds(b, at, end, t)
	case isArray(code):
		return fitsArray(b, end, inside, t)
	case code >= 0x80 && code <= 0x8f, code == 0xde, code == 0xdf:
		return fitsMap(b, end, inside, t)
	}
	return end, true
}

var readers sync.Map // reflect.Type -> what reads returns

func readsItself(t reflect.Type) bool {
	known, ok := readers.Load(t)
	if !ok {
		known, _ = readers.LoadOrStore(t, reads(t))
	}
	return known.(bool)
}

func isWhole(code byte) bool { return code <= 0x7f || code >= 0xcc && code <= 0xd3 || code >= 0xe0 }

func isArray(code byte) bool { return code >= 0x90 && code <= 0x9f || code == 0xdc || code == 0xdd }

func fitsArray(b []byte, at, length int, t reflect.Type) (end int, ok bool) {
	if t.Kind() == reflect.Struct && !fieldsOf(t).asArray {
		return at, false
	}
	for i := range length {
		switch kind := t.Kind(); {
		case kind == reflect.Slice || kind == reflect.Array:
			at, ok = fits(b, at, t.Elem())
		case kind == reflect.Struct && i < len(fieldsOf(t).list):
			at, ok = fits(b, at, fieldsOf(t).list[i].typ)
		default:
			at, ok = endOf(b, at), true
		}
		if !ok {
			return at, false
		}
	}
	return at, true
}

func fitsMap(b []byte, at, values int, t reflect.Type) (end int, ok bool) {
	for range values / 2 {
		var value reflect.Type // nil: the value is ignored
		ok = true
		switch key := at; t.Kind() {
		case reflect.Map:
			at, ok = fits(b, at, t.Key())
			value = t.Elem()
		case reflect.Struct:
			at = endOf(b, at)
			name, _ := bytesAt(b, key, at)
			if i, known := fieldsOf(t).byName[string(name)]; known {
				value = fieldsOf(t).list[i].typ
			}
		default:
			at = endOf(b, at)
		}
		if value == nil {
			at = endOf(b, at)
		} else if ok {
			at, ok = fits(b, at, value)
		}
		if !ok {
			return at, false
		}
	}
	return at, true
}

// holds reports whether a type can hold the whole number in b[at:end]. It is true for all types that are not numbers.
func holds(b []byte, at, end int, t reflect.Type) bool {
	n, signed := numberAt(b, at, end) // !signed: it is above every int64
	switch t.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		unused := 64 - t.Bits()
		return signed && n<<unused>>unused == n
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		unused := 64 - t.Bits()
		return (n >= 0 || !signed) && uint64(n)<<unused>>unused == uint64(n)
	case reflect.Float32:
		return signed && n != math.MaxInt64 && int64(float32(n)) == n
	case reflect.Float64:
		return signed && n != math.MaxInt64 && int64(float64(n)) == n
	}
	return true
}

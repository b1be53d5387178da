package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/chimejobs/chime/internal/protocol"
)

// MaxEncoded is the largest payload of Encode and EncodeStable, in bytes. An enqueuer has a limit of its own.
const MaxEncoded = 64 << 20

// ErrPayloadTooLarge means that the encoded arguments are longer than the limit.
var ErrPayloadTooLarge = errors.New("payload too large")

// Encode returns the payload of v, in newly allocated memory.
func Encode(v any) ([]byte, error) {
	payload, buf, err := EncodeTo(v, MaxEncoded)
	if buf != nil {
		payload = bytes.Clone(payload)
		buf.Release()
	}
	return payload, err
}

// EncodeStable is Encode with the keys of all maps sorted, so equal arguments give equal bytes.
func EncodeStable(v any) ([]byte, error) {
	payload, buf, err := EncodeTo(v, MaxEncoded)
	if buf == nil || err != nil {
		return payload, err
	}
	sorted := Stable(payload, true)
	buf.Release()
	return sorted, nil
}

// Stable returns a payload of EncodeTo in the form of EncodeStable: one that was encoded here, in newly allocated memory; any other one unchanged.
func Stable(payload []byte, encoded bool) []byte {
	if !encoded {
		return payload
	}
	sorted, _ := appendSorted(make([]byte, 0, len(payload)), payload, 0)
	return sorted
}

// EncodeTo returns the payload of v, of at most limit bytes. If buf is not nil, the payload is in its memory until it is released.
//
// It is msgpack, or else JSON if msgpack would lose a part of v and JSON keeps all of it. If neither keeps it, v is refused.
func EncodeTo(v any, limit int) (payload []byte, buf *encodeBuffer, err error) {
	switch raw := v.(type) {
	case nil:
		return nil, nil, nil
	case []byte:
		payload = raw
	case json.RawMessage:
		payload, err = rawJSON(raw)
	case *json.RawMessage:
		if raw == nil {
			return nil, nil, nil
		}
		payload, err = rawJSON(*raw)
	default:
		stored := v
		buf = encodeBuffers.Get().(*encodeBuffer)
		if t := reflect.TypeOf(v); t != buf.sure {
			var asJSON bool
			if stored, asJSON, err = formatOf(v); err != nil || asJSON {
				buf.Release()
				buf = nil
				if err == nil {
					payload, err = encodeJSON(stored)
				}
				break
			}
			if !isDoubtful(t) {
				buf.sure = t
			}
		}
		if err = buf.encode(stored, limit); err != nil {
			return nil, nil, refused(v, err) // buf is not used again: its encoder may be in the middle of a value
		}
		return buf.b, buf, nil
	}
	if err == nil && len(payload) > limit {
		err = TooLarge(len(payload), limit)
	}
	if err != nil {
		return nil, nil, err
	}
	return payload, nil, nil
}

// formatOf returns whether a value is stored as JSON, and the value itself, or a pointer to a copy of it if that is necessary to call its methods.
func formatOf(v any) (stored any, asJSON bool, err error) {
	if _, is := v.(error); is && !encodes(reflect.TypeOf(v)) {
		return nil, false, protocol.Invalid("args", fmt.Sprintf("%T", v), "a value that can be stored: of an error its text")
	}
	if !isDoubtful(reflect.TypeOf(v)) {
		return v, false, nil
	}
	of := reflect.ValueOf(v)
	if t := of.Type(); t.Kind() == reflect.Struct || t.Kind() == reflect.Array {
		of = reflect.New(t).Elem()
		of.Set(reflect.ValueOf(v))
		stored = of.Addr().Interface()
	} else {
		stored = v
	}
	if new(walker).keeps(of, 0) {
		return stored, false, nil
	}
	if found := new(walker).jsonLoses(of, false, 0); found != nil {
		of := found.typ.String()
		if found.place == "" {
			of = fmt.Sprintf("%T", v)
		}
		return nil, false, protocol.Invalid("args"+found.place, of, found.want)
	}
	return stored, true, nil
}

// rawJSON returns the payload of JSON text. JSON of one digit is also a number in msgpack, and it would be another one; so a blank is stored before
// it.
func rawJSON(text []byte) ([]byte, error) {
	switch {
	case len(text) == 0:
		return nil, nil
	case isDigit(text):
		return []byte{' ', text[0]}, nil
	case !json.Valid(text):
		return nil, protocol.Invalid("args", strconv.Itoa(len(text))+" bytes", "JSON in a json.RawMessage; []byte may have any bytes")
	}
	return text, nil
}

func isDigit(payload []byte) bool {
	return len(payload) == 1 && payload[0] >= '0' && payload[0] <= '9'
}

func encodeJSON(v any) (payload []byte, err error) {
	defer recovered(&err)
	text, err := json.Marshal(v)
	if err != nil {
		return nil, refused(v, err)
	}
	return rawJSON(text)
}

// refused turns the error of an encoder into an *protocol.InvalidError.
func refused(v any, err error) error {
	if invalid := (*protocol.InvalidError)(nil); errors.As(err, &invalid) {
		return err
	}
	return protocol.Wrapping(protocol.Invalid("args", fmt.Sprintf("%T", v), "what can be encoded"), err)
}

// TooLarge returns a *protocol.InvalidError that wraps ErrPayloadTooLarge and has both sizes.
func TooLarge(size, limit int) error { return tooLarge(strconv.Itoa(size)+" bytes", limit) }

func tooLarge(size string, limit int) error {
	return protocol.Wrapping(protocol.Invalid("args", size, fmt.Sprintf("at most %d bytes", limit)), ErrPayloadTooLarge)
}

// An encodeBuffer receives the output of an encoder. It stops the encoder at the limit, and soon after the value has become too deep: a
// value that contains itself would overflow the stack, which ends the process.
type encodeBuffer struct {
	encoder   *msgpack.Encoder
	b         []byte
	limit     int
	nextCheck int          // length at which the depth is next checked
	sure      reflect.Type // the last type of which msgpack keeps every value
}

var errNoEncoding = errors.New("a part of it has no encoding")

const firstCheck = 4 << 10

var encodeBuffers = sync.Pool{New: func() any {
	e := &encodeBuffer{}
	e.encoder = msgpack.NewEncoder(e)
	e.encoder.SetCustomStructTag("json")
	e.encoder.UseCompactInts(true)
	return e
}}

func (e *encodeBuffer) Release() {
	if cap(e.b) <= 64<<10 {
		encodeBuffers.Put(e)
	}
}

func (e *encodeBuffer) encode(v any, limit int) (err error) {
	defer recovered(&err)
	e.b, e.limit, e.nextCheck = e.b[:0], limit, firstCheck
	if err := e.encoder.Encode(v); err != nil {
		if strings.HasPrefix(err.Error(), "msgpack: Encode(") {
			return errNoEncoding // the library's words mean nothing to the caller
		}
		return err
	}
	return walk(e.b, nil)
}

func (e *encodeBuffer) Write(p []byte) (int, error) {
	if len(e.b)+len(p) > e.limit {
		return 0, tooLarge("more", e.limit)
	}
	e.b = append(e.b, p...)
	if len(e.b) < e.nextCheck {
		return len(p), nil
	}
	e.nextCheck = 2 * len(e.b)
	if err := walk(e.b, nil); err == errTooDeep || err == errTooMany {
		return 0, err
	}
	return len(p), nil
}

func (e *encodeBuffer) WriteByte(c byte) error {
	_, err := e.Write([]byte{c})
	return err
}

// recovered turns a panic, for example of a user's own marshaller, into an error.
func recovered(err *error) {
	if r := recover(); r != nil {
		*err = panicked{r}
	}
}

// panicked is the error for a panic.
type panicked struct{ value any }

func (p panicked) Error() string { return fmt.Sprintf("panic: %v", p.value) }

// A DecodeError explains why a payload cannot be decoded: the fault and its place, but never the value, because it may be secret and the text
// is logged and stored. It is permanent: decoding the same payload again fails too.
type DecodeError struct {
	text string
	err  error // of the decoder, for errors.Is; it may contain the value
}

func (e *DecodeError) Error() string { return e.text }

func (e *DecodeError) Unwrap() error { return e.err }

// Decode reads a payload into v, which must be a pointer that is not nil. A *DecodeError is permanent; any other error is about v.
func Decode(payload []byte, v any) error {
	if target := reflect.ValueOf(v); target.Kind() != reflect.Pointer || target.IsNil() {
		return fmt.Errorf("chime: %w", protocol.Invalid("target of Decode", fmt.Sprintf("%T", v), "a pointer that is not nil"))
	}
	if len(payload) == 0 {
		return nil
	}
	switch v := v.(type) {
	case *[]byte:
		*v = bytes.Clone(payload)
		return nil
	case *json.RawMessage:
		if len(payload) == 2 && payload[0] == ' ' && isDigit(payload[1:]) {
			payload = payload[1:] // the blank is of rawJSON
		}
		*v = bytes.Clone(payload)
		return nil
	}
	var err error
	if isJSON(payload) {
		err = decodeJSON(payload, v)
	} else {
		err = decodeMsgpack(payload, v)
	}
	if err == nil {
		return nil
	}
	reason := ""
	if damage := walk(payload, nil); damage != nil && !isJSON(payload) {
		reason = damage.Error()
	} else {
		reason = mismatch(payload, reflect.TypeOf(v).Elem())
	}
	if errors.As(err, new(panicked)) {
		reason += ": its decoder panicked"
	}
	return &DecodeError{text: fmt.Sprintf("chime: decode into %T: %s", v, reason), err: err}
}

// DecodeArgs is Decode for the arguments of a typed handler. An empty payload is an error unless the type of v has a value for nothing: a
// pointer, a slice, a map, an interface or a struct without fields.
func DecodeArgs(payload []byte, v any) error {
	if t := reflect.TypeOf(v).Elem(); len(payload) == 0 && !isOptional(t) {
		return &DecodeError{text: fmt.Sprintf("chime: decode into %T: the payload is empty", v), err: errEmpty}
	}
	return Decode(payload, v)
}

var errEmpty = errors.New("an empty payload")

func isOptional(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Interface:
		return true
	}
	return t.Kind() == reflect.Struct && t.NumField() == 0
}

// isJSON reports whether a payload is JSON text and not msgpack. JSON text begins with a byte below 0x80, which in msgpack is a
// whole value. So only a single digit can be both, and it counts as msgpack: JSON of one digit is stored with a blank before it.
func isJSON(payload []byte) bool {
	return len(payload) > 1 && payload[0] < 0x80 && json.Valid(payload)
}

func decodeJSON(payload []byte, v any) (err error) {
	defer recovered(&err)
	return json.Unmarshal(payload, v)
}

func decodeMsgpack(payload []byte, v any) error {
	r := payloadReaders.Get().(*payloadReader)
	err := r.decode(payload, v)
	if err == nil {
		r.b = nil
		payloadReaders.Put(r)
	}
	return err
}

// A payloadReader is the input of a decoder. A decoder that expects a map misreads an extension as one and continues inside the
// timestamp's data, which walk has not checked. The reader stops it there.
type payloadReader struct {
	decoder *msgpack.Decoder
	b       []byte
	at      int
	exts    []span // data of the timestamps that the decoder has not passed yet
	found   scan
	target  reflect.Type // the last one
	extent  *extent      // of target
}

var errMisread = errors.New("msgpack: a timestamp where another value was expected")

var payloadReaders = sync.Pool{New: func() any {
	r := &payloadReader{}
	r.decoder = msgpack.NewDecoder(r)
	r.decoder.SetCustomStructTag("json")
	r.decoder.UseLooseInterfaceDecoding(true)
	return r
}}

func (r *payloadReader) decode(payload []byte, v any) (err error) {
	defer recovered(&err)
	r.found = scan{exts: r.found.exts[:0]}
	if err := walk(payload, &r.found); err != nil {
		return err
	}
	if target := reflect.TypeOf(v).Elem(); target != r.target {
		r.target, r.extent = target, extentOf(target)
	}
	if err := r.extent.check(&r.found, payload, r.target); err != nil {
		return err
	}
	r.b, r.at, r.exts = payload, 0, r.found.exts
	return r.decoder.Decode(v)
}

func (r *payloadReader) Read(p []byte) (int, error) {
	if r.at == len(r.b) && len(p) > 0 {
		return 0, io.EOF
	}
	n := copy(p, r.b[r.at:])
	r.at += n
	return n, nil
}

// ReadByte reads the first byte of a value, or one of its length; timestamps are read by Read.
func (r *payloadReader) ReadByte() (byte, error) {
	if r.at == len(r.b) {
		return 0, io.EOF
	}
	for len(r.exts) > 0 && r.exts[0].to <= r.at {
		r.exts = r.exts[1:]
	}
	if len(r.exts) > 0 && r.exts[0].from <= r.at {
		return 0, errMisread
	}
	r.at++
	return r.b[r.at-1], nil
}

func (r *payloadReader) UnreadByte() error {
	if r.at == 0 {
		return errors.New("nothing to unread")
	}
	r.at--
	return nil
}

// appendSorted appends the value that begins at b[at], which walk has checked, and returns its end. The entries of its maps
// are in the order of their keys' bytes.
func appendSorted(to, b []byte, at int) ([]byte, int) {
	end, inside, _ := head(b, at)
	code := b[at]
	to = append(to, b[at:end]...)
	if inside == 0 {
		return to, end
	}
	if code >= 0x90 && code <= 0x9f || code == 0xdc || code == 0xdd {
		for range inside {
			to, end = appendSorted(to, b, end)
		}
		return to, end
	}
	type entry struct{ key, whole []byte }
	entries := make([]entry, 0, inside/2)
	for range inside / 2 {
		var key, whole []byte
		key, end = appendSorted(nil, b, end)
		whole, end = appendSorted(key, b, end)
		entries = append(entries, entry{whole[:len(key)], whole})
	}
	slices.SortStableFunc(entries, func(x, y entry) int { return bytes.Compare(x.key, y.key) })
	for _, e := range entries {
		to = append(to, e.whole...)
	}
	return to, end
}

package wire

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"time"
	"unicode/utf8"
)

// View returns a payload, a result or progress as JSON, for people: the values that a handler decodes, in either format. The command, the dashboard
// and the HTTP API show this view. Binary data that is text is shown as text, other binary data in base64, times in UTC, and numbers that JSON does
// not have as text. ok is false if the data has neither format.
func View(data []byte) (text json.RawMessage, ok bool) {
	if isJSON(data) {
		var compact bytes.Buffer
		err := json.Compact(&compact, data)
		return compact.Bytes(), err == nil
	}
	if len(data) == 0 || walk(data, nil) != nil {
		return nil, false
	}
	value, _ := viewAt(data, 0)
	text, err := json.Marshal(value)
	return text, err == nil
}

// viewAt returns the value that begins at b[at], which walk has checked, in types that encoding/json encodes.
func viewAt(b []byte, at int) (value any, end int) {
	end, inside, _ := head(b, at)
	code := b[at]
	switch kind := (msgpackFormat{}).kind(b[at:]); kind {
	case "nil":
		return nil, end
	case "a boolean":
		return code == 0xc3, end
	case "a time":
		return viewTime(b[at:end]), end
	case "a string", "binary data":
		text, _ := bytesAt(b, at, end)
		if kind == "a string" || utf8.Valid(text) {
			return string(text), end
		}
		return text, end
	case "an array":
		items := make([]any, inside)
		for i := range items {
			items[i], end = viewAt(b, end)
		}
		return items, end
	case "a map":
		entries := make(map[string]any, inside/2)
		for range inside / 2 {
			var key any
			key, end = viewAt(b, end)
			entries[viewKey(key)], end = viewAt(b, end)
		}
		return entries, end
	}
	return viewNumber(b, at, end), end
}

// viewKey returns the key of a map as the name of a member of JSON.
func viewKey(key any) string {
	switch key := key.(type) {
	case string:
		return key
	case json.Number:
		return key.String()
	}
	text, _ := json.Marshal(key) // of types that viewAt returns
	return string(text)
}

func viewNumber(b []byte, at, end int) any {
	var f float64
	switch bits := b[at+1 : end]; b[at] {
	case 0xca:
		f = float64(math.Float32frombits(uint32(unsigned(bits))))
	case 0xcb:
		f = math.Float64frombits(unsigned(bits))
	case 0xcf:
		return json.Number(strconv.FormatUint(unsigned(bits), 10))
	default:
		n, _ := numberAt(b, at, end)
		return json.Number(strconv.FormatInt(n, 10))
	}
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return strconv.FormatFloat(f, 'g', -1, 64)
	}
	return f
}

// viewTime reads a timestamp with its head.
func viewTime(b []byte) any {
	switch len(b) {
	case 6:
		return time.Unix(int64(unsigned(b[2:])), 0).UTC().Format(time.RFC3339Nano)
	case 10:
		n := unsigned(b[2:])
		return time.Unix(int64(n&(1<<34-1)), int64(n>>34)).UTC().Format(time.RFC3339Nano)
	}
	return time.Unix(int64(unsigned(b[7:])), int64(unsigned(b[3:7]))).UTC().Format(time.RFC3339Nano)
}

func unsigned(b []byte) (n uint64) {
	for _, c := range b {
		n = n<<8 | uint64(c)
	}
	return n
}

package chime

import (
	"encoding/json"

	"github.com/vmihailenco/msgpack/v5"
)

// Encode turns arguments into a payload.
func Encode(v any) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return nil, nil
	case []byte:
		return v, nil
	case json.RawMessage:
		return v, nil
	}
	return msgpack.Marshal(v)
}

func encodeStable(v any) ([]byte, error) { return Encode(v) }

func decode(payload []byte, v any) error {
	if len(payload) == 0 {
		return nil
	}
	return msgpack.Unmarshal(payload, v)
}

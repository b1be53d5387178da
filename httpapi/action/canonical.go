package action

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// maxStored bounds the bytes to read. It is far above every limit of an action.
const maxStored = 4 << 20 // bytes

// Encode returns the canonical JSON of an action: one line, keys in the order of the structs, keys of maps sorted, no unset fields. Equal
// actions have equal bytes. A secret that is not sealed is an error.
func Encode(a *Action) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(a); err != nil {
		if errors.Is(err, errPlainSecret) {
			err = errPlainSecret // without the types that json adds
		}
		return nil, fmt.Errorf("action: encode: %w", err)
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

// Decode reads canonical JSON only: input that Encode would not write, byte for byte, is refused. So Decode never returns an unknown field, a duplicate
// field or a plain secret that was stored in another way. Its errors contain no value.
func Decode(data []byte) (*Action, error) {
	refused := errors.New("action: decode: this is not an action in canonical JSON")
	if len(data) > maxStored || len(data) == 0 || data[0] != '{' {
		return nil, refused
	}
	var a Action
	if err := json.Unmarshal(data, &a); err != nil {
		return nil, refused
	}
	again, err := Encode(&a)
	if err != nil || !bytes.Equal(again, data) {
		return nil, refused
	}
	return &a, nil
}

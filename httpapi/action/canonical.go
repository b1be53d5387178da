package action

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// maxStored is far above every limit of an action, and bounds what is read.
const maxStored = 4 << 20 // bytes

// Encode is the canonical JSON of an action: one line, keys in the order of the structs and those of maps sorted, nothing that is not set. Equal
// actions have equal bytes. It fails on a secret that is not sealed.
func Encode(a *Action) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(a); err != nil {
		if errors.Is(err, errPlainSecret) {
			err = errPlainSecret // without the path of types
		}
		return nil, fmt.Errorf("action: encode: %w", err)
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

// Decode reads canonical JSON, and nothing else: what Encode would not have written, byte for byte, is refused. So an unknown field, one that stands
// twice or a secret in clear cannot be stored by another way and then be read here. No error has a value.
func Decode(data []byte) (*Action, error) {
	refused := errors.New("action: decode: this is no action in canonical JSON")
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

package protocol

import (
	"encoding/base64"
	"errors"
	"fmt"
)

// ErrSealed means that data are sealed and this program cannot open them. It is a *SealedError.
var ErrSealed = errors.New("sealed")

// A SealedError is why data are not read.
type SealedError struct {
	Key   string // the name of the key that sealed them; empty: not known
	Plain bool   // they are not sealed, and the program refuses such data
	Cause error  // what the codec returned; nil: the program has no codec
}

// Error contains the name of the key.
func (e *SealedError) Error() string {
	switch {
	case e.Plain:
		return "it is not sealed, or a part of it is not, and this program runs only sealed jobs"
	case e.Cause == nil:
		return fmt.Sprintf("%s, and this program has no codec to open it", e.Text())
	}
	return fmt.Sprintf("%s: %v", e.Text(), e.Cause)
}

// Text is shown in place of what is sealed: sealed with key k1.
func (e *SealedError) Text() string {
	if e.Key == "" {
		return "sealed with an unknown key"
	}
	return "sealed with key " + e.Key
}

// Is reports whether target is ErrSealed.
func (e *SealedError) Is(target error) bool { return target == ErrSealed }

// Unwrap returns the cause.
func (e *SealedError) Unwrap() error { return e.Cause }

// maxKeyName is the maximum length of a key's name in bytes.
const maxKeyName = 32

// SealedBy returns the error for data that a program without a codec reads. It knows the key if package chimeseal has sealed them: then they begin with
// 1, the length of the key's name, and the name.
func SealedBy(data []byte) *SealedError {
	if len(data) < 2 || data[0] != 1 || data[1] == 0 || data[1] > maxKeyName || len(data) < 2+int(data[1]) {
		return &SealedError{}
	}
	name := string(data[2 : 2+int(data[1])])
	if CheckName("key", name) != nil {
		return &SealedError{}
	}
	return &SealedError{Key: name}
}

// SealedTextMark begins a sealed text in the history of a schedule. The rest is base64.
const SealedTextMark = "\x1e"

// IsSealedText reports whether a text is a sealed one.
func IsSealedText(text string) bool {
	return len(text) > len(SealedTextMark) && text[:len(SealedTextMark)] == SealedTextMark
}

// ShownText returns a text of the history for people: of a sealed one the name of its key.
func ShownText(text string) string {
	if !IsSealedText(text) {
		return text
	}
	data, err := base64.RawURLEncoding.DecodeString(text[len(SealedTextMark):])
	if err != nil {
		data = nil
	}
	return SealedBy(data).Text()
}

package action

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
)

// A Secret is a text that nobody is shown: plain as a client has sent it, or sealed as it is stored, or none. However it is printed or logged it is
// "(secret)", and a plain one cannot be encoded as JSON.
type Secret struct {
	text   string // plain, or what stands in "$secret"
	sealed bool
}

// Plain is a secret as a client has sent it. An empty text is no secret.
func Plain(text string) Secret { return Secret{text: text} }

const shownSecret = "(secret)"

var errPlainSecret = errors.New("a secret is not sealed")

// IsZero reports whether there is no secret.
func (s Secret) IsZero() bool { return s == Secret{} }

// Stored reports whether it is sealed.
func (s Secret) Stored() bool { return s.sealed }

func (s Secret) plain() bool { return !s.sealed && s.text != "" }

// String is "(secret)", or the empty string of none.
func (s Secret) String() string {
	if s.IsZero() {
		return ""
	}
	return shownSecret
}

// Format prints what String returns, whatever the verb.
func (s Secret) Format(f fmt.State, verb rune) {
	_, _ = fmt.Fprintf(f, fmt.FormatString(f, 's'), s.String())
}

// LogValue is String.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

type storedSecret struct {
	Sealed string `json:"$secret"`
}

// MarshalJSON is the stored form of a sealed secret, {"$secret": "…"}, and null of none. It fails on a plain one.
func (s Secret) MarshalJSON() ([]byte, error) {
	switch {
	case s.IsZero():
		return []byte("null"), nil
	case !s.sealed:
		return nil, errPlainSecret
	}
	return json.Marshal(storedSecret{s.text})
}

// UnmarshalJSON reads the stored form. A client's text is a [Plain] one, and never read here.
func (s *Secret) UnmarshalJSON(data []byte) error {
	*s = Secret{}
	if string(data) == "null" {
		return nil
	}
	var stored storedSecret
	if err := json.Unmarshal(data, &stored); err != nil || stored.Sealed == "" {
		return errors.New("a secret is not stored as one") // err would have the text
	}
	*s = Secret{stored.Sealed, true}
	return nil
}

package action

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
)

// A Secret is a text that is never shown: plain from a client, or sealed as it is stored, or empty. It is always printed and logged as
// "(secret)", and a plain one cannot be encoded as JSON.
type Secret struct {
	text   string // plain, or the content of "$secret"
	sealed bool
}

// Plain is a secret from a client. An empty text is no secret.
func Plain(text string) Secret { return Secret{text: text} }

const shownSecret = "(secret)"

var errPlainSecret = errors.New("a secret is not sealed")

// IsZero reports whether there is no secret.
func (s Secret) IsZero() bool { return s == Secret{} }

// Stored reports whether it is sealed.
func (s Secret) Stored() bool { return s.sealed }

func (s Secret) plain() bool { return !s.sealed && s.text != "" }

// String is "(secret)", or empty if there is no secret.
func (s Secret) String() string {
	if s.IsZero() {
		return ""
	}
	return shownSecret
}

// Format prints String for every verb.
func (s Secret) Format(f fmt.State, verb rune) {
	_, _ = fmt.Fprintf(f, fmt.FormatString(f, 's'), s.String())
}

// LogValue is String.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

type storedSecret struct {
	Sealed string `json:"$secret"`
}

// MarshalJSON returns the stored form of a sealed secret, {"$secret": "…"}, and null for an empty one. A plain secret is an error.
func (s Secret) MarshalJSON() ([]byte, error) {
	switch {
	case s.IsZero():
		return []byte("null"), nil
	case !s.sealed:
		return nil, errPlainSecret
	}
	return json.Marshal(storedSecret{s.text})
}

// UnmarshalJSON reads the stored form. It never reads a client's text: that is a [Plain] one.
func (s *Secret) UnmarshalJSON(data []byte) error {
	*s = Secret{}
	if string(data) == "null" {
		return nil
	}
	var stored storedSecret
	if err := json.Unmarshal(data, &stored); err != nil || stored.Sealed == "" {
		return errors.New("a secret is not in its stored form") // err would contain the text
	}
	*s = Secret{stored.Sealed, true}
	return nil
}

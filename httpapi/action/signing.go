package action

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"encoding/base64"
	"errors"
	"strconv"
	"strings"
	"time"
)

// A Signing is a secret shared with the receiver, who can use it to verify that a request is the sender's and unchanged: Standard Webhooks 1.0,
// symmetric. Each endpoint has its own secret. The signature covers the webhook-id, the webhook-timestamp and the body, but not the other headers.
type Signing struct {
	Secret         Secret `json:"secret"`                  // whsec_ and base64 of 24 to 64 bytes
	PreviousSecret Secret `json:"previousSecret,omitzero"` // also signs while receivers change to Secret
}

const signingPrefix = "whsec_"

// signingKey is the key in a secret.
func signingKey(secret string) ([]byte, error) {
	encoded, ok := strings.CutPrefix(secret, signingPrefix)
	key, err := base64.StdEncoding.DecodeString(encoded)
	if !ok || err != nil || len(key) < 24 || len(key) > 64 {
		return nil, errors.New("want whsec_ and base64 of 24 to 64 bytes")
	}
	return key, nil
}

// messageID is the webhook-id of a job, the same in all attempts. A job's ID may contain dots, which the standard forbids there.
func messageID(jobID string) string {
	sum := sha256.Sum256([]byte(jobID))
	return "msg_" + strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:]))
}

// sign returns the signature's headers for an attempt at an instant.
func (s *Signing) sign(jobID string, at time.Time, body string) (map[string]string, error) {
	id, stamp := messageID(jobID), strconv.FormatInt(at.Unix(), 10)
	var signatures []string
	for _, secret := range []Secret{s.Secret, s.PreviousSecret} {
		if secret.IsZero() {
			continue
		}
		key, err := signingKey(secret.text)
		if err != nil {
			return nil, err
		}
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(id + "." + stamp + "." + body))
		signatures = append(signatures, "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	}
	return map[string]string{"webhook-id": id, "webhook-timestamp": stamp, "webhook-signature": strings.Join(signatures, " ")}, nil
}

package schedule

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/wire"
)

// A sealed definition has the form SealedForm. Its arguments and the jobs that follow are one sealed value, and leave the rest of the text as it
// is: scripts and programs without the key read the rule, the policies and the names, and place its occurrences.

// specSecrets are the parts of a definition that are sealed.
type specSecrets struct {
	Payload []byte `json:"p,omitempty"`
	OnDone  []byte `json:"d,omitempty"`
	OnDeath []byte `json:"o,omitempty"`
}

var versionField = []byte(`"version":`)

// cutSpec splits a declared or stored definition into what the store writes, and the program's part without its first brace.
func cutSpec(text []byte) (head, spec []byte, err error) {
	at := bytes.Index(text, versionField) // nothing that a user chooses comes before it
	if at < 1 {
		return nil, nil, errors.New("the definition has no version")
	}
	return text[:at], text[at:], nil
}

// Seal returns the body of a declaration with its secrets sealed.
func Seal(body []byte, seal func(plain []byte) ([]byte, error)) ([]byte, error) {
	spec := new(storedSpec)
	if err := json.Unmarshal(body, spec); err != nil {
		return nil, err
	}
	if spec.Sealed != nil {
		return body, nil
	}
	secrets := specSecrets{Payload: spec.payload()}
	if spec.OnDone != nil {
		secrets.OnDone, spec.OnDone.Body = spec.OnDone.Body, nil
	}
	if spec.OnDeath != nil {
		secrets.OnDeath, spec.OnDeath.Body = spec.OnDeath.Body, nil
	}
	plain, err := wire.Encode(secrets)
	if err != nil {
		return nil, err
	}
	if spec.Sealed, err = seal(plain); err != nil {
		return nil, err
	}
	spec.Version, spec.Args, spec.Payload = SealedForm, nil, nil
	return spec.encode()
}

// Open returns a stored definition with its secrets in clear: the text that the store would have if the same schedule had been declared without
// sealing it. A definition that is not sealed is returned unchanged, with sealed false. open is called once, for a sealed one.
func Open(text []byte, open func(sealed []byte) ([]byte, error)) (plain []byte, sealed bool, err error) {
	if !bytes.Contains(text, []byte(`"sealed":"`)) { // most are not
		return text, false, nil
	}
	head, body, err := cutSpec(text)
	if err != nil {
		return text, false, nil // no program can read it
	}
	spec := new(storedSpec)
	if err := json.Unmarshal(append([]byte{'{'}, body...), spec); err != nil || spec.Sealed == nil || spec.Version != SealedForm {
		return text, false, nil // as above, or a newer version wrote it
	}
	encoded, err := open(spec.Sealed)
	if err != nil {
		return text, true, err
	}
	var secrets specSecrets
	if err := wire.Decode(encoded, &secrets); err != nil {
		return text, true, errors.New("the definition's sealed part cannot be read") // the decoder's error may contain the value
	}
	spec.Sealed, spec.Version, spec.Args, spec.Payload = nil, spec.form(), nil, nil // arguments in clear beside sealed ones are not the schedule's
	if spec.OnDone != nil {
		spec.OnDone.Body = secrets.OnDone
	}
	if spec.OnDeath != nil {
		spec.OnDeath.Body = secrets.OnDeath
	}
	if len(secrets.Payload) > 0 {
		spec.setPayload(secrets.Payload)
	}
	if body, err = spec.encode(); err != nil {
		return text, true, err
	}
	return append(bytes.Clone(head), body[1:]...), true, nil
}

// Unchangeable returns why a program does not change a stored definition whose form is newer than the one of its declarations.
func Unchangeable(text []byte) error {
	d, err := Read(text)
	if err == nil && d.Sealed != nil {
		err = protocol.SealedBy(d.Sealed)
	}
	return err
}

// KeepSealed returns the stored text of a sealed definition in the form of a declaration, if its plain text says the same as the declared body; nil: it
// says something else. If anyFirst is set, a difference in whether the schedule runs at its creation does not count.
func KeepSealed(stored, plain, declared []byte, anyFirst bool) []byte {
	_, now, err := cutSpec(plain)
	if err != nil {
		return nil
	}
	_, want, err := cutSpec(declared)
	if err != nil {
		return nil
	}
	if anyFirst {
		now, want = withoutFirst(now), withoutFirst(want)
	}
	if !bytes.Equal(now, want) {
		return nil
	}
	_, spec, err := cutSpec(stored)
	if err != nil {
		return nil
	}
	return append([]byte{'{'}, spec...)
}

// withoutFirst removes what a definition says about a run at its creation. It comes before all fields that a user chooses freely.
func withoutFirst(spec []byte) []byte {
	return bytes.Replace(spec, []byte(`,"noImmediateRun":true`), nil, 1)
}

package action

import (
	"fmt"
	"maps"
	"slices"
)

// HasSecrets reports whether the action or its error action has a secret.
func (a *Action) HasSecrets() bool { return len(a.SecretPaths()) > 0 }

// SecretPaths are the fields of the action and of its error action that hold a secret, as action.request.authentication.password.
func (a *Action) SecretPaths() []string {
	var paths []string
	_ = a.eachSecret(mainPath, func(s slot) (Secret, error) {
		if !s.secret.IsZero() {
			paths = append(paths, s.path)
		}
		return s.secret, nil
	})
	slices.Sort(paths)
	return paths
}

// Public returns a copy without secrets, to be shown. Of secretHeaders and secretQuery the names are left, in JSON with null.
func (a *Action) Public() *Action {
	public := a.Clone()
	_ = public.eachSecret(mainPath, func(slot) (Secret, error) { return Secret{}, nil })
	return public
}

// Seal encrypts the secrets that are plain, for one place. Of old, the action as it is stored there or nil, those that are unchanged keep
// what they were sealed as if the first key has sealed them, so that the same action is stored as the same bytes. The error is [ErrNoKeys], or one of a
// secret that cannot be opened; then the action is as it was.
func (a *Action) Seal(ring *Ring, at Place, old *Action) error {
	before := map[string]Secret{}
	if old != nil {
		_ = old.Clone().eachSecret(mainPath, func(s slot) (Secret, error) {
			before[s.path] = s.secret
			return s.secret, nil
		})
	}
	sealed := a.Clone()
	err := sealed.eachSecret(mainPath, func(s slot) (Secret, error) {
		switch {
		case !s.secret.plain():
			return s.secret, nil
		case ring == nil:
			return Secret{}, ErrNoKeys
		}
		if was := before[s.path]; was.sealed && ring.sealedByFirst(was) {
			if text, err := ring.open(was, at, s.path); err == nil && text == s.secret.text {
				return was, nil
			}
		}
		return ring.seal(s.secret.text, at, s.path), nil
	})
	if err == nil {
		*a = *sealed
	}
	return err
}

// Rekey seals with the first key of the ring what another key has sealed, and reports whether there was anything. The error is that of a secret
// that cannot be opened at its place; then the action is as it was.
func (a *Action) Rekey(ring *Ring, at Place) (changed bool, err error) {
	again := a.Clone()
	err = again.eachSecret(mainPath, func(s slot) (Secret, error) {
		if !s.secret.sealed {
			return s.secret, nil
		}
		text, err := ring.open(s.secret, at, s.path)
		if err != nil {
			return Secret{}, fmt.Errorf("action: %s: %w", s.path, err)
		}
		if ring.sealedByFirst(s.secret) {
			return s.secret, nil
		}
		changed = true
		return ring.seal(text, at, s.path), nil
	})
	if err != nil {
		return false, err
	}
	*a = *again
	return changed, nil
}

// open returns a copy with its secrets plain. Path is where the action is: a sealed secret opens at its own path only.
func (a *Action) open(ring *Ring, at Place, path string) (*Action, error) {
	opened := a.Clone()
	opened.ErrorAction = nil
	err := opened.eachSecret(path, func(s slot) (Secret, error) {
		if !s.secret.sealed {
			return s.secret, nil
		}
		text, err := ring.open(s.secret, at, s.path)
		if err != nil {
			return Secret{}, fmt.Errorf("%s: %w", s.path, err)
		}
		return Plain(text), nil
	})
	return opened, err
}

// Keep takes over from old, the action as it is stored, the secrets that a client has left out, if all is as it was that decides to whom
// they are shown: the type of authentication, whose it is, and where it leads. The others that the action needs are problems, "secret_required".
// Old may be nil.
func (a *Action) Keep(old *Action) []Problem {
	before := map[string]slot{}
	if old != nil {
		a.keepCertificates(old)
		_ = old.Clone().eachSecret(mainPath, func(s slot) (Secret, error) {
			before[s.path] = s
			return s.secret, nil
		})
	}
	var problems []Problem
	_ = a.eachSecret(mainPath, func(s slot) (Secret, error) {
		if !s.secret.IsZero() {
			return s.secret, nil
		}
		was, known := before[s.path]
		switch {
		case known && was.owner == s.owner && !was.secret.IsZero():
			return was.secret, nil
		case s.required && known && !was.secret.IsZero():
			problems = append(problems, Problem{"secret_required", s.path, "", moved})
		case s.required:
			problems = append(problems, Problem{"secret_required", s.path, "", "a secret is needed here"})
		}
		return s.secret, nil
	})
	return problems
}

// CheckKept says which secrets are missing of an action that is old with a change, so that what it does not have was removed: those that it needs, and
// those of old that would be shown to others than before. It is what Keep is for an action that a client has sent whole.
func (a *Action) CheckKept(old *Action) []Problem {
	before := map[string]slot{}
	_ = old.Clone().eachSecret(mainPath, func(s slot) (Secret, error) {
		before[s.path] = s
		return s.secret, nil
	})
	var problems []Problem
	_ = a.eachSecret(mainPath, func(s slot) (Secret, error) {
		switch {
		case s.secret.sealed && before[s.path].owner != s.owner:
			problems = append(problems, Problem{"secret_required", s.path, "", moved})
		case s.secret.IsZero() && s.required:
			problems = append(problems, Problem{"secret_required", s.path, "", "a secret is needed here"})
		}
		return s.secret, nil
	})
	return problems
}

const moved = "give the secret again: where it is sent, or whose it is, has changed"

// keepCertificates takes over the certificates that belong to the keys that Keep takes over: a client who has sent a PFX never saw them.
func (a *Action) keepCertificates(old *Action) {
	if a.Request != nil && old.Request != nil && a.Request.Authentication != nil && old.Request.Authentication != nil {
		a.Request.Authentication.keepCertificate(old.Request.Authentication)
	}
	if a.ErrorAction != nil && old.ErrorAction != nil {
		a.ErrorAction.keepCertificates(old.ErrorAction)
	}
}

// Clone is a copy that shares nothing with the action.
func (a *Action) Clone() *Action {
	if a == nil {
		return nil
	}
	c := *a
	c.Request, c.Job, c.QueueMessage = copied(a.Request), copied(a.Job), copied(a.QueueMessage)
	c.BusQueueMessage, c.BusTopicMessage = a.BusQueueMessage.clone(), a.BusTopicMessage.clone()
	if c.RetryPolicy = copied(a.RetryPolicy); c.RetryPolicy != nil {
		c.RetryPolicy.Count = copied(a.RetryPolicy.Count)
	}
	c.ErrorAction = a.ErrorAction.Clone()
	if r := c.Request; r != nil {
		r.Headers, r.SecretHeaders, r.SecretQuery = maps.Clone(r.Headers), maps.Clone(r.SecretHeaders), maps.Clone(r.SecretQuery)
		r.SuccessCodes, r.Signing = slices.Clone(r.SuccessCodes), copied(r.Signing)
		if r.Authentication = copied(r.Authentication); r.Authentication != nil {
			r.Authentication.Scopes = slices.Clone(r.Authentication.Scopes)
		}
	}
	if c.Job != nil {
		c.Job.Payload = slices.Clone(c.Job.Payload)
	}
	return &c
}

func (m *BusMessage) clone() *BusMessage {
	if m == nil {
		return nil
	}
	c := *m
	c.Authentication, c.Brokered, c.Custom = copied(m.Authentication), copied(m.Brokered), maps.Clone(m.Custom)
	return &c
}

// copied is a pointer to a copy, or nil.
func copied[T any](p *T) *T {
	if p == nil {
		return nil
	}
	c := *p
	return &c
}

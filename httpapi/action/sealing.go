package action

import (
	"fmt"
	"maps"
	"slices"
)

// HasSecrets reports whether the action or its error action has a secret.
func (a *Action) HasSecrets() bool { return len(a.SecretPaths()) > 0 }

// SecretPaths are the fields of the action and of its error action with a secret, such as action.request.authentication.password.
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

// Public returns a copy without secrets, for display. The names of secretHeaders and secretQuery remain, in JSON with null.
func (a *Action) Public() *Action {
	public := a.Clone()
	_ = public.eachSecret(mainPath, func(slot) (Secret, error) { return Secret{}, nil })
	return public
}

// Seal encrypts the plain secrets, for one place. old is the stored action there, or nil: an unchanged secret keeps its sealed form from old if the first key
// has sealed it, so an equal action is stored as equal bytes. The error is [ErrNoKeys], or a secret that cannot be opened; then the action is
// unchanged.
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

// Rekey seals again, with the first key of the ring, the secrets that another key has sealed. It reports whether there were any. The error is a secret
// that cannot be opened at its place; then the action is unchanged.
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

// open returns a copy with plain secrets. path is the path of the action: a sealed secret can be opened at its own path only.
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

// Keep copies from old, the stored action, the secrets that a client has left out, if everything that decides who receives them is unchanged: the
// type of authentication, the identity, and the destination. For other required secrets it returns problems, "secret_required". old may be
// nil.
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

// CheckKept returns the missing secrets of an action that is old with a patch, where a missing secret was removed on purpose: the required ones, and
// those of old that somebody else would now receive. For an action that a client has sent as a whole, use Keep.
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

const moved = "give the secret again, because its destination or identity has changed"

// keepCertificates copies the certificates that belong to the kept keys: a client that has sent a PFX never saw them.
func (a *Action) keepCertificates(old *Action) {
	if a.Request != nil && old.Request != nil && a.Request.Authentication != nil && old.Request.Authentication != nil {
		a.Request.Authentication.keepCertificate(old.Request.Authentication)
	}
	if a.ErrorAction != nil && old.ErrorAction != nil {
		a.ErrorAction.keepCertificates(old.ErrorAction)
	}
}

// Clone returns a deep copy.
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

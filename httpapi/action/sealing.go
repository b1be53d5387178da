package action

import (
	"crypto/sha256"
	"maps"
	"slices"
	"strings"
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

// bindings are what the secrets of an action and of its error action are bound to.
type bindings struct {
	at            Place
	main, onError [sha256.Size]byte
}

// bindings computes the digests of an action and of its error action. It does not depend on the texts of the secrets, but on which there are.
func (a *Action) bindings(at Place) (b bindings, err error) {
	b.at = at
	if b.main, err = a.digest(); err == nil && a.ErrorAction != nil {
		b.onError, err = a.follow().digest()
	}
	return b, err
}

// of is the binding of the secret at a path.
func (b *bindings) of(path string) binding {
	if strings.HasPrefix(path, errorPath+".") {
		return binding{b.at, path, b.onError}
	}
	return binding{b.at, path, b.main}
}

// digest is the SHA-256 of the action's stored bytes, without its error action and without the texts of its secrets.
func (a *Action) digest() (sum [sha256.Size]byte, err error) {
	cut := a.Clone()
	cut.ErrorAction = nil
	_ = cut.eachSecret(mainPath, func(s slot) (Secret, error) {
		if s.secret.IsZero() {
			return s.secret, nil
		}
		return Secret{sealed: true}, nil
	})
	data, err := Encode(cut)
	return sha256.Sum256(data), err
}

// Seal encrypts the plain secrets, for one place and for this action: it may not be changed afterwards. old is the stored action there, or nil. A secret of
// old that the action has kept is sealed again if another part of the action has changed. An unchanged secret of an unchanged action keeps its sealed
// form from old if the first key has sealed it, so an equal action is stored as equal bytes. The error is [ErrNoKeys], or a [*SealedError] for a kept
// secret that cannot be opened; then the action is unchanged.
func (a *Action) Seal(ring *Ring, at Place, old *Action) error {
	if !a.HasSecrets() {
		return nil
	}
	now, err := a.bindings(at)
	if err != nil {
		return err
	}
	then, before := now, map[string]Secret{}
	if old != nil {
		if then, err = old.bindings(at); err != nil {
			return err
		}
		_ = old.Clone().eachSecret(mainPath, func(s slot) (Secret, error) {
			before[s.path] = s.secret
			return s.secret, nil
		})
	}
	sealed := a.Clone()
	err = sealed.eachSecret(mainPath, func(s slot) (Secret, error) {
		was, bound := before[s.path], now.of(s.path)
		fits := then.of(s.path) == bound || was.version() == sealedForPath && ring != nil && ring.seals() == sealedForPath
		switch {
		case s.secret.IsZero() || s.secret.sealed && (s.secret != was || fits):
			return s.secret, nil
		case ring == nil:
			return Secret{}, ErrNoKeys
		case s.secret.sealed:
			text, err := ring.open(was, then.of(s.path))
			if err != nil {
				return Secret{}, &SealedError{s.path, err}
			}
			return ring.seal(text, was.version(), bound), nil
		case was.sealed && fits && ring.byFirst(was):
			if text, err := ring.open(was, then.of(s.path)); err == nil && text == s.secret.text {
				return was, nil
			}
		}
		return ring.seal(s.secret.text, sealedForPath, bound), nil
	})
	if err == nil {
		*a = *sealed
	}
	return err
}

// Rekey seals again, with the first key of the ring and in its version, the secrets that have another key or an older version. It reports whether there
// were any. The error is a [*SealedError] for a secret that cannot be opened at its place; then the action is unchanged.
func (a *Action) Rekey(ring *Ring, at Place) (changed bool, err error) {
	bound, err := a.bindings(at)
	if err != nil {
		return false, err
	}
	again := a.Clone()
	err = again.eachSecret(mainPath, func(s slot) (Secret, error) {
		if !s.secret.sealed {
			return s.secret, nil
		}
		text, err := ring.open(s.secret, bound.of(s.path))
		if err != nil {
			return Secret{}, &SealedError{s.path, err}
		}
		if ring.current(s.secret) {
			return s.secret, nil
		}
		changed = true
		return ring.seal(text, s.secret.version(), bound.of(s.path)), nil
	})
	if err != nil {
		return false, err
	}
	*a = *again
	return changed, nil
}

// Outdated reports whether a secret of the action has another key than the ring's first one, or an older version than the ring seals.
func (a *Action) Outdated(ring *Ring) bool {
	outdated := false
	_ = a.Clone().eachSecret(mainPath, func(s slot) (Secret, error) {
		outdated = outdated || s.secret.sealed && !ring.current(s.secret)
		return s.secret, nil
	})
	return outdated
}

// open returns a copy with plain secrets, without its error action. path is the path of the action: a sealed secret can be opened at its own path only.
func (a *Action) open(ring *Ring, at Place, path string) (*Action, error) {
	opened := a.Clone()
	opened.ErrorAction = nil
	digest, err := opened.digest()
	if err != nil {
		return nil, err
	}
	err = opened.eachSecret(path, func(s slot) (Secret, error) {
		if !s.secret.sealed {
			return s.secret, nil
		}
		text, err := ring.open(s.secret, binding{at, s.path, digest})
		if err != nil {
			return Secret{}, &SealedError{s.path, err}
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

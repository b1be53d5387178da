package seal

import (
	"github.com/chimejobs/chime/internal/wire"
)

// sealJob seals an envelope. What is sealed already does not change. It changes no memory that others may share.
func (s *sealer) sealJob(at holder, e *wire.Envelope) error {
	if e.Sealed != nil {
		return nil
	}
	sealed, err := s.seal(at.args, at.place, e.Payload)
	if err != nil {
		return err
	}
	texts := e.TakeErrors()
	var details wire.Details
	if e.Details != nil {
		details = *e.Details
	}
	if texts != nil {
		if details.Sealed, err = s.seal(at.errors, at.place, texts); err != nil {
			return err
		}
	}
	for _, body := range details.Added() {
		if *body, err = s.sealBody(addedOf(at, *body), *body); err != nil {
			return err
		}
	}
	if details.Death != nil {
		death := *details.Death
		if death.Body, err = s.sealBody(holderOf(death.Queue, death.ID), death.Body); err != nil {
			return err
		}
		details.Death = &death
	}
	if details.Prior != nil {
		prior := *details.Prior
		if prior.Body, err = s.sealBody(holderOf(prior.Queue, prior.ID), prior.Body); err != nil {
			return err
		}
		if prior.Result, err = s.sealResult(place{prior.Queue, prior.ID}, prior.Result); err != nil {
			return err
		}
		details.Prior = &prior
	}
	if e.Details != nil || texts != nil {
		e.Details = &details
	}
	e.Sealed, e.Payload = sealed, nil
	return nil
}

// addedOf is the place of a job that is stored with another one to be added at its end: in the queue where it will run.
func addedOf(at holder, body []byte) holder {
	queue := at.queue
	if e, err := wire.DecodeEnvelope(body); err == nil && e.Details != nil && e.Details.Queue != "" {
		queue = e.Details.Queue
	}
	return followerOf(queue, at.id)
}

// openJob opens an envelope and everything inside it. After an error the envelope is as it was.
func (s *sealer) openJob(at holder, e *wire.Envelope) error {
	if e.Sealed == nil {
		return nil
	}
	opened := *e
	var err error
	if opened.Payload, err = s.open(at.args, at.place, e.Sealed); err != nil {
		return err
	}
	opened.Sealed = nil
	if len(opened.Payload) == 0 {
		opened.Payload = nil
	}
	if e.Details != nil {
		details := *e.Details
		opened.Details = &details
		if details.Sealed != nil {
			texts, err := s.open(at.errors, at.place, details.Sealed)
			if err != nil {
				return err
			}
			if details.Sealed = nil; details.Failures != nil {
				details.Failures = append([]wire.Failure(nil), details.Failures...)
			}
			if err := opened.GiveErrors(texts); err != nil {
				return err
			}
		}
		for _, body := range details.Added() {
			if *body, err = s.openInside(addedOf(at, *body), *body); err != nil {
				return err
			}
		}
		if details.Death != nil {
			death := *details.Death
			if death.Body, err = s.openBefore(holderOf(death.Queue, death.ID), death.Body); err != nil {
				return err
			}
			details.Death = &death
		}
		if details.Prior != nil {
			prior := *details.Prior
			if prior.Body, err = s.openBefore(holderOf(prior.Queue, prior.ID), prior.Body); err != nil {
				return err
			}
			if r, err := wire.DecodeResult(prior.Result); err == nil && r.Sealed == nil && s.required {
				return s.plain()
			}
			if prior.Result, err = s.openResult(place{prior.Queue, prior.ID}, prior.Result); err != nil {
				return err
			}
			details.Prior = &prior
		}
	}
	*e = opened
	return nil
}

// openInside opens a body that is inside a sealed one. Such a body is sealed with it, so if sealed jobs are required, one that is not sealed is refused:
// somebody else has put it there, and it would be sealed when it is added.
func (s *sealer) openInside(at holder, body []byte) ([]byte, error) {
	if s.required && len(body) > 0 && !isSealed(body) {
		return nil, s.plain()
	}
	return s.openBody(at, body)
}

// openBefore opens the body of the job before, which is inside a sealed one. It may be in clear if it has no arguments: a program that cannot open it
// leaves out long ones.
func (s *sealer) openBefore(at holder, body []byte) ([]byte, error) {
	if s.required && len(body) > 0 && !isSealed(body) {
		if e, err := wire.DecodeEnvelope(body); err != nil || len(e.Payload) > 0 {
			return nil, s.plain()
		}
	}
	return s.openBody(at, body)
}

// isSealed reports whether a body is sealed in a form that this program knows.
func isSealed(body []byte) bool {
	return len(body) > 0 && body[0]&wire.SealedFlag != 0 && body[0]&^wire.SealedFlag <= wire.ExpiringVersion
}

// sealBody returns a body with its secrets sealed. A body that is sealed already, or that cannot be read, is returned unchanged.
func (s *sealer) sealBody(at holder, body []byte) ([]byte, error) {
	if len(body) == 0 || isSealed(body) {
		return body, nil
	}
	e, err := wire.DecodeEnvelope(body)
	if err != nil {
		return body, nil
	}
	if err := s.sealJob(at, &e); err != nil {
		return nil, err
	}
	return e.Encode(), nil
}

// openBody returns a body with its secrets in clear. A body that is not sealed, or that cannot be read, is returned unchanged.
func (s *sealer) openBody(at holder, body []byte) ([]byte, error) {
	if !isSealed(body) {
		return body, nil
	}
	e, err := wire.DecodeEnvelope(body)
	if err != nil {
		return body, nil
	}
	if err := s.openJob(at, &e); err != nil {
		return nil, err
	}
	return e.Encode(), nil
}

// sealResult returns a stored result with its secrets sealed. One that is sealed already, or that cannot be read, is returned unchanged.
func (s *sealer) sealResult(at place, body []byte) ([]byte, error) {
	r, err := wire.DecodeResult(body)
	if err != nil || r.Sealed != nil {
		return body, nil
	}
	if r.Sealed, err = s.seal(kindResult, at, r.TakeSecrets()); err != nil {
		return nil, err
	}
	return r.Encode(), nil
}

// openResult returns a stored result with its secrets in clear.
func (s *sealer) openResult(at place, body []byte) ([]byte, error) {
	r, err := wire.DecodeResult(body)
	if err != nil || r.Sealed == nil {
		return body, nil
	}
	plain, err := s.open(kindResult, at, r.Sealed)
	if err != nil {
		return nil, err
	}
	if err := r.GiveSecrets(plain); err != nil {
		return nil, err
	}
	r.Sealed = nil
	return r.Encode(), nil
}

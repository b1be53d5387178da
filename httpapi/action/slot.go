package action

import (
	"maps"
	"slices"
	"strings"
)

// A slot is a place for a secret in an action. Its owner is everything that decides who receives the secret: while the owner is unchanged, a secret that
// a client has left out is kept.
type slot struct {
	path     string // action.request.authentication.password
	secret   Secret
	owner    string
	required bool // the action cannot be sent without it
}

// The paths of a main action and of its error action.
const (
	mainPath  = "action"
	errorPath = "action.errorAction"
)

// eachSecret calls visit for each slot of an action and of its error action, and stores the result in the slot.
func (a *Action) eachSecret(path string, visit func(slot) (Secret, error)) error {
	w := slotWalk{visit: visit}
	if r := a.Request; r != nil {
		w.request(path+".request", r)
	}
	if m := a.QueueMessage; m != nil {
		w.slot(path+".queueMessage.sasToken", &m.SASToken, owner("storage", m.StorageAccount), true)
	}
	for field, m := range map[string]*BusMessage{".serviceBusQueueMessage": a.BusQueueMessage, ".serviceBusTopicMessage": a.BusTopicMessage} {
		if m != nil && m.Authentication != nil {
			b := m.Authentication
			w.slot(path+field+".authentication.sasKey", &b.SASKey, owner("bus", m.Namespace, b.Type, b.SASKeyName), true)
		}
	}
	if w.err == nil && a.ErrorAction != nil {
		return a.ErrorAction.eachSecret(path+".errorAction", visit)
	}
	return w.err
}

type slotWalk struct {
	visit func(slot) (Secret, error)
	err   error // the first error
}

func (w *slotWalk) slot(path string, s *Secret, owner string, required bool) {
	if w.err != nil {
		return
	}
	secret, err := w.visit(slot{path, *s, owner, required})
	if w.err = err; err == nil {
		*s = secret
	}
}

func (w *slotWalk) request(path string, r *Request) {
	to := origin(r.URI)
	for _, m := range []struct {
		field   string
		secrets map[string]Secret
	}{{"secretHeaders", r.SecretHeaders}, {"secretQuery", r.SecretQuery}} {
		for _, name := range slices.Sorted(maps.Keys(m.secrets)) {
			s := m.secrets[name]
			w.slot(index(path+"."+m.field, name), &s, owner(m.field, to), true)
			m.secrets[name] = s
		}
	}
	if auth := r.Authentication; auth != nil {
		whose := auth.owner(to)
		for _, s := range auth.secrets() {
			w.slot(path+".authentication."+s.field, s.secret, whose, s.required)
		}
	}
	if sign := r.Signing; sign != nil {
		w.slot(path+".signing.secret", &sign.Secret, owner("signing", to), true)
		w.slot(path+".signing.previousSecret", &sign.PreviousSecret, owner("signing", to), false)
	}
}

// owner joins the values that decide who receives a secret.
func owner(parts ...string) string { return strings.Join(parts, "\x00") }

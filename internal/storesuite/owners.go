package storesuite

import (
	"testing"

	"github.com/chimejobs/chime/internal/protocol"
)

// Once a version has pruned, no process of it or of a lower one prunes again; versions have up to 19 digits.
func (s *Suite) TestAVersionPrunesOnce(t *testing.T) {
	s.onEveryServer(t, func(b *Bench) {
		const nine = 9007199254740993 // more than a number of Lua holds
		b.Owns("default", "old", protocol.Owner{Name: "a", Version: 999})
		b.Owns("mail", "one less", protocol.Owner{Name: "a", Version: nine})
		b.Owns("mail", "kept", protocol.Owner{Name: "a", Version: nine + 1})
		b.Owns("mail", "another's", protocol.Owner{Name: "b", Version: 1})
		b.DeclareOn("mail", "nobody's", "skip", `{"job":"j"}`)
		if answer := b.Owns("mail", "kept", protocol.Owner{Name: "a", Version: nine}); !answer.Outdated {
			b.Errorf("declared in a version that is lower by one: %+v, want outdated", answer)
		}
		got := b.Prune(protocol.Owner{Name: "a", Version: nine + 1})
		if got != "[old one less]" && got != "[one less old]" {
			b.Errorf("pruned %s, want the two of lower versions", got)
		}
		b.Owns("default", "late", protocol.Owner{Name: "a", Version: 5})
		b.Want("pruned again", b.Prune(protocol.Owner{Name: "a", Version: nine + 1}), "[]")
		b.Want("pruned by a lower version", b.Prune(protocol.Owner{Name: "a", Version: nine}), "[]")
		b.Want("pruned by a higher one", b.Prune(protocol.Owner{Name: "a", Version: nine + 2}), "[late kept]")
	})
}

// A schedule that is put under the name of one that was deleted has no owner, and is not pruned.
func (s *Suite) TestAScheduleThatWasPutIsNeverPruned(t *testing.T) {
	s.onEveryServer(t, func(b *Bench) {
		b.Owns("default", "s", protocol.Owner{Name: "a", Version: 1})
		if _, err := b.Store.Remove(b.Context(), protocol.Removal{Name: "s"}); err != nil {
			b.Fatal(err)
		}
		b.Declare("s", "skip", `{"job":"j"}`)
		b.Want("pruned", b.Prune(protocol.Owner{Name: "a", Version: 2}), "[]")
	})
}

// An owner's version that a higher one has succeeded adopts no schedule, whether it would change the schedule, move it or only own it.
func (s *Suite) TestASucceededVersionTakesOverNothing(t *testing.T) {
	s.onEveryServer(t, func(b *Bench) {
		b.Owns("default", "b's", protocol.Owner{Name: "b", Version: 1})
		b.DeclareOn("default", "nobody's", "skip", `{"job":"other"}`)
		b.Owns("default", "kept", protocol.Owner{Name: "a", Version: 2})
		b.Want("pruned", b.Prune(protocol.Owner{Name: "a", Version: 2}), "[]")
		for _, name := range []string{"b's", "nobody's"} {
			for _, queue := range []string{"default", "mail"} {
				if answer := b.Owns(queue, name, protocol.Owner{Name: "a", Version: 1}); !answer.Outdated || answer.Changed || answer.Revision == 0 {
					b.Errorf("%s, declared on %s: %+v, want outdated", name, queue, answer)
				}
			}
			found, _ := b.Store.Find(b.Context(), []string{name})
			if found[0].Owner.Name == "a" || found[0].Partition.Queue != "default" {
				b.Errorf("%s is %+v, want it unchanged", name, found[0])
			}
		}
		if answer := b.Owns("mail", "b's", protocol.Owner{Name: "a", Version: 2}); answer.Outdated {
			b.Errorf("declared by the version that has pruned: %+v, want it adopted", answer)
		}
	})
}

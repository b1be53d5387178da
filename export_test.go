package chime

import (
	"context"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/schedule"
	"github.com/chimejobs/chime/internal/wire"
)

// EncodeBody lets tests outside the package enqueue without an Enqueuer.
func EncodeBody(name string, maxAttempts int) []byte {
	e := wire.Envelope{Name: name, MaxAttempts: maxAttempts}
	return e.Encode()
}

// Next works out an owed schedule's placement, as workers and the ticker do.
func Next(o protocol.Owed) (protocol.Placement, error) {
	var c schedule.Plans
	p, err := c.Of(o.Name, o.Definition)
	if err != nil {
		return protocol.Placement{}, err
	}
	return p.Next(o), nil
}

// direct is a Store whose protocol a test carries out itself.
type direct struct{ store protocol.Store }

func (d direct) Protocol() protocol.Store { return d.store }

func asStore(store protocol.Store) Store { return direct{store} }

// A noStore is a store of which every call panics.
type noStore struct{ protocol.Store }

// A fitStore is a store that is fit, and of which every other call panics.
type fitStore struct{ noStore }

func (fitStore) Check(context.Context) error { return nil }

func (fitStore) CheckUse(context.Context, protocol.Use, []string) error { return nil }

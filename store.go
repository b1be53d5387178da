package chime

import "github.com/chimejobs/chime/internal/protocol"

// A Store keeps jobs and schedules. Applications get one from redisstore.New, or from redisstore/embedded for a first try, and
// hand it to the roles; they call nothing on it.
type Store interface {
	// Protocol is how the roles talk to the store.
	Protocol() protocol.Store
}

// protocolOf returns how to talk to a store; nil for none.
func protocolOf(store Store) protocol.Store {
	if store == nil {
		return nil
	}
	return store.Protocol()
}

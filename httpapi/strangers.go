package httpapi

import (
	"net/netip"
	"sync"
	"time"
)

const (
	strangerInterval = time.Minute // between two log lines about the requests of one address that were not authenticated
	maxStrangers     = 1000        // addresses beyond this number share one line
)

// strangers limit the log lines about requests that were not authenticated: an address gets one at its first request, and then at most one a minute, with
// the number of its requests since the last line. No request is missing in the counts.
type strangers struct {
	mu sync.Mutex
	of map[string]*stranger
}

// A stranger is an address that has a line in the log, or will have one, within the current minute.
type stranger struct {
	count int             // requests since its last line
	log   func(count int) // logs the last of them
}

// add counts a request, and calls log at once for the first one. For later ones it calls the log of the last one at the end of the minute.
func (s *strangers) add(remote string, log func(count int)) {
	s.mu.Lock()
	address := addressOf(remote)
	if s.of[address] == nil && len(s.of) >= maxStrangers {
		address = ""
	}
	if known := s.of[address]; known != nil {
		known.count, known.log = known.count+1, log
		s.mu.Unlock()
		return
	}
	if s.of == nil {
		s.of = map[string]*stranger{}
	}
	s.of[address] = &stranger{}
	s.mu.Unlock()
	time.AfterFunc(strangerInterval, func() { s.end(address) })
	log(1)
}

// end logs the requests of a minute. An address without any is forgotten.
func (s *strangers) end(address string) {
	s.mu.Lock()
	of := s.of[address]
	count, log := of.count, of.log
	if count == 0 {
		delete(s.of, address)
	}
	of.count, of.log = 0, nil
	s.mu.Unlock()
	if count > 0 {
		time.AfterFunc(strangerInterval, func() { s.end(address) })
		log(count)
	}
}

// addressOf is the address of a peer; for IPv6 it is the network of 64 bits, because a host can have any address in it.
func addressOf(remote string) string {
	at, err := netip.ParseAddrPort(remote)
	if err != nil {
		return remote
	}
	address := at.Addr().Unmap().WithZone("")
	if address.Is6() {
		network, _ := address.Prefix(64) // no error: 64 is a length for IPv6
		return network.String()
	}
	return address.String()
}

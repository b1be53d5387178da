package work

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/wire"
)

// A worker that receives jobs of a newer version remembers when to request them again only for its own handlers, whatever other names they have.
func TestJobsOfANewerVersionAreRememberedForHandlersOnly(t *testing.T) {
	config := &Config{Handlers: map[string]*Handler{"mine": {}}, Log: slog.New(slog.DiscardHandler)}
	a, now := newAdmission(config, nil), time.Now()
	for i := range 1000 {
		for _, name := range []string{"mine", fmt.Sprint("other", i)} {
			body := (&wire.Envelope{Name: name}).Encode()
			body[0] = wire.ExpiringVersion + 1
			c := &claim{config: config, id: name, clock: &storeClock{}}
			if s, refused := a.admit(c, &protocol.TakenJob{ID: name, Body: body}, now); !refused || s.Name != unreadablePrefix+name {
				t.Fatalf("%s: %+v, refused %v; want it parked", name, s, refused)
			}
		}
	}
	if len(a.unreadable) != 1 || a.serves(unreadablePrefix+"mine", now) || !a.serves(unreadablePrefix+"mine", now.Add(unreadableAgain)) {
		t.Errorf("%d lists are remembered, want that of the handler", len(a.unreadable))
	}
}

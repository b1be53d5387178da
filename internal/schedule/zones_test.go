package schedule

import (
	"fmt"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// However many names of time zones the store returns, a process remembers a bounded number of them.
func TestZonesInMemoryAreBounded(t *testing.T) {
	var z Zones
	planned := time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC)
	for i := range maxZones + 1 {
		if !z.Differ(protocol.Zoned{Planned: planned, Zone: fmt.Sprint("No/Zone", i)}) {
			t.Fatal("an unknown zone does not differ")
		}
		if len(z.known) > maxZones {
			t.Fatalf("%d zones are remembered, want %d at most", len(z.known), maxZones)
		}
	}
	if z.Differ(protocol.Zoned{Planned: planned, Zone: "Europe/Berlin", Offset: 2 * time.Hour}) {
		t.Error("Europe/Berlin differs from its own offset")
	}
}

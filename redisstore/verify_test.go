package redisstore

import "github.com/chimejobs/chime/internal/protocol"

// verify reads the namespace and returns what is wrong in it.
func (b *bench) verify(repair bool) []protocol.Finding {
	b.Helper()
	var found []protocol.Finding
	if _, err := b.store.Verify(b.Context(), repair, func(f protocol.Finding) { found = append(found, f) }); err != nil {
		b.Fatal(err)
	}
	return found
}

// verified fails the test if anything is wrong.
func (b *bench) verified() {
	b.Helper()
	if found := b.verify(false); len(found) > 0 {
		b.Fatalf("found %+v, want nothing", found)
	}
}

const verifyEvery = 20 // steps of a walk

// verifiedNowAndThen is verified in some steps of a walk.
func (b *bench) verifiedNowAndThen(step int) {
	b.Helper()
	if step%verifyEvery == 0 {
		b.verified()
	}
}

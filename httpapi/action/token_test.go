package action

import (
	"crypto/sha256"
	"fmt"
	"testing"
	"time"

	"golang.org/x/oauth2"
)

// At most maxTokens access tokens are in memory. Expired ones are dropped first.
func TestTokensInMemoryAreBounded(t *testing.T) {
	var kept tokens
	valid, expired := &oauth2.Token{Expiry: time.Now().Add(time.Hour)}, &oauth2.Token{Expiry: time.Now()}
	key := func(i int) [32]byte { return sha256.Sum256([]byte(fmt.Sprint(i))) }
	kept.keep(key(-1), valid)
	for i := range maxTokens - 1 {
		kept.keep(key(i), expired)
	}
	kept.keep(key(maxTokens), valid)
	if len(kept.kept) != 2 || kept.kept[key(-1)] == nil {
		t.Errorf("%d tokens are kept, want the two that are valid", len(kept.kept))
	}
	for i := range maxTokens + 10 {
		kept.keep(key(i), valid)
	}
	if len(kept.kept) != maxTokens {
		t.Errorf("%d tokens are kept, want %d", len(kept.kept), maxTokens)
	}
}

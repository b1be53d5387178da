package service

import (
	"fmt"
	"testing"
	"time"
)

// A process remembers for a minute in which full collections it has searched for room.
func TestSearchesForRoomAreForgotten(t *testing.T) {
	s, now := &Service{searched: map[string]time.Time{}}, time.Now()
	for i := range 1000 {
		if !s.mayMakeRoom(fmt.Sprint("c", i), now) || s.mayMakeRoom(fmt.Sprint("c", i), now) {
			t.Fatal("a collection is not searched exactly once a minute")
		}
		now = now.Add(time.Second)
	}
	if most := int(roomInterval / time.Second); len(s.searched) > most {
		t.Errorf("%d searches are remembered, want at most the %d of a minute", len(s.searched), most)
	}
}

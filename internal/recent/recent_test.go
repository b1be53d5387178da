package recent

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestAMapForgetsWhatIsNotUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m Map[int, int]
		for i := range 100_000 { // 100 new ones a minute; one of them is used all the time
			m.Set(i, i, time.Now())
			if value, ok := m.Get(0, time.Now()); !ok || value != 0 {
				t.Fatalf("after %d others: %d, %v, want the entry in use", i, value, ok)
			}
			time.Sleep(600 * time.Millisecond) // fake time
			if most := int(2*Period/(600*time.Millisecond)) + 2; m.Len() > most {
				t.Fatalf("%d entries, want at most the %d of two periods", m.Len(), most)
			}
		}
		if _, ok := m.Get(1, time.Now()); ok {
			t.Error("the map still has an entry that was not used for hours")
		}
	})
}

func TestAMapKeepsAnEntryForAPeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m Map[string, int]
		m.Set("first", 1, time.Now())
		time.Sleep(Period - time.Second) // fake time
		m.Set("kept", 2, time.Now())
		time.Sleep(time.Second) // fake time
		m.Set("next", 3, time.Now())
		time.Sleep(Period - 2*time.Second) // fake time
		m.Set("another", 4, time.Now())
		if value, ok := m.Get("kept", time.Now()); !ok || value != 2 {
			t.Errorf("%d, %v: want the entry that was stored less than a period ago", value, ok)
		}
		if value := m.Add("kept", time.Now(), func() int { return 5 }); value != 2 {
			t.Errorf("Add replaced an entry: %d, want 2", value)
		}
	})
}

// An entry that nobody uses is forgotten, also if no other is added; one that is only read remains.
func TestAMapThatIsOnlyReadForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m Map[string, int]
		m.Set("a", 1, time.Now())
		m.Set("b", 2, time.Now())
		for range 20 {
			time.Sleep(Period * 2 / 3) // fake time
			if value, ok := m.Get("a", time.Now()); !ok || value != 1 {
				t.Fatalf("%d, %v: want the entry that is in use", value, ok)
			}
		}
		if m.Len() != 1 {
			t.Errorf("%d entries, want the one in use", m.Len())
		}
		time.Sleep(2 * Period) // fake time
		if value, ok := m.Get("a", time.Now()); ok {
			t.Errorf("%d: an entry that was not used for two periods", value)
		}
	})
}

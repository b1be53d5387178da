package main

import "testing"

func TestAPayloadCarriesItsNumber(t *testing.T) {
	for _, number := range []int64{0, 1, -1, 99_999, 1_772_960_400_000_000_001} {
		payload := payloadOf(number)
		if len(payload) != payloadBytes {
			t.Errorf("the payload of %d has %d bytes", number, len(payload))
		}
		for _, b := range payload {
			if b < ' ' || b > '~' || b == '"' || b == '\\' {
				t.Fatalf("the payload of %d has the byte %d, which grows in JSON", number, b)
			}
		}
		if got, err := numberIn(payload); err != nil || got != number {
			t.Errorf("got %d, %v, want %d", got, err, number)
		}
	}
	for _, bad := range [][]byte{nil, []byte("short"), make([]byte, payloadBytes)} {
		if got, err := numberIn(bad); err == nil {
			t.Errorf("%q carries %d, want an error", bad, got)
		}
	}
}

package wire

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chimejobs/chime/internal/protocol"
)

func TestBodiesOfOneCallShareNoWritableMemory(t *testing.T) {
	var room Bodies
	var made, want []string
	var all [][]byte
	for i := range 500 {
		env := Envelope{Name: fmt.Sprint("job-", i), Payload: []byte(strings.Repeat("p", i%90)), MaxAttempts: i % 3}
		all = append(all, room.Add(&env))
		want = append(want, string(env.Encode()))
	}
	for _, body := range all {
		_ = append(body, "overwritten?"...)
	}
	for _, body := range all {
		made = append(made, string(body))
	}
	for i := range want {
		if made[i] != want[i] {
			t.Fatalf("body %d is %q, want %q", i, made[i], want[i])
		}
	}
}

func TestTheMemoryOfLargeBodiesIsNotKept(t *testing.T) {
	var room Bodies
	room.Add(&Envelope{Name: "a", Payload: make([]byte, 5<<20)})
	small := room.Add(&Envelope{Name: "a"})
	if cap(room.b) > protocol.MaxBytes || cap(small) != len(small) {
		t.Errorf("a body of 5 MiB was followed by memory of %d bytes, want %d at most", cap(room.b), protocol.MaxBytes)
	}
	if room.Reset(1000); cap(room.b) > 1000 {
		t.Errorf("%d bytes are kept, want %d at most", cap(room.b), 1000)
	}
}

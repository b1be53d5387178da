package enqueue

import (
	"testing"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/wire"
)

// Other processes and later versions find a job by the ID of its arguments: it never changes. The wanted IDs are the output of
// printf '<name>\0<payload>' | openssl dgst -sha256 -binary | base64 | tr +/ -_ | cut -c -27
func TestTheIDOfArgumentsNeverChanges(t *testing.T) {
	type export struct {
		Customer string `json:"customer"`
		Year     int    `json:"year"`
	}
	for _, c := range []struct {
		name string
		args any
		want string
	}{
		{"export", nil, "yxklLo1ZCk_iO0Rj376LFhwT0HL"},
		{"export", export{"7", 2026}, "nln2LNONhvvUGbK9eqYVpz6a1so"},
		{"export", map[string]any{"year": 2026, "customer": "7"}, "nln2LNONhvvUGbK9eqYVpz6a1so"},
		{"export", []byte("7"), "u0N2FOCxZh8zbhxkFlVHGvRhfwh"},
	} {
		payload, err := wire.EncodeStable(c.args)
		if err != nil {
			t.Fatal(err)
		}
		got := ArgsID(c.name, payload)
		if got != c.want {
			t.Errorf("%s %v (payload %x): got %s, want %s", c.name, c.args, payload, got, c.want)
		}
		if err := protocol.CheckID("ID", got); err != nil {
			t.Error(err)
		}
	}
}

// Jobs that differ in name or arguments have different IDs, even if name and arguments together are the same text.
func TestDifferentJobsHaveDifferentArgumentIDs(t *testing.T) {
	seen := map[string]string{}
	for _, job := range [][2]string{{"a", "bc"}, {"ab", "c"}, {"abc", ""}, {"a", "bd"}} {
		id := ArgsID(job[0], []byte(job[1]))
		if seen[id] != "" {
			t.Errorf("%q and %s have the ID %s", job, seen[id], id)
		}
		seen[id] = job[0] + " " + job[1]
	}
}

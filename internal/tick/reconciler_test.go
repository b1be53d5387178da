package tick

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// A standingStore answers every check with the state of the one schedule.
type standingStore struct {
	protocol.ScheduleStore
	now protocol.Standing
}

func (s *standingStore) Standings(_ context.Context, asked []protocol.Address) ([]protocol.Standing, error) {
	return []protocol.Standing{s.now}, nil
}

// A program declared a schedule at 09:00 and got revision 50. Each check finds it as a row describes; "again" marks the check after which it is
// declared again.
func TestWhatIsDeclaredAgainAtTheNextCheck(t *testing.T) {
	at := func(hour int) time.Time { return time.Date(2026, 3, 1, hour, 0, 0, 0, time.UTC) }
	absent, declared, older := protocol.Standing{}, protocol.Standing{Revision: 50}, protocol.Standing{Revision: 40}
	deleted := protocol.Standing{Deleted: at(10)}
	madeAgain, elsewhere := protocol.Standing{Revision: 60, Deleted: at(10)}, protocol.Standing{Moved: true, Deleted: at(10)}
	for _, row := range []struct {
		name   string
		checks []protocol.Standing
		again  string // "-" for each check that finds nothing lost, "again" for a check that finds a loss
	}{
		{"as declared", []protocol.Standing{declared, declared}, "- -"},
		{"lost", []protocol.Standing{declared, absent}, "- again"},
		{"gone back", []protocol.Standing{older}, "again"},
		{"changed, and gone back to before the declaration", []protocol.Standing{{Revision: 60}, older}, "- again"},
		{"edited by hand", []protocol.Standing{{Unreadable: true}}, "-"},
		{"moved by somebody", []protocol.Standing{{Moved: true}, absent}, "- again"},
		{"deleted before the declaration, and lost", []protocol.Standing{{Deleted: at(8)}}, "again"},
		{"deleted, and the store forgets it", []protocol.Standing{deleted, absent, absent}, "- - -"},
		{"deleted, and the store goes back", []protocol.Standing{deleted, declared, absent}, "- - -"},
		{"deleted, and the store goes further back", []protocol.Standing{deleted, older, absent}, "- - -"},
		{"deleted, and lost before any check", []protocol.Standing{declared, absent}, "- again"},
		{"deleted, created again, and lost", []protocol.Standing{deleted, madeAgain, absent}, "- - again"},
		{"deleted, created again elsewhere, and lost", []protocol.Standing{deleted, elsewhere, absent}, "- - again"},
		{"deleted and created again between two checks, and only the new one lost", []protocol.Standing{declared, madeAgain, deleted}, "- - again"},
		{"deleted, created again, and deleted again", []protocol.Standing{deleted, madeAgain, {Deleted: at(11)}, absent}, "- - - -"},
	} {
		store := &standingStore{}
		r := newReconciler(store, Options{Log: slog.New(slog.DiscardHandler), Declared: []protocol.Declaration{{Name: "s"}}})
		r.wrote[0] = written{address: protocol.Address{Name: "s"}, revision: 50, at: at(9)}
		got := ""
		for _, standing := range row.checks {
			store.now = standing
			lost, err := r.check(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			got += fmt.Sprint(map[int]string{0: "-", 1: "again"}[lost], " ")
		}
		if got != row.again+" " {
			t.Errorf("%s: %swant %s", row.name, got, row.again)
		}
	}
}

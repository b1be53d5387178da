package redisstore

import (
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// The tables of schedules_survivor.go, row by row. "A" is the queue of the copy, "B" another one; generations are small numbers.
func TestTheSurvivingCopyOfASchedule(t *testing.T) {
	birth := time.UnixMicro(1)
	def := func(queue string, generation int64) copyRead {
		return copyRead{queue: queue, kind: definitionCopy, generation: generation, revision: 1, created: birth}
	}
	mark := func(queue, to string, generation int64) copyRead {
		return copyRead{queue: queue, kind: markCopy, generation: generation, revision: 1, created: birth, movedTo: to}
	}
	nothing := func(queue string, gone int64) copyRead { return copyRead{queue: queue, gone: gone} }
	newer := func(c copyRead) copyRead { c.revision = 2; return c }
	owned := func(c copyRead) copyRead { c.owner = protocol.Owner{Name: "o", Version: 1}; return c }
	unreadable := copyRead{queue: "B", kind: unreadableCopy}
	none, carriedOut, intent := removalRead{}, removalRead{intended: 9, done: 9}, removalRead{intended: 9}
	for _, c := range []struct {
		what    string
		copy    copyRead
		entry   home
		there   copyRead
		removal removalRead
		want    survival
	}{
		{"at home", def("A", 2), home{"A", 2}, def("A", 2), none, survives},
		{"the queue went back, the registry did not", def("A", 2), home{"A", 4}, def("A", 2), none, survives},
		{"the registry went back in the same queue", def("A", 4), home{"A", 2}, def("A", 4), none, isRegistered},
		{"the registry went back to before a move", def("A", 4), home{"B", 2}, mark("B", "A", 4), none, isRegistered},
		{"the registry is lost", def("A", 2), home{}, copyRead{}, none, isRegistered},
		{"a late raise meets a later creation", def("A", 6), home{"B", 5}, newer(def("B", 5)), none, yields},
		{"both queues have it after a lost begin", def("A", 2), home{"B", 4}, def("B", 4), none, yields},
		{"the registry's queue has a lower definition", def("A", 3), home{"B", 4}, def("B", 2), none, yields},
		{"the registry's queue has one that cannot be read", def("A", 2), home{"B", 4}, unreadable, none, survives},
		{"both queues went back after the move", def("A", 2), home{"B", 4}, nothing("B", 0), none, takesHome},
		{"the bar of an interrupted repair does not stop the next one", def("A", 2), home{"B", 4}, nothing("B", 4), none, takesHome},
		{"a refused deletion is no deletion", def("A", 2), home{"B", 4}, nothing("B", 4), intent, takesHome},
		{"a mark of an earlier move in the registry's queue", def("A", 2), home{"B", 4}, mark("B", "A", 3), none, takesHome},
		{"an equal mark is not this schedule's", def("A", 2), home{"B", 4}, mark("B", "A", 4), none, takesHome},
		{"queue and registry went back after a move here and away", def("A", 2), home{"B", 4}, mark("B", "A", 6), none, waitsForMove},
		{"a deletion passed the point of no return", def("A", 2), home{"B", 4}, nothing("B", 7), intent, endsRemoval},
		{"deleted, and back", def("A", 2), home{}, copyRead{}, carriedOut, isRemoved},
		{"deleted, and back with the registry", def("A", 2), home{"A", 2}, def("A", 2), carriedOut, isRemoved},
		{"deleted, and ahead of an entry by a dead process", def("A", 6), home{"B", 2}, nothing("B", 0), carriedOut, isRemoved},
		{"deleted, and a late move drew a later generation", def("A", 10), home{}, copyRead{}, carriedOut, isRemoved},
		{"a refused deletion does not remove it", def("A", 2), home{}, copyRead{}, intent, isRegistered},
		{"pruned, and back", owned(def("A", 2)), home{}, copyRead{}, removalRead{pruned: 2, prunedAt: time.UnixMicro(5)}, isRemoved},
		{"created after the pruning", owned(def("A", 2)), home{}, copyRead{}, removalRead{pruned: 2, prunedAt: time.UnixMicro(0)}, isRegistered},
		{"of the version that pruned", owned(def("A", 2)), home{}, copyRead{}, removalRead{pruned: 1, prunedAt: time.UnixMicro(5)}, isRegistered},

		{"a mark without an entry is the last copy", mark("A", "B", 4), home{}, copyRead{}, none, arrivesAnew},
		{"a mark of a deleted schedule", mark("A", "B", 4), home{}, copyRead{}, carriedOut, isRemoved},
		{"a mark beside a refused deletion", mark("A", "B", 4), home{}, copyRead{}, intent, arrivesAnew},
		{"a move under way", mark("A", "B", 4), home{"A", 2}, mark("A", "B", 4), none, movesOn},
		{"a move that has arrived", mark("A", "B", 4), home{"B", 4}, def("B", 4), none, moveEnded},
		{"a move that has arrived and moved on", mark("A", "B", 4), home{"B", 4}, mark("B", "A", 6), none, moveEnded},
		{"the new queue went back after the move", mark("A", "B", 4), home{"B", 4}, nothing("B", 0), none, arrivesAnew},
		{"the new queue went back, and was barred", mark("A", "B", 4), home{"B", 4}, nothing("B", 4), none, arrivesAnew},
		{"the new queue has an earlier mark", mark("A", "B", 4), home{"B", 4}, mark("B", "A", 2), none, arrivesAnew},
		{"it was deleted in the new queue", mark("A", "B", 4), home{"B", 4}, nothing("B", 7), intent, endsRemoval},
		{"it was deleted, and the registry went back", mark("A", "B", 4), home{"B", 4}, nothing("B", 0), carriedOut, endsRemoval},
		{"an outdated mark", mark("A", "B", 4), home{"B", 6}, nothing("B", 0), none, moveEnded},
		{"a mark that yielded", mark("A", "B", 4), home{"A", 4}, mark("A", "B", 4), none, moveEnded},
	} {
		j := judged{copy: c.copy, entry: c.entry, there: c.there, removal: c.removal}
		if got := j.survival(); got != c.want {
			t.Errorf("%s: %+v, registry %+v, there %+v, %+v: got %d, want %d", c.what, c.copy, c.entry, c.there, c.removal, got, c.want)
		}
	}
}

package plain

import (
	"testing"

	"github.com/chimejobs/chime"
)

func TestAWorkerIsNamedByItsHost(t *testing.T) {
	for name, want := range map[string][2]string{
		"app-1:4711:v1.2.3:ABCDEFGHIJKLM": {"app-1:4711", "v1.2.3"}, "app-1:4711::ABCDEFGHIJKLM": {"app-1:4711", ""}, ":4711::ABCDEFGHIJKLM": {"pid 4711", ""},
		"ABCDEFGHIJKLMNOPQRSTUVWXYZ": {"ABCDEFGH", ""}, "w": {"w", ""}, "": {"", ""},
	} {
		if address, version := Worker(name); address != want[0] || version != want[1] {
			t.Errorf("%q: got %q, %q, want %q", name, address, version, want)
		}
	}
}

// The jobs of one call of HandleMany share a slot, so the number of busy slots is only known to be at most the number of jobs.
func TestTheBusySlotsOfAWorker(t *testing.T) {
	jobs := make([]*chime.JobInfo, 100)
	for _, c := range []struct {
		worker      chime.WorkerInfo
		busy, slots string
	}{
		{chime.WorkerInfo{Slots: 10, Busy: 3, Running: jobs[:3]}, "3", "3 of 10 slots busy"},
		{chime.WorkerInfo{Slots: 10, Many: true}, "0", "0 of 10 slots busy"},
		{chime.WorkerInfo{Slots: 10, Busy: 1, Many: true, Running: jobs[:1]}, "1", "1 of 10 slots busy"},
		{chime.WorkerInfo{Slots: 10, Busy: 10, Many: true, Running: jobs}, "≤10", "100 jobs run in at most 10 of 10 slots"},
		{chime.WorkerInfo{Slots: 10, Busy: 10, Many: true}, "≤10", "at most 10 of 10 slots busy"},
		{chime.WorkerInfo{Slots: 1, Busy: 1, Many: true, Running: jobs}, "1", "1 of 1 slot busy"},
	} {
		if busy, slots := Busy(&c.worker), Slots(&c.worker); busy != c.busy || slots != c.slots {
			t.Errorf("%+v: %s, %q, want %s, %q", c.worker, busy, slots, c.busy, c.slots)
		}
	}
}

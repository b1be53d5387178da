package plain

import (
	"strconv"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/format"
)

const shownName = 8 // number of shown letters of a random name

// Worker returns the short name of a worker for people, and the version of its program: host:pid, or the first letters of a name that does not contain
// them. An empty version is unknown.
func Worker(name string) (address, version string) {
	host, pid, version, ok := chime.ParseWorker(name)
	switch {
	case ok && host != "":
		return host + ":" + strconv.Itoa(pid), version
	case ok:
		return "pid " + strconv.Itoa(pid), version
	case len(name) > shownName+1:
		return name[:shownName], ""
	}
	return name, ""
}

// SharesSlots reports whether several jobs of a worker may share a slot, as those of a call of HandleMany do: then Busy is the most that may be busy.
func SharesSlots(w *chime.WorkerInfo) bool { return w.Many && w.Busy > 1 }

// Busy formats how many slots of a worker are busy.
func Busy(w *chime.WorkerInfo) string {
	if SharesSlots(w) {
		return "≤" + format.Count(w.Busy)
	}
	return format.Count(w.Busy)
}

// Slots says how many slots of a worker are busy. If jobs may share slots it says how many jobs run.
func Slots(w *chime.WorkerInfo) string {
	switch {
	case SharesSlots(w) && len(w.Running) > 0:
		return format.Plural(len(w.Running), "job runs", "jobs run") + " in at most " + format.Count(w.Busy) + " of " + format.Plural(w.Slots, "slot", "slots")
	case SharesSlots(w):
		return "at most " + format.Count(w.Busy) + " of " + format.Plural(w.Slots, "slot", "slots") + " busy"
	}
	return format.Count(w.Busy) + " of " + format.Plural(w.Slots, "slot", "slots") + " busy"
}

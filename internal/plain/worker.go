package plain

import (
	"strconv"

	"github.com/chimejobs/chime"
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

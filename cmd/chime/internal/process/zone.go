package process

import (
	"os"
	"path/filepath"
	"strings"
	"time"
)

// local is the zone of this machine, by its IANA name where that can be told. Go knows the name from TZ, and here it is read from the file that
// /etc/localtime is a link to.
func local() *time.Location {
	if os.Getenv("TZ") != "" {
		return time.Local
	}
	return zoneOfLink("/etc/localtime")
}

// zoneOfLink is the zone of a link into a zone database, else that of the machine without its name.
func zoneOfLink(link string) *time.Location {
	file, err := filepath.EvalSymlinks(link)
	if err != nil {
		return time.Local
	}
	_, name, found := strings.Cut(filepath.ToSlash(file), "/zoneinfo/")
	zone, err := time.LoadLocation(name)
	if !found || err != nil {
		return time.Local
	}
	return zone
}

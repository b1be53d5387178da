package process

import (
	"os"
	"path/filepath"
	"strings"
	"time"
)

// local returns the zone of this machine, with its IANA name if that is known. Go reads the name from TZ; this function reads it from the target
// of the link /etc/localtime.
func local() *time.Location {
	if os.Getenv("TZ") != "" {
		return time.Local
	}
	return zoneOfLink("/etc/localtime")
}

// zoneOfLink returns the zone of a link into a zone database; otherwise the machine's zone without its name.
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

package dashboard

import (
	"fmt"
	"regexp"
	"sync"
	"time"
)

// zoneName is what names in the time zone database are like.
var zoneName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+_-]*(/[A-Za-z0-9+_-]+){0,2}$`)

const maxZoneName = 64

// zones are those that viewers have asked for: there are some 600, and loading one reads a file.
var zones sync.Map // name → *time.Location

// zone returns the time zone of a name; empty: that of the options.
func (d *Dashboard) zone(name string) (*time.Location, error) {
	if name == "" {
		return d.options.Zone, nil
	}
	if known, ok := zones.Load(name); ok {
		return known.(*time.Location), nil
	}
	if len(name) > maxZoneName || !zoneName.MatchString(name) || name == "Local" {
		return nil, fmt.Errorf("zone is %.64q, want the name of a time zone, such as Europe/Berlin", name)
	}
	location, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("zone is %q, which this server's time zone database does not have; names are like Europe/Berlin", name)
	}
	zones.Store(name, location)
	return location, nil
}

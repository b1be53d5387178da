package dashboard

import (
	"fmt"
	"net/url"
	"regexp"
	"sync"
	"time"
)

// zoneName matches the form of names in the time zone database.
var zoneName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+_-]*(/[A-Za-z0-9+_-]+){0,2}$`)

const maxZoneName = 64

// zones caches the time zones that viewers chose. There are about 600, and loading one reads a file.
var zones sync.Map // name → *time.Location

// zoneOf returns the time zone for a request: the viewer's choice; otherwise the browser's own zone; otherwise the zone of the options. Scripts send
// the browser's zone in the parameter own, because no header contains it. An unknown browser zone is ignored, because nobody typed it.
func (d *Dashboard) zoneOf(query url.Values) (*time.Location, error) {
	if chosen := query.Get("zone"); chosen != "" {
		return d.zone(chosen)
	}
	if own, err := d.zone(query.Get("own")); err == nil {
		return own, nil
	}
	return d.options.Zone, nil
}

// zone returns the time zone of a name. An empty name means the zone of the options.
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
		return nil, fmt.Errorf("zone is %q, which is not in this server's time zone database; an example is Europe/Berlin", name)
	}
	zones.Store(name, location)
	return location, nil
}

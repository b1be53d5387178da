package dashboard

import (
	"fmt"
	"net/url"
	"regexp"
	"sync"
	"time"
)

// zoneName is what names in the time zone database are like.
var zoneName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+_-]*(/[A-Za-z0-9+_-]+){0,2}$`)

const maxZoneName = 64

// zones are those that viewers have asked for: there are some 600, and loading one reads a file.
var zones sync.Map // name → *time.Location

// zoneOf is the time zone that a request is answered in: the one that the viewer has chosen; else the browser's own, as scripts name it (own) because
// no header does; else that of the options. Nobody has typed the browser's, so one that is not known here is left out.
func (d *Dashboard) zoneOf(query url.Values) (*time.Location, error) {
	if chosen := query.Get("zone"); chosen != "" {
		return d.zone(chosen)
	}
	if own, err := d.zone(query.Get("own")); err == nil {
		return own, nil
	}
	return d.options.Zone, nil
}

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

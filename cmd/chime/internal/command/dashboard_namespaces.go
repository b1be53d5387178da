package command

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/dashboard"
)

// otherPrefix begins the paths of the dashboards of other namespaces.
const otherPrefix = "/in/"

// dashboards are the dashboards of several namespaces, with a menu that leads from each to the others: the first one at /, each other one below otherPrefix and
// its name.
type dashboards struct {
	first  *dashboard.Dashboard
	others map[string]*dashboard.Dashboard // by the escaped name of the namespace
}

// newDashboards returns the dashboards of the namespace of the flags and of other ones on the same server.
func (s *session) newDashboards(store chime.Store, options dashboard.Options, others []string) (*dashboards, error) {
	d := &dashboards{others: map[string]*dashboard.Dashboard{}}
	names := append([]string{s.connect.Namespace}, others...)
	at := func(name string) string {
		if name == names[0] {
			return ""
		}
		return strings.TrimPrefix(otherPrefix, "/") + url.PathEscape(name) + "/"
	}
	menu := func(own, up string) (links []dashboard.Link) {
		for _, name := range names {
			if name != own {
				links = append(links, dashboard.Link{Text: name, URL: "./" + up + at(name)})
			}
		}
		return links
	}
	options.Elsewhere = menu(names[0], "")
	d.first = dashboard.New(store, options)
	for _, name := range others {
		if name == "" || name == names[0] || d.others[url.PathEscape(name)] != nil {
			return nil, usage("--also %q: want other namespaces than %q, each once", name, names[0])
		}
		flags := s.connect
		flags.Namespace = name
		opened, err := flags.Open(s.Env)
		if err != nil {
			return nil, &exitError{exitUsage, err}
		}
		options.Prefix, options.Elsewhere = strings.TrimSuffix("/"+at(name), "/"), menu(name, "../../")
		d.others[url.PathEscape(name)] = dashboard.New(opened.Store, options)
	}
	return d, nil
}

// ServeHTTP serves a request by the dashboard of its path.
func (d *dashboards) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if rest, ok := strings.CutPrefix(r.URL.EscapedPath(), otherPrefix); ok {
		if name, _, found := strings.Cut(rest, "/"); found && d.others[name] != nil {
			d.others[name].ServeHTTP(w, r)
			return
		}
	}
	d.first.ServeHTTP(w, r)
}

// Close closes all of them.
func (d *dashboards) Close() {
	d.first.Close()
	for _, other := range d.others {
		other.Close()
	}
}

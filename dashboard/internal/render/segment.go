package render

import (
	"net/url"
	"slices"
	"strings"
)

// reserved are segments with another meaning in the place of a name: "." and ".." for browsers, the others for the routes.
var reserved = []string{"", ".", "..", "new", "bulk"}

// Segment returns a name as one segment of a path. Reserved names, and names that begin with "~", get a "~" in front.
func Segment(name string) string {
	if slices.Contains(reserved, name) || strings.HasPrefix(name, "~") {
		name = "~" + name
	}
	return url.PathEscape(name)
}

// Unsegment returns the name of a segment. It returns false if the segment is not the segment of a name.
func Unsegment(segment string) (name string, ok bool) {
	name, err := url.PathUnescape(segment)
	if err != nil || segment == "" {
		return "", false
	}
	return strings.TrimPrefix(name, "~"), true
}

// Path returns the path of a page: the first part unchanged, followed by names, such as Path("jobs", queue, id).
func Path(page string, names ...string) string {
	var path strings.Builder
	path.WriteString(page)
	for _, name := range names {
		path.WriteString("/" + Segment(name))
	}
	return path.String()
}

package render

import (
	"net/url"
	"slices"
	"strings"
)

// reserved are segments that mean something else where a name can stand: "." and ".." to browsers, the rest to the routes.
var reserved = []string{"", ".", "..", "new", "bulk"}

// Segment is a name as one segment of a path. Names that could be taken for something else get a "~" in front, as those that begin with one.
func Segment(name string) string {
	if slices.Contains(reserved, name) || strings.HasPrefix(name, "~") {
		name = "~" + name
	}
	return url.PathEscape(name)
}

// Unsegment is the name that a segment stands for; false: it stands for none.
func Unsegment(segment string) (name string, ok bool) {
	name, err := url.PathUnescape(segment)
	if err != nil || segment == "" {
		return "", false
	}
	return strings.TrimPrefix(name, "~"), true
}

// Path is the path of a page: the first part as it is, then names, then, where there is one, what a page of the name is called: Path("jobs", queue, id).
func Path(page string, names ...string) string {
	var path strings.Builder
	path.WriteString(page)
	for _, name := range names {
		path.WriteString("/" + Segment(name))
	}
	return path.String()
}

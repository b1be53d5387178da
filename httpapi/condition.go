package httpapi

import (
	"strconv"
	"strings"

	"github.com/chimejobs/chime/httpapi/internal/problem"
	"github.com/chimejobs/chime/httpapi/internal/service"
)

// noRevision is a revision that no resource has. A tag that cannot be read counts as this one.
const noRevision = -1

// condition reads If-Match and If-None-Match. A tag that it does not understand matches nothing, so an unclear request changes nothing.
func (c *call) condition() (when service.Condition, err error) {
	if values := c.r.Header.Values("If-None-Match"); len(values) > 0 {
		if given := strings.TrimSpace(strings.Join(values, ",")); given != "*" {
			return when, problem.New(problem.Exists, "If-None-Match is %q: want *, which allows creating only", cut(given, 100))
		}
		when.None = true
	}
	values := c.r.Header.Values("If-Match")
	if len(values) == 0 {
		return when, nil
	}
	given := strings.TrimSpace(strings.Join(values, ","))
	if given == "*" {
		when.Any = true
		return when, nil
	}
	tags, ok := splitTags(given)
	if !ok {
		return when, problem.New(problem.Changed, "If-Match is %q: want ETags as the server sent them, with quotes: \"5\", or *", cut(given, 100))
	}
	for _, tag := range tags {
		revision, err := strconv.ParseInt(tag, 10, 64)
		if err != nil || revision <= 0 || strconv.FormatInt(revision, 10) != tag {
			revision = noRevision
		}
		when.Match = append(when.Match, revision)
	}
	return when, nil
}

// splitTags returns the texts inside the quotes of a list of entity tags. A weak tag becomes W/, which no tag of ours is.
func splitTags(list string) (tags []string, ok bool) {
	for {
		list = strings.TrimLeft(list, " \t,")
		if list == "" {
			return tags, len(tags) > 0
		}
		strong, weak := strings.CutPrefix(list, "W/")
		inner, quoted := strings.CutPrefix(strong, `"`)
		tag, rest, closed := strings.Cut(inner, `"`)
		if !quoted || !closed {
			return nil, false
		}
		list = strings.TrimLeft(rest, " \t")
		if list != "" && list[0] != ',' {
			return nil, false
		}
		if weak {
			tag = "W/"
		}
		tags = append(tags, tag)
	}
}

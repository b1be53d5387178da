package httpapi

import (
	"strconv"
	"strings"

	"github.com/chimejobs/chime/httpapi/internal/problem"
	"github.com/chimejobs/chime/httpapi/internal/service"
)

// noRevision is what a tag counts as that no resource has.
const noRevision = -1

// condition reads If-Match and If-None-Match. What is not understood matches nothing, so that no change is made which the client did not mean.
func (c *call) condition() (when service.Condition, err error) {
	if values := c.r.Header.Values("If-None-Match"); len(values) > 0 {
		if given := strings.TrimSpace(strings.Join(values, ",")); given != "*" {
			return when, problem.New(problem.Exists, "If-None-Match is %q: want *, which creates and never changes", cut(given, 100))
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
		return when, problem.New(problem.Changed, "If-Match is %q: want ETags as they were answered, with quotes: \"5\", or *", cut(given, 100))
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

// splitTags returns what stands in the quotes of a list of entity tags; that of a weak one is W/, which no tag of ours is.
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

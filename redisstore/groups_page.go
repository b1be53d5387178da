package redisstore

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// How the groups of a queue are paged: those with jobs in line, in the order of their keys; then those of the hash groups, which have flights or starts
// that count; then those of the hash grules, which have a rule or a pause. A group is listed in the first of these places where it is. The position is the
// name of the place and, in line, the last group; in the hashes, the position of HSCAN.
var groupLists = []string{"line", "groups", "grules"}

// PageGroups returns the next groups of a queue. It registers nothing and writes nothing.
func (s *store) PageGroups(ctx context.Context, c protocol.GroupPageCall) (page protocol.GroupPage, err error) {
	p, err := s.groupQueue(ctx, c.Queue, false)
	if err != nil {
		return page, err
	}
	list, at, err := parseGroupCursor(c.After)
	if err != nil {
		return page, err
	}
	k := s.keys.partition(p)
	keys := []string{k.state, k.line, k.places, k.turns, k.groups, k.grules}
	args := []any{groupLists[list], at, min(max(c.Limit, 1), protocol.MaxGroupsPage), c.Prefix}
	if c.Key != "" {
		args = []any{"one", "", 1, c.Key}
	}
	values, err := s.runOne(ctx, "list groups of", c.Queue, newCall(&listGroupsScript, keys, args).readOnly())
	if err != nil && strings.Contains(err.Error(), timeIsAWrite) {
		values, err = s.runOne(ctx, "list groups of", c.Queue, newCall(&listGroupsScript, keys, args))
	}
	if err != nil {
		return page, err
	}
	switch next := values.text(1); {
	case c.Key != "":
	case next != "":
		page.Next = groupLists[list] + "." + next
	case list+1 < len(groupLists) && !c.Waiting:
		page.Next = groupLists[list+1] + ".0"
	}
	page.Now, page.Rule = values.now(), parseGroupRule(strings.Fields(values.text(2)))
	for i := 3; i < len(values); i++ {
		g := listedGroup(values.list(i))
		if g.Next = page.Next; list == 0 && c.Key == "" {
			g.Next = groupLists[0] + "." + g.Key
		}
		page.Groups = append(page.Groups, g)
	}
	return page, nil
}

// parseGroupCursor reads the position of a page: the place, and where in it.
func parseGroupCursor(after string) (list int, at string, err error) {
	if after == "" {
		return 0, "", nil
	}
	name, at, _ := strings.Cut(after, ".")
	for list, is := range groupLists {
		if _, notNumber := strconv.ParseUint(at, 10, 64); name == is && (list == 0 && protocol.CheckID("", at) == nil || list > 0 && notNumber == nil) {
			return list, at, nil
		}
	}
	return 0, "", protocol.Invalid("GroupFilter.After", after, "GroupInfo.Next of a group of the same queue")
}

// listedGroup reads a group as the script returns it.
func listedGroup(values reply) protocol.ListedGroup {
	g := protocol.ListedGroup{Key: values.text(0), Waiting: values.number(1), Running: values.number(3), Blocked: values.text(6), By: values.text(8)}
	if first := values.text(2); first != "" {
		g.Oldest = lineID(first)
		g.Since = lineSince(first)
	}
	numbers, note, _ := strings.Cut(values.text(4), "\t")
	fields := strings.Fields(numbers)
	g.Own, g.Effective = parseGroupRule(fields), parseGroupRule(strings.Fields(values.text(5)))
	g.Effective.Weight = max(g.Effective.Weight, 1)
	if len(fields) > 6 && fields[6] != "0" {
		g.Paused, g.Note = true, parsePause(fields[6]+" "+note)
	} else if values.text(6) == protocol.GroupPaused { // its entry cannot be read
		g.Paused = true
	}
	if g.Until = values.milli(7); g.Blocked != protocol.GroupStarts {
		g.Until = time.Time{}
	}
	if g.Blocked != protocol.GroupOrdered {
		g.By = ""
	}
	return g
}

// firstDrawn separates places that were drawn, which are Unix us, from those in front of all others: see scripts/lib/groups.lua. At an instant of t us the
// latter are at most 1e15 - t/10. So both are on their sides of 1e15/1.1 at any instant after October 1998.
const firstDrawn = 909_090_909_090_910

// lineSince returns since when a job waits, from its member of line; zero: it is not known, because the job was requeued.
func lineSince(member string) time.Time {
	_, rest, _ := strings.Cut(member, "\t")
	place, _, _ := strings.Cut(rest, "\t")
	return placeTime(place)
}

// placeTime returns the instant at which a place was drawn; zero: it is the place of a requeued job.
func placeTime(place string) time.Time {
	if us, err := strconv.ParseInt(place, 10, 64); err == nil && us >= firstDrawn {
		return time.UnixMicro(us).UTC()
	}
	return time.Time{}
}

func milliseconds(n int) time.Duration { return time.Duration(n) * time.Millisecond }

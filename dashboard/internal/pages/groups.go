package pages

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/format"
	"github.com/chimejobs/chime/internal/plain"
	"github.com/chimejobs/chime/internal/protocol"
)

const (
	shownGroups  = 20   // rows of a queue's page
	sampleGroups = 1000 // groups that are read, about a hundred with each reading of the page
	samplePages  = 3    // pages of the store with each reading, if these have few groups
)

// Groups is the section of a queue's page with its groups.
type Groups struct {
	Counts chime.GroupCounts
	Rule   string // the queue's rule for all groups; empty: none
	Rows   []GroupRow
	Note   string    // which groups these are
	Oldest *GroupRow // the group with the job that has waited longest; nil: none waits, or a group is searched for
	Can    Can
	Queue  string
	Prefix string // the beginning of the names that are searched for; empty: all

	Blocked int  // groups with jobs that wait, of which none may start
	Partly  bool // there may be more of these: not all groups were read
}

// A GroupRow is a row of the section.
type GroupRow struct {
	*GroupLink
	State            plain.State
	Waiting, Running int64
	Weight           int
	Limit            string // empty: none
	Since            time.Time
	Paused, Own      bool // Own: it has a rule of its own
	Note             chime.Note
	Blocker          string    // the ID of the job that has not ended, if the group is ordered; empty: none, or not known
	Until            time.Time // when its next job may start, if it has used its starts
	Full             bool      // as many of its jobs run as may run at once
}

// A groupSample is what was read of the groups of a queue.
type groupSample struct {
	groups []*chime.GroupInfo
	next   string // empty: all were read
}

func (s *groupSample) expensive() bool { return len(s.groups) > protocol.MaxGroupsPage }
func (s *groupSample) whole() bool     { return s.next == "" || len(s.groups) >= sampleGroups }

// groups reads the section with the groups of a queue; nil: it has no groups and no rules of groups.
func (s *Site) groups(ctx context.Context, r *Request, q *chime.QueueInfo) (*Groups, error) {
	if q.Groups == (chime.GroupCounts{}) {
		return nil, nil
	}
	m := &Groups{Counts: q.Groups, Rule: plain.GroupRule(q.Groups.Rule), Can: r.Can, Queue: q.Name, Prefix: r.Query.Get("prefix")}
	if m.Prefix != "" {
		return m, s.findGroups(ctx, m)
	}
	sample, err := s.sampled.get(ctx, q.Name, r.Live, func(ctx context.Context, before *groupSample) (*groupSample, error) {
		if before == nil {
			before = &groupSample{}
		}
		read := &groupSample{groups: slices.Clone(before.groups), next: before.next}
		for range samplePages {
			page, err := s.store.Protocol().PageGroups(ctx, protocol.GroupPageCall{Queue: q.Name, After: read.next, Limit: protocol.MaxGroupsPage})
			if err != nil {
				return nil, err
			}
			read.next = page.Next
			for i := range page.Groups {
				read.groups = append(read.groups, groupInfo(&page.Groups[i]))
			}
			if read.next == "" || len(read.groups)-len(before.groups) >= protocol.MaxGroupsPage/2 {
				break
			}
		}
		return read, nil
	})
	if err != nil {
		return nil, err
	}
	m.Note, m.Partly = sample.note(), sample.next != ""
	m.fill(sample.groups)
	return m, nil
}

// maxFoundPages is how many pages of the store a search for groups reads.
const maxFoundPages = 3

// findGroups fills in the groups whose names begin with the prefix, first the one with exactly this name. If there is no such group, it fills in the one
// with this name, of which nothing is known: its rule and its pause may be set in advance.
func (s *Site) findGroups(ctx context.Context, m *Groups) error {
	if protocol.CheckPrefix("prefix", m.Prefix) != nil {
		return &QueryError{"prefix", m.Prefix, "the beginning of a group's name, at most 200 bytes without control characters"}
	}
	var found []*chime.GroupInfo
	call := protocol.GroupPageCall{Queue: m.Queue, Prefix: m.Prefix, Limit: protocol.MaxGroupsPage}
	for pages := 0; pages == 0 || call.After != "" && pages < maxFoundPages && len(found) < protocol.MaxGroupsPage; pages++ {
		page, err := s.store.Protocol().PageGroups(ctx, call)
		if err != nil {
			return err
		}
		call.After = page.Next
		for i := range page.Groups {
			found = append(found, groupInfo(&page.Groups[i]))
		}
	}
	m.Partly = call.After != ""
	m.fill(found)
	m.Oldest = nil
	if m.Note = foundNote(len(found), m.Partly); protocol.CheckID("group", m.Prefix) != nil {
		return nil
	}
	page, err := s.store.Protocol().PageGroups(ctx, protocol.GroupPageCall{Queue: m.Queue, Key: m.Prefix})
	if err != nil || len(page.Groups) == 0 {
		return err
	}
	exact := groupRow(m.Queue, groupInfo(&page.Groups[0]))
	if len(found) > 0 && exact.Waiting+exact.Running == 0 && !exact.Own && !exact.Paused {
		return nil
	}
	m.Rows = slices.DeleteFunc(m.Rows, func(r GroupRow) bool { return r.Key == m.Prefix })
	m.Rows = append([]GroupRow{exact}, m.Rows...)
	return nil
}

// foundNote describes the rows of a search that has found n groups.
func foundNote(n int, more bool) string {
	switch {
	case n >= protocol.MaxGroupsPage && more:
		return fmt.Sprintf("These have the most waiting jobs among the first %s groups whose names begin so. There are more.", format.Count(n))
	case more: // the groups with waiting jobs come first
		return "Groups without waiting jobs may be missing: not all of them were read. The whole name of a group always finds it."
	case n == 0:
		return "No group whose name begins so has jobs, a rule or a pause. You can pause or limit the group with exactly this name in advance."
	case n > shownGroups:
		return fmt.Sprintf("These have the most waiting jobs of the %s groups whose names begin so.", format.Count(n))
	}
	return ""
}

// fill makes the rows of the groups with the most waiting jobs, and finds the one with the oldest.
func (m *Groups) fill(groups []*chime.GroupInfo) {
	groups = slices.SortedFunc(slices.Values(groups), func(a, b *chime.GroupInfo) int {
		return cmp.Or(cmp.Compare(b.Waiting, a.Waiting), cmp.Compare(b.Running, a.Running), cmp.Compare(a.Key, b.Key))
	})
	groups = slices.CompactFunc(groups, func(a, b *chime.GroupInfo) bool { return a.Key == b.Key }) // a group that was listed twice
	oldest := -1
	for i := range groups {
		if groups[i].Waiting > 0 && groups[i].Blocked != "" {
			m.Blocked++
		}
		if since := groups[i].OldestSince; !since.IsZero() && (oldest < 0 || since.Before(groups[oldest].OldestSince)) {
			oldest = i
		}
	}
	if oldest >= 0 {
		row := groupRow(m.Queue, groups[oldest])
		m.Oldest = &row
	}
	for i := range groups[:min(len(groups), shownGroups)] {
		m.Rows = append(m.Rows, groupRow(m.Queue, groups[i]))
	}
}

// note describes which groups the rows are.
func (s *groupSample) note() string {
	n := len(s.groups)
	switch {
	case s.next != "":
		return fmt.Sprintf("These have the most waiting jobs among %s that were read, in the order of their names. There are more.", format.Plural(n, "group", "groups"))
	case n > shownGroups:
		return fmt.Sprintf("These have the most waiting jobs of all %s groups.", format.Count(n))
	}
	return ""
}

func groupRow(queue string, g *chime.GroupInfo) GroupRow {
	return GroupRow{
		GroupLink: groupLink(queue, g.Key), State: plain.Group(g), Waiting: g.Waiting, Running: g.Running, Weight: g.Effective.Weight,
		Limit: plain.GroupRule(g.Effective), Since: g.OldestSince, Paused: g.Paused, Note: g.Note, Own: g.Own != (chime.GroupRule{}), Blocker: g.By, Until: g.Until,
		Full: g.Blocked == chime.GroupRunning,
	}
}

// groupInfo converts a group of the store's page: chime.Queues.Groups would read the next page to find the end of this one.
func groupInfo(g *protocol.ListedGroup) *chime.GroupInfo {
	rule := func(r protocol.GroupRule) chime.GroupRule {
		return chime.GroupRule{Weight: r.Weight, Running: r.Running, Starts: r.Starts, Per: r.Per, Ordered: chime.Switch(r.Ordered), Waiting: r.Waiting}
	}
	return &chime.GroupInfo{
		Key: g.Key, Own: rule(g.Own), Effective: rule(g.Effective), Paused: g.Paused, Note: chime.Note(g.Note), Waiting: g.Waiting, Running: g.Running,
		Oldest: g.Oldest, OldestSince: g.Since, Blocked: chime.GroupBlock(g.Blocked), Until: g.Until, By: g.By,
	}
}

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
	Oldest *GroupRow // the group with the job that has waited longest; nil: none waits
	Can    Can
	Queue  string
}

// A GroupRow is a row of the section.
type GroupRow struct {
	*GroupLink
	State            plain.State
	Waiting, Running int64
	Weight           int
	Limit            string // empty: none
	Since            time.Time
	Paused           bool
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
	m := &Groups{Counts: q.Groups, Rule: plain.GroupRule(q.Groups.Rule), Can: r.Can, Queue: q.Name, Note: sample.note()}
	m.fill(sample.groups)
	return m, nil
}

// fill makes the rows of the groups with the most waiting jobs, and finds the one with the oldest.
func (m *Groups) fill(groups []*chime.GroupInfo) {
	groups = slices.SortedFunc(slices.Values(groups), func(a, b *chime.GroupInfo) int {
		return cmp.Or(cmp.Compare(b.Waiting, a.Waiting), cmp.Compare(b.Running, a.Running), cmp.Compare(a.Key, b.Key))
	})
	groups = slices.CompactFunc(groups, func(a, b *chime.GroupInfo) bool { return a.Key == b.Key }) // a group that was listed twice
	oldest := -1
	for i := range groups {
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
		Limit: plain.GroupRule(g.Effective), Since: g.OldestSince, Paused: g.Paused,
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

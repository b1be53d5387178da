package pages

import (
	"cmp"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/plain"
)

// unread is the state word of a schedule that this version cannot read.
const unread = "unread"

var (
	scheduleStates = []string{"all", "live", "paused", "failing", "late", "completed"}
	scheduleSorts  = []string{"name", "next", "last", "late", "failed", "queue", "state"}
	// stateOrder has the states, worst first.
	stateOrder = []string{"failing", "late", unread, "paused", "live", "completed"}
)

const maxText = 200 // maximum length of a name in a query, in bytes

// A ScheduleQuery selects and orders the schedules of a list.
type ScheduleQuery struct {
	State                       string // one of scheduleStates
	Queue, Owner, Group, Prefix string // empty: any
	Sort                        string // one of scheduleSorts
	After                       string // the name of the schedule before the page; empty: the first page
	Limit                       int
}

func (r *Request) scheduleQuery() (q ScheduleQuery, err error) {
	if q.State, err = r.choice("state", scheduleStates...); err != nil {
		return q, err
	}
	if q.Sort, err = r.choice("sort", scheduleSorts...); err != nil {
		return q, err
	}
	if q.Limit, err = r.number("limit", 1, maxRows, rows); err != nil {
		return q, err
	}
	for field, value := range map[string]*string{"queue": &q.Queue, "owner": &q.Owner, "group": &q.Group, "prefix": &q.Prefix, "after": &q.After} {
		if *value = r.Query.Get(field); len(*value) > maxText {
			return q, &QueryError{field, *value, fmt.Sprintf("at most %d bytes", maxText)}
		}
	}
	return q, nil
}

// Filtered reports whether the query leaves out some schedules.
func (q ScheduleQuery) Filtered() bool {
	return q.State != scheduleStates[0] || q.Queue != "" || q.Owner != "" || q.Group != "" || q.Prefix != ""
}

// Filter returns the part of the query that selects schedules, without order and page size.
func (q ScheduleQuery) Filter() string {
	filter := url.Values{}
	for field, value := range map[string]string{"state": q.State, "queue": q.Queue, "owner": q.Owner, "group": q.Group, "prefix": q.Prefix} {
		if value != "" && value != scheduleStates[0] {
			filter.Set(field, value)
		}
	}
	return filter.Encode()
}

// words describes the selected schedules; empty: all.
func (q ScheduleQuery) words() string {
	var parts []string
	add := func(value, format string) {
		if value != "" {
			parts = append(parts, fmt.Sprintf(format, value))
		}
	}
	if q.State != scheduleStates[0] {
		add(q.State, "that are %s")
	}
	add(q.Queue, "of queue %s")
	add(q.Owner, "of owner %s")
	add(q.Group, "of group %s")
	add(q.Prefix, "whose names begin with “%s”")
	return strings.Join(parts, ", ")
}

// byHistory reports whether the order depends on histories.
func (q ScheduleQuery) byHistory() bool { return q.Sort == "late" || q.Sort == "failed" }

// fits reports whether a schedule matches, apart from its state.
func (q ScheduleQuery) fits(s *ListedSchedule) bool {
	return (q.Queue == "" || s.Queue == q.Queue) && (q.Owner == "" || s.Owner == q.Owner) && (q.Group == "" || s.Group == q.Group) && strings.HasPrefix(s.Name, q.Prefix)
}

// means reports whether a state matches.
func (q ScheduleQuery) means(state string) bool {
	return q.State == scheduleStates[0] || q.State == state
}

// scheduleState returns the state of a schedule of a list.
func scheduleState(s *ListedSchedule, now time.Time) plain.State {
	if s.Unread != nil {
		return plain.State{Symbol: plain.Warning, Word: unread, Sentence: s.Unread.Error()}
	}
	return plain.Schedule(s.Schedule, now)
}

// order sorts schedules that are ordered by name into the order of the query.
func (q ScheduleQuery) order(found []foundSchedule) {
	place := func(f *foundSchedule) int64 {
		switch {
		case q.Sort == "state":
			return int64(slices.Index(stateOrder, f.state.Word))
		case q.Sort == "next" && !f.Next.IsZero():
			return f.Next.Add(f.Offset).UnixMilli()
		case q.Sort == "last" && !f.Last.Ended.IsZero():
			return -f.Last.Ended.UnixMilli()
		case q.Sort == "late" && f.history.Starts > 0:
			return -int64(f.history.LateP99)
		case q.Sort == "failed" && f.history.Known:
			return -int64(f.history.Failed)
		}
		return math.MaxInt64
	}
	switch q.Sort {
	case "name":
	case "queue":
		slices.SortStableFunc(found, func(a, b foundSchedule) int { return cmp.Compare(a.Queue, b.Queue) })
	default:
		slices.SortStableFunc(found, func(a, b foundSchedule) int { return cmp.Compare(place(&a), place(&b)) })
	}
}

// begin returns the index at which the page begins in the sorted schedules. ok is false if the schedule before the page no longer exists.
func (q ScheduleQuery) begin(found []foundSchedule) (at int, ok bool) {
	if q.After == "" {
		return 0, true
	}
	at = slices.IndexFunc(found, func(f foundSchedule) bool {
		return f.Name == q.After || q.Sort == "name" && f.Name > q.After
	})
	switch {
	case at < 0 && q.Sort == "name":
		return len(found), true
	case at < 0:
		return 0, false
	case found[at].Name == q.After:
		return at + 1, true
	}
	return at, true
}

// live reads the live schedules of a store that has too many schedules for the memory.
func (q ScheduleQuery) live() chime.ScheduleFilter {
	return chime.ScheduleFilter{Prefix: q.Prefix, Queue: q.Queue, After: q.After, Limit: q.Limit + 1}
}

package pages

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/dashboard/internal/render"
	"github.com/chimejobs/chime/internal/format"
	"github.com/chimejobs/chime/internal/history"
	"github.com/chimejobs/chime/internal/plain"
)

const (
	rows      = 25  // rows of a list, unless the viewer requests more
	maxRows   = 200 // maximum that they may request
	maxOwners = 100 // number of proposed owners
	shownAge  = 5 * time.Second
)

// Schedules is the list of the schedules.
type Schedules struct {
	Query ScheduleQuery
	Tabs  []ScheduleTab // empty: there are too many schedules to count, or they are still being read
	Rows  []ScheduleRow
	Found int // number of schedules that match; -1: not known

	AsOf         time.Time // when the schedules were read; zero: a moment ago
	Note         string    // why the list does not match the request; empty: it does
	Older, Newer *string   // the names before the previous and the next page; nil: there is no such page

	Queues, Owners []string // choices for the filter
	Can            Can
}

// A ScheduleTab is the tab of a state.
type ScheduleTab struct {
	State  string
	Count  int
	Active bool
}

// A foundSchedule is a schedule that matches the query.
type foundSchedule struct {
	ListedSchedule
	state   plain.State
	runs    []*chime.RunInfo // the newest first
	history history.History  // summary of the runs; not Known: they were not read yet
}

// Schedules reads the list of schedules.
func (s *Site) Schedules(ctx context.Context, r *Request) (View, error) {
	query, err := r.scheduleQuery()
	if err != nil {
		return View{}, err
	}
	standing, err := s.Standing(ctx)
	if err != nil {
		return View{}, err
	}
	listing, err := s.directory.get(ctx, r.Live)
	if err != nil {
		return View{}, err
	}
	m := &Schedules{Query: query, Can: r.Can}
	for _, queue := range standing.Queues {
		if queue.Schedules > 0 {
			m.Queues = append(m.Queues, queue.Name)
		}
	}
	if query.Queue != "" && !slices.Contains(m.Queues, query.Queue) {
		m.Queues = append(m.Queues, query.Queue) // the queue has no schedules any more
	}
	slices.Sort(m.Queues)
	if !listing.Whole && !listing.Reading {
		err = s.fillBeyond(ctx, m, standing.Now(), r.Zone)
	} else {
		err = s.fill(ctx, m, listing, standing.Now(), r.Zone)
	}
	blocking := standing.blocking()
	for i := range m.Rows {
		m.Rows[i].State = plain.Blocked(m.Rows[i].State, blocking(m.Rows[i].Schedule))
	}
	return View{"Schedules", m}, err
}

// fill fills in a page of a listing.
func (s *Site) fill(ctx context.Context, m *Schedules, listing Listing, now time.Time, zone *time.Location) error {
	// States are computed for the time of the reading. With the current time, each schedule that has become due since would be late.
	age := time.Since(listing.At)
	asOf := now.Add(-age)
	if age >= shownAge {
		m.AsOf = asOf.Truncate(time.Second)
	}
	var found []foundSchedule
	counts, owners := map[string]int{}, map[string]bool{}
	for i := range listing.Schedules {
		one := &listing.Schedules[i]
		if one.Owner != "" {
			owners[one.Owner] = true
		}
		if !m.Query.fits(one) {
			continue
		}
		state := scheduleState(one, asOf)
		counts["all"]++
		counts[state.Word]++
		if m.Query.means(state.Word) {
			found = append(found, foundSchedule{ListedSchedule: *one, state: state})
		}
	}
	m.Found = len(found)
	m.Owners = slices.Sorted(maps.Keys(owners))
	m.Owners = m.Owners[:min(len(m.Owners), maxOwners)]
	if listing.Reading {
		m.Note = fmt.Sprintf("The schedules are still being read. These are the first %d by name.", len(listing.Schedules))
	} else {
		for _, state := range scheduleStates {
			m.Tabs = append(m.Tabs, ScheduleTab{state, counts[state], state == m.Query.State})
		}
	}
	if err := s.order(ctx, m, found); err != nil {
		return err
	}
	begin, ok := m.Query.begin(found)
	if !ok {
		m.Note = "The last schedule of the previous page is no longer in the list, so this page begins at the front again."
	}
	end := min(begin+m.Query.Limit, len(found))
	m.page(found, begin, end)
	return s.addRows(ctx, m, found[begin:end], now, zone)
}

// order sorts the schedules that were found. Histories may still be being read; schedules without a history come last.
func (s *Site) order(ctx context.Context, m *Schedules, found []foundSchedule) error {
	if m.Query.byHistory() {
		var read []*chime.Schedule
		var of []*foundSchedule
		for i := range found {
			if found[i].Unread == nil {
				read, of = append(read, found[i].Schedule), append(of, &found[i])
			}
		}
		histories, err := s.summaries.of(ctx, read)
		if err != nil {
			return err
		}
		known := 0
		for i, f := range of {
			if f.history = histories[i]; f.history.Known {
				known++
			}
		}
		if known < len(of) && m.Note == "" {
			m.Note = fmt.Sprintf("The runs of %s of %s were read so far; the other schedules come last.", format.Count(known), format.Plural(len(of), "schedule", "schedules"))
		}
	}
	m.Query.order(found)
	return nil
}

// summarize reads the summaries of the schedules' histories. The summary of a deleted schedule is empty.
func (s *Site) summarize(ctx context.Context, schedules []*chime.Schedule) ([]history.History, error) {
	names := make([]string, len(schedules))
	for i, of := range schedules {
		names[i] = of.Name
	}
	runs, err := s.readRuns(ctx, names)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	if last := s.Last(); last != nil {
		now = last.Now()
	}
	all := make([]history.History, len(schedules))
	for i, of := range schedules {
		all[i] = history.Of(of, runs[i], now)
	}
	return all, nil
}

// page fills in the links to the previous and the next page.
func (m *Schedules) page(found []foundSchedule, begin, end int) {
	if end < len(found) && end > 0 {
		m.Older = &found[end-1].Name
	}
	if before := begin - m.Query.Limit; begin > 0 {
		m.Newer = new(string)
		if before > 0 {
			*m.Newer = found[before-1].Name
		}
	}
}

// fillBeyond fills in a page for a store with more schedules than the memory holds: ordered by name, or by the next occurrence.
func (s *Site) fillBeyond(ctx context.Context, m *Schedules, now time.Time, zone *time.Location) error {
	m.Found = -1
	m.Note = fmt.Sprintf("There are more than %s schedules. They can only be listed by name, by the beginning of the name, by queue, or by the next occurrence.", format.Count(maxDirectory))
	var found []foundSchedule
	add := func(one *chime.Schedule, unread error) {
		listed := ListedSchedule{one, unread}
		found = append(found, foundSchedule{ListedSchedule: listed, state: scheduleState(&listed, now)})
	}
	switch {
	case m.Query.State != "all" || m.Query.Owner != "" || m.Query.Group != "":
		return nil
	case m.Query.Sort == "next" && !m.Query.Filtered():
		soonest, err := s.schedules.Soonest(ctx, m.Query.Limit)
		if err != nil {
			return err
		}
		for _, one := range soonest {
			add(one, nil)
		}
		return s.addRows(ctx, m, found, now, zone)
	}
	m.Query.Sort = "name"
	for one, err := range s.schedules.List(ctx, m.Query.live()) {
		if one == nil {
			return err
		}
		add(one, err)
	}
	end := min(m.Query.Limit, len(found))
	m.page(found, 0, end)
	if m.Query.After != "" {
		m.Newer = new(string)
	}
	return s.addRows(ctx, m, found[:end], now, zone)
}

// addRuns reads and summarizes the runs of schedules. A schedule that cannot be read has no runs.
func (s *Site) addRuns(ctx context.Context, found []foundSchedule, now time.Time) error {
	var read []*chime.Schedule
	var of []*foundSchedule
	for i := range found {
		if found[i].Unread == nil {
			read, of = append(read, found[i].Schedule), append(of, &found[i])
		}
	}
	all, err := s.runs.some(ctx, read)
	if err != nil {
		return err
	}
	for i, f := range of {
		if all[i].known {
			f.runs, f.history = all[i].entries, history.Of(f.Schedule, all[i].entries, now)
		}
	}
	return nil
}

// addRows fills in the shown rows. Runs are read only for these.
func (s *Site) addRows(ctx context.Context, m *Schedules, found []foundSchedule, now time.Time, zone *time.Location) error {
	if err := s.addRuns(ctx, found, now); err != nil {
		return err
	}
	m.Rows = make([]ScheduleRow, len(found))
	for i := range found {
		m.Rows[i] = newScheduleRow(&found[i], zone)
	}
	return nil
}

// Noted describes which part of the list is shown.
func (m *Schedules) Noted() string {
	if m.Found < 0 || m.Found == len(m.Rows) {
		return ""
	}
	return strconv.Itoa(len(m.Rows)) + " of " + strconv.Itoa(m.Found)
}

// Bulk returns the buttons for the ticked schedules.
func (m *Schedules) Bulk() *render.Bulk {
	b := &render.Bulk{Path: "schedules/bulk", Noun: "schedules", All: "all that match"}
	if m.Found >= 0 {
		b.All = "all " + format.Count(m.Found) + " that match"
	}
	if m.Can.Operate {
		b.Verbs = append(b.Verbs, render.Verb{Name: "pause", Text: "Pause", Icon: "pause"}, render.Verb{Name: "resume", Text: "Resume", Icon: "play"},
			render.Verb{Name: "trigger", Text: "Run now", Icon: "zap"})
	}
	if m.Can.Delete {
		b.Verbs = append(b.Verbs, render.Verb{Name: "delete", Text: "Delete", Icon: "trash-2", Destroys: true})
	}
	if len(b.Verbs) == 0 || len(m.Rows) == 0 {
		return nil
	}
	return b
}

// Empty is shown if the list is empty.
func (m *Schedules) Empty() render.Empty {
	if m.Query.Filtered() {
		return render.Empty{Text: "No schedule matches.", Href: "schedules", Do: "Show all"}
	}
	e := render.Empty{
		Text: "There are no schedules yet. This line creates the first one:",
		Line: "chime schedules put report '*/15 * * * *'",
	}
	if m.Can.Edit {
		e.Href, e.Do = "schedules/new", "New schedule"
	}
	return e
}

// A Column is a column by which the list can be sorted.
type Column struct {
	Sort, Text, Aria string
	Whole            bool // its values have rows of their own, below the other columns
}

// Column returns a column of the list.
func (m *Schedules) Column(sort, text string) Column {
	c := Column{Sort: sort, Text: text}
	if m.Query.Sort == sort {
		c.Aria = map[string]string{"last": "descending", "late": "descending", "failed": "descending"}[sort]
		c.Aria = cmp.Or(c.Aria, "ascending")
	}
	return c
}

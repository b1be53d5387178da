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
	"github.com/chimejobs/chime/internal/history"
	"github.com/chimejobs/chime/internal/plain"
)

const (
	rows      = 25  // of a list, unless the viewer asks for more
	maxRows   = 200 // that they may ask for
	maxOwners = 100 // that are proposed
	shownAge  = 5 * time.Second
)

// Schedules is the list of the schedules.
type Schedules struct {
	Query ScheduleQuery
	Tabs  []ScheduleTab // none: they are too many to be counted, or still being read
	Rows  []ScheduleRow
	Found int // schedules that the query fits; -1: not known

	AsOf         time.Time // when the schedules were read; zero: a moment ago
	Note         string    // why the list is not what was asked for; empty: it is
	Older, Newer *string   // behind which name the pages before and after begin; nil: there is none

	Queues, Owners []string // to choose from
	Can            Can
}

// A ScheduleTab is the schedules of a state.
type ScheduleTab struct {
	State  string
	Count  int
	Active bool
}

// A foundSchedule is one that the query fits.
type foundSchedule struct {
	ListedSchedule
	state   plain.State
	runs    []*chime.RunInfo // the newest first
	history history.History  // of these; not Known: they were not read yet
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
		m.Queues = append(m.Queues, query.Queue) // it has none any more
	}
	slices.Sort(m.Queues)
	if !listing.Whole && !listing.Reading {
		err = s.fillBeyond(ctx, m, standing.Now(), r.Zone)
	} else {
		err = s.fill(ctx, m, listing, standing.Now(), r.Zone)
	}
	return View{"Schedules", m}, err
}

// fill fills in a page of what a listing has.
func (s *Site) fill(ctx context.Context, m *Schedules, listing Listing, now time.Time, zone *time.Location) error {
	// What was read a while ago stood so then: judged by the clock of now each schedule whose time has come since would be late.
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
		m.Note = fmt.Sprintf("The schedules are being read: these are the first %d by name.", len(listing.Schedules))
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
		m.Note = "The schedule behind which this page began is no longer in the list: it begins anew."
	}
	end := min(begin+m.Query.Limit, len(found))
	m.page(found, begin, end)
	return s.addRows(ctx, m, found[begin:end], now, zone)
}

// order puts what was found in order. What only histories say may still be being read: those of which it is not known yet come last.
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
			m.Note = fmt.Sprintf("The runs of %s of %s are read so far: the others come behind them.", render.Count(int64(known)), render.Plural(int64(len(of)), "schedule", "schedules"))
		}
	}
	m.Query.order(found)
	return nil
}

// summarize reads what the histories of schedules say. One that was deleted meanwhile says nothing.
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

// page says where the pages before and after are.
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

// fillBeyond fills in a page of a store that has more schedules than are held: by name, or those that are next.
func (s *Site) fillBeyond(ctx context.Context, m *Schedules, now time.Time, zone *time.Location) error {
	m.Found = -1
	m.Note = fmt.Sprintf("There are more than %d schedules: they are listed by name, from the beginning of one, by queue, or those that are next.", maxDirectory)
	var found []foundSchedule
	add := func(one *chime.Schedule, unread error) {
		listed := ListedSchedule{one, unread}
		found = append(found, foundSchedule{ListedSchedule: listed, state: scheduleState(&listed, now)})
	}
	switch {
	case m.Query.State != "all" || m.Query.Owner != "":
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

// addRuns reads runs of schedules, and sums them up. One that cannot be read has none.
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

// addRows fills in the rows that are shown: of them alone runs are read.
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

// Noted says how many of how many are shown.
func (m *Schedules) Noted() string {
	if m.Found < 0 || m.Found == len(m.Rows) {
		return ""
	}
	return strconv.Itoa(len(m.Rows)) + " of " + strconv.Itoa(m.Found)
}

// Bulk are the buttons for the ticked schedules.
func (m *Schedules) Bulk() *render.Bulk {
	b := &render.Bulk{Path: "schedules/bulk", Noun: "schedules", All: "all that match"}
	if m.Found >= 0 {
		b.All = "all " + render.Count(int64(m.Found)) + " that match"
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

// Empty stands where the list has none.
func (m *Schedules) Empty() render.Empty {
	if m.Query.Filtered() {
		return render.Empty{Text: "No schedule fits.", Href: "schedules", Do: "Show all"}
	}
	e := render.Empty{
		Text: "There is no schedule yet. This line makes the first one:",
		Line: "chime schedules put report '*/15 * * * *'",
	}
	if m.Can.Edit {
		e.Href, e.Do = "schedules/new", "New schedule"
	}
	return e
}

// A Column is one by which the list can be put in order.
type Column struct{ Sort, Text, Aria string }

// Column is a column of the list.
func (m *Schedules) Column(sort, text string) Column {
	c := Column{Sort: sort, Text: text}
	if m.Query.Sort == sort {
		c.Aria = map[string]string{"last": "descending", "late": "descending", "failed": "descending"}[sort]
		c.Aria = cmp.Or(c.Aria, "ascending")
	}
	return c
}

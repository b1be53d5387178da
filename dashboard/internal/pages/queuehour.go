package pages

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/dashboard/internal/render"
	"github.com/chimejobs/chime/internal/format"
	"github.com/chimejobs/chime/internal/rights"
	"github.com/chimejobs/chime/internal/svg"
)

const (
	hourRows     = 8    // jobs of the next hour that are shown
	hourDelayed  = 200  // delayed jobs, and as many retrying ones, that are read
	hourPlanned  = 2000 // occurrences that are computed
	hourFor      = 10 * time.Second
	hourBars     = 12
	hourBarWidth = 5 * time.Minute
)

// A NextHour has the jobs of a queue that are due within an hour.
type NextHour struct {
	Chart render.Chart
	Rows  []DueRow // the first
	Count int
	More  bool // there are more than Count
}

// A DueRow is a job that is due.
type DueRow struct {
	At   time.Time
	Name string // of the job
	What string // why it is due then
	Path string // of its page, or its schedule's
}

// Note describes how many jobs are due.
func (h *NextHour) Note() string {
	text := format.Plural(h.Count, "job is due", "jobs are due")
	if h.More {
		text = "At least " + text
	}
	if shown := len(h.Rows); shown < h.Count {
		text += fmt.Sprintf("; these are the first %s", format.Count(shown))
	}
	return text + "."
}

// nextHours caches the jobs that are due on queues that are being viewed. The zero value is empty.
type nextHours struct {
	mu  sync.Mutex
	all map[string]readHour
}

type readHour struct {
	rows []DueRow
	more bool
	at   time.Time
}

// nextHour returns the jobs of a queue that are due within an hour: delayed and retrying ones, and the occurrences of its schedules. nil: nothing is due.
func (s *Site) nextHour(ctx context.Context, q *chime.QueueInfo, r *Request, now time.Time) (*NextHour, error) {
	if q.Delayed == 0 && q.Schedules == 0 {
		return nil, nil
	}
	read, err := s.nextHours.read(ctx, s, q, r.Live, now)
	if rights.Missing(err) || errors.Is(err, chime.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	h := &NextHour{More: read.more}
	bars := svg.Bars{Title: "Jobs due in the next hour, by 5 minutes", Noun: "job", From: now.Truncate(hourBarWidth), Step: hourBarWidth, Zone: r.Zone, Counts: make([]int, hourBars), Width: chartWidth, Height: chartHeight}
	for _, row := range read.rows {
		if row.At.Before(bars.From) {
			continue
		}
		if i := int(row.At.Sub(bars.From) / hourBarWidth); i < hourBars {
			bars.Counts[i]++
			h.Count++
			if len(h.Rows) < hourRows {
				h.Rows = append(h.Rows, row)
			}
		}
	}
	h.Chart = render.Chart{ID: "chart-due", Title: "Next hour", SVG: bars.SVG(), Table: onlyPlanned(bars.Table())}
	return h, nil
}

// read returns what is due, in order. It reads it once in hourFor.
func (n *nextHours) read(ctx context.Context, s *Site, q *chime.QueueInfo, live bool, now time.Time) (readHour, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.all == nil {
		n.all = map[string]readHour{}
	}
	for name, old := range n.all {
		if now.Sub(old.at) >= hourFor || now.Before(old.at) {
			delete(n.all, name)
		}
	}
	if known, ok := n.all[q.Name]; ok {
		return known, nil
	}
	read := readHour{at: now}
	until := now.Truncate(hourBarWidth).Add(hourBars * hourBarWidth)
	if q.Delayed > 0 {
		if err := read.addDelayed(ctx, s, q.Name, until); err != nil {
			return read, err
		}
	}
	if q.Schedules > 0 {
		listing, err := s.directory.lately(ctx, live)
		if err != nil {
			return read, err
		}
		read.addPlanned(listing, q.Name, now, until)
	}
	slices.SortStableFunc(read.rows, func(a, b DueRow) int { return a.At.Compare(b.At) })
	n.all[q.Name] = read
	return read, nil
}

// addDelayed adds the delayed and the retrying jobs, without first attempts of occurrences.
func (h *readHour) addDelayed(ctx context.Context, s *Site, queue string, until time.Time) error {
	for _, state := range []chime.JobState{chime.JobDelayed, chime.JobRetrying} {
		page, err := s.jobs.Page(ctx, chime.JobFilter{Queue: queue, State: state, Order: chime.OldestFirst, Before: until, Limit: hourDelayed})
		if err != nil {
			return err
		}
		h.more = h.more || page.Next != ""
		for _, job := range page.Jobs {
			if state == chime.JobDelayed && job.Schedule != "" && !job.Planned.IsZero() {
				continue // it is planned
			}
			what := "delayed"
			if state == chime.JobRetrying {
				what = fmt.Sprintf("attempt %d", job.Attempt)
			}
			h.rows = append(h.rows, DueRow{job.Due, job.Name, what, render.Path("jobs", queue, job.ID)})
		}
	}
	return nil
}

// addPlanned adds the occurrences of the queue's schedules.
func (h *readHour) addPlanned(listing Listing, queue string, now, until time.Time) {
	var live []*chime.Schedule
	for _, of := range listing.Schedules {
		if of.Unread == nil && of.Queue == queue && of.State == chime.StateLive {
			live = append(live, of.Schedule)
		}
	}
	h.more = h.more || !listing.Whole
	for _, of := range live {
		series, err := of.Recurrence.Series(of.Created)
		if err != nil {
			continue
		}
		instants, complete := coming(of, series, now.Add(-of.Offset), until.Add(-of.Offset), max(hourPlanned/len(live), 1))
		h.more = h.more || complete.Before(until.Add(-of.Offset))
		for _, at := range instants {
			h.rows = append(h.rows, DueRow{at.Add(of.Offset), of.JobName, "of schedule " + of.Name, render.Path("schedules", of.Name)})
		}
	}
}

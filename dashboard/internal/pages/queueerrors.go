package pages

import (
	"context"
	"errors"
	"html/template"
	"strings"
	"sync"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/overview"
	"github.com/chimejobs/chime/internal/rights"
	"github.com/chimejobs/chime/internal/svg"
)

const (
	maxErrorRows   = 20               // on the page of a queue
	shapesFor      = 10 * time.Second // how long the errors of a queue are cached: workers send them every five seconds
	hiddenError    = "not shown"
	unknownError   = "not known"
	otherErrorJobs = "?" // the name under which the store counts jobs of too many names
)

// An ErrorRow is what failed attempts of jobs of one name have in common.
type ErrorRow struct {
	Job         string // empty: all other names
	Text        string
	Known       bool // Text is the error, not why it is not shown
	Failed      int64
	First, Last time.Time
	Versions    string
	Day         template.HTML // failed attempts in each hour of the last day
}

// errorsOf fills in the errors of a queue.
func (s *Site) errorsOf(ctx context.Context, m *Queue, standing *Standing) error {
	if m.QueueInfo.Failed == 0 || standing.Notes[overview.Queues] != "" {
		return nil
	}
	shapes, err := s.shapes.read(ctx, s.queues, m.Name, standing.At)
	if errors.Is(err, chime.ErrNotFound) || rights.Missing(err) {
		return nil
	}
	if err != nil {
		return err
	}
	m.MoreErrors = max(0, len(shapes)-maxErrorRows)
	for i := range shapes[:len(shapes)-m.MoreErrors] {
		m.Errors = append(m.Errors, s.errorRow(&shapes[i], standing.Now()))
	}
	return nil
}

// errorRow returns the row of a shape.
func (s *Site) errorRow(shape *chime.ErrorShape, now time.Time) ErrorRow {
	row := ErrorRow{Job: shape.Job, Text: shape.Shape, Known: true, Failed: shape.Failed, First: shape.First, Last: shape.Last}
	switch {
	case s.hooks.Bare || s.hooks.RedactError != nil: // a shape is not the text that the application would redact: its pattern may not match it
		row.Text, row.Known = hiddenError, false
	case row.Text == "":
		row.Text, row.Known = unknownError, false
	}
	if row.Job == otherErrorJobs {
		row.Job = ""
	}
	var versions []string
	for _, v := range shape.Versions {
		versions = append(versions, v.Version)
	}
	row.Versions = strings.Join(versions, ", ")
	hours := map[int64]int{}
	for _, hour := range shape.Hours {
		hours[hour.Hour.Unix()] = int(hour.Failed)
	}
	if from := now.Truncate(time.Hour).Add(-(dayHours - 1) * time.Hour); shape.Last.After(from) {
		chart := svg.Spark{Title: "Failed in the last day", Values: dayOf(hours, from), Tone: svg.Fail, Bars: true, From: from, Step: time.Hour}
		row.Day = chart.SVG()
	}
	return row
}

// shapes caches the errors of queues that are being viewed. The zero value is empty.
type shapes struct {
	mu  sync.Mutex
	all map[string]readShapes
}

type readShapes struct {
	shapes []chime.ErrorShape
	at     time.Time // of the reading
}

// read returns the errors of a queue, which it reads once in shapesFor.
func (s *shapes) read(ctx context.Context, queues *chime.Queues, queue string, now time.Time) ([]chime.ErrorShape, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[string]readShapes{}
	}
	for name, old := range s.all {
		if now.Sub(old.at) >= shapesFor || now.Before(old.at) {
			delete(s.all, name)
		}
	}
	if known, ok := s.all[queue]; ok {
		return known.shapes, nil
	}
	found, err := queues.Errors(ctx, queue, "")
	if err == nil {
		s.all[queue] = readShapes{found, now}
	}
	return found, err
}

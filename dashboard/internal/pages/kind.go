package pages

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/dashboard/internal/render"
	"github.com/chimejobs/chime/internal/jobfind"
	"github.com/chimejobs/chime/internal/overview"
	"github.com/chimejobs/chime/internal/rights"
	"github.com/chimejobs/chime/internal/svg"
)

const (
	maxKindErrors  = 10
	maxKindRunning = 10
)

// Kind is the page of all jobs of one name, on all queues.
type Kind struct {
	Name             string
	Queues           []KindQueue // those where it ran within two days, most attempts first
	Today, Yesterday KindSum     // the last 24 hours, and the same hours a day before
	Charts           []render.Chart
	Errors           []ErrorRow
	MoreErrors       int
	Running          []KindRun // the longest first
	MoreRunning      bool
	Read, Of         int    // number of queues whose samples were read, and of all
	Filter           string // of the list of jobs
}

// A KindSum has the figures of attempts in a time.
type KindSum struct {
	Done, Failed  int64
	P50, P95, P99 time.Duration
}

// Timed reports whether there are durations.
func (s KindSum) Timed() bool { return s.Done+s.Failed > 0 }

// Share returns the failed attempts in percent.
func (s KindSum) Share() float64 {
	if s.Done+s.Failed == 0 {
		return 0
	}
	return 100 * float64(s.Failed) / float64(s.Done+s.Failed)
}

// A SumRow is a row of a table of such figures.
type SumRow struct {
	Title string
	Path  string // of its page; empty: none
	Sum   KindSum
}

// Row returns the row of a time.
func (*Kind) Row(title string, sum KindSum) SumRow { return SumRow{Title: title, Sum: sum} }

// QueueRow returns the row of a queue.
func (*Kind) QueueRow(q KindQueue) SumRow {
	return SumRow{q.Name, render.Path("queues", q.Name), q.KindSum}
}

// A KindQueue has the figures of the last 24 hours on a queue.
type KindQueue struct {
	Name string
	KindSum
}

// A KindRun is a job that runs.
type KindRun struct {
	JobRow
	Long bool // for longer than 95 % of the attempts of the last 24 hours
}

// Kind reads the page of the jobs of one name.
func (s *Site) Kind(ctx context.Context, r *Request) (View, error) {
	name := r.Values["name"]
	standing, err := s.Standing(ctx)
	if err != nil {
		return View{}, err
	}
	m := &Kind{Name: name, Of: len(standing.Queues)}
	filter := jobfind.Filter{Job: jobfind.Pattern{Text: name}}
	m.Filter = filter.String()
	now := standing.Now()
	read, err := s.kinds.read(ctx, s.queues, standing, name)
	if err != nil && !rights.Missing(err) {
		return View{}, err
	}
	m.Read = len(read)
	m.sum(read, now, r.Zone)
	if err := s.kindErrors(ctx, m, standing); err != nil {
		return View{}, err
	}
	if err := s.kindRunning(ctx, m, standing, filter, r.Live); err != nil {
		return View{}, err
	}
	return View{"Jobs named " + name, m}, nil
}

// sum fills in the figures and the charts.
func (m *Kind) sum(read map[string]kindHours, now time.Time, zone *time.Location) {
	hour := now.Truncate(time.Hour)
	var both [2][dayHours]kindHour // today and yesterday
	for queue, hours := range read {
		var today kindHour
		ran := false
		for day := range both {
			for i := range dayHours {
				cell := hours[hour.Add(-time.Duration(24*day+dayHours-1-i)*time.Hour).Unix()]
				if day == 1 && i == dayHours-1 {
					cell = hours[partOfYesterday]
				}
				both[day][i].add(cell)
				ran = ran || cell.done+cell.failed > 0
				if day == 0 {
					today.add(cell)
				}
			}
		}
		if ran {
			m.Queues = append(m.Queues, KindQueue{queue, today.sum()})
		}
	}
	slices.SortFunc(m.Queues, func(a, b KindQueue) int {
		return cmp.Or(cmp.Compare(b.Done+b.Failed, a.Done+a.Failed), cmp.Compare(a.Name, b.Name))
	})
	var all [2]kindHour
	for day := range both {
		for i := range both[day] {
			all[day].add(both[day][i])
		}
	}
	m.Today, m.Yesterday = all[0].sum(), all[1].sum()
	if len(m.Queues) > 0 {
		m.Charts = kindCharts(both, hour, zone)
	}
}

// kindCharts draws the attempts and the durations of each hour, over those of the day before.
func kindCharts(both [2][dayHours]kindHour, hour time.Time, zone *time.Location) []render.Chart {
	series := func(day int, name string, tone svg.Tone, value func(h *kindHour) (float64, bool)) svg.Series {
		line, counted := svg.Series{Name: name, Tone: tone}, day == 0 && ran(both[1][:])
		for i := range both[day] {
			counted = counted || ran(both[day][i:i+1]) // before the first attempt nothing is known
			if v, ok := value(&both[day][i]); ok && counted {
				line.Points = append(line.Points, svg.Point{At: hour.Add(-time.Duration(dayHours-1-i) * time.Hour), Value: v})
			}
		}
		return line
	}
	done := func(h *kindHour) (float64, bool) { return float64(h.done), true }
	failed := func(h *kindHour) (float64, bool) { return float64(h.failed), true }
	quantile := func(p float64) func(h *kindHour) (float64, bool) {
		return func(h *kindHour) (float64, bool) { return overview.Quantile(h.run, p).Seconds(), h.run.Count() > 0 }
	}
	chart := func(of render.Chart, unit svg.Unit, lines func(day int) []svg.Series) render.Chart {
		picture := svg.Lines{
			Title: of.Title, From: hour.Add(-(dayHours - 1) * time.Hour), To: hour, Zone: zone, Step: time.Hour, Unit: unit, Width: chartWidth, Height: chartHeight,
			Series: lines(0), Before: lines(1),
		}
		if ran(both[1][:]) {
			of.Note = "faint: the day before"
		}
		of.SVG, of.Table = picture.SVG(), picture.Table()
		return of
	}
	return []render.Chart{
		chart(render.Chart{ID: "chart-kind", Title: "Attempts an hour"}, svg.PerHour, func(day int) []svg.Series {
			return []svg.Series{series(day, "done", svg.OK, done), series(day, "failed", svg.Fail, failed)}
		}),
		chart(render.Chart{ID: "chart-kind-time", Title: "Durations"}, svg.Seconds, func(day int) []svg.Series {
			return []svg.Series{series(day, "p50", svg.Accent, quantile(0.5)), series(day, "p95", svg.Late, quantile(0.95)), series(day, "p99", svg.Fail, quantile(0.99))}
		}),
	}
}

// ran reports whether there was an attempt in one of the hours.
func ran(hours []kindHour) bool {
	return slices.ContainsFunc(hours, func(h kindHour) bool { return h.done+h.failed > 0 })
}

// kindErrors fills in the errors of the last attempts, of the queues with the most attempts.
func (s *Site) kindErrors(ctx context.Context, m *Kind, standing *Standing) error {
	for _, queue := range m.Queues[:min(len(m.Queues), maxShares)] {
		found, err := s.shapes.read(ctx, s.queues, queue.Name, standing.At)
		if errors.Is(err, chime.ErrNotFound) || rights.Missing(err) {
			continue
		}
		if err != nil {
			return err
		}
		for i := range found {
			if found[i].Job == m.Name {
				m.Errors = append(m.Errors, s.errorRow(&found[i], standing.Now()))
			}
		}
	}
	m.Errors = mergedErrors(m.Errors)
	m.MoreErrors = max(0, len(m.Errors)-maxKindErrors)
	m.Errors = m.Errors[:len(m.Errors)-m.MoreErrors]
	return nil
}

// mergedErrors puts the rows of one error on several queues together, the last one first.
func mergedErrors(rows []ErrorRow) (merged []ErrorRow) {
	at := map[string]int{}
	for _, row := range rows {
		i, known := at[row.Text]
		if !known || !row.Known {
			at[row.Text] = len(merged)
			merged = append(merged, row)
			continue
		}
		to := &merged[i]
		to.Failed += row.Failed
		if row.First.Before(to.First) {
			to.First = row.First
		}
		if row.Last.After(to.Last) {
			to.Last, to.Versions, to.Day = row.Last, row.Versions, row.Day
		}
	}
	slices.SortStableFunc(merged, func(a, b ErrorRow) int { return b.Last.Compare(a.Last) })
	return merged
}

// kindRunning fills in the jobs that have run for longest.
func (s *Site) kindRunning(ctx context.Context, m *Kind, standing *Standing, filter jobfind.Filter, live bool) error {
	list := &Jobs{}
	search := jobfind.Search{Filter: filter, States: []chime.JobState{chime.JobRunning}, Limit: maxPerKind, Looked: jobfind.MaxLooked, Queues: standing.queues(), Shown: s.hooks.shownError()}
	if err := s.listJobs(ctx, list, search, maxPerKind, live); err != nil {
		return err
	}
	slices.SortStableFunc(list.Rows, func(a, b JobRow) int { return a.When.Compare(b.When) })
	now := standing.Now()
	for _, row := range list.Rows {
		m.Running = append(m.Running, KindRun{row, m.Today.Timed() && now.Sub(row.When) > m.Today.P95})
	}
	m.MoreRunning = list.Next != "" || len(m.Running) > maxKindRunning
	m.Running = m.Running[:min(len(m.Running), maxKindRunning)]
	return nil
}

// maxPerKind is how many running jobs of one name are read to find those that have run for longest.
const maxPerKind = 500

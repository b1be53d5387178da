package docs_test

import (
	"bytes"
	"context"
	"flag"
	"html/template"
	"os"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/chimetest"
	"github.com/chimejobs/chime/internal/long"
	"github.com/chimejobs/chime/internal/svg"
	"github.com/chimejobs/chime/recurrence"
)

//go:generate go test -tags long -run ThePicture . -update

var update = flag.Bool("update", false, "write the pictures instead of comparing them")

// The pictures of docs/schedules.md show runs that were observed here under fake time: a schedule runs every half hour, one run takes 75 minutes,
// the others take ten, and there is a gap of three hours.
const (
	half    = 30 * time.Minute
	short   = 10 * time.Minute
	longRun = 75 * time.Minute
)

var (
	midnight = time.Date(2000, 1, 13, 0, 0, 0, 0, time.UTC) // the first one in a test of chimetest
	longAt   = midnight.Add(time.Hour)
	gapFrom  = midnight.Add(2*time.Hour + 45*time.Minute)
	gapTo    = gapFrom.Add(3 * time.Hour)
	pageEnd  = midnight.Add(8*time.Hour + 15*time.Minute)
)

var overlaps = []struct {
	policy       chime.OverlapPolicy
	name, remark string
}{
	{chime.OverlapSkip, "OverlapSkip", "the default"},
	{chime.OverlapWait, "OverlapWait", "one may wait"},
	{chime.OverlapCancel, "OverlapCancel", "the newest wins"},
	{chime.OverlapAllow, "OverlapAllow", "side by side"},
}

var misfires = []struct {
	policy      chime.MisfirePolicy
	file, title string
}{
	{chime.MisfireRunOnce, "run-once", "MisfireRunOnce, the default: after an outage the first missed occurrence runs, once"},
	{chime.MisfireSkip, "skip", "MisfireSkip: after an outage nothing runs late"},
	{chime.MisfireCatchUp, "catch-up", "MisfireCatchUp: after an outage every missed occurrence runs, the oldest first"},
}

// The default policy is always simulated, the others only with the tag long.
func TestThePicturesAreWhatTheSchedulerDoes(t *testing.T) {
	for _, misfire := range misfires[:long.Seeds(1, len(misfires))] {
		chart := picture(misfire.title, "the program is down")
		for _, overlap := range overlaps {
			seen := observe(t, outage, nil, chime.Overlap(overlap.policy), chime.Misfire(misfire.policy))
			chart.Rows = append(chart.Rows, svg.Row{Name: overlap.name, Remark: overlap.remark, Occurrences: seen})
		}
		holdPicture(t, "pictures/"+misfire.file+".svg", chart.SVG())
	}
}

func TestThePictureOfAPauseIsWhatTheSchedulerDoes(t *testing.T) {
	chart := picture("Paused for three hours, and resumed", "the schedule is paused")
	for _, row := range []struct {
		name, remark string
		misfire      chime.MisfirePolicy
		resume       []chime.ChangeOption
	}{
		{"MisfireRunOnce", "the default", chime.MisfireRunOnce, nil},
		{"MisfireSkip", "", chime.MisfireSkip, nil},
		{"MisfireCatchUp", "", chime.MisfireCatchUp, nil},
		{"SkipGap()", "with every policy", chime.MisfireCatchUp, []chime.ChangeOption{chime.SkipGap()}},
	} {
		seen := observe(t, pause, row.resume, chime.Misfire(row.misfire))
		chart.Rows = append(chart.Rows, svg.Row{Name: row.name, Remark: row.remark, Occurrences: seen[4:]}) // the long run is over
	}
	chart.From = midnight.Add(135 * time.Minute)
	holdPicture(t, "pictures/pause.svg", chart.SVG())
}

func picture(title, gap string) svg.Timeline {
	return svg.Timeline{Title: title, From: midnight.Add(15 * time.Minute), To: pageEnd, Spans: []svg.Span{{From: gapFrom, To: gapTo, Label: gap}}}
}

// paper has the tokens of svg.CSS for pictures that look the same on light and on dark pages.
const paper = `.chart{--ink:#1f2328;--ink-2:#57606a;--panel:#fff;--line:#eaeef2;--edge:#afb8c1;--accent:#0969da;--ok:#2da44e;--late:#0969da;--fail:#cf222e;--paused:#bc4c00;--off:#8c959f;` +
	`font-family:system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}
`

// holdPicture compares a picture with the committed one, or writes it with -update.
func holdPicture(t *testing.T, file string, chart template.HTML) {
	t.Helper()
	drawn := svg.File(chart, paper)
	if len(drawn) > 12<<10 {
		t.Errorf("%s has %d bytes, want at most 12 KiB", file, len(drawn))
	}
	if *update {
		if err := os.WriteFile(file, drawn, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	committed, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(committed, drawn) {
		t.Errorf("docs/%s differs from what was observed now: if the change is intended, run go generate ./docs", file)
	}
}

// A gap is the reason why the schedule does not run for three hours.
type gap int

const (
	outage gap = iota // the program is down
	pause             // the schedule is paused
)

// observe simulates the morning of a schedule with the given options, and returns how each occurrence ended.
func observe(t *testing.T, kind gap, resume []chime.ChangeOption, options ...chime.ScheduleOption) (seen []svg.Occurrence) {
	t.Helper()
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) { // with few heartbeats, because runs take hours
		rule := recurrence.Recurrence{Cron: "*/30 * * * *"}
		program := func() []chime.Role {
			worker := chime.NewWorker(c.Store(), chime.WorkerOptions{Concurrency: 20, SessionTTL: 10 * time.Minute})
			worker.Handle("import", importing, chime.Timeout(2*time.Hour))
			scheduler := chime.NewScheduler(c.Store(), chime.SchedulerOptions{})
			if err := scheduler.Schedule("import", rule, append(options, chime.KeepRuns(100))...); err != nil {
				t.Fatal(err)
			}
			return []chime.Role{worker, scheduler}
		}
		schedules := chime.NewSchedules(c.Store())
		c.Advance(time.Until(midnight.Add(15 * time.Minute)))
		stop := c.Start(program()...)
		c.Advance(time.Until(gapFrom))
		if kind == outage {
			stop()
			c.Advance(time.Until(gapTo))
			c.Start(program()...)
		} else {
			if err := schedules.Pause(t.Context(), "import"); err != nil {
				t.Fatal(err)
			}
			c.Advance(time.Until(gapTo))
			if err := schedules.Resume(t.Context(), "import", resume...); err != nil {
				t.Fatal(err)
			}
		}
		c.Advance(time.Until(pageEnd.Add(time.Hour)))
		series, err := rule.Series(midnight)
		if err != nil {
			t.Fatal(err)
		}
		ended := ends(t, schedules, "import")
		for planned := range series.Between(midnight.Add(15*time.Minute), pageEnd.Add(-short)) {
			seen = append(seen, occurrence(t, planned, ended[planned.UTC()]))
		}
	})
	return seen
}

// importing takes ten minutes, and 75 at one o'clock, unless its ctx ends earlier.
func importing(ctx context.Context, job *chime.Job) error {
	takes := short
	if job.Planned.Equal(longAt) {
		takes = longRun
	}
	select {
	case <-time.After(takes):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// ends returns how the occurrences of a schedule ended.
func ends(t *testing.T, schedules *chime.Schedules, name string) map[time.Time]*chime.RunInfo {
	t.Helper()
	ended := map[time.Time]*chime.RunInfo{}
	for run, err := range schedules.Runs(t.Context(), name) {
		if err != nil {
			t.Fatal(err)
		}
		if ended[run.Planned.UTC()] != nil {
			t.Fatalf("%s ended twice", run.ID)
		}
		ended[run.Planned.UTC()] = run
	}
	return ended
}

// occurrence converts an occurrence for drawing, to the minute. Missed instants behind one that ran late have no record of their own.
func occurrence(t *testing.T, planned time.Time, run *chime.RunInfo) svg.Occurrence {
	t.Helper()
	o := svg.Occurrence{Planned: planned, Outcome: svg.NotRun}
	if run == nil {
		return o
	}
	if run.Attempt > 0 {
		o.Started, o.Ended = run.Started.Round(time.Minute), run.Ended.Round(time.Minute)
	}
	switch run.Outcome {
	case chime.RunDone:
		o.Outcome = svg.RanInTime
		if o.Started.After(planned) {
			o.Outcome = svg.RanLate
		}
	case chime.RunSuperseded:
		o.Outcome = svg.CutShort
	case chime.RunSkipped:
		o.Outcome = svg.Dropped
	case chime.RunMissed:
	default:
		t.Fatalf("%v: the chart has no sign for this outcome", run)
	}
	return o
}

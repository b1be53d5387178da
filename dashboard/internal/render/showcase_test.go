package render

import (
	"flag"
	"html/template"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/format"
	"github.com/chimejobs/chime/internal/svg"
)

var update = flag.Bool("update", false, "rewrite testdata/showcase.golden.html")

type showcaseState struct{ Word, Sentence string }

type showcaseRow struct {
	Name       string
	State      showcaseState
	Rule       string
	Next, Last time.Time
	Jobs       int
}

// A page with every component. The test compares its text. To view it, serve testdata/showcase.golden.html together with the assets.
func TestEveryComponentIsRenderedAsBefore(t *testing.T) {
	showcase := template.Must(template.New("").Funcs(functions).ParseFS(templateFiles, "templates/*.html"))
	template.Must(showcase.ParseFiles("testdata/showcase.html"))
	now := time.Date(2026, 11, 21, 13, 26, 48, 0, time.UTC)
	frame := &Frame{Title: "Schedules", Namespace: "billing", Query: url.Values{"sort": {"next"}}, Zone: zone(t, "Europe/Berlin"), Now: now, Viewer: "anna", ReadOnly: true,
		Path: "schedules", Counts: map[string]int{"failures": 3, "workers": 1204}, Events: "events?page=schedules",
		Banners: []Banner{{Kind: "late", Text: "No worker takes jobs of mail.", Path: "queues/mail", Do: "Show the queue"}}, Flash: "report is paused."}
	row := func(name, state, rule string, next, last time.Duration, jobs int) showcaseRow {
		return showcaseRow{name, showcaseState{state, "A sentence about " + state + "."}, rule, now.Add(next), now.Add(last), jobs}
	}
	points := func(values ...float64) (points []svg.Point) {
		for i, v := range values {
			points = append(points, svg.Point{At: now.Add(time.Duration(i-len(values)) * 10 * time.Minute), Value: v})
		}
		return points
	}
	rates := svg.Lines{Title: "Jobs a second", From: now.Add(-time.Hour), To: now, Zone: frame.Zone, Step: 10 * time.Minute, Unit: svg.PerSecond, Series: []svg.Series{
		{Name: "in", Tone: svg.Run, Points: points(4, 9, 7.5, 12, 11, 12.5)}, {Name: "failed", Tone: svg.Fail, Points: points(0, 0, 1, .5, 0, .2)},
	}}
	hours := svg.Hours{Title: "report", Now: now, Zone: frame.Zone, From: now.AddDate(0, 0, -9), Events: []svg.Event{{At: now.Add(-5 * time.Hour), N: 4, Tone: svg.OK}, {At: now.Add(-26 * time.Hour), N: 1, Tone: svg.Fail}, {At: now.Add(3 * time.Hour), N: 2}}}
	states := []showcaseState{{"a new one", "Unknown."}}
	for _, word := range sortedKeys(looks) {
		states = append(states, showcaseState{word, ""})
	}
	model := map[string]any{
		"Tabs": []Tab{{"all", frame.Href("schedules"), "12", true}, {"live", frame.Href("schedules", "state", "live"), "10", false}, {"paused", frame.Href("schedules", "state", "paused"), "", false}},
		"Rows": []showcaseRow{
			row("report", "live", "Every 15 minutes", 3*time.Minute+12*time.Second, -11*time.Minute, 1204),
			row("invoices/monthly ./.. <b>", "failing", "Every month on the last day at 18:00 UTC", 220*time.Hour, -21*24*time.Hour, 3),
			row("cleanup", "paused", "Every day at 02:00 Europe/Berlin", 11*time.Hour, -50*time.Hour, 0),
			row("a-schedule-with-a-name-that-is-quite-a-bit-longer-than-names-should-be", "late", "Every weekday at 09:00, 12:00 and 17:30 in America/St_Johns", -2*time.Minute, -26*time.Hour, 10204),
		},
		"Bulk":   Bulk{"schedules/bulk", "schedules", []Verb{{"pause", "Pause", "pause", false}, {"delete", "Delete", "trash-2", true}}, "all 12 that match"},
		"More":   More{"queues/mail", []Verb{{"purge", "Purge", "trash-2", true}, {"limit", "Limit", "", false}}},
		"Pager":  Pager{frame.Here("after", "a"), frame.Here("after", "b"), "50 of 12,403"},
		"Charts": []Chart{{"chart-in", "Jobs a second", "in 12/s", rates.SVG(), rates.Table()}, {"chart-hours", "Past 14 days, next 14 days", "", hours.SVG(), hours.Table()}},
		"Facts":  []Fact{{"Created", frame.At(now.AddDate(-1, 0, 0)), ""}, {"Queue", "default", "weight 3"}, {"Next", frame.AtOf(now.Add(time.Hour), zone(t, "Asia/Kathmandu")), ""}, {"Took", format.Span(1300 * time.Millisecond), ""}, {"Nothing", frame.At(time.Time{}), ""}},
		"States": states,
		"Empty":  Empty{"No schedule yet. This line makes the first one:", `chime schedules put report "*/15 * * * *"`, frame.Href("schedules/new"), "New schedule"},
		"Ask": Ask{Title: "Delete 12 schedules?", Text: "12 schedules, all of queue mail, are deleted.", Warning: "Their history goes with them and cannot be had back.",
			Examples: []string{"report", "cleanup"}, More: 10, Post: frame.Action("schedules", "bulk"), Hidden: []Pair{{"verb", "delete"}}, Do: "Delete 12 schedules", Destroys: true, Cancel: frame.Here(),
			Fields: []Field{
				{Name: "number", Label: "Type 12", Kind: "number", Exactly: "12", Error: "It is 11, want 12"}, {Name: "note", Label: "Note", Hint: "Shown to others"},
				{Name: "args", Label: "Arguments", Kind: "textarea", Value: "{}"}, {Name: "for", Label: "Which", Kind: "select", Value: "b", Choices: []Pair{{"first", "a"}, {"second", "b"}}},
			}},
		"Failure": Failure{503, "No answer from Redis.", "Jobs and schedules are safe in Redis.", nil},
	}
	run := func(name string, view View) template.HTML {
		var text strings.Builder
		if err := showcase.ExecuteTemplate(&text, name, view); err != nil {
			t.Fatal(err)
		}
		return template.HTML(text.String())
	}
	view := View{frame, model}
	got := strings.ReplaceAll(string(run("frame", view.With(run("showcase", view)))), version, "VERSION")
	if *update {
		if err := os.WriteFile("testdata/showcase.golden.html", []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/showcase.golden.html")
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		gotLines, wantLines := strings.Split(got, "\n"), strings.Split(string(want), "\n")
		for i := range min(len(gotLines), len(wantLines)) {
			if gotLines[i] != wantLines[i] {
				t.Fatalf("line %d is\n%s\nwant\n%s\n(go test -update rewrites it)", i+1, gotLines[i], wantLines[i])
			}
		}
		t.Fatalf("the page has %d lines, want %d", len(gotLines), len(wantLines))
	}
	if len(got) > 100_000 {
		t.Errorf("the page has %d bytes, want fewer than 100,000", len(got))
	}
}

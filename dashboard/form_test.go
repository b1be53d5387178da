package dashboard

import (
	"context"
	"html"
	"log/slog"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/recurrence"
)

// hourly creates a schedule.
func hourly(t *testing.T, store chime.Store, name string) *chime.Schedules {
	t.Helper()
	schedules := chime.NewSchedules(store)
	if _, err := schedules.Put(t.Context(), name, recurrence.Recurrence{Cron: "@hourly"}, chime.JobName("report")); err != nil {
		t.Fatal(err)
	}
	return schedules
}

func TestAFormAsksFirstAndDoesItThen(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		var lines strings.Builder
		var audited []Action
		d := newDashboard(t, store, Options{
			Prefix: "/chime", Write: true, Authorize: as(View | Operate), Logger: slog.New(slog.NewTextHandler(&lines, nil)),
			Audit: func(_ context.Context, a Action) { audited = append(audited, a) },
		})
		schedules := hourly(t, store, "report")
		wants(t, "without sure", post(d, "/chime/schedules/report/pause"), 200, "Pause report?", `action="./schedules/report/pause"`, `name="sure" value="1"`, `name="note"`)
		if s, _ := schedules.Get(t.Context(), "report"); s.State != chime.StateLive || len(audited) > 0 {
			t.Fatalf("the confirmation paused it, or was audited: %v, %v", s.State, audited)
		}
		got := post(d, "/chime/schedules/report/pause?zone=Asia/Tokyo", "sure", "1", "note", "migration")
		wants(t, "with sure", got, 303)
		to, err := url.Parse("http://localhost/chime/schedules/report/pause")
		if err != nil {
			t.Fatal(err)
		}
		if to, err = to.Parse(got.Header().Get("Location")); err != nil || to.Path != "/chime/schedules/report" || to.Query().Get("zone") != "Asia/Tokyo" {
			t.Errorf("it redirects to %v, %v; want the schedule's page, with the zone", to, err)
		}
		if said := d.said.get(to.Query().Get("said")); said != "report is paused." {
			t.Errorf("the page shows %q", said)
		}
		if s, _ := schedules.Get(t.Context(), "report"); s.State != chime.StatePaused || s.Note.Text != "migration" || s.Note.By != "anna" {
			t.Errorf("got %v, %+v; want it paused by anna: migration", s.State, s.Note)
		}
		if len(audited) != 1 || audited[0].Act != "pause schedule" || audited[0].Target != "report" || audited[0].Note != "migration" || audited[0].Viewer.Name != "anna" || audited[0].Err != nil {
			t.Errorf("audited: %+v", audited)
		}
		if !strings.Contains(lines.String(), `event=dashboard.action viewer=anna`) {
			t.Errorf("logged: %s", &lines)
		}
		wants(t, "resume", post(d, "/chime/schedules/report/resume"), 303)
		if s, _ := schedules.Get(t.Context(), "report"); s.State != chime.StateLive {
			t.Errorf("got %v, want it live", s.State)
		}
	})
}

func TestAScriptGetsTheQuestionAlone(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		d := newDashboard(t, store, Options{Write: true})
		hourly(t, store, "report")
		r := httptest.NewRequest("POST", "/schedules/report/pause", nil)
		r.RemoteAddr, r.Host = "127.0.0.1:50000", "localhost:7080"
		r.Header.Set("Chime-Part", "ask")
		w := httptest.NewRecorder()
		d.ServeHTTP(w, r)
		wants(t, "the part", w, 200, "Pause report?")
		if strings.Contains(w.Body.String(), "<html") {
			t.Errorf("it is a whole page:\n%s", w.Body)
		}
	})
}

func TestAnAnswerThatIsWrongIsAskedForAgain(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		d := newDashboard(t, store, Options{Write: true})
		schedules := hourly(t, store, "report")
		for _, c := range []struct {
			path   string
			fields []string
			want   string
		}{
			{"/schedules/report/pause", []string{"sure", "1", "note", strings.Repeat("n", 501)}, "500"},
			{"/schedules/report/trigger", []string{"sure", "1", "args", "{anna}"}, "This is not JSON"},
			{"/schedules/report/delete", []string{"sure", "1", "name", "reports"}, "is not its name"},
			{"/schedules/report/delete", []string{"sure", "1"}, "is not its name"},
			{"/schedules/report/backfill", []string{"sure", "1", "from", "yesterday", "to", "2026-10-31"}, "is not an instant"},
			{"/schedules/report/backfill", []string{"sure", "1", "from", "1999-12-31 23:30", "to", "1999-12-31 23:40"}, "plans nothing in this range"},
			{"/schedules/report/backfill", []string{"sure", "1", "from", "1998-01-01", "to", "1999-12-31"}, "at most 366 days"},
		} {
			wants(t, c.path+" "+c.want, post(d, c.path, c.fields...), 200, c.want, `name="sure"`)
		}
		if s, err := schedules.Get(t.Context(), "report"); err != nil || s.State != chime.StateLive {
			t.Errorf("something was done: %v, %v", s, err)
		}
	})
}

func TestABackfillShowsWhatItWillRun(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		var audited Action
		d := newDashboard(t, store, Options{Write: true, Audit: func(_ context.Context, a Action) { audited = a }})
		hourly(t, store, "report")
		now := time.Now().UTC()
		fields := []string{"sure", "1", "from", now.Add(-12 * time.Hour).Format(time.RFC3339), "to", now.Format(time.RFC3339)}
		wants(t, "the range", post(d, "/schedules/report/backfill", fields...), 200, "12 occurrences run now", "and 7 more", `name="shown" value="1"`, "Run 12")
		wants(t, "in the browser's zone", post(d, "/schedules/report/backfill?own=Asia/Tokyo"), 200, `action="./schedules/report/backfill?own=Asia%2FTokyo"`, "in Asia/Tokyo")
		wants(t, "its range", post(d, "/schedules/report/backfill?own=Asia/Tokyo", "sure", "1", "from", "1999-12-31 09:00", "to", "1999-12-31 12:00"), 200, "<li>31 Dec 1999 09:00:00 JST</li>", "Run 3")
		wants(t, "the rest", post(d, "/schedules/report/backfill", append(fields, "shown", "1")...), 303)
		if audited.Act != "backfill schedule" || audited.Count != 12 || audited.Err != nil {
			t.Errorf("audited: %+v, want 12", audited)
		}
	})
}

func TestOnADeletedScheduleNothingIsDone(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		d := newDashboard(t, store, Options{Write: true})
		schedules := hourly(t, store, "report")
		wants(t, "delete", post(d, "/schedules/report/delete", "sure", "1", "name", "report"), 303)
		if _, err := schedules.Get(t.Context(), "report"); err == nil {
			t.Error("it was not deleted")
		}
		wants(t, "pause what is gone", post(d, "/schedules/report/pause", "sure", "1"), 404, "There is no such schedule")
	})
}

// Each form needs its right and a dashboard with Write. A GET of its address changes nothing.
func TestEachFormNeedsItsRight(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		schedules := hourly(t, store, "report")
		before, _ := schedules.Get(t.Context(), "report")
		for _, form := range forms {
			path := "/" + strings.NewReplacer("{name}", "report", "{queue}", "default", "{id}", "1").Replace(form.path)
			for verb, action := range form.actions {
				for right := View; right <= Reveal; right <<= 1 {
					d := newDashboard(t, store, Options{Write: true, Authorize: as(View | right)})
					if got := post(d, path, "verb", verb); (got.Code == 403) == (right == action.right) {
						t.Errorf("%s %s with view and %s: got %d: %.300s", path, verb, right, got.Code, got.Body)
					}
					status := 405
					if page, ok := d.pages[form.path]; ok { // the form has its own page
						if status = 200; page.right != right {
							status = 403
						}
					}
					wants(t, "GET "+path, send(d, "GET", path), status)
				}
				readOnly := newDashboard(t, store, Options{})
				if action.right&writing != 0 {
					wants(t, path, post(readOnly, path, "sure", "1", "verb", verb), 403, "This dashboard is read-only")
				}
			}
		}
		after, err := schedules.Get(t.Context(), "report")
		if err != nil || after.Revision != before.Revision {
			t.Errorf("something was changed: %+v, %v", after, err)
		}
	})
}

func TestTheQuestionOfABackfillLeadsBackToTheSchedule(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		d := newDashboard(t, store, Options{Write: true})
		hourly(t, store, "report")
		const cancel = `href="./schedules/report" data-do="cancel"`
		wants(t, "the range", post(d, "/schedules/report/backfill"), 200, cancel)
		wants(t, "its occurrences", post(d, "/schedules/report/backfill", "sure", "1", "from", "-3h", "to", "now"), 200, "Run 3", cancel)
	})
}

// hidden returns the fields that a confirmation sends again, and the values that it shows in its input fields.
func hidden(got *httptest.ResponseRecorder) (fields []string) {
	for _, input := range inputs.FindAllStringSubmatch(got.Body.String(), -1) {
		if value := valued.FindStringSubmatch(input[0]); value != nil {
			fields = append(fields, input[1], html.UnescapeString(value[1]))
		}
	}
	return fields
}

func TestABackfillRunsWhatItHasShown(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		d := newDashboard(t, store, Options{Write: true})
		schedules := chime.NewSchedules(store)
		putRule(t, schedules, "report", `{"frequency":"second"}`, chime.Overlap(chime.OverlapAllow))
		time.Sleep(time.Minute)                                                                       // fake time passes
		work(t, store, 3500*time.Millisecond, func(context.Context, *chime.Job) error { return nil }) // this places an occurrence
		if err := schedules.Pause(t.Context(), "report"); err != nil {
			t.Fatal(err)
		}
		got := post(d, "/schedules/report/backfill", "sure", "1", "from", "-5s", "to", "now")
		wants(t, "the range", got, 200, "5 occurrences run now")
		time.Sleep(4 * time.Second) // fake time passes
		wants(t, "confirmed", post(d, "/schedules/report/backfill", hidden(got)...), 303)
		ran := 0
		for job, err := range chime.NewJobs(store).List(t.Context(), chime.JobFilter{Queue: "default", State: chime.JobWaiting}) {
			if err != nil {
				t.Fatal(err)
			}
			ran++
			wants(t, "shown before", got, 200, "<li>"+job.Planned.UTC().Format("2 Jan 2006 15:04:05 MST")+"</li>")
		}
		if ran != 5 {
			t.Errorf("%d run, want the 5 that were shown", ran)
		}
	})
}

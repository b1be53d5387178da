package dashboard

import (
	"context"
	"encoding/json"
	"html"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/recurrence"
)

// onEditor runs a test with a dashboard that allows editing of schedules.
func onEditor(t *testing.T, test func(t *testing.T, d *Dashboard, schedules *chime.Schedules)) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		test(t, newDashboard(t, store, Options{Write: true, Authorize: as(View | Edit)}), chime.NewSchedules(store))
	})
}

func putRule(t *testing.T, schedules *chime.Schedules, name, rule string, options ...chime.PutOption) *chime.Schedule {
	t.Helper()
	read := recurrence.Cron
	if strings.HasPrefix(rule, "{") {
		read = func(text string) (recurrence.Recurrence, error) { return recurrence.Parse([]byte(text)) }
	}
	parsed, err := read(rule)
	if err != nil {
		t.Fatal(err)
	}
	s, err := schedules.Put(t.Context(), name, parsed, append([]chime.PutOption{chime.JobName("report")}, options...)...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var (
	inputs    = regexp.MustCompile(`<input[^>]* name="([^"]+)"[^>]*>`)
	valued    = regexp.MustCompile(` value="([^"]*)"`)
	textareas = regexp.MustCompile(`(?s)<textarea[^>]* name="([^"]+)"[^>]*>(.*?)</textarea>`)
	selects   = regexp.MustCompile(`(?s)<select[^>]* name="([^"]+)"[^>]*>(.*?)</select>`)
	selected  = regexp.MustCompile(`<option value="([^"]*)" selected>`)
)

// typed returns the fields that a browser would send from the editor of a page, without the button.
func typed(t *testing.T, got *httptest.ResponseRecorder) []string {
	t.Helper()
	_, form, found := strings.Cut(got.Body.String(), `id="editor">`)
	if !found {
		t.Fatalf("%d: there is no editor:\n%s", got.Code, got.Body)
	}
	form, _, _ = strings.Cut(form, "</form>")
	var fields []string
	for _, input := range inputs.FindAllStringSubmatch(form, -1) {
		value := valued.FindStringSubmatch(input[0])
		if !strings.Contains(input[0], "checkbox") || strings.Contains(input[0], " checked") {
			fields = append(fields, input[1], html.UnescapeString(value[1]))
		}
	}
	for _, area := range textareas.FindAllStringSubmatch(form, -1) {
		fields = append(fields, area[1], html.UnescapeString(area[2]))
	}
	for _, one := range selects.FindAllStringSubmatch(form, -1) {
		if choice := selected.FindStringSubmatch(one[2]); choice != nil {
			fields = append(fields, one[1], html.UnescapeString(choice[1]))
		}
	}
	return fields
}

// with returns the fields, with some of them replaced by name.
func with(fields []string, other ...string) []string {
	var all []string
	for i := 0; i+1 < len(fields); i += 2 {
		replaced := false
		for j := 0; j+1 < len(other); j += 2 {
			replaced = replaced || other[j] == fields[i]
		}
		if !replaced {
			all = append(all, fields[i], fields[i+1])
		}
	}
	return append(all, other...)
}

func TestADefinitionSurvivesItsTabs(t *testing.T) {
	for _, c := range []struct{ rule, first, last string }{ // the tab in which it opens, and the last tab that can express it
		{`{"frequency": "week", "schedule": {"weekDays": ["monday", "friday"], "hours": [9, 17], "minutes": [30], "seconds": [0]}}`, "builder", "cron"},
		{`{"frequency": "month", "schedule": {"monthDays": [1, -1], "hours": [9], "minutes": [0], "seconds": [0]}, "timeZone": "Europe/Berlin"}`, "builder", "json"},
		{`{"frequency": "day", "interval": 3, "startTime": "2027-01-01T09:00", "count": 7, "endTime": "2028-01-01"}`, "builder", "json"},
		{"*/15 9-17 * * 1-5", "cron", "cron"},
		{`{"frequency": "day", "schedule": {"hours": [9]}, "except": {"weekDays": ["sunday"]}, "shift": "next"}`, "json", "json"},
	} {
		onEditor(t, func(t *testing.T, d *Dashboard, schedules *chime.Schedules) {
			before := putRule(t, schedules, "report", c.rule, chime.Queue("mail"), chime.NoImmediateRun(), chime.Overlap(chime.OverlapWait), chime.PauseAfter(3), chime.MaxAttempts(7),
				chime.Retry(chime.Exponential(1e9, 6e10)), chime.Meta(json.RawMessage(`{"team": "a"}`)), chime.Header("tenant", "b"), chime.Args(map[string]int{"secret": 42}),
				chime.OnDone(chime.Item{Name: "next"}), chime.OnDeath(chime.Item{Name: "alarm"}))
			got := send(d, "GET", "/schedules/report/edit")
			wants(t, c.rule, got, 200, `name="tab" value="`+c.first+`"`)
			for i, tab := range []string{"builder", "json", "cron", "json", "builder"} {
				difference := "It does not differ from the stored version"
				if c.first != c.last && c.last == "cron" && i > 2 { // cron text changes a rule of fields into another rule with the same runs
					difference = "<h3>Changes"
				}
				wants(t, c.rule+" to "+tab, got, 200, difference)
				if strings.Contains(got.Body.String(), "secret") {
					t.Errorf("%s: arguments are shown", tab)
				}
				got = post(d, "/schedules/report/edit", append(typed(t, got), "to", tab)...)
				if tab == "cron" && c.last != "cron" {
					wants(t, c.rule, got, 200, "Cron text cannot express this definition", `name="tab" value="json"`)
				}
				if tab == "builder" && c.first == "cron" {
					got = post(d, "/schedules/report/edit", append(typed(t, got), "to", "cron")...)
				}
			}
			wants(t, "store", post(d, "/schedules/report/edit", append(typed(t, got), "do", "put")...), 303)
			after, err := schedules.Get(t.Context(), "report")
			if err != nil || after.Revision != before.Revision {
				t.Errorf("%s: opening the editor changed it: %v, %v, %v", c.rule, before, after, err)
			}
		})
	}
}

func TestATabThatCannotShowARuleGivesTheReason(t *testing.T) {
	onEditor(t, func(t *testing.T, d *Dashboard, schedules *chime.Schedules) {
		putRule(t, schedules, "report", `{"frequency": "day", "schedule": {"hours": [9]}, "except": {"weekDays": ["sunday"]}}`)
		wants(t, "builder", send(d, "GET", "/schedules/report/edit"), 200, "The builder cannot show this definition: the rule has except.", `name="tab" value="json"`)
		wants(t, "cron", send(d, "GET", "/schedules/report/edit?tab=cron"), 200, "Cron text cannot express this definition: the rule has except.", `name="tab" value="json"`)
		wants(t, "no tab", send(d, "GET", "/schedules/report/edit?tab=x"), 400, "tab")
		wants(t, "no schedule", send(d, "GET", "/schedules/other/edit"), 404)
	})
}

func TestAScheduleIsCreatedAndChanged(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		var audited []Action
		d := newDashboard(t, store, Options{Write: true, Authorize: as(View | Edit), Audit: func(_ context.Context, a Action) { audited = append(audited, a) }})
		schedules := chime.NewSchedules(store)
		fresh := with(typed(t, send(d, "GET", "/schedules/new")), "name", "new", "job_name", "report", "args", `{"to": "anna"}`, "timeout", "1h", "keep_runs", "9", "meta", `{"a":1}`)
		wants(t, "preview", post(d, "/schedules/new", append(fresh, "do", "preview")...), 200, "Every day at 09:00:00 UTC", "It is new")
		if _, err := schedules.Get(t.Context(), "new"); err == nil || len(audited) != 0 {
			t.Fatalf("a preview stored it, or was audited: %v", audited)
		}
		got := post(d, "/schedules/new", append(fresh, "do", "put")...)
		wants(t, "store", got, 303)
		if to := got.Header().Get("Location"); !strings.HasPrefix(to, "../.././schedules/~new") && !strings.HasPrefix(to, ".././schedules/~new") {
			t.Errorf("it leads to %s", to)
		}
		s, err := schedules.Get(t.Context(), "new")
		if err != nil || s.Timeout.Hours() != 1 || s.KeepRuns != 9 || s.JobName != "report" || len(audited) != 1 || audited[0].Act != "put schedule" || audited[0].Target != "new" {
			t.Fatalf("%+v, %v, audited %+v", s, err, audited)
		}
		const named = `{"rule": "@daily", "name": "nightly"}`
		wants(t, "two names", post(d, "/schedules/new", "tab", "json", "name", "daily", "json", named, "do", "put"), 400, "as in the field above")
		wants(t, "a name in JSON", post(d, "/schedules/new", "tab", "json", "json", named, "do", "put"), 303)
		if _, err := schedules.Get(t.Context(), "nightly"); err != nil {
			t.Error(err)
		}
		fields := with(typed(t, send(d, "GET", "/schedules/~new/edit")), "timeout", "", "meta", "", "queue", "mail")
		wants(t, "difference", post(d, "/schedules/~new/edit", append(fields, "do", "preview")...), 200, "<h3>Changes", "timeout_ms", "<del>3600000</del>", "<ins>&#34;mail&#34;</ins>")
		wants(t, "change", post(d, "/schedules/~new/edit", append(fields, "do", "put")...), 303)
		changed, err := schedules.Get(t.Context(), "new")
		if err != nil || changed.Timeout != 0 || changed.Meta != nil || changed.Queue != "mail" || string(changed.Payload) != string(s.Payload) {
			t.Errorf("%+v, %v", changed, err)
		}
		fields = with(typed(t, send(d, "GET", "/schedules/~new/edit")), "args", `{"to": "ben"}`)
		wants(t, "other arguments", post(d, "/schedules/~new/edit", append(fields, "do", "put")...), 303)
		var args struct{ To string }
		if changed, err = schedules.Get(t.Context(), "new"); err != nil || changed.Decode(&args) != nil || args.To != "ben" {
			t.Errorf("arguments: %+v, %v", args, err)
		}
		wants(t, "a rule alone", post(d, "/schedules/~new/edit", "tab", "json", "of", "new", "json", `{"cron": "0 7 * * *"}`, "do", "preview"), 200, "Every day at 07:00", "<th scope=\"row\">rule</th>")
	})
}

func TestWhoWasFasterIsShown(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		var audited []Action
		d := newDashboard(t, store, Options{Write: true, Authorize: as(View | Edit), Audit: func(_ context.Context, a Action) { audited = append(audited, a) }})
		schedules := chime.NewSchedules(store)
		putRule(t, schedules, "report", "0 9 * * *")
		mine := with(typed(t, send(d, "GET", "/schedules/report/edit")), "cron", "0 7 * * *")
		putRule(t, schedules, "report", "0 8 * * *")
		got := post(d, "/schedules/report/edit", append(mine, "do", "put")...)
		wants(t, "conflict", got, 409, "it is now at revision", "Stored now", "0 8 * * *", "Your version", "0 7 * * *", `href="./schedules/report/edit"`)
		if len(audited) != 1 || audited[0].Err == nil {
			t.Errorf("audited: %+v", audited)
		}
		if s, _ := schedules.Get(t.Context(), "report"); s.Recurrence.Cron != "0 8 * * *" {
			t.Errorf("it was stored: %v", s)
		}
		wants(t, "continue", post(d, "/schedules/report/edit", append(typed(t, got), "do", "put")...), 303)
		if s, _ := schedules.Get(t.Context(), "report"); s.Recurrence.Cron != "0 7 * * *" {
			t.Errorf("continuing from my version: %v", s)
		}
		// A new schedule never replaces an existing one of the same name, however often it is stored.
		got = post(d, "/schedules/new", "tab", "cron", "name", "report", "cron", "0 1 * * *", "do", "put")
		for range 2 {
			wants(t, "new, of a name that there is", got, 409, "<h1>New schedule</h1>", "a schedule of this name exists already", `value="0 1 * * *"`, `action="./schedules/new"`)
			got = post(d, "/schedules/new", append(typed(t, got), "do", "put")...)
		}
		if s, _ := schedules.Get(t.Context(), "report"); s.Recurrence.Cron != "0 7 * * *" {
			t.Errorf("a new one replaced it: %v", s)
		}
		wants(t, "new, of another name", post(d, "/schedules/new", append(with(typed(t, got), "name", "other"), "do", "put")...), 303)
		mine = typed(t, send(d, "GET", "/schedules/report/edit"))
		if err := schedules.Delete(t.Context(), "report"); err != nil {
			t.Fatal(err)
		}
		got = post(d, "/schedules/report/edit", append(mine, "do", "put")...)
		wants(t, "deleted", got, 409, "has deleted report", "Your version")
		wants(t, "again", post(d, "/schedules/new", append(typed(t, got), "do", "put")...), 303)
		wants(t, "without a revision", post(d, "/schedules/report/edit", "tab", "cron", "cron", "0 1 * * *", "do", "put"), 400, "revision")
	})
}

// A button replaces the builder's rule by one of the usual rules; all other fields keep their values.
func TestTheBuilderBeginsWithAUsualRule(t *testing.T) {
	onEditor(t, func(t *testing.T, d *Dashboard, schedules *chime.Schedules) {
		for name, words := range map[string]string{
			"minutes": "Every 15 minutes", "hour": "Every hour on the hour", "day": "Every day at 09:00:00", "workdays": "Every week on Monday to Friday at 09:00:00",
			"week": "Every week on Monday at 09:00:00", "month": "Every month on the last day at 09:00:00",
		} {
			fields := with(typed(t, send(d, "GET", "/schedules/new")), "name", "report-"+name, "queue", "mail", "timeZone", "Europe/Berlin", "grace", "5m", "monthDays", "31", "interval", "4")
			got := post(d, "/schedules/new", append(fields, "weekDays", "sunday", "months", "2", "like", name)...)
			wants(t, name, got, 200, words, "grace 5m")
			wants(t, name, post(d, "/schedules/new", append(typed(t, got), "do", "put")...), 303)
			s, err := schedules.Get(t.Context(), "report-"+name)
			if err != nil || !strings.HasPrefix(s.Recurrence.String(), words) || s.Recurrence.TimeZone != "Europe/Berlin" || s.Queue != "mail" || s.Grace != 5*time.Minute {
				t.Errorf("%s: stored is %v, %v", name, s, err)
			}
		}
		wants(t, "unknown", post(d, "/schedules/new", "tab", "builder", "name", "report", "like", "never"), 400, "like", "never", "day, hour, minutes")
	})
}

func TestMistakesAreShownAtTheirFields(t *testing.T) {
	onEditor(t, func(t *testing.T, d *Dashboard, schedules *chime.Schedules) {
		before := putRule(t, schedules, "report", `{"frequency": "day", "schedule": {"hours": [9], "minutes": [0], "seconds": [0]}}`)
		fields := typed(t, send(d, "GET", "/schedules/report/edit"))
		for _, c := range []struct{ field, value, want string }{
			{"hours", "24", "0 to 23"}, {"hours", "nine", "is not a number"}, {"timeZone", "Mars/Olympus", "Mars/Olympus"}, {"count", "0", "count"},
			{"monthDays", "31", "month"}, {"queue", "a b", "a b"}, {"grace", "1000w", "1s to 8760h"}, {"timeout", "soon", "is not a duration"},
			{"max_attempts", "5000", "1 to 1000"}, {"keep_runs", "many", "not a whole number"}, {"meta", "{", "not JSON"}, {"header", "[]", "JSON object"},
			{"args", "{anna}", "not JSON"}, {"retry_first", "9h", "longest retry"},
		} {
			other := []string{c.field, c.value, "do", "put"}
			if c.field == "retry_first" {
				other = append(other, "retry_max", "1h")
			}
			got := post(d, "/schedules/report/edit", with(fields, other...)...)
			wants(t, c.field, got, 400, `aria-invalid="true"`)
			wrong := regexp.MustCompile(`<span class="wrong"[^>]*>([^<]*)</span>`).FindAllStringSubmatch(got.Body.String(), -1)
			if closed := regexp.MustCompile(`(?s)<details [^>]*id="[a-z]+"><summary>.*?</details>`).FindAllString(got.Body.String(), -1); strings.Contains(strings.Join(closed, ""), "aria-invalid") {
				t.Errorf("%s %s: the error is in a group that is closed", c.field, c.value)
			}
			if len(wrong) != 1 || !strings.Contains(wrong[0][1], c.want) && !strings.Contains(got.Body.String(), c.want) {
				t.Errorf("%s %s: got %q, want %q", c.field, c.value, wrong, c.want)
			}
		}
		wants(t, "JSON", post(d, "/schedules/report/edit", "tab", "json", "revision", "1", "json", `{"rule": {"cron": "61 * * * *"}}`, "do", "put"), 400, "cron", "61")
		wants(t, "payload", post(d, "/schedules/report/edit", "tab", "json", "revision", "1", "json", `{"rule": "@daily", "payload": "gA=="}`, "do", "put"), 400, "use args")
		wants(t, "another name", post(d, "/schedules/report/edit", "tab", "json", "revision", "1", "json", `{"rule": "@daily", "name": "b"}`, "do", "put"), 400, "want &#34;report&#34;")
		if s, _ := schedules.Get(t.Context(), "report"); s.Revision != before.Revision {
			t.Errorf("something was stored: %v", s)
		}
	})
}

func TestAPreviewWarns(t *testing.T) {
	onEditor(t, func(t *testing.T, d *Dashboard, schedules *chime.Schedules) {
		for _, c := range []struct{ rule, want string }{
			{"0 0 30 2 *", "no day has such a date"},
			{`{"frequency": "day", "endTime": "2000-06-01", "startTime": "1999-01-01"}`, ""},
			{`{"frequency": "month", "schedule": {"monthDays": [31]}}`, "Months without a day 31 are skipped"},
			{"0 9 31 * *", "Months without a day 31 are skipped"},
			{`{"frequency": "month", "schedule": {"monthlyOccurrences": [{"day": "friday", "occurrence": 5}]}}`, "without a fifth"},
			{"TZ=Europe/Berlin 30 2 * * *", "02:30 does not exist and runs at 03:30"},
			{`{"frequency": "day", "schedule": {"hours": [2], "minutes": [30]}, "timeZone": "Europe/Berlin", "clockChanges": "shown"}`, "runs both times"},
		} {
			wants(t, c.rule, post(d, "/preview", "tab", "json", "json", c.rule), 200, c.want)
		}
		long := post(d, "/preview", "tab", "json", "json", `{"frequency": "month", "schedule": {"monthDays": [31], "months": [1, 3, 10]}}`)
		if wants(t, "months that have the day", long, 200, "on the 31st"); strings.Contains(long.Body.String(), "are skipped") {
			t.Errorf("the page does not show the skipped months:\n%s", long.Body)
		}
		wants(t, "passed", post(d, "/preview", "tab", "json", "json", `{"startTime": "1990-01-01", "frequency": "day", "endTime": "1999-01-01"}`), 200, "never")
		got := post(d, "/preview", "tab", "cron", "cron", "*/5 * * * *", "n", "500", "timeZone", "Asia/Kathmandu")
		wants(t, "500", got, 200, "In Asia/Kathmandu", "&#43;0545")
		if n := strings.Count(got.Body.String(), `<tr><th scope="row"><time`); n != 500 || strings.Contains(got.Body.String(), "<html") {
			t.Errorf("%d rows, want 500 without a page around them", n)
		}
		for _, n := range []string{"501", "0", "-1", "x"} {
			wants(t, n, post(d, "/preview", "tab", "cron", "cron", "* * * * *", "n", n), 400, "1 to 500")
		}
		wants(t, "in its place", post(d, "/preview", "tab", "cron", "cron", "61 * * * *", "grace", "soon"), 200, `data-field="cron" data-text=`, `data-field="grace" data-text=`, "grace: ", "is not a duration")
		wants(t, "too long", post(d, "/preview", "json", strings.Repeat("x", 1<<20+200<<10)), 400, "too long")
		wants(t, "GET", send(d, "GET", "/preview"), 405)
	})
}

func TestACountThatIsUsedUpIsSaid(t *testing.T) {
	onEditor(t, func(t *testing.T, d *Dashboard, schedules *chime.Schedules) {
		putRule(t, schedules, "report", `{"frequency": "day", "count": 1}`)
		if s, _ := schedules.Get(t.Context(), "report"); s.Used < 1 {
			t.Fatalf("used %d", s.Used)
		}
		wants(t, "preview", post(d, "/preview", "of", "report", "tab", "json", "json", `{"frequency": "hour", "count": 1}`), 200, "count of 1 is used up")
	})
}

func TestWithoutEditThereIsNoEditor(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		putRule(t, chime.NewSchedules(store), "report", "@daily")
		for what, options := range map[string]Options{
			"no Write": {Authorize: as(allRights)}, "no Edit": {Write: true, Authorize: as(View | Operate | Delete | Reveal)},
		} {
			d := newDashboard(t, store, options)
			for _, path := range []string{"/schedules/new", "/schedules/report/edit"} {
				wants(t, what+" GET "+path, send(d, "GET", path), 403)
				wants(t, what+" POST "+path, post(d, path, "tab", "cron", "cron", "@daily", "do", "put", "name", "other", "revision", "1"), 403)
			}
			wants(t, what+" preview", post(d, "/preview", "tab", "cron", "cron", "@daily"), 403)
		}
	})
}

func TestHostileTextStaysText(t *testing.T) {
	onEditor(t, func(t *testing.T, d *Dashboard, schedules *chime.Schedules) {
		const hostile = `"></textarea><script>alert(1)</script>`
		for _, name := range []string{`"><script>alert(1)</script>`, "a/b", "..", "new", "</title>"} {
			putRule(t, schedules, name, "@daily", chime.Meta(json.RawMessage(`{"a": "</textarea><script>alert(1)</script>"}`)), chime.Header("h", hostile))
		}
		for _, path := range []string{"%22%3E%3Cscript%3Ealert%281%29%3C%2Fscript%3E", "a%2Fb", "~..", "~new", "%3C%2Ftitle%3E"} {
			for _, tab := range []string{"builder", "json", "cron"} {
				got := send(d, "GET", "/schedules/"+path+"/edit?tab="+tab)
				wants(t, path, got, 200, `id="editor"`)
				if strings.Contains(got.Body.String(), "<script>") {
					t.Errorf("%s %s: a script was not escaped", path, tab)
				}
			}
		}
		for _, tab := range []string{"builder", "json", "cron"} {
			got := post(d, "/schedules/new", "tab", tab, "name", hostile, "cron", hostile, "json", hostile, "frequency", hostile, "timeZone", hostile, "queue", hostile, "meta", hostile, "args", hostile, "do", "put")
			wants(t, tab, got, 400, `id="editor"`)
			if strings.Contains(got.Body.String(), "<script>") {
				t.Errorf("%s: a script was not escaped", tab)
			}
		}
	})
}

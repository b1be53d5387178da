package dashboard

import (
	"context"
	"errors"
	"go/parser"
	"html"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/dashboard/internal/render"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/redisstore/embedded"
)

// at waits until an instant of fake time. Fake time begins on 1 January 2000.
func at(month time.Month, day, hour, minute int) {
	// fake time passes and nothing runs
	time.Sleep(time.Until(time.Date(2000, month, day, hour, minute, 0, 0, time.UTC))) // fake time
}

// Why did invoices not run on 31 January? The page of the schedule shows each possible reason.
func TestThePageOfAScheduleShowsWhyItDidNotRun(t *testing.T) {
	monthly := recurrence.MustParse(`{"frequency":"month","schedule":{"monthDays":[-1],"hours":[18],"minutes":[0]}}`)
	fails := func(context.Context, *chime.Job) error { return errors.New("smtp: 550 mailbox full") }
	works := func(context.Context, *chime.Job) error { return nil }
	for name, c := range map[string]struct {
		options []chime.PutOption
		story   func(t *testing.T, store chime.Store)
		want    []string
	}{
		"it failed": {[]chime.PutOption{chime.MaxAttempts(2)}, func(t *testing.T, store chime.Store) {
			work(t, store, 2*time.Minute, fails)
		}, []string{"1 dead", "smtp: 550 mailbox full", "The job is dead: no further attempt follows. Attempt 2 on "}},
		"it was paused": {nil, func(t *testing.T, store chime.Store) {
			if err := chime.NewSchedules(store).Pause(t.Context(), "invoices", chime.Note{Text: "moving house", By: "anna"}); err != nil {
				t.Fatal(err)
			}
			at(2, 1, 9, 0)
		}, []string{"1 paused", `It did not run: the schedule was paused. anna paused it: "moving house".`, "It has no further occurrences."}},
		"no worker came": {nil, func(*testing.T, chime.Store) { at(2, 1, 9, 0) }, []string{
			"1 late", "It is due, but no worker has taken it yet.", "It does not run now: no live worker serves queue default.", "Show the workers",
		}},
		"it was too late": {[]chime.PutOption{chime.Misfire(chime.MisfireSkip)}, func(t *testing.T, store chime.Store) {
			at(2, 1, 9, 0)
			work(t, store, time.Minute, works)
		}, []string{"1 missed", "It did not run, because it was taken too late."}},
		"it is not kept": {[]chime.PutOption{chime.KeepRuns(0)}, func(t *testing.T, store chime.Store) {
			work(t, store, 2*time.Minute, works)
		}, []string{"1 not kept", "Its outcome is not kept: this schedule keeps only its last 0 runs.", "Its runs are not kept."}},
		"it ran": {nil, func(t *testing.T, store chime.Store) {
			work(t, store, 2*time.Minute, works)
		}, []string{"On 1 day of the last 35, all planned occurrences ended well."}},
	} {
		t.Run(name, func(t *testing.T) {
			onEmbedded(t, func(t *testing.T, store chime.Store) {
				options := append([]chime.PutOption{chime.JobName("report"), chime.NoImmediateRun()}, c.options...)
				must(chime.NewSchedules(store).Put(t.Context(), "invoices", monthly, options...))
				at(1, 31, 17, 59)
				c.story(t, store)
				d := newDashboard(t, store, operator)
				got := send(d, "GET", "/schedules/invoices")
				got.Body.WriteString(html.UnescapeString(got.Body.String())) // sentences with quotes too
				wants(t, "the page", got, 200, c.want...)
				if !strings.HasPrefix(name, "it ran") {
					wants(t, "the day", send(d, "GET", "/schedules/invoices?day=2000-01-31"), 200, `id="asked"`, "Mon 31 Jan", "31 Jan 18:00:00 UTC", "Show the charts of all days")
				}
				why := "The rule plans nothing on this day."
				if name == "it was paused" { // on the next day: a change of the rule would look the same
					why = "What was planned is not known, because the schedule was changed, paused or resumed later."
				}
				wants(t, "another day", send(d, "GET", "/schedules/invoices?day=2000-01-30"), 200, why, "The next one is planned")
				wants(t, "before it was there", send(d, "GET", "/schedules/invoices?day=1999-12-31"), 200, "The schedule did not exist yet.")
				wants(t, "a day to come", send(d, "GET", "/schedules/invoices?day=2000-02-29"), 200, map[bool]string{true: "nothing is planned.", false: " is still to come."}[name == "it was paused"])
				wants(t, "no day", send(d, "GET", "/schedules/invoices?day=31.10."), 400, "want a day such as 2026-10-31")
			})
		})
	}
}

// An occurrence that was skipped because no worker was there has no run.
func TestOccurrencesThatWerePassedOverAreNamed(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		works := func(context.Context, *chime.Job) error { return nil }
		put(t, store, "report", "*/10 * * * *")
		work(t, store, 15*time.Minute, works)
		at(1, 1, 0, 45)
		work(t, store, 10*time.Minute, works) // until 00:55
		d := newDashboard(t, store, Options{})
		got := send(d, "GET", "/schedules/report")
		wants(t, "the page", got, 200, "2 missed", "4 done", "No worker took it in time. The occurrence planned", "were skipped, as the misfire policy says")
		asked := send(d, "GET", "/schedules/report?day=2000-01-01").Body.String()
		if n := strings.Count(asked, "No worker took it in time"); n != 3 { // 00:30, 00:40, and 00:30 again in the list of days
			t.Errorf("%d occurrences were skipped, want those of 00:30 and 00:40:\n%s", n, asked)
		}
	})
}

func TestThePageOfAScheduleHasAllOfIt(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		put(t, store, "report", "*/15 * * * *", chime.Queue("mail"), chime.Overlap(chime.OverlapWait), chime.Spread(time.Minute), chime.PauseAfter(3), chime.KeepRuns(30),
			chime.Args(map[string]string{"secret": "canary"}), chime.Header("tenant", "acme"), chime.Retry(chime.Fixed(90*time.Second)), chime.Grace(time.Hour))
		d := newDashboard(t, store, operator)
		got := send(d, "GET", "/schedules/report?zone=Europe/Berlin")
		wants(t, "new", got, 200, "Nothing has run yet", "chime schedules trigger", "Every 15 minutes", "Its rule uses the time zone UTC. <a href=\"./schedules/report?zone=UTC\">Show all times in it</a>", `<details class="menu-more" id="more">`, `href="./jobs?q=schedule%3Areport&amp;state=all&amp;zone=Europe%2FBerlin"`, "It is paused after 3 consecutive dead jobs.",
			"&#34;cron&#34;: &#34;*/15 * * * *&#34;", "err := scheduler.Schedule(&#34;report&#34;", "chime.Retry(chime.Fixed(90*time.Second))", "chime.Args(args)", "acme", `class="chart hours"`, `class="chart weeks"`,
			`action="./schedules/report/trigger?zone=Europe%2FBerlin"`, `action="./schedules/report/pause?`, `action="./schedules/report/backfill?`, `action="./schedules/report/delete?`, `href="./schedules/report/edit?`)
		lacks(t, "the arguments", got, "canary")
		lacks(t, "a reader", send(newDashboard(t, store, Options{}), "GET", "/schedules/report"), "/trigger", "/pause", "/delete", "/edit")
		wants(t, "none", send(d, "GET", "/schedules/nothing"), 404, "There is no schedule")
		for _, name := range hostileNames {
			put(t, store, name, "0 * * * *", chime.JobName("report"), chime.Header("x", name))
			got := send(d, "GET", "/"+render.Path("schedules", name))
			wants(t, name, got, 200, "<h1>"+strings.ReplaceAll(html.EscapeString(name), "&#34;", "&#34;")+"</h1>")
			lacks(t, name, got, "<script>alert")
		}
	})
}

// The code that declares a schedule is valid Go for any texts.
func TestTheCodeOfAScheduleIsGo(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		d := newDashboard(t, store, operator)
		for _, name := range append(hostileNames, "back`quote", `quote"`) {
			put(t, store, name, "0 * * * *", chime.Header("x", name), chime.Meta([]byte(`{"a":"`+"`"+`"}`)), chime.Retry(chime.Exponential(time.Second, time.Hour)), chime.Timeout(1500*time.Millisecond))
			page := send(d, "GET", "/"+render.Path("schedules", name)).Body.String()
			_, code, _ := strings.Cut(page, "<code>err := ")
			code, _, _ = strings.Cut(code, "</code>")
			if _, err := parser.ParseExpr(html.UnescapeString(code)); err != nil {
				t.Errorf("%q: %v:\n%s", name, err, html.UnescapeString(code))
			}
		}
	})
}

func TestErrorsOfRunsAreRedacted(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		put(t, store, "report", "*/15 * * * *")
		work(t, store, 16*time.Minute, func(context.Context, *chime.Job) error { return errors.New("canary") })
		d := newDashboard(t, store, Options{RedactError: func(job *chime.JobInfo, text string) string {
			return strings.ReplaceAll(text, "canary", "[cut of "+job.Schedule+"]")
		}})
		got := send(d, "GET", "/schedules/report")
		wants(t, "the page", got, 200, "[cut of report]")
		lacks(t, "the page", got, "canary")
	})
}

// The largest page is the page of a schedule with a long history.
func TestThePageOfABusyScheduleIsSmall(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		put(t, store, "report", "* * * * *", chime.KeepRuns(150))
		work(t, store, 3*time.Hour, func(_ context.Context, job *chime.Job) error {
			if job.Planned.Minute() == 30 && job.Attempt == 1 {
				return errors.New("connection refused")
			}
			return nil
		})
		got := send(newDashboard(t, store, operator), "GET", "/schedules/report?zone=America/Argentina/Buenos_Aires")
		if n := got.Body.Len(); n > 100<<10 {
			t.Errorf("the page has %d bytes, want at most 100 KiB", n)
		}
		wants(t, "the page", got, 200, "older runs are kept", "Show all", "The maximum of each half hour")
	})
}

// The page of a schedule that a newer version has written shows the fields that this version can read.
func TestAScheduleOfANewerFormIsShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := embedded.StartInMemory()
		defer server.Close()
		put(t, server.Store(), "newer", "0 * * * *")
		definitions := "chime:{default}:schedules"
		definition := must(server.Client().HGet(t.Context(), definitions, "newer").Result())
		_ = must(server.Client().HSet(t.Context(), definitions, "newer", strings.Replace(definition, `"version":1`, `"version":99`, 1)).Result())
		d := newDashboard(t, server.Store(), operator)
		wants(t, "the list", send(d, "GET", "/schedules"), 200, "unread", "a newer version of chime wrote it", `id="row-newer"`)
		wants(t, "its page", send(d, "GET", "/schedules/newer"), 200, "<h1>newer</h1>", "unread", "a newer version of chime wrote it")
		wants(t, "the calendar", send(d, "GET", "/calendar"), 200, "One schedule cannot be read by this version.")
	})
}

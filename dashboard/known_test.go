package dashboard

import (
	"context"
	"errors"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/redisstore/embedded"
)

// An acknowledged problem leaves the problems of the overview, and is listed with who knows it, why and until when. It comes back when it changes or at its end.
func TestAcknowledgedProblemsAreListedApart(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		worker := busy(t, store)
		var audited []Action
		d := newDashboard(t, store, Options{Write: true, Authorize: as(View | Operate), Audit: func(_ context.Context, a Action) { audited = append(audited, a) }})
		during(t, func() {
			time.Sleep(31 * time.Minute) // fake time passes
			wants(t, "the question", post(d, "/schedules/invoices/acknowledge"), 200, "Acknowledge that invoices is failing?", `name="until"`)
			wants(t, "a wrong end", post(d, "/schedules/invoices/acknowledge", "sure", "1", "until", "yesterday"), 200, "is not an instant")
			wants(t, "a past end", post(d, "/schedules/invoices/acknowledge", "sure", "1", "until", "1999-01-01"), 200, "This instant is over")
			wants(t, "done", post(d, "/schedules/invoices/acknowledge", "sure", "1", "until", "+2h", "note", "the bank repairs it"), 303)
			wants(t, "what is not failing", post(d, "/schedules/report/acknowledge", "sure", "1"), 409, "not failing")
			time.Sleep(3 * time.Second) // fake time passes
			page := send(d, "GET", "/")
			wants(t, "the overview", page, 200, "Acknowledged", "Schedule invoices is failing", "acknowledged by anna", "the bank repairs it", "2 attempts of job invoices failed in the last hour.")
			if strings.Contains(page.Body.String(), "1 of 3 schedules is failing") {
				t.Error("the acknowledged schedule is still among the problems")
			}
			problems := send(d, "GET", "/problems")
			wants(t, "the problems", problems, 200, "Jobs named invoices fail")
			lacks(t, "the problems", problems, "Schedule invoices is failing")
			wants(t, "its page", send(d, "GET", "/schedules/invoices"), 200, "the bank repairs it", "/unacknowledge")

			group := "invoices\tconnection refused by #.#.#.#"
			wants(t, "the group", post(d, "/failures/bulk", "verb", "acknowledge", "id", group), 200, "Acknowledge 1 group of failures?", "invoices: connection refused")
			wants(t, "the group, done", post(d, "/failures/bulk", "verb", "acknowledge", "id", group, "sure", "1", "until", "+2h"), 303)
			time.Sleep(3 * time.Second) // fake time passes
			page = send(d, "GET", "/")
			wants(t, "both", page, 200, "All well", "2 attempts of job invoices failed in the last hour: connection refused by #.#.#.#")
			problems = send(d, "GET", "/problems")
			wants(t, "no problems", problems, 200, "All well")
			lacks(t, "no problems", problems, "Jobs named invoices fail", "Schedule invoices is failing")
			wants(t, "the failures", send(d, "GET", "/failures"), 200, "acknowledged by anna")

			wants(t, "ended", post(d, "/schedules/invoices/unacknowledge"), 303)
			time.Sleep(3 * time.Second) // fake time passes
			wants(t, "a problem again", send(d, "GET", "/"), 200, "1 of 3 schedules is failing: invoices.")
			tick := regexp.MustCompile(`name="id" value="(invoices&#9;|invoices\t)([0-9a-f]+)"`).FindStringSubmatch(send(d, "GET", "/").Body.String())
			if tick == nil {
				t.Fatal("the overview has no button that ends the acknowledgement of the failures")
			}
			wants(t, "the group, ended", post(d, "/failures/bulk", "verb", "unacknowledge", "id", "invoices\t"+tick[2]), 303)
			time.Sleep(3 * time.Second) // fake time passes
			wants(t, "all are problems", send(d, "GET", "/"), 200, "failed in the last hour.")
			wants(t, "both are problems", send(d, "GET", "/problems"), 200, "Jobs named invoices fail", "Schedule invoices is failing")
		}, worker, chime.NewScheduler(store, chime.SchedulerOptions{}))
		if len(audited) < 4 || audited[0].Act != "acknowledge schedule" || audited[0].Note != "the bank repairs it" || !strings.HasPrefix(audited[0].Detail, "until ") {
			t.Errorf("audited: %+v", audited)
		}
	})
}

// An acknowledgement is of the errors that jobs have, also where RedactError shows other ones: so it holds in chime top, in alerts and in other dashboards.
func TestFailuresAreAcknowledgedByTheirOwnErrors(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		worker := chime.NewWorker(store, chime.WorkerOptions{})
		worker.Handle("pay", func(_ context.Context, job *chime.Job) error {
			var card string
			if err := job.Decode(&card); err != nil {
				return err
			}
			return chime.Discard(errors.New("card " + card + " is refused"))
		})
		d := newDashboard(t, store, Options{
			Write: true, Authorize: as(View | Operate), RedactError: func(*chime.JobInfo, string) string { return "a card is refused" },
		})
		during(t, func() {
			enqueuer := chime.NewEnqueuer(store, chime.EnqueuerOptions{})
			for _, card := range []string{"of Anna", "of Boris"} {
				if _, err := enqueuer.Enqueue(t.Context(), "pay", card); err != nil {
					t.Error(err)
				}
			}
			time.Sleep(time.Minute) // fake time passes
			wants(t, "one group", send(d, "GET", "/failures"), 200, "a card is refused")
			wants(t, "acknowledged", post(d, "/failures/bulk", "verb", "acknowledge", "id", "pay\ta card is refused", "sure", "1", "until", "+2h"), 303)
			time.Sleep(3 * time.Second) // fake time passes
			wants(t, "the failures", send(d, "GET", "/failures"), 200, "acknowledged by anna")
			lacks(t, "no problems", send(d, "GET", "/problems"), "Jobs named pay fail")
			known, err := chime.NewAcknowledgements(store).List(t.Context())
			if err != nil || len(known) != 2 {
				t.Fatalf("%d acknowledgements, %v; want one of each error", len(known), err)
			}
			for _, card := range []string{"of Anna", "of Boris"} {
				if !slices.ContainsFunc(known, func(k chime.Acknowledgement) bool {
					return k.CoversFailures("pay", "card "+card+" is refused", []string{"default"}, time.Now())
				}) {
					t.Errorf("the error of card %s is not acknowledged: %+v", card, known)
				}
			}
			if _, err := enqueuer.Enqueue(t.Context(), "pay", "of Chris"); err != nil {
				t.Error(err)
			}
			time.Sleep(time.Minute) // fake time passes
			lacks(t, "another error, shown alike", send(d, "GET", "/failures"), "acknowledged by anna")
			wants(t, "a problem again", send(d, "GET", "/problems"), 200, "Jobs named pay fail")
		}, worker)
	})
}

// A pause with an end is set in the zone that the question names.
func TestAPauseWithAnEndIsAskedForAndShown(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		d := newDashboard(t, store, Options{Write: true})
		schedules := hourly(t, store, "report")
		wants(t, "the question", post(d, "/schedules/report/pause?zone=Asia/Tokyo"), 200, `name="until"`, "in Asia/Tokyo", `name="in" value="Asia/Tokyo"`)
		wants(t, "a wrong end", post(d, "/schedules/report/pause", "sure", "1", "until", "soon"), 200, "is not an instant")
		wants(t, "done", post(d, "/schedules/report/pause", "sure", "1", "until", "2000-01-03 09:00", "in", "Asia/Tokyo", "note", "holidays"), 303)
		s, err := schedules.Get(t.Context(), "report")
		if want := time.Date(2000, 1, 3, 0, 0, 0, 0, time.UTC); err != nil || s.State != chime.StatePaused || !s.Note.Until.Equal(want) {
			t.Errorf("got %v until %v, %v; want it paused until %v", s.State, s.Note.Until, err, want)
		}
		wants(t, "its page", send(d, "GET", "/schedules/report"), 200, "Nothing runs until the pause ends", "The pause ends", "holidays")
		wants(t, "the list", send(d, "GET", "/schedules"), 200, ", ends ")
		wants(t, "many", post(d, "/schedules/bulk", "verb", "pause", "id", "report", "sure", "1", "until", "never"), 200, "is not an instant")
	})
}

// A page shows which system it is, and leads to other dashboards.
func TestTheEnvironmentIsOnEveryPage(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		d := newDashboard(t, store, Options{
			Environment: Environment{Name: "production <1>", Color: Red}, Elsewhere: []Link{{Text: "mail", URL: "../mail/"}},
		})
		for _, path := range []string{"/", "/schedules", "/nowhere"} {
			page := send(d, "GET", path).Body.String()
			for _, want := range []string{"production &lt;1&gt;</title>", `class="top env-red"`, "/icon-red.svg", `href="../mail/"`} {
				if !strings.Contains(page, want) {
					t.Errorf("%s does not contain %q", path, want)
				}
			}
		}
		for what, options := range map[string]Options{
			"a colour":     {Environment: Environment{Color: "pink"}},
			"a link":       {Elsewhere: []Link{{Text: "x", URL: "javascript:alert(1)"}}},
			"an empty one": {Elsewhere: []Link{{Text: "x"}}},
		} {
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("%s that is wrong is accepted", what)
					}
				}()
				New(store, options)
			}()
		}
	})
}

var (
	rowPattern   = regexp.MustCompile(`<tr[^>]*>`)
	chartPattern = regexp.MustCompile(`(?s)<details class="as-table".*?</details>`) // the data of a chart, in which nothing has the focus
)

// Each row of a table in a region that is updated has an ID, so that the focus and a tick stay with it when the region changes.
func TestRowsHaveIDs(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		worker := busy(t, store)
		for _, name := range []string{"one", "another"} { // the calendar has the instants at which several run
			put(t, store, name, "0 5 * * *", chime.NoImmediateRun())
		}
		d := newDashboard(t, store, Options{Write: true, Authorize: crowd(View | Operate | Edit)})
		during(t, func() {
			must(chime.NewEnqueuer(store, chime.EnqueuerOptions{}).Enqueue(t.Context(), "resize", nil, chime.Queue("media")))
			time.Sleep(31 * time.Minute) // fake time passes
			for _, path := range []string{"/", "/schedules", "/schedules/invoices", "/queues", "/queues/mail", "/jobs?state=dead", "/failures", "/failures/invoices?error=" + url.QueryEscape("connection refused by #.#.#.#"), "/kinds/invoices", "/workers", "/calendar"} {
				page := chartPattern.ReplaceAllString(send(d, "GET", path).Body.String(), "")
				seen := map[string]bool{}
				rows := 0
				for _, table := range strings.Split(page, "<table")[1:] {
					table, _, _ = strings.Cut(table, "</table>")
					_, body, _ := strings.Cut(table, "<tbody>")
					for _, row := range rowPattern.FindAllString(body, -1) {
						rows++
						id := regexp.MustCompile(` id="([^"]+)"`).FindStringSubmatch(row)
						if id == nil || seen[id[1]] {
							t.Errorf("%s: the row %s has no ID of its own", path, row)
							continue
						}
						seen[id[1]] = true
					}
				}
				if rows == 0 {
					t.Errorf("%s has no rows, so this test shows nothing about it", path)
				}
			}
		}, worker, chime.NewScheduler(store, chime.SchedulerOptions{}))
	})
}

// The question whether to acknowledge groups of failures reads no job, and groups of one job name are read together.
func TestGroupsOfFailuresAreReadOnce(t *testing.T) {
	onServer(t, func(t *testing.T, server *embedded.Server) {
		store := server.Store()
		worker := busy(t, store)
		d := newDashboard(t, store, Options{Write: true, Authorize: as(View | Operate)})
		during(t, func() { time.Sleep(31 * time.Minute) }, worker, chime.NewScheduler(store, chime.SchedulerOptions{})) // fake time passes
		var c counter
		server.Client().AddHook(&c)
		group, other := "invoices\tconnection refused by #.#.#.#", "invoices\tanother error"
		sent := func(status int, fields ...string) int64 {
			before := c.commands.Load()
			wants(t, fields[1], post(d, "/failures/bulk", fields...), status)
			return c.commands.Load() - before
		}
		sent(200, "verb", "requeue", "id", group) // it learns what the client knows of the server
		if n := sent(200, "verb", "acknowledge", "id", group); n != 0 {
			t.Errorf("the question whether to acknowledge a group sent %d commands, want none", n)
		}
		if one, both := sent(200, "verb", "requeue", "id", group), sent(200, "verb", "requeue", "id", group, "id", other); both > one {
			t.Errorf("the jobs of two groups of one job name are read with %d commands, those of one with %d; want the same", both, one)
		}
	})
}

package dashboard

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/dashboard/internal/render"
)

// Links to jobs live longer than jobs. The page of a deleted job shows what the store still has, or the reason why it has nothing.
func TestAJobThatIsGoneStillHasAPage(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		put(t, store, "report", "*/10 * * * *", chime.KeepRuns(3))
		put(t, store, "bare", "*/10 * * * *", chime.KeepRuns(0))
		put(t, store, "deleted", "*/10 * * * *")
		put(t, store, "fails", "*/10 * * * *", chime.MaxAttempts(1))
		must(chime.NewEnqueuer(store, chime.EnqueuerOptions{}).Enqueue(t.Context(), "report", nil, chime.ID("once")))
		work(t, store, time.Hour+time.Minute, func(_ context.Context, job *chime.Job) error {
			if job.Schedule == "fails" {
				return errors.New("refused")
			}
			return nil
		})
		if err := chime.NewSchedules(store).Delete(t.Context(), "deleted"); err != nil {
			t.Fatal(err)
		}
		d := newDashboard(t, store, operator)
		const history = `href="./schedules/report"`
		for id, c := range map[string]struct {
			status int
			texts  []string
		}{
			"report@2000-01-01T01:00:00Z":  {200, []string{"This occurrence ran and is done.", "no longer stored", `href="./schedules/report#runs"`, "attempt 1"}},
			"report@2000-01-01T00:20:00Z":  {404, []string{"The occurrence of schedule report that was planned for 1 January 2000 00:20:00 UTC is not stored. Its outcome is not kept: this schedule keeps only its last 3 runs.", history, `href="./schedules/report?day=2000-01-01"`}},
			"report@2000-01-01T01:30:00Z":  {404, []string{"It is still to come. It becomes a job when it is the next occurrence.", history}},
			"report@1999-12-31T09:00:00Z":  {404, []string{"The schedule was created after it.", history}},
			"report#nobody":                {404, []string{"This run of schedule report has ended, and it is not among the last 3 runs that are kept.", history}},
			"bare@2000-01-01T01:00:00Z":    {200, []string{"This occurrence ran and is done."}},
			"bare@2000-01-01T00:50:00Z":    {404, []string{"Its outcome is not kept"}},
			"deleted@2000-01-01T01:00:00Z": {404, []string{"planned for 1 January 2000 01:00:00 UTC has ended or never existed. The schedule was deleted, and the history of its runs with it.", `href="./schedules"`}},
			"once":                         {404, []string{"There is no job &#34;once&#34; on queue &#34;default&#34;: it has ended or was deleted.", "chime.Keep", `href="./search?q=once"`}},
			"me@example.com":               {404, []string{"There is no job &#34;me@example.com&#34;"}},
		} {
			wants(t, id, send(d, "GET", "/jobs/default/"+id), c.status, c.texts...)
			time.Sleep(time.Second / 10) // fake time passes
		}
		wants(t, "which failed", send(d, "GET", "/jobs/default/fails@2000-01-01T01:00:00Z?zone=Asia/Tokyo"), 200, "refused")
		wants(t, "a schedule", send(d, "GET", "/schedules/deleted"), 404, "There is no schedule &#34;deleted&#34;: nobody has declared or put it", `href="./schedules"`)
	})
}

func TestThePageOfAJobShowsWhenItExpires(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		enqueuer := chime.NewEnqueuer(store, chime.EnqueuerOptions{})
		must(enqueuer.Enqueue(t.Context(), "code", nil, chime.ID("soon"), chime.Expire(time.Hour)))
		must(enqueuer.Enqueue(t.Context(), "code", nil, chime.ID("over"), chime.Expire(time.Minute)))
		time.Sleep(5 * time.Minute) // fake time passes
		d := newDashboard(t, store, operator)
		wants(t, "a job that expires", send(d, "GET", "/jobs/default/soon"), 200, "no live worker serves queue default; it expires in 5", " unless it begins before.", "<dt>Expires</dt>")
		wants(t, "a job whose time is over", send(d, "GET", "/jobs/default/over"), 200, "; its time was over ", " ago, so it ends as expired when a worker takes it.", "<dt>Expires</dt>")
	})
}

func TestThePageOfAJobShowsWhatFollowsIt(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		enqueuer := chime.NewEnqueuer(store, chime.EnqueuerOptions{})
		chain := chime.OnDone(chime.Item{Name: "publish", Options: []chime.EnqueueOption{chime.OnDone(chime.Item{Name: "notify"})}})
		must(enqueuer.Enqueue(t.Context(), "resize", nil, chime.ID("chain"), chain, chime.OnDeath(chime.Item{Name: "alert"})))
		must(enqueuer.Enqueue(t.Context(), "resize", nil, chime.ID("alone")))
		d := newDashboard(t, store, operator)
		wants(t, "a chain", send(d, "GET", "/jobs/default/chain"), 200, `<dt>When done</dt><dd><p><a href="./kinds/publish">publish</a> is enqueued`, `<dt>On death</dt><dd><p><a href="./kinds/alert">alert</a> is enqueued`, "<dt>Chain</dt><dd>3 jobs may follow")
		lacks(t, "a job that nothing follows", send(d, "GET", "/jobs/default/alone"), "When done", "On death", "Chain", "Follows", "Batch</dt>")

		must(enqueuer.Enqueue(t.Context(), "report", nil, chime.ID("first"), chime.OnDone(chime.Item{Name: "publish", Options: []chime.EnqueueOption{chime.In(time.Hour)}})))
		work(t, store, time.Minute, nothing)
		for job, err := range chime.NewJobs(store).List(t.Context(), chime.JobFilter{Queue: "default", State: chime.JobDelayed}) {
			if err != nil || job.Name != "publish" {
				t.Fatalf("%v is delayed, %v; want publish", job, err)
			}
			wants(t, "a job that follows", send(d, "GET", "/"+render.Path("jobs", job.Queue, job.ID)), 200, `<dt>Follows</dt><dd><p>job <a href="./jobs/default/first">first</a>`)
		}
	})
}

// An open page of something deleted shows that it is no longer updated, and the reason.
func TestAnOpenPageShowsThatItsJobIsGone(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		schedules := hourly(t, store, "report")
		d := newDashboard(t, store, operator)
		next := watch(t, d, "/events?page=schedules/report")
		next("event: beat")
		if err := schedules.Delete(t.Context(), "report"); err != nil {
			t.Fatal(err)
		}
		next("event: broken")
		next(`it was deleted together with its history"`)
	})
}

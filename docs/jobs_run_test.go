package docs_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/chimetest"
)

func TestThePageOnJobsShowsCodeThatRuns(t *testing.T) {
	shows(t, "jobs.md", "jobs_test.go", "jobs_run_test.go")
}

// The page's handlers call these.
var (
	errNoSuchAddress = errors.New("no such address")
	errBusy          = errors.New("busy")
	errNotYet        = errors.New("not before eight o'clock")
)

// A world contains everything that the page's handlers use. Each test has its own.
type world struct {
	mu     sync.Mutex
	answer error // of the mail server
	mails  []Mail
	posts  []string
}

var (
	worldMu sync.Mutex
	current *world
)

func newWorld() *world {
	worldMu.Lock()
	defer worldMu.Unlock()
	current = new(world)
	return current
}

func theWorld() *world {
	worldMu.Lock()
	defer worldMu.Unlock()
	return current
}

func (w *world) answers(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.answer = err
}

func (w *world) sent() []Mail {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.mails)
}

func (w *world) posted() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.posts)
}

func deliver(_ context.Context, _ string, mail Mail) error {
	w := theWorld()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.answer == nil {
		w.mails = append(w.mails, mail)
	}
	return w.answer
}

func post(_ context.Context, channel, text string) error {
	w := theWorld()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.posts = append(w.posts, channel+": "+text)
	return nil
}

func insert(_ context.Context, pages []Page) []error {
	w := theWorld()
	w.mu.Lock()
	defer w.mu.Unlock()
	errs := make([]error, len(pages))
	for i, page := range pages {
		if page.URL == "" {
			errs[i] = chime.Discard(errors.New("no URL"))
		}
	}
	w.posts = append(w.posts, fmt.Sprint("insert ", len(pages)))
	return errs
}

var errNever = errors.New("it never works")

func charge(context.Context, *chime.Job, Order) error { return errNever }
func ship(context.Context, *chime.Job) error          { return errNever }
func invoice(context.Context, *chime.Job) error       { return errNever }

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func outcomes(runs []*chime.RunInfo) string {
	var words []string
	for _, run := range runs {
		words = append(words, string(run.Outcome))
	}
	return strings.Join(words, " ")
}

func TestJobsNowLaterAndMany(t *testing.T) {
	w := newWorld()
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		enqueuer := chime.NewEnqueuer(c.Store(), chime.EnqueuerOptions{})
		check(t, signUp(t.Context(), enqueuer, "ada"))
		check(t, newsletter(t.Context(), enqueuer, []string{"ada", "bob"}))
		stop := c.Start(mailWorker(c.Store()))
		if runs := c.Advance(time.Hour); outcomes(runs) != "done done done" {
			t.Errorf("in the first hour: %v", runs)
		}
		stop() // simulated time is fast while no role runs
		c.Advance(71 * time.Hour)
		c.Start(mailWorker(c.Store()))
		if runs := c.Advance(time.Minute); outcomes(runs) != "done" || len(w.sent()) != 4 {
			t.Errorf("within three days: %v", runs)
		}
	})
}

func TestManyJobsInOneCall(t *testing.T) {
	w := newWorld()
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		enqueuer := chime.NewEnqueuer(c.Store(), chime.EnqueuerOptions{})
		for i := range 5 {
			_, err := Index.Enqueue(t.Context(), enqueuer, Page{URL: strings.Repeat("x", i)})
			check(t, err)
		}
		c.Start(indexWorker(c.Store()))
		c.Advance(time.Second)
		info, err := chime.NewQueues(c.Store()).Get(t.Context(), "index")
		check(t, err)
		if got := w.posted(); len(got) != 1 || got[0] != "insert 5" || info.Done != 4 || info.Dead != 1 {
			t.Errorf("calls %q, %d done and %d dead; want one of five, 4 and 1", got, info.Done, info.Dead)
		}
	})
}

func TestWhatAHandlersErrorMeans(t *testing.T) {
	w := newWorld()
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		enqueuer := chime.NewEnqueuer(c.Store(), chime.EnqueuerOptions{})
		c.Start(mailWorker(c.Store()))
		for _, means := range []struct {
			answer error
			after  time.Duration
			want   string
		}{
			{nil, time.Minute, "done"},
			{errNoSuchAddress, time.Minute, "dead"},
			{errBusy, 11 * time.Minute, "failed failed"},
			{errNotYet, 61 * time.Minute, "snoozed snoozed"},
			{errors.New("connection refused"), 30 * time.Second, "failed failed failed"}, // after about 1 s, then after 16 s
		} {
			w.answers(means.answer)
			receipt, err := SendMail.Enqueue(t.Context(), enqueuer, Mail{To: "ada"})
			check(t, err)
			if runs := c.Advance(means.after); outcomes(runs) != means.want {
				t.Errorf("%v: %v, want %s", means.answer, runs, means.want)
			}
			_, err = chime.NewJobs(c.Store()).Delete(t.Context(), chime.JobFilter{Queue: "mail", IDs: []string{receipt.ID}}, nil)
			check(t, err)
		}
	})
}

func TestWhichNumberOfAttemptsApplies(t *testing.T) {
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		check(t, shop(t.Context(), chime.NewEnqueuer(c.Store(), chime.EnqueuerOptions{})))
		c.Start(shopWorker(c.Store()))
		attempts := map[string]int{}
		for _, run := range c.Advance(4 * time.Hour) {
			attempts[run.Name+" "+run.ID]++
		}
		var got []string
		for job, n := range attempts {
			name, _, _ := strings.Cut(job, " ")
			got = append(got, fmt.Sprintf("%s %02d", name, n))
		}
		if slices.Sort(got); fmt.Sprint(got) != "[charge 02 charge 10 invoice 03 ship 06]" {
			t.Errorf("attempts: %v", got)
		}
	})
}

func TestDeadJobsAreShownAndRunAgain(t *testing.T) {
	w := newWorld()
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		enqueuer, jobs := chime.NewEnqueuer(c.Store(), chime.EnqueuerOptions{}), chime.NewJobs(c.Store())
		w.answers(errors.New("dial: connection refused"))
		check(t, newsletter(t.Context(), enqueuer, []string{"ada", "bob"}))
		stop := c.Start(mailWorker(c.Store()))
		c.Advance(4 * time.Hour)
		w.answers(errNoSuchAddress)
		check(t, newsletter(t.Context(), enqueuer, []string{"nobody"}))
		c.Advance(time.Minute)

		var out bytes.Buffer
		check(t, showDead(t.Context(), jobs, "mail", &out))
		if strings.Count(out.String(), "died at") != 3 || strings.Count(out.String(), "connection refused") != 2*5 {
			t.Errorf("dead jobs:\n%s", out.String())
		}
		w.answers(nil)
		if n, err := afterTheOutage(t.Context(), jobs); n != 2 || err != nil {
			t.Errorf("requeued %d, %v", n, err)
		}
		if runs := c.Advance(0); outcomes(runs) != "done done" || runs[0].Attempt != 1 {
			t.Errorf("after the outage: %v", runs)
		}
		if n, err := forgetOldDeaths(t.Context(), jobs); n != 0 || err != nil {
			t.Errorf("deleted %d, %v", n, err)
		}
		stop()
		c.Advance(8 * 24 * time.Hour)
		if n, err := forgetOldDeaths(t.Context(), jobs); n != 1 || err != nil {
			t.Errorf("a week later deleted %d, %v", n, err)
		}
	})
}

func TestThreeEnqueuesSendOneMail(t *testing.T) {
	w := newWorld()
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		enqueuer := chime.NewEnqueuer(c.Store(), chime.EnqueuerOptions{})
		c.Start(mailWorker(c.Store()))
		for n := range 3 { // the first one is done before the second starts
			added, err := welcome(t.Context(), enqueuer, 7, "ada")
			check(t, err)
			if added != (n == 0) {
				t.Errorf("call %d added: %v", n+1, added)
			}
			c.Advance(time.Hour)
		}
		if sent := w.sent(); len(sent) != 1 {
			t.Errorf("sent: %v", sent)
		}
	})
}

func TestEqualArgumentsAreOneJob(t *testing.T) {
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		enqueuer := chime.NewEnqueuer(c.Store(), chime.EnqueuerOptions{})
		for n := range 3 {
			receipt, err := Thumbnail.Enqueue(t.Context(), enqueuer, Picture{Path: "a.png"})
			check(t, err)
			if receipt.Existing != (n > 0) || n > 0 && receipt.State != chime.JobWaiting {
				t.Errorf("thumbnail %d: %+v", n+1, receipt)
			}
		}
	})
}

func TestACodeThatComesTooLateIsNotSent(t *testing.T) {
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		enqueuer := chime.NewEnqueuer(c.Store(), chime.EnqueuerOptions{})
		jobs := chime.NewJobs(c.Store())
		receipt, err := SendCode.Enqueue(t.Context(), enqueuer, Code{To: "+1", Text: "1234"}, chime.Keep(time.Hour))
		check(t, err)
		c.Advance(5 * time.Minute)
		worker := chime.NewWorker(c.Store(), chime.WorkerOptions{})
		SendCode.Handle(worker, func(context.Context, *chime.Job, Code) error { return errors.New("it is sent") })
		c.Start(worker)
		c.Advance(time.Second)
		failed := (*chime.JobError)(nil)
		if err := jobs.Wait(t.Context(), receipt.Queue, receipt.ID, nil); !errors.As(err, &failed) || failed.Outcome != chime.RunExpired {
			t.Errorf("got %v, want a job that has expired", err)
		}
	})
}

func TestOnlyTheNewestChangeIsIndexed(t *testing.T) {
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		enqueuer := chime.NewEnqueuer(c.Store(), chime.EnqueuerOptions{})
		var mu sync.Mutex
		var indexed []string
		worker := chime.NewWorker(c.Store(), chime.WorkerOptions{})
		Reindex.Handle(worker, func(_ context.Context, _ *chime.Job, customer Customer) error {
			mu.Lock()
			defer mu.Unlock()
			indexed = append(indexed, customer.Name)
			return nil
		})
		c.Start(worker)
		for _, name := range []string{"Ad", "Ada", "Ada Lovelace"} {
			check(t, customerChanged(t.Context(), enqueuer, Customer{ID: 7, Name: name}))
			c.Advance(20 * time.Second)
		}
		c.Advance(time.Minute)
		mu.Lock()
		defer mu.Unlock()
		if fmt.Sprint(indexed) != "[Ada Lovelace]" {
			t.Errorf("indexed: %v", indexed)
		}
	})
}

func TestAResultIsWaitedFor(t *testing.T) {
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		enqueuer, jobs := chime.NewEnqueuer(c.Store(), chime.EnqueuerOptions{}), chime.NewJobs(c.Store())
		worker := chime.NewWorker(c.Store(), chime.WorkerOptions{})
		Quote.Handle(worker, quote)
		stop := c.Start(worker)
		if price, err := askForQuote(t.Context(), enqueuer, jobs, Trip{Kilometres: 10}); price.Cents != 1150 || err != nil {
			t.Errorf("%v, %v", price, err)
		}
		if _, err := askForQuote(t.Context(), enqueuer, jobs, Trip{}); err == nil || err.Error() != "there is no quote (dead): that is no trip" {
			t.Errorf("no trip: %v", err)
		}
		stop()
		if _, err := askForQuote(t.Context(), enqueuer, jobs, Trip{Kilometres: 10}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("without a worker: %v", err)
		}
	})
}

func TestAnExportShowsItsProgressAndIsCancelled(t *testing.T) {
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		enqueuer, jobs := chime.NewEnqueuer(c.Store(), chime.EnqueuerOptions{}), chime.NewJobs(c.Store())
		worker := chime.NewWorker(c.Store(), chime.WorkerOptions{})
		Export.Handle(worker, export)
		c.Start(worker)
		for _, id := range []string{"e1", "e2"} {
			_, err := Export.Enqueue(t.Context(), enqueuer, ExportArgs{Rows: 60}, chime.ID(id))
			check(t, err)
		}
		c.Advance(30*time.Second + 500*time.Millisecond)
		state, so, err := howFar(t.Context(), jobs, "e1")
		if check(t, err); state != chime.JobRunning || so.Of != 60 || so.Rows < 20 || so.Rows > 30 {
			t.Errorf("%s, %v", state, so)
		}
		answer, err := cancelExport(t.Context(), jobs, "e2")
		if check(t, err); answer != "it runs, and its ctx was cancelled" {
			t.Error(answer)
		}
		runs := c.Advance(time.Minute)
		if outcomes(runs) != "cancelled done" || runs[1].Note != "60 rows" {
			t.Errorf("%v", runs)
		}
		if answer, err := cancelExport(t.Context(), jobs, "e1"); err != nil || answer != "it had already ended" {
			t.Errorf("%s, %v", answer, err)
		}
		if answer, err := cancelExport(t.Context(), jobs, "e9"); err != nil || answer != "there is no such export" {
			t.Errorf("%s, %v", answer, err)
		}
		_, err = Export.Enqueue(t.Context(), enqueuer, ExportArgs{}, chime.ID("e3"), chime.In(time.Hour))
		check(t, err)
		if answer, err := cancelExport(t.Context(), jobs, "e3"); err != nil || answer != "it never starts" {
			t.Errorf("%s, %v", answer, err)
		}
	})
}

func TestLimitsHoldOverAllWorkers(t *testing.T) {
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		check(t, setLimits(t.Context(), c.Store()))
		enqueuer := chime.NewEnqueuer(c.Store(), chime.EnqueuerOptions{})
		for range 10 {
			_, err := enqueuer.Enqueue(t.Context(), "render", nil, chime.Queue("pdf"))
			check(t, err)
		}
		for range 2 {
			worker := chime.NewWorker(c.Store(), chime.WorkerOptions{Queues: map[string]int{"pdf": 1}, Concurrency: 10})
			worker.Handle("render", func(context.Context, *chime.Job) error {
				time.Sleep(time.Minute) // fake time
				return nil
			})
			c.Start(worker)
		}
		pdf, err := chime.NewQueues(c.Store()).Get(t.Context(), "pdf")
		if check(t, err); pdf.Running != 4 || pdf.Waiting != 6 {
			t.Errorf("%d run and %d wait, want 4 and 6", pdf.Running, pdf.Waiting)
		}
		if runs := c.Advance(4 * time.Minute); len(runs) != 10 {
			t.Errorf("%d have run, want 10", len(runs))
		}
	})
}

func TestATenantTravelsWithItsJobs(t *testing.T) {
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		enqueuer := chime.NewEnqueuer(c.Store(), chime.EnqueuerOptions{})
		enqueuer.Use(sendTenant)
		worker := chime.NewWorker(c.Store(), chime.WorkerOptions{})
		worker.Use(receiveTenant)
		worker.Handle("whose", func(ctx context.Context, job *chime.Job) error {
			tenant, _ := ctx.Value(tenantKey{}).(string)
			job.Note(tenant)
			return nil
		})
		c.Start(worker)
		_, err := enqueuer.Enqueue(context.WithValue(t.Context(), tenantKey{}, "acme"), "whose", nil)
		check(t, err)
		if runs := c.Advance(0); outcomes(runs) != "done" || runs[0].Note != "acme" {
			t.Errorf("%v", runs)
		}
	})
}

func TestAThumbnailIsPublished(t *testing.T) {
	w := newWorld()
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		worker, notified := chime.NewWorker(c.Store(), chime.WorkerOptions{}), ""
		Resize.Handle(worker, func(_ context.Context, job *chime.Job, image Image) error { return job.Return("small-" + image.File) })
		Publish.Handle(worker, publish)
		Notify.Handle(worker, func(_ context.Context, _ *chime.Job, owner string) error {
			notified = owner
			return nil
		})
		c.Start(worker)
		check(t, thumbnail(t.Context(), chime.NewEnqueuer(c.Store(), chime.EnqueuerOptions{}), Image{"a.png"}, "ada"))
		c.Advance(time.Second)
		if got := fmt.Sprint(w.posted()); got != "[site: a.png as small-a.png]" || notified != "" {
			t.Errorf("posted: %s; notified: %q, want nobody before a minute has passed", got, notified)
		}
		if c.Advance(time.Minute); notified != "ada" {
			t.Errorf("notified: %q, want ada", notified)
		}
	})
}

func TestADeathIsPosted(t *testing.T) {
	w := newWorld()
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		enqueuer := chime.NewEnqueuer(c.Store(), chime.EnqueuerOptions{})
		worker := chime.NewWorker(c.Store(), chime.WorkerOptions{Queues: map[string]int{"payments": 1}})
		Payout.Handle(worker, func(context.Context, *chime.Job, Order) error { return chime.Discard(errors.New("account closed")) })
		Alert.Handle(worker, alert)
		c.Start(worker)
		_, err := Payout.Enqueue(t.Context(), enqueuer, Order{Number: 17})
		check(t, err)
		c.Advance(time.Minute)
		if got := fmt.Sprint(w.posted()); got != "[#payments: payout of order 17 is dead after 1 attempts: account closed]" {
			t.Errorf("posted: %s", got)
		}
	})
}

func TestArgumentsOfAnOldProgramAreRead(t *testing.T) {
	w := newWorld()
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		enqueuer := chime.NewEnqueuer(c.Store(), chime.EnqueuerOptions{})
		_, err := enqueuer.Enqueue(t.Context(), "greet", struct{ Name string }{"Ada"}) // as version 1 did
		check(t, err)
		_, err = Greet.Enqueue(t.Context(), enqueuer, Welcome{First: "Bob", Last: "B."})
		check(t, err)
		worker := chime.NewWorker(c.Store(), chime.WorkerOptions{})
		Greet.Handle(worker, greet)
		c.Start(worker)
		c.Advance(0)
		posted := w.posted()
		if slices.Sort(posted); fmt.Sprint(posted) != "[#welcome: hello, Ada #welcome: hello, Bob]" {
			t.Errorf("posted: %v", posted)
		}
	})
}

func TestAnObserverCounts(t *testing.T) {
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		var n counts
		enqueuer := chime.NewEnqueuer(c.Store(), chime.EnqueuerOptions{Observers: []*chime.Observer{n.observer()}})
		worker := chime.NewWorker(c.Store(), chime.WorkerOptions{Observers: []*chime.Observer{n.observer()}})
		worker.Handle("fails", func(_ context.Context, job *chime.Job) error { return errNever }, chime.MaxAttempts(3))
		worker.Handle("works", func(context.Context, *chime.Job) error { return nil })
		c.Start(worker)
		_, err := enqueuer.EnqueueMany(t.Context(), []chime.Item{{Name: "fails"}, {Name: "works"}})
		check(t, err)
		c.Advance(time.Hour)
		if n.enqueued.Load() != 2 || n.done.Load() != 1 || n.failed.Load() != 2 || n.dead.Load() != 1 {
			t.Errorf("counted: %d enqueued, %d done, %d failed, %d dead", n.enqueued.Load(), n.done.Load(), n.failed.Load(), n.dead.Load())
		}
	})
}

package chimeprom_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/common/expfmt"
	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/chimeprom"
	"github.com/chimejobs/chime/chimetest"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/redisstore"
	"github.com/chimejobs/chime/redisstore/embedded"
)

// canary is in payloads, errors, IDs and notes, and must not be in a metric.
const canary = "canary-4711"

var quiet = slog.New(slog.DiscardHandler)

// story plays a few minutes with everything that is measured, and calls then with the registry.
func story(t *testing.T, c *chimetest.Chime, then func(registry *prometheus.Registry)) {
	t.Helper()
	metrics := chimeprom.New(chimeprom.Options{Jobs: []string{"unhandled"}})
	worker := chime.NewWorker(c.Store(), chime.WorkerOptions{Observers: []*chime.Observer{metrics.Observer()}, Concurrency: 4, Logger: quiet})
	worker.Handle("mail", func(_ context.Context, job *chime.Job) error {
		time.Sleep(2 * time.Second) // fake time: how long the handler runs
		switch job.ID {
		case canary + "-fails":
			if job.Attempt == 1 {
				return chime.RetryAfter(time.Second, errors.New(canary))
			}
		case canary + "-dies":
			return chime.Discard(errors.New(canary))
		case canary + "-panics":
			panic(canary)
		}
		return nil
	}, chime.MaxAttempts(2), chime.Retry(chime.Fixed(time.Second)))
	worker.Handle("report", func(context.Context, *chime.Job) error { return nil })
	worker.Handle("slow", func(ctx context.Context, _ *chime.Job) error {
		<-ctx.Done()
		time.Sleep(3 * time.Second) // fake time: it ignores its timeout for a while
		return ctx.Err()
	}, chime.Timeout(5*time.Second), chime.MaxAttempts(1))
	worker.Handle("long", func(context.Context, *chime.Job) error {
		time.Sleep(50 * time.Second) // fake time: the next occurrence comes meanwhile, and is skipped
		return nil
	})
	worker.Handle("broken", func(context.Context, *chime.Job) error { return chime.Discard(errors.New(canary)) })
	scheduler := chime.NewScheduler(c.Store(), chime.SchedulerOptions{Observers: []*chime.Observer{metrics.Observer()}, Logger: quiet})
	begin := time.Now()
	for name, every := range map[string]time.Duration{"report": time.Minute, "long": 30 * time.Second, "broken": 70 * time.Second} {
		rule := recurrence.Recurrence{StartTime: begin.Add(every), Frequency: recurrence.Second, Interval: int(every / time.Second)}
		if err := scheduler.Schedule(name, rule); err != nil {
			t.Fatal(err)
		}
	}
	metrics.Know(worker, scheduler)
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(metrics, metrics.Store(c.Store()))

	e := chime.NewEnqueuer(c.Store(), chime.EnqueuerOptions{Observers: []*chime.Observer{metrics.Observer()}, Logger: quiet})
	for _, job := range []struct{ name, id string }{
		{"mail", "fine"}, {"mail", "fails"}, {"mail", "dies"}, {"mail", "panics"}, {"slow", "slow"}, {"unhandled", "u"}, {"unknown-" + canary, "v"},
	} {
		if _, err := e.Enqueue(t.Context(), job.name, canary, chime.ID(canary+"-"+job.id)); err != nil {
			t.Fatal(err)
		}
	}
	o := metrics.Observer() // events that only happen when something breaks
	o.SessionLost("default", 3)
	o.Refused("default", 2)
	o.Trouble("work", errors.New(canary))
	o.Called("work", time.Millisecond, errors.New(canary))
	o.Returned([]chime.JobEvent{{Queue: "default", Name: "mail", ID: canary}})
	c.Start(scheduler, worker)
	c.Advance(90 * time.Second)
	if err := chime.NewAcknowledgements(c.Store()).AcknowledgeSchedule(t.Context(), "broken", chime.Note{Text: canary, By: canary}); err != nil {
		t.Fatal(err)
	}
	schedules := chime.NewSchedules(c.Store())
	if _, err := schedules.Trigger(t.Context(), "report", chime.ID(canary)); err != nil {
		t.Fatal(err)
	}
	if _, err := schedules.Backfill(t.Context(), "report", begin, begin.Add(61*time.Second)); err != nil {
		t.Fatal(err)
	}
	c.Advance(5 * time.Second)
	if err := chime.NewQueues(c.Store()).Pause(t.Context(), "default", chime.Note{Text: canary}); err != nil {
		t.Fatal(err)
	}
	c.Advance(15 * time.Second)
	if _, err := e.Enqueue(t.Context(), "mail", canary); err != nil {
		t.Fatal(err)
	}
	c.Advance(10 * time.Second)
	for _, group := range []string{canary + "-a", canary + "-b"} {
		if _, err := e.Enqueue(t.Context(), "mail", canary, chime.Queue("exports"), chime.Group(group)); err != nil {
			t.Fatal(err)
		}
	}
	if err := chime.NewQueues(c.Store()).PauseGroup(t.Context(), "exports", canary+"-b"); err != nil {
		t.Fatal(err)
	}
	then(registry)
}

// exposition is the text of a registry, without the values that depend on goroutines at the same instant: the number of calls, and the
// grouping of a worker's outcomes within 20 ms, which changes the waits of retries.
func exposition(t *testing.T, registry *prometheus.Registry) string {
	t.Helper()
	return regexp.MustCompile(`(?m)^chime_(store_(call_seconds|errors_total)|job_wait_seconds_(sum|bucket.*le="0\.0)).*\n`).ReplaceAllString(formatted(t, registry, expfmt.NewFormat(expfmt.TypeTextPlain)), "")
}

func formatted(t *testing.T, registry *prometheus.Registry, format expfmt.Format) string {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	encoder := expfmt.NewEncoder(&text, format)
	for _, f := range families {
		if err := encoder.Encode(f); err != nil {
			t.Fatal(err)
		}
	}
	return text.String()
}

var update = flag.Bool("update", false, "write testdata/story.txt again")

func TestTheStoryIsShownExactly(t *testing.T) {
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		story(t, c, func(registry *prometheus.Registry) {
			got := exposition(t, registry)
			if *update {
				if err := os.WriteFile("testdata/story.txt", []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile("testdata/story.txt")
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("the exposition does not match testdata/story.txt (go test -update writes it again); it differs in:\n%s", difference(got, string(want)))
			}
		})
	})
}

// difference returns the lines that only one of two texts has.
func difference(got, want string) string {
	var all []string
	for _, side := range []struct{ sign, has, lacks string }{{"+ ", got, want}, {"- ", want, got}} {
		lacks := strings.Split(side.lacks, "\n")
		for line := range strings.Lines(side.has) {
			if !slices.Contains(lacks, strings.TrimSuffix(line, "\n")) {
				all = append(all, side.sign+line)
			}
		}
	}
	return strings.Join(all, "")
}

func TestEveryMetricIsShownAndNoSecretIs(t *testing.T) {
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		story(t, c, func(registry *prometheus.Registry) {
			families, err := registry.Gather()
			if err != nil {
				t.Fatal(err)
			}
			kinds := map[string]string{}
			for _, f := range families {
				kinds[f.GetName()] = strings.ToLower(f.GetType().String())
			}
			for name, kind := range chimeprom.Kinds() {
				if kinds[name] != kind {
					t.Errorf("%s is a %q, want a %s", name, kinds[name], kind)
				}
				delete(kinds, name)
			}
			if len(kinds) > 0 {
				t.Errorf("metrics without a definition: %v", kinds)
			}
			if all := formatted(t, registry, expfmt.NewFormat(expfmt.TypeProtoText)); strings.Contains(all, canary) || len(all) < 10_000 {
				t.Errorf("a metric shows the canary, or nothing is shown:\n%s", all)
			}
			problems, err := testutil.GatherAndLint(registry)
			if err != nil || len(problems) > 0 {
				t.Errorf("lint: %v, %v", problems, err)
			}
		})
	})
}

func TestAHundredThousandNamesAreFewSeries(t *testing.T) {
	metrics := chimeprom.New(chimeprom.Options{})
	worker := chime.NewWorker(nil, chime.WorkerOptions{})
	for i := range 1000 {
		worker.Handle(fmt.Sprintf("job-%d", i), func(context.Context, *chime.Job) error { return nil })
	}
	metrics.Know(worker)
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(metrics)
	o := metrics.Observer()
	for i := range 100_000 {
		name := fmt.Sprintf("job-%d", i)
		jobs := []chime.JobEvent{{
			Queue: name, Name: "x", Schedule: name, Origin: "occurrence", First: true, Started: time.Unix(2, 0), Waited: time.Unix(1, 0), Ended: time.Unix(3, 0), Outcome: chime.RunDone,
		}}
		o.Begun(jobs)
		jobs[0].Queue, jobs[0].Name = "default", name
		o.Enqueued(jobs)
		o.Ended(jobs)
		o.Placed([]chime.PlaceEvent{{Schedule: name}})
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if len(f.Metric) > 201 {
			t.Errorf("%s has %d series, want 201 at most", f.GetName(), len(f.Metric))
		}
		if f.GetName() == "chime_jobs_enqueued_total" && len(f.Metric) != 201 {
			t.Errorf("%s has %d series, want 200 names and other", f.GetName(), len(f.Metric))
		}
	}
}

// A program with many queues and many jobs has few series too: all combinations of names would be 40,401.
func TestQueuesTimesJobsAreFewSeries(t *testing.T) {
	const each = 250
	jobs := make([]string, each)
	for i := range jobs {
		jobs[i] = fmt.Sprintf("job-%d", i)
	}
	metrics := chimeprom.New(chimeprom.Options{Jobs: jobs})
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(metrics)
	o := metrics.Observer()
	for queue := range each {
		for _, job := range jobs {
			events := []chime.JobEvent{{Queue: fmt.Sprintf("queue-%d", queue), Name: job, Started: time.Unix(2, 0), Ended: time.Unix(3, 0), Outcome: chime.RunDone}}
			o.Enqueued(events)
			o.Ended(events)
			events[0].Outcome = chime.RunFailed
			o.Ended(events)
		}
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		most, want := 201, float64(each*each)
		switch f.GetName() {
		case "chime_jobs_ended_total":
			most, want = 2*201, 2*want
		case "chime_jobs_enqueued_total":
		default:
			want = 0 // not counted here
		}
		counted := 0.0
		for _, m := range f.Metric {
			counted += m.GetCounter().GetValue()
		}
		if len(f.Metric) > most || want > 0 && counted != want {
			t.Errorf("%s has %d series that count %v, want %d at most and %v", f.GetName(), len(f.Metric), counted, most, want)
		}
	}
	text := exposition(t, registry)
	for _, want := range []string{
		`chime_jobs_enqueued_total{job="job-0",queue="queue-0"} 1`, `chime_jobs_ended_total{job="job-199",outcome="failed",queue="queue-0"} 1`,
		`chime_jobs_enqueued_total{job="other",queue="other"} 62300`, `chime_job_run_seconds_count{job="other",queue="other"} 124600`,
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("missing: %s", want)
		}
	}
}

// Values that cannot be read are absent: the old value is not shown, nor 0.
func TestNothingStoreWideIsShownAfterAReadThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := embedded.StartInMemory()
		registry := prometheus.NewPedanticRegistry()
		metrics := chimeprom.New(chimeprom.Options{})
		registry.MustRegister(metrics.Store(server.Store()))
		if _, err := chime.NewEnqueuer(server.Store(), chime.EnqueuerOptions{Logger: quiet}).Enqueue(t.Context(), "work", nil); err != nil {
			t.Fatal(err)
		}
		wants := func(what string, queues bool, errors int) {
			t.Helper()
			text := exposition(t, registry)
			if has := strings.Contains(text, "chime_queue_jobs{"); has != queues || !strings.Contains(text, fmt.Sprintf("chime_scrape_errors_total %d\n", errors)) {
				t.Errorf("%s: want queues %v and %d errors; got\n%s", what, queues, errors, text)
			}
		}
		wants("at first", true, 0)
		if err := server.Close(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(4 * time.Second) // fake time: a read is valid for 5 s
		wants("4 s later", true, 0)
		time.Sleep(2 * time.Second) // fake time: the 5 s are over
		wants("without a server", false, 1)
		time.Sleep(2 * time.Second) // fake time: the failed read is valid for 5 s too
		wants("2 s later", false, 1)
		time.Sleep(5 * time.Second) // fake time: and this time is over
		wants("after that", false, 2)
		synctest.Wait()
	})
}

// A server that accepts connections and does not answer blocks no scrape.
func TestAServerThatHangsIsNotWaitedFor(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	client := redis.NewClient(&redis.Options{Addr: listener.Addr().String(), MaxRetries: -1, ReadTimeout: -1})
	defer client.Close()
	registry := prometheus.NewPedanticRegistry()
	metrics := chimeprom.New(chimeprom.Options{})
	registry.MustRegister(metrics.Store(redisstore.New(client, redisstore.Options{})))
	if text := exposition(t, registry); strings.Contains(text, "chime_queue") || !strings.Contains(text, "chime_scrape_errors_total 1\n") {
		t.Errorf("want the error alone, got\n%s", text)
	}
}

func TestObserversAndScrapesMayComeAtOnce(t *testing.T) {
	server := embedded.StartInMemory()
	defer server.Close()
	metrics := chimeprom.New(chimeprom.Options{Jobs: []string{"a", "b"}})
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(metrics, metrics.Store(server.Store()))
	const each, runs = 4, 200
	var all sync.WaitGroup
	for range each {
		o := metrics.Observer()
		all.Go(func() {
			for i := range runs {
				jobs := []chime.JobEvent{
					{Queue: "q", Name: "a", Started: time.Unix(1, 0), Ended: time.Unix(2, 0), Waited: time.Unix(1, 0), Outcome: chime.RunDone},
					{Queue: "r", Name: "b", Started: time.Unix(1, 0), Ended: time.Unix(2, 0), Waited: time.Unix(1, 0), Outcome: chime.RunFailed, TimedOut: true},
				}
				o.Enqueued(jobs)
				o.Begun(jobs)
				o.Ended(jobs)
				o.Slots(0, 1, 0)
				o.Slots(0, -1, 0)
				o.Elected(i%2 == 0, 1)
				o.Trouble("work", errors.New("no"))
				o.Trouble("work", nil)
			}
		})
		all.Go(func() {
			for range runs / 20 {
				if _, err := registry.Gather(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	text := exposition(t, registry)
	for _, want := range []string{
		`chime_jobs_ended_total{job="a",outcome="done",queue="q"} 800`, `chime_job_run_seconds_count{job="b",queue="r"} 800`, `chime_job_wait_seconds_count{queue="q"} 800`,
		`chime_job_timeouts_total{job="b",queue="r"} 800`, "chime_worker_slots_busy 0", "chime_leader 0", "chime_leader_changes_total 400", `chime_store_trouble{op="work"} 0`,
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("missing: %s\n%s", want, text)
		}
	}
}

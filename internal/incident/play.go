package incident

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/recurrence"
)

// A player fills a world.
type player struct {
	*World
	t         *testing.T
	schedules *chime.Schedules
	enqueuer  *chime.Enqueuer
}

func (p *player) check(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatalf("%v: %v", time.Now().UTC(), err)
	}
}

// run runs roles until stop is called. Handlers that still run are cut off.
func (p *player) run(roles ...chime.Role) (stop func()) {
	ctx, cancel := context.WithCancel(p.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- chime.Run(ctx, roles...) }()
	return func() {
		cancel()
		<-ended
	}
}

// play fills the world: some days with one schedule, the last hours with the failures of the old version, a deployment, and the rest.
func (p *player) play() {
	p.days()
	stop := p.open("app-1", "v1.0.0")
	p.serve()
	p.hours()
	stop()
	p.t.Cleanup(p.open("app-2", "v1.1.0"))
	p.fail("timeout", 7)
	p.fill()
	time.Sleep(3 * time.Minute) // fake time passes until the samples have everything
	p.last()
}

// scheduler returns the scheduler of the world.
func (p *player) scheduler() chime.Role {
	return chime.NewScheduler(p.Store, chime.SchedulerOptions{Logger: quiet})
}

// put stores a schedule.
func (p *player) put(name string, rule recurrence.Recurrence, options ...chime.PutOption) {
	p.t.Helper()
	_, err := p.schedules.Put(p.t.Context(), name, rule, options...)
	p.check(err)
}

// enqueue adds n jobs to a queue. Their IDs begin with a prefix.
func (p *player) enqueue(queue, name, prefix string, n int, options ...chime.EnqueueOption) {
	p.t.Helper()
	for from := 0; from < n; from += 500 {
		var items []chime.Item
		for i := range min(500, n-from) {
			own := append([]chime.EnqueueOption{chime.Queue(queue), chime.ID(prefix + strconv.Itoa(from+i)), chime.Header("customer", strconv.Itoa(from+i))}, options...)
			items = append(items, chime.Item{Name: name, Args: map[string]int{"customer": from + i}, Options: own})
		}
		_, err := p.enqueuer.EnqueueMany(p.t.Context(), items)
		p.check(err)
	}
}

// days lets a schedule fail for days. A worker, and a scheduler that takes samples, run only around its occurrences.
func (p *player) days() {
	time.Sleep(90 * time.Minute) // fake time passes: no day begins at midnight
	p.put(Failing, recurrence.Recurrence{Frequency: recurrence.Hour, Interval: 6}, chime.JobName("imports"), chime.Queue("a"), chime.MaxAttempts(1), chime.KeepRuns(50))
	for end := time.Now().AddDate(0, 0, p.Size.Days); time.Now().Before(end); {
		stop := p.run(p.scheduler(), p.worker(program{Store: p.Store.Protocol(), host: "app-1", version: "v1.0.0"}, 5, "a"))
		time.Sleep(2 * time.Minute) // fake time passes
		stop()
		next, err := p.schedules.Get(p.t.Context(), Failing)
		p.check(err)
		time.Sleep(min(time.Until(next.Next), time.Until(end)) + time.Millisecond) // fake time passes
	}
}

// open starts the scheduler and the workers of a version, which serve all queues but one.
func (p *player) open(host, version string) (stop func()) {
	of := program{Store: p.Store.Protocol(), host: host, version: version}
	queues := append([]string{"default", Paused, Wide, Long}, failing...)
	for i := 1; i <= 22; i++ {
		queues = append(queues, fmt.Sprintf("plain-%02d", i))
	}
	return p.run(p.scheduler(), p.worker(of, 20, queues...), p.worker(of, 2, Full, Tenants), p.worker(of, 1, Orphaned))
}

// serve creates the schedules that run in the last hours.
func (p *player) serve() {
	time.Sleep(time.Until(time.Now().Truncate(time.Minute).Add(time.Minute + 300*time.Millisecond))) // fake time passes, into a second that a rule plans
	p.put(Quiet, recurrence.Recurrence{Frequency: recurrence.Minute, Interval: 20}, chime.JobName("done"), chime.NoImmediateRun(), chime.KeepRuns(50))
	p.put(Edited, recurrence.Recurrence{Cron: "5,25,45 * * * *"}, chime.JobName("done"), chime.KeepRuns(50))
	for i := range 18 {
		p.put(fmt.Sprintf("tenant-a-%02d", i), recurrence.Recurrence{Cron: fmt.Sprintf("%d 4 1 1 *", i)}, chime.JobName("done"), chime.Queue(fmt.Sprintf("plain-%02d", i+1)))
	}
	for i := 22; i < p.Size.Schedules; i++ {
		p.put(fmt.Sprintf("job-%03d", i), recurrence.Recurrence{Cron: fmt.Sprintf("%d 5 1 1 *", i%60)}, chime.JobName("done"), chime.Queue(fmt.Sprintf("plain-%02d", i%22+1)))
	}
}

// hours lets two hours pass. In their second half the rule of a schedule is another one.
func (p *player) hours() {
	time.Sleep(61 * time.Minute) // fake time passes
	p.put(Edited, recurrence.Recurrence{Cron: "10,30,50 * * * *"}, chime.JobName("done"), chime.KeepRuns(50))
	time.Sleep(30 * time.Minute) // fake time passes
	p.fail("row", 40)
	p.enqueue("default", "panics", "panic", 1, chime.MaxAttempts(1))
	p.enqueue("default", "heals", "heal", 3)
	p.enqueue("default", "retries", "again", 5)
	p.enqueue("default", "done", "done", 20)
	time.Sleep(5 * time.Second) // fake time passes
}

// fail lets jobs of one name die on four queues.
func (p *player) fail(prefix string, n int) {
	for i := range n {
		p.enqueue(failing[i%len(failing)], "imports", fmt.Sprintf("%s-%d-", prefix, i), 1, chime.MaxAttempts(1))
	}
}

// fill adds the jobs that do not run.
func (p *player) fill() {
	p.enqueue(Full, "hangs", "hangs", 1)
	p.enqueue(Tenants, "hangs", "hangs", 1, chime.Group("tenant-0"))
	p.enqueue(Orphaned, "hangs", "hangs", 1)
	time.Sleep(time.Second) // fake time passes
	p.enqueue(Long, "nobody-can", "parked", 12)
	rest := p.Size.Jobs - 150
	p.enqueue(Full, "done", "waits", rest/4)
	for i := range 5 {
		p.enqueue(Tenants, "done", fmt.Sprintf("of-tenant-%d-", i), 10+i, chime.Group(fmt.Sprintf("tenant-%d", i)))
	}
	p.check(chime.NewQueues(p.Store).Pause(p.t.Context(), Paused, chime.Note{Text: "the printer is being repaired", By: "anna"}))
	p.enqueue(Paused, "done", "waits", rest/4)
	p.enqueue(Paused, "done", "later", 10, chime.In(time.Hour))
	p.enqueue(Wide, "done", "later", rest/4, chime.In(48*time.Hour))
	for i := 1; i <= 22; i++ {
		queue := fmt.Sprintf("plain-%02d", i)
		p.enqueue(queue, "done", queue+"-", rest/4/22, chime.In(24*time.Hour))
	}
	p.enqueue(Unserved, "done", "overdue", 4, chime.In(time.Minute))
	p.enqueue(Unserved, "done", "later", 3, chime.In(time.Hour))
	p.put("unserved", recurrence.Recurrence{Frequency: recurrence.Minute, Interval: 5}, chime.JobName("done"), chime.Queue(Unserved), chime.NoImmediateRun())
}

// last changes what lasts only a moment: a worker vanishes, and another one has taken jobs ahead. It writes with plain commands what the calls of these
// workers would have written.
func (p *player) last() {
	client, ctx := p.Server.Client(), p.t.Context()
	held := client.ZRange(ctx, "chime:{"+Orphaned+"}:sessions", 0, -1).Val()
	if len(held) != 1 {
		p.t.Fatalf("queue %s has %d sessions, want 1", Orphaned, len(held))
	}
	ago := float64(time.Now().Add(-time.Millisecond).UnixMilli())
	p.check(client.ZAdd(ctx, "chime:{"+Orphaned+"}:sessions", redis.Z{Score: ago, Member: held[0]}).Err())
	busy := client.ZRange(ctx, "chime:{"+Full+"}:sessions", 0, -1).Val()
	if len(busy) != 1 {
		p.t.Fatalf("queue %s has %d sessions, want 1", Full, len(busy))
	}
	for i := range 3 {
		id := client.LPop(ctx, "chime:{"+Full+"}:ready").Val()
		p.check(client.HSet(ctx, "chime:{"+Full+"}:inflight:"+busy[0], id, "-"+strconv.Itoa(1_000_000+i)).Err())
	}
}

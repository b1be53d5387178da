package sim

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/simredis"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/redisstore"
)

// An actor is a process of the plan. live is its present life; nil: it is down.
type actor struct {
	*Actor
	world *World
	live  *life
	lives int
}

// A life is a process from its start until it is killed or ends.
type life struct {
	actor    *actor
	record   *Process
	gate     *gate
	client   *redis.Client
	store    *redisstore.Store
	enqueuer *chime.Enqueuer
	ctx      context.Context
	stop     context.CancelFunc
	done     chan error
}

// newClient returns a client on connections in memory.
func newClient(dial func() (net.Conn, error)) *redis.Client {
	client := redis.NewClient(&redis.Options{
		Addr: "127.0.0.1:0", Protocol: 2, DisableIdentity: true, ContextTimeoutEnabled: true, DialerRetries: 1,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
		Dialer: func(ctx context.Context, _, _ string) (net.Conn, error) {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			return dial()
		},
	})
	client.AddHook(simredis.Turns)
	return client
}

// enter starts an actor for the first time.
func (w *World) enter(a *Actor) {
	of := &actor{Actor: a, world: w}
	w.mu.Lock()
	w.actors[a.Name] = of
	w.mu.Unlock()
	of.start()
}

// start begins a life.
func (a *actor) start() {
	w := a.world
	a.lives++
	p := &Process{Name: fmt.Sprintf("%s.%d", a.Name, a.lives), Begun: time.Now()}
	w.history.note(func() { w.history.Processes = append(w.history.Processes, p) })
	l := &life{actor: a, record: p, gate: &gate{world: w, name: a.Name, conns: map[*conn]struct{}{}}, done: make(chan error, 1)}
	l.client = newClient(l.gate.dial)
	log := slog.New(&logger{life: l})
	l.store = redisstore.New(l.client, redisstore.Options{Logger: log})
	l.ctx, l.stop = context.WithCancel(context.Background())
	l.enqueuer = chime.NewEnqueuer(l.store, chime.EnqueuerOptions{Logger: log})
	a.live = l
	go func() {
		var err error
		switch a.Role {
		case Worker:
			err = chime.Run(l.ctx, l.worker(log))
		case Scheduler:
			err = chime.Run(l.ctx, l.scheduler(log))
		default:
			<-l.ctx.Done()
		}
		if l.ctx.Err() == nil {
			w.history.problem(broken, "%s ended by itself: %v", p.Name, err)
		}
		l.done <- err
	}()
}

// end ends a life as a signal does, in the background.
func (l *life) end(kill bool) {
	w := l.actor.world
	w.history.note(func() { l.record.Gone, l.record.Killed = time.Now(), kill })
	if kill {
		l.gate.cut(true)
	}
	l.stop()
	w.tasks.Go(func() {
		err := <-l.done
		timeout := &chime.DrainTimeoutError{}
		if err != nil && !kill && !errors.As(err, &timeout) && !w.troubled(l.record) {
			w.history.problem(broken, "%s ended with an error: %v", l.record.Name, err)
		}
		w.history.note(func() { l.record.retired = true })
		l.client.Close()
		l.gate.cut(true)
	})
}

// troubled reports whether a fault concerns a process.
func (w *World) troubled(p *Process) (found bool) {
	name, _, _ := strings.Cut(p.Name, ".")
	w.history.note(func() {
		found = slices.ContainsFunc(w.history.Faults, func(f Happened) bool {
			return f.concerns(name) && f.To.IsZero() || f.To.After(p.Gone.Add(-time.Minute))
		})
	})
	return found
}

// kill lets the process vanish.
func (a *actor) kill() {
	if l := a.live; l != nil {
		a.live = nil
		l.end(true)
	}
}

// stop ends the process as SIGTERM does.
func (a *actor) stop() {
	if l := a.live; l != nil {
		a.live = nil
		l.end(false)
	}
}

// concurrency is how many handlers a worker runs at once.
const concurrency = 6

const (
	jobName  = "job"
	tickName = "tick"
	nextName = "next" // of jobs that follow others
)

// The settings that the judge knows.
const (
	maxAttempts  = 4
	maxCrashes   = 3
	sessionTTL   = 12 * time.Second
	drainTimeout = 5 * time.Second
	handBackWait = 2 * time.Second // a constant of the worker, see the comment of WorkerOptions.DrainTimeout
)

// worker returns a worker of all queues.
func (l *life) worker(log *slog.Logger) *chime.Worker {
	worker := chime.NewWorker(l.store, chime.WorkerOptions{
		Queues: map[string]int{queueA: 3, queueB: 2, queueLimited: 1, queueGroups: 2}, Concurrency: concurrency, MaxCrashes: maxCrashes, SessionTTL: sessionTTL,
		DrainTimeout: drainTimeout, Logger: log,
	})
	backoff := chime.Backoff(func(int) time.Duration { return time.Second })
	worker.Handle(tickName, func(ctx context.Context, job *chime.Job) error { return l.handle(ctx, job, job.ID) }, backoff)
	for _, name := range []string{jobName, nextName} {
		worker.Handle(name, func(ctx context.Context, job *chime.Job) error {
			var key string
			if err := job.Decode(&key); err != nil {
				return err
			}
			if name == nextName {
				key += "+" + job.ID
			}
			return l.handle(ctx, job, key)
		}, backoff)
	}
	return worker
}

// handle runs a job as behave decides.
func (l *life) handle(ctx context.Context, job *chime.Job, key string) error {
	if l.gone() {
		return nil // the process has vanished: it does nothing any more
	}
	end := l.actor.world.history.begin(l.record, key, job.ID, job.Queue, job.Fence)
	if err := l.grow(ctx, job, key); err != nil {
		if !l.gone() {
			end(Failed)
		}
		return err
	}
	b := behave(l.actor.world.plan.Seed, key, job.Fence, job.Batch != "")
	timer := time.NewTimer(b.work)
	defer timer.Stop()
	done := ctx.Done()
	if b.deaf {
		done = nil
	}
	select {
	case <-timer.C:
	case <-done:
		if !l.gone() {
			end(CutOff)
		}
		return context.Cause(ctx)
	}
	if !l.gone() {
		end(b.outcome)
	}
	return b.err()
}

func (l *life) gone() bool {
	l.gate.mu.Lock()
	defer l.gate.mu.Unlock()
	return l.gate.dead
}

// A behaviour is what a handler does in one run.
type behaviour struct {
	outcome Outcome
	work    time.Duration
	deaf    bool // it ignores the end of its ctx
}

// behave depends on the fence, so that no job fails forever. Members of batches die more often.
func behave(seed uint64, key string, fence int64, member bool) behaviour {
	h := fnv.New64a()
	fmt.Fprint(h, seed, key, fence)
	n := h.Sum64()
	b := behaviour{outcome: OK, work: time.Duration(n%40) * time.Millisecond, deaf: n>>8%4 == 0}
	switch at := n >> 16 % 100; {
	case at < 5:
		b.outcome = Failed
	case at == 5, member && at >= 90:
		b.outcome = Discarded
	case at < 8:
		b.outcome = Snoozed
	}
	switch at := n >> 32 % 100; {
	case at < 2:
		b.work = 20 * time.Second
	case at < 12:
		b.work = time.Duration(1+n>>40%4) * time.Second
	}
	return b
}

var errPlanned = errors.New("this attempt fails by plan")

func (b behaviour) err() error {
	switch b.outcome {
	case Failed:
		return errPlanned
	case Discarded:
		return chime.Discard(errPlanned)
	case Snoozed:
		return chime.Snooze(2 * time.Second)
	}
	return nil
}

// A declaration is a schedule that schedulers declare.
type declaration struct {
	name    string
	seconds int
	queue   string
	overlap chime.OverlapPolicy
	misfire chime.MisfirePolicy
	from    int64 // the version that declares it first
	until   int64 // the version that declares it last; 0: all
}

var declarations = []declaration{
	{"skip", 10, queueA, chime.OverlapSkip, chime.MisfireRunOnce, 0, 0},
	{"wait", 15, queueB, chime.OverlapWait, chime.MisfireSkip, 0, 0},
	{"allow", 20, queueB, chime.OverlapAllow, chime.MisfireCatchUp, 0, 0},
	{"cancel", 30, queueA, chime.OverlapCancel, chime.MisfireRunOnce, 0, 0},
	{"old", 60, queueA, chime.OverlapAllow, chime.MisfireRunOnce, 0, 1},
	{"new", 60, queueB, chime.OverlapAllow, chime.MisfireRunOnce, 2, 0},
}

func (d declaration) in(version int64) bool {
	return version >= d.from && (d.until == 0 || version <= d.until)
}

// busy has the times of a day at which schedules run: often during a round, which begins at midnight, and three times later.
var busy = []recurrence.Filter{{Times: []string{"00:00/00:14", "06:00:00", "12:00:00", "18:00:00"}}}

// every is a rule that ends with the plan.
func (w *World) every(seconds int) recurrence.Recurrence {
	return recurrence.Recurrence{Frequency: recurrence.Second, Interval: seconds, Only: busy, EndTime: w.end}
}

// scheduler returns a scheduler with the declarations of its version.
func (l *life) scheduler(log *slog.Logger) *chime.Scheduler {
	scheduler := chime.NewScheduler(l.store, chime.SchedulerOptions{Owner: "app", Version: l.actor.Version, Prune: true, Logger: log})
	for _, d := range declarations {
		if d.in(l.actor.Version) {
			err := scheduler.Schedule(d.name, l.actor.world.every(d.seconds), chime.JobName(tickName), chime.Queue(d.queue), chime.Overlap(d.overlap),
				chime.Misfire(d.misfire), chime.MaxAttempts(maxAttempts), chime.Grace(5*time.Second))
			if err != nil {
				l.actor.world.history.problem(broken, "declare %s: %v", d.name, err)
			}
		}
	}
	return scheduler
}

// A logger records when sessions were lost, and keeps the lines if the world has a log.
type logger struct{ life *life }

func (*logger) Enabled(context.Context, slog.Level) bool { return true }

func (g *logger) Handle(_ context.Context, r slog.Record) error {
	event, unsettled, book := "", int64(0), g.life.actor.world.log
	var text strings.Builder
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "event" {
			event = a.Value.String()
		}
		if a.Key == "unsettled" && a.Value.Kind() == slog.KindInt64 {
			unsettled = a.Value.Int64()
		}
		if book.keeps {
			fmt.Fprintf(&text, " %s", a)
		}
		return true
	})
	if event == "session.lost" || event == "session.expired" {
		h := g.life.actor.world.history
		h.note(func() { g.life.record.Lost = append(g.life.record.Lost, time.Now()) })
	}
	if event == "drain.ended" {
		g.life.actor.world.history.note(func() { g.life.record.Kept = int(unsettled) })
	}
	book.add(g.life.record.Name, r.Message+text.String())
	return nil
}

func (g *logger) WithAttrs([]slog.Attr) slog.Handler { return g }
func (g *logger) WithGroup(string) slog.Handler      { return g }

// Package chime is a background job scheduler for Go applications. It runs on a Redis that they already have. It provides recurring
// schedules, one-off and delayed jobs, and the workers that run them, in one process or in many.
//
// Most programs need four calls: [Worker.Handle] registers the function that runs a job, [Scheduler.Schedule] declares when a job recurs,
// [Enqueuer.Enqueue] adds one job for now or later, and [Run] runs them.
//
// # What do I type
//
//	store := redisstore.New(redis.NewClient(&redis.Options{Addr: "localhost:6379"}), redisstore.Options{})
//
//	worker := chime.NewWorker(store, chime.WorkerOptions{})
//	worker.Handle("report", func(ctx context.Context, job *chime.Job) error {
//		var args ReportArgs
//		if err := job.Decode(&args); err != nil {
//			return err
//		}
//		return send(ctx, job.ID, args) // the ID is the same in all attempts
//	})
//
//	scheduler := chime.NewScheduler(store, chime.SchedulerOptions{})
//	scheduler.Schedule("report", recurrence.Recurrence{Cron: "0 9 * * 1-5", TimeZone: "Europe/Berlin"})
//
//	err := chime.Run(ctx, scheduler, worker) // until ctx ends: a ctx of signal.NotifyContext
//
// Anywhere in the program, one job for later:
//
//	enqueuer := chime.NewEnqueuer(store, chime.EnqueuerOptions{})
//	receipt, err := enqueuer.Enqueue(ctx, "report", ReportArgs{Customer: "c1"}, chime.In(time.Hour))
//
// [Define] binds a job's name to the type of its arguments, for enqueuers and handlers, and sets defaults for its jobs:
//
//	var Report = chime.Define[ReportArgs]("report", chime.Queue("slow"), chime.MaxAttempts(10), chime.Timeout(time.Hour))
//
// Each setting is taken from the first of these that has it: the call, the kind, the handler, the worker ([WorkerOptions].Defaults), chime itself.
//
// # What does it promise
//
//   - An occurrence of a schedule is placed exactly once, even after crashes and with any number of schedulers. Its ID is
//     "<schedule>@<planned instant>".
//   - A job runs at least once. Each run ends in exactly one of three ways: the job is done, it waits for its next attempt, or it is dead.
//     If a process vanishes, its jobs run again in another one within seconds; this uses up no attempt.
//   - At most one completion of a job counts. The store refuses the result of a handler whose job went to another worker.
//   - No job runs early. Only the store's clock decides what is due or late; the clocks of the machines may be wrong.
//   - The next occurrence does not wait for the last one to end. Policies of the schedule decide what happens if they overlap, and
//     what happens to occurrences that were missed while nothing ran: [OverlapPolicy], [MisfirePolicy].
//   - If Redis is unavailable, work slows down and the roles log it; nothing stops and no result is lost.
//
// # What will bite me
//
//   - At least once means that a job sometimes runs twice: make its effects idempotent with [Job].ID, or refuse older runs with
//     [Job].Fence.
//   - A schedule without a start time runs immediately when it is first declared; [NoImmediateRun] prevents that.
//   - A job has 25 attempts, which last about 20 days; an occurrence of a schedule has 5. [MaxAttempts] sets another number.
//   - Deleting the line that declares a schedule does not delete the schedule: [Scheduler.Remove] and [Schedules.Delete] do.
//   - A handler that ignores its ctx keeps its slot until it returns, although its job was settled as failed long before.
//   - Redis replicates asynchronously: a failover can lose the last writes, including jobs that were acknowledged.
//   - A Redis that may evict keys loses jobs: every role refuses a maxmemory-policy of allkeys-*, and logs a warning for volatile-*.
//
// # Where is everything
//
// [Worker] runs handlers. [Scheduler] declares schedules at start, [Schedules] changes and shows them at run time. [Enqueuer] adds jobs.
// [Jobs] finds, cancels, requeues and deletes them, and waits for their results. [Queues] shows, pauses, limits and purges queues. [Workers]
// shows the live workers. [Verify] finds damage in a store, and repairs it. [Run] starts and stops roles. Invalid input returns an
// [InvalidError].
//
// Package recurrence is the calendar, and can be used alone. Package redisstore has the [Store]. Package redisstore/embedded has a store
// inside the process, for a first try. Package chimetest tests programs under fake time. Package chimeseal seals data for
// [WithCodec]. The pages docs/jobs.md, docs/schedules.md,
// docs/testing.md and docs/operating.md are guides.
package chime

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"
	"sync"
	"time"

	"github.com/chimejobs/chime/internal/enqueue"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/schedule"
	"github.com/chimejobs/chime/internal/seal"
	"github.com/chimejobs/chime/internal/wire"
	"github.com/chimejobs/chime/internal/work"
)

// A Role is something that Run runs: a *Worker, a *Scheduler, or a service of your own that starts and stops with them.
type Role interface {
	// Run works until ctx ends, and returns when the work is finished: nil after a clean end.
	Run(ctx context.Context) error
}

// Additional methods of chime's own roles.
type (
	// validator returns every problem of a role's options and declarations.
	validator interface{ validate() error }
	// runner reports whether a role is running or has run.
	runner interface{ runs() bool }
	// laster is a role that runs until all others have ended.
	laster interface{ stopsLast() bool }
)

// Run runs roles until ctx ends, then stops them in order: first workers and your own roles finish the jobs that they hold, then schedulers
// hand over their lead. It returns when all roles have returned. Close the client of the store only after that: if it is closed earlier, workers
// cannot store outcomes, and jobs that are already done run again.
//
// If options or declarations of any role are invalid, Run returns all problems, joined, before anything starts. If the store is down, the
// roles wait for it and log that. If a role fails, Run stops the others in the same order and returns its error; a panic of a role is such an
// error, a *[PanicError]. After ctx has ended, Run returns nil, or a *[DrainTimeoutError] if handlers were cut off; never ctx.Err().
func Run(ctx context.Context, roles ...Role) error {
	if ctx == nil {
		return fmt.Errorf("chime: Run: %w", errNilContext)
	}
	if err := checkRoles(roles); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return nil
	}
	together := map[string]bool{}
	for _, role := range roles {
		if w, ok := role.(*Worker); ok {
			for queue := range w.options.Queues {
				together[queue] = true
			}
			w.runBeside(together)
		}
	}
	// Roles see the end of ctx only through stop, so that they end in order.
	base, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	first, last := newStage(base), newStage(base)
	failed := make(chan struct{}, len(roles))
	for _, role := range roles {
		stage := first
		if l, ok := role.(laster); ok && l.stopsLast() {
			stage = last
		}
		stage.start(role, failed)
	}
	ended := make(chan struct{})
	go func() {
		first.roles.Wait()
		last.roles.Wait()
		close(ended)
	}()
	select {
	case <-ctx.Done():
	case <-failed:
	case <-ended:
	}
	errs := append(first.stop(), last.stop()...)
	<-ended
	return errors.Join(errs...)
}

func checkRoles(roles []Role) error {
	if len(roles) == 0 {
		return errors.New("chime: Run without roles: want a *Worker or a *Scheduler")
	}
	var bad []error
	for i, role := range roles {
		if role == nil || reflect.ValueOf(role).Kind() == reflect.Pointer && reflect.ValueOf(role).IsNil() {
			bad = append(bad, fmt.Errorf("chime: Run: role %d is nil", i))
			continue
		}
		if j := sameRole(roles[:i], role); j >= 0 {
			bad = append(bad, fmt.Errorf("chime: Run: roles %d and %d are the same %T", j, i, role))
			continue
		}
		if r, ok := role.(runner); ok && r.runs() {
			bad = append(bad, runsAlready(fmt.Sprintf("Run: role %d, a %T,", i, role)))
		}
		if v, ok := role.(validator); ok {
			if err := v.validate(); err != nil {
				bad = append(bad, err)
			}
		}
	}
	return errors.Join(bad...)
}

func sameRole(roles []Role, role Role) int {
	if !reflect.TypeOf(role).Comparable() || reflect.TypeOf(role).Size() == 0 {
		return -1
	}
	for i, other := range roles {
		if other == role {
			return i
		}
	}
	return -1
}

// stage is a group of roles that end together.
type stage struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	roles  sync.WaitGroup
	mu     sync.Mutex
	errs   []error
}

func newStage(ctx context.Context) *stage {
	s := &stage{}
	s.ctx, s.cancel = context.WithCancelCause(ctx)
	return s
}

func (s *stage) start(role Role, failed chan<- struct{}) {
	s.roles.Go(func() {
		err := run(s.ctx, role)
		if err == nil || s.ctx.Err() != nil && (err == s.ctx.Err() || err == context.Cause(s.ctx)) {
			return
		}
		s.mu.Lock()
		s.errs = append(s.errs, err)
		s.mu.Unlock()
		failed <- struct{}{}
	})
}

// run runs a role. A panic is an error: the handlers of other roles are drained before the process ends.
func run(ctx context.Context, role Role) (err error) {
	defer func() {
		if v := recover(); v != nil {
			stack := debug.Stack()
			err = fmt.Errorf("chime: Run of a %T: %w\n%s", role, &PanicError{Value: v, Stack: stack[:min(len(stack), 4<<10)]}, stack)
		}
	}()
	return role.Run(ctx)
}

// stop ends the stage's roles, waits for them, and returns their errors.
func (s *stage) stop() []error {
	s.cancel(ErrShutdown)
	s.roles.Wait()
	return s.errs
}

// A Store keeps jobs and schedules. Applications get one from redisstore.New, or from redisstore/embedded for a first try. They pass it to
// the roles and call nothing on it.
type Store interface {
	// Protocol is the interface that the roles use to access the store.
	Protocol() protocol.Store
}

// protocolOf returns the protocol of a store; nil if the store is nil.
func protocolOf(store Store) protocol.Store {
	if store == nil {
		return nil
	}
	return store.Protocol()
}

// A Codec seals data so that Redis cannot read them, and opens them. Package chimeseal has one. It is safe for concurrent use, and need not be
// deterministic. A sealed value is at most 1 KiB longer than the plain one.
type Codec interface {
	// Seal seals a plain text, which may be empty. It opens only with the same additional data, which say what the text is and where it belongs:
	// namespace, queue and job, or schedule.
	Seal(plain, aad []byte) (sealed []byte, err error)
	// Open returns the plain text of what Seal has returned, or an error. Its text is shown and logged: it must not contain the plain text.
	Open(sealed, aad []byte) (plain []byte, err error)
	// Key returns the name of the key that has sealed a value, for people; empty: it is not known.
	Key(sealed []byte) string
}

// CodecOptions are the options of WithCodec. The zero value has the defaults.
type CodecOptions struct {
	// RequireSealed refuses jobs that are not sealed: a worker parks them, and Trigger and Backfill refuse schedules that are not sealed. It is for
	// programs that must not run what somebody with access to Redis has added. Set it in all programs, when no job and no schedule from before the
	// Codec is left: a program without it seals the jobs of schedules in clear. False: jobs that are not sealed run too.
	RequireSealed bool
	// Renew seals a schedule again when it is declared or Put and another key than the Codec's present one has sealed it. Then the schedule has another
	// revision. It is for the last step of a rotation, when all programs have the new key: "chime keys reseal" uses it. False: a schedule that says the
	// same is not changed, whichever key has sealed it.
	Renew bool
}

// ErrSealed: data are sealed, and this program cannot open them: it has no [Codec], or its Codec does not have the key, or the data were moved or
// changed. The error text contains the name of the key. It is also the error for a job that is not sealed, if CodecOptions.RequireSealed is set.
var ErrSealed = protocol.ErrSealed

// WithCodec returns a store whose roles and calls seal what they store and open what they read: the arguments of jobs, of schedules, of OnDone and of OnDeath;
// results, progress, notes and error texts of attempts. Names, IDs, headers, Meta and instants are not sealed: docs/sealing.md has the whole list.
//
// Use it in all programs of a namespace, and pass the store that it returns to everything: [NewEnqueuer], [NewWorker], [NewScheduler], [NewJobs],
// [NewSchedules], the dashboard.
//
//	ring, err := chimeseal.ReadFile("/etc/billing/keys")
//	...
//	store := chime.WithCodec(redisstore.New(client, redisstore.Options{}), ring, chime.CodecOptions{})
//
// A worker that cannot open a job parks it until a worker with the key comes, and after redisstore.Options.ParkedRetention it is dead. A program without
// the key, or without WithCodec, can list, cancel, requeue and delete sealed jobs; [JobInfo].Sealed then contains the name of the key. It cannot change
// a sealed schedule: Put and the declarations of a Scheduler return ErrSealed, or an error that names the newer form of the schedule. Schedules are
// compared in clear, so a program that starts again changes nothing, with any key of the Codec.
//
// The option [ArgsID] needs a Codec with a key of IDs, as a ring of chimeseal may have.
//
// WithCodec does no I/O. A nil store or codec is refused by the first call. If the store has a Codec already, this one and its options replace it.
func WithCodec(store Store, codec Codec, options CodecOptions) Store {
	inner := protocolOf(store)
	if with, ok := inner.(*seal.Store); ok {
		inner = with.Store
	}
	if v := reflect.ValueOf(codec); codec == nil || v.Kind() == reflect.Pointer && v.IsNil() || inner == nil {
		return nilCodec{}
	}
	namespace := ""
	if named, ok := store.(interface{ Namespace() string }); ok {
		namespace = named.Namespace()
	}
	return &sealedStore{seal.New(inner, codec, seal.Options{Namespace: namespace, Required: options.RequireSealed, Renew: options.Renew}), namespace}
}

// nilCodec is no store: nothing may be stored in clear because a codec is missing.
type nilCodec struct{}

func (nilCodec) Protocol() protocol.Store { return nil }

// A sealedStore is a Store with a Codec.
type sealedStore struct {
	store     *seal.Store
	namespace string
}

// Protocol is the interface that the roles use to access the store.
func (s *sealedStore) Protocol() protocol.Store { return s.store }

// Namespace returns the namespace of the store; empty: it is not known.
func (s *sealedStore) Namespace() string { return s.namespace }

// sealing returns how an enqueuer seals jobs; nil: the store has no codec.
func sealing(store protocol.Store) *enqueue.Sealing {
	if s, ok := store.(*seal.Store); ok {
		return &enqueue.Sealing{Job: s.Job, ArgsID: s.ArgsID}
	}
	return nil
}

// decodeOpened decodes data into v, unless they are sealed.
func decodeOpened(key string, data []byte, v any) error {
	if key != "" {
		return &protocol.SealedError{Key: keyName(key)}
	}
	return wire.Decode(data, v)
}

// unknownKey is shown in place of the name of a key that is not known.
const unknownKey = "?"

func keyName(shown string) string {
	if shown == unknownKey {
		return ""
	}
	return shown
}

// shownKey returns the name of the key of an error, for people.
func shownKey(err error) string {
	sealed := (*protocol.SealedError)(nil)
	if !errors.As(err, &sealed) || sealed.Key == "" {
		return unknownKey
	}
	return sealed.Key
}

// seal notes that something of the job is sealed.
func (j *JobInfo) seal(found *protocol.FoundJob, sealed []byte) {
	if found.Refused != nil {
		j.Sealed = shownKey(found.Refused)
	} else {
		j.Sealed = shownKey(protocol.SealedBy(sealed))
	}
}

// hideErrors replaces the texts of errors that are sealed. A text that was written in clear since remains.
func (j *JobInfo) hideErrors(failed bool) {
	text := (&protocol.SealedError{Key: keyName(j.Sealed)}).Text()
	for i := range j.Failures {
		j.Failures[i].Error = cmp.Or(j.Failures[i].Error, text)
	}
	if failed {
		j.LastError = cmp.Or(j.LastError, text)
	}
}

// defaultQueue is the queue of jobs and schedules for which no queue is given, and of a worker for which no queues are given.
const defaultQueue = "default"

// The other defaults, in one place: they apply if the call, the kind, the handler and the worker set nothing. A test compares them with
// the README.
const (
	defaultMaxAttempts        = 25
	defaultOccurrenceAttempts = 5 // default for a schedule's job: the next one follows soon

	// After n failures the backoff is n to this power, in seconds, times a random factor between these two.
	defaultBackoffPower     = work.BackoffPower
	defaultMinBackoffSpread = work.MinSpread
	defaultMaxBackoffSpread = work.MaxSpread

	defaultTimeout      = 30 * time.Minute
	defaultSessionTTL   = 12 * time.Second
	defaultDrainTimeout = 25 * time.Second
	defaultMaxPayload   = 1 << 20 // bytes
	defaultGrace        = 60 * time.Second
	defaultCatchUp      = schedule.CatchUpWindow
	defaultMaxCatchUp   = schedule.MaxCatchUp
	defaultMaxCrashes   = 3
	defaultSendTimeout  = 10 * time.Second // EnqueuerOptions.SendTimeout
	defaultLeaderTTL    = 10 * time.Second
	defaultSafetyTick   = 30 * time.Second
	workerSafetyTick    = time.Minute // about how often a worker checks whether a scheduler leads

	// Concurrency is defaultConcurrency for each processor that Go uses (GOMAXPROCS).
	defaultConcurrency = 10
)

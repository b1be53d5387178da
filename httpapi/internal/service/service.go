// Package service implements collections and jobs with schedules: the work of the API on the store, without HTTP.
//
// Job j of collection c is the schedule c:j. Everything follows from two facts:
//
//   - The wanted state of a job, enabled or disabled, is in its own definition (Meta), with the creation of its collection and its name there.
//   - The state of a collection is in its record: state, creation, quota, names.
//
// The target state of a schedule is:
//
//	collection                         wanted     the schedule is
//	gone, deleted, of another creation  any        gone, with its name
//	disabled                            enabled    paused by rest:collection
//	any other                           disabled   paused by rest:client
//	enabled                             enabled    live
//
// There are two exceptions: a completed schedule remains completed, and a schedule that somebody else has paused (an operator; chime, after consecutive
// dead runs) remains paused until a client enables the job. align takes a schedule to its target state, one step at a time; each step is one call that
// compares the revision that was read.
//
// The invariant holds for any number of writing processes, wherever they are killed: if nobody writes any more and Run has worked for a while, each
// schedule is in its target state; each has its name in the collection, and each name its schedule; no collection has more names than its quota.
// These rules make it hold:
//
//   - The writer of a job reads the collection afterwards, and aligns until the two agree. The writer of a collection writes its record, and walks the
//     schedules afterwards. So if a job and its collection are written at the same time, one of the two writers sees the other's change.
//   - A schedule is read before the collection that decides about it. So a deleted schedule belonged to a collection that is gone, and never to a later
//     one: a creation is never used twice.
//   - A name is reserved for one schedule, and no second schedule of that job ever has it: it ends in a random text (newReservedName). So a late release
//     of a name affects no other schedule. A job is reserved, put, and reserved again: if a sweep has released the name of a slow writer, the writer gets
//     it back, or deletes the job.
//   - Everything that a crash leaves is found by the next walk: a change of state by the collection's transition, the rest by a daily sweep.
//
// Every error for a client is a *problem.Problem; every other error is the store's.
package service

import (
	"cmp"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/httpapi/action"
	"github.com/chimejobs/chime/httpapi/internal/collection"
	"github.com/chimejobs/chime/httpapi/internal/resource"
)

// Options configure a Service; all but Store may be zero.
type Options struct {
	Store     chime.Store
	Queues    []string        // the queues that a collection may name; the first is the default; nil: "default"
	Secrets   *action.Ring    // nil: bodies with secrets are refused
	Sealed    int             // the oldest version of sealed secrets that is opened, 1 or 2; 0: 1
	Egress    action.Egress   // the addresses that requests may go to
	OpenPFX   action.OpenPFX  // nil: PKCS #12 is refused
	Limits    resource.Limits // of bodies
	Retention time.Duration   // the time for which ended jobs are kept; 0: 60 days
	Logger    *slog.Logger    // nil: slog.Default()

	RedactError func(schedule, text string) string // what histories show of an error or a note; nil: everything
	Quota       func(owner string) Quota           // of an owner; empty: of a collection without one. Nil: the defaults
}

const defaultRetention = 60 * 24 * time.Hour

// A Service manages the collections and jobs of a store. It is safe for concurrent use.
type Service struct {
	options     Options
	schedules   *chime.Schedules
	jobs        *chime.Jobs
	queues      *chime.Queues
	batches     *chime.Batches
	known       *chime.Acknowledgements
	enqueuer    *chime.Enqueuer // of tasks
	collections *collection.Records
	log         *slog.Logger
	unfinished  chan struct{} // somebody has left work for Run
	clock       storeClock
	sealed      atomic.Bool // the store has the newest version of seals
	owners      owners
	usages      usages

	mu       sync.Mutex
	searched map[string]time.Time // collection -> when its strays were last released because it was full
}

// New returns a Service. It does no I/O.
func New(options Options) *Service {
	options.Queues = slices.Clone(options.Queues)
	if len(options.Queues) == 0 {
		options.Queues = []string{"default"}
	}
	options.Retention = cmp.Or(options.Retention, defaultRetention)
	return &Service{
		options: options, log: cmp.Or(options.Logger, slog.Default()),
		schedules: chime.NewSchedules(options.Store), jobs: chime.NewJobs(options.Store),
		queues:      chime.NewQueues(options.Store),
		batches:     chime.NewBatches(options.Store),
		known:       chime.NewAcknowledgements(options.Store),
		enqueuer:    chime.NewEnqueuer(options.Store, chime.EnqueuerOptions{Logger: options.Logger}),
		collections: collection.New(options.Store),
		unfinished:  make(chan struct{}, 1), searched: map[string]time.Time{},
	}
}

// A change is repeated when somebody else has changed the same thing, at most this many times.
const maxTries = 5

// lostRace reports whether an error of a change means that the stored values have changed since they were read.
func lostRace(err error) bool {
	return errors.Is(err, chime.ErrConflict) || errors.Is(err, chime.ErrNotFound)
}

// Package service makes collections and jobs of schedules: what the API does to the store, without HTTP.
//
// Job j of collection c is the schedule c:j. Two things are true, all else follows from them:
//
//   - What a job is wanted to be, enabled or disabled, stands in its own definition, with the creation of its collection and its name there (Meta).
//   - What a collection is stands in its record: state, creation, quota, names.
//
// A schedule stands as it is to stand when
//
//	collection                         wanted     the schedule is
//	gone, deleted, of another creation  any        gone, and its name with it
//	disabled                            enabled    paused by rest:collection
//	any other                           disabled   paused by rest:client
//	enabled                             enabled    live
//
// but for two: one that has completed stays completed, and one that somebody else holds (an operator; chime, after deaths in a row) stays held until a
// client enables the job. align takes a schedule there, one step at a time; each step is one call that compares the revision that was read.
//
// The invariant, which holds however many processes write and wherever they are killed: if nobody writes any more and Run has gone on for a while, each
// schedule stands as it is to stand; each has its name in the collection, and each name its schedule; no collection has more names than its quota.
// What makes it hold:
//
//   - Who writes a job reads the collection afterwards, and aligns until the two agree. Who changes a collection writes its record, and walks the schedules
//     afterwards. So of a job and a collection that are written at the same time one of the two sees the other.
//   - A schedule is read before the collection that decides about it. So what is deleted was made for a collection that is gone, and never for one
//     that came later: no creation comes twice.
//   - A name is reserved for one schedule, and no second one of that job ever has it: it ends in a text of its own (newReservedName). So whoever releases a name late
//     takes it from nobody. A job is reserved, put, and reserved again: if a sweep has taken the name of a slow writer, he gets it back, or takes back the job.
//   - What a crash has left is found by whoever walks next: a change of state by the collection's transition, the rest by a daily sweep.
//
// Every error for a client is a *problem.Problem; any other one is the store's.
package service

import (
	"cmp"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/httpapi/action"
	"github.com/chimejobs/chime/httpapi/internal/collection"
	"github.com/chimejobs/chime/httpapi/internal/resource"
)

// Options are what a Service works with; all but Store may be zero.
type Options struct {
	Store     chime.Store
	Queues    []string        // what a collection may name; the first is the default; nil: "default"
	Secrets   *action.Ring    // nil: bodies with secrets are refused
	Egress    action.Egress   // where requests may go
	OpenPFX   action.OpenPFX  // nil: PKCS #12 is refused
	Limits    resource.Limits // of bodies
	Retention time.Duration   // how long jobs that have ended are kept, 0: 60 days
	Logger    *slog.Logger    // nil: slog.Default()
}

const defaultRetention = 60 * 24 * time.Hour

// A Service is the collections and jobs of a store. It may be used by many goroutines.
type Service struct {
	options     Options
	schedules   *chime.Schedules
	collections *collection.Records
	log         *slog.Logger
	unfinished  chan struct{} // somebody has left work for Run
	clock       storeClock

	mu       sync.Mutex
	searched map[string]time.Time // collection -> when its strays were released last, because it was full
}

// New makes a Service. It does no I/O.
func New(options Options) *Service {
	options.Queues = slices.Clone(options.Queues)
	if len(options.Queues) == 0 {
		options.Queues = []string{"default"}
	}
	options.Retention = cmp.Or(options.Retention, defaultRetention)
	return &Service{
		options: options, log: cmp.Or(options.Logger, slog.Default()),
		schedules: chime.NewSchedules(options.Store), collections: collection.New(options.Store),
		unfinished: make(chan struct{}, 1), searched: map[string]time.Time{},
	}
}

// A change begins again when somebody else has changed the same thing, and gives up after so many times.
const maxTries = 5

// lostRace reports whether an error of a change says that what was read is not what is stored any more.
func lostRace(err error) bool {
	return errors.Is(err, chime.ErrConflict) || errors.Is(err, chime.ErrNotFound)
}

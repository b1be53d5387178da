// Package collection keeps the collections of the API: groups of names with a quota and a state for each, in the store that the schedules are in.
package collection

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/retry"
)

// Records are the collections of a store. They give the names no meaning. Whoever makes a schedule of a collection reserves its name before, and
// releases the name when the schedule is gone. So no collection ever has more than its quota, however many programs write. New returns them; the
// zero value has no store.
//
// A change of state is one step, what follows from it for the schedules is many: [Records.Put] stores the state and begins a transition,
// [Records.Unfinished] finds those that nobody has carried out, after a crash too, and [Records.Finish] ends one. Whoever writes a schedule
// reads the collection again afterwards, and brings the schedule in line if Creation or State are not what [Records.Reserve] answered.
// Then no schedule is missed, without locks: it is written either before the walk that follows the change, or by somebody who sees the change.
//
// Every call is one or two round trips to one slot of a cluster. All may be repeated after an error.
type Records struct {
	store protocol.Store
	fit   *retry.FitCheck
}

// New returns the collections of a store. It does no I/O.
func New(store chime.Store) *Records {
	if store == nil {
		return &Records{}
	}
	p := store.Protocol()
	return &Records{store: p, fit: retry.NewFitCheck(p, retry.CheckTimeout)}
}

// List goes through all collections in the order of their names, those behind a name, which need not be there; "" begins. It reads fifty by a call,
// which are a mebibyte at most. One that is created or deleted meanwhile may be in the list or not; every other one is in it once.
//
// The list ends after an error of the store, which comes with a nil collection. A collection that this program cannot read, because a newer version
// wrote it or because it was changed by hand, comes with its name and an error of its own, and the list goes on.
func (r *Records) List(ctx context.Context, after string) iter.Seq2[*Record, error] {
	err := r.usable(ctx)
	if err == nil && after != "" {
		err = protocol.CheckName("collection", after)
	}
	page := protocol.CollectionPage{Order: protocol.ByName, After: after}
	return r.list(ctx, page, err)
}

// Unfinished goes through the collections with a change of state that nobody has finished, the oldest change first, as List goes through all. Those
// that are being deleted are among them until they are gone.
func (r *Records) Unfinished(ctx context.Context) iter.Seq2[*Record, error] {
	return r.list(ctx, protocol.CollectionPage{Order: protocol.ByTransition}, r.usable(ctx))
}

// list goes through the pages of an order.
func (r *Records) list(ctx context.Context, page protocol.CollectionPage, err error) iter.Seq2[*Record, error] {
	return func(yield func(*Record, error) bool) {
		for next, err := &page, err; next != nil; {
			var found []protocol.Collection
			if err == nil {
				found, next, err = r.store.PageCollections(ctx, *next)
			}
			if err != nil {
				yield(nil, fmt.Errorf("httpapi: list collections: %w", err))
				return
			}
			for _, f := range found {
				if !yield(newRecord(f), f.Err) {
					return
				}
			}
		}
	}
}

// Get returns a collection; ErrNotFound if there is none of that name.
func (r *Records) Get(ctx context.Context, name string) (*Record, error) {
	if err := r.check(ctx, name); err != nil {
		return nil, fmt.Errorf("httpapi: get collection %.40q: %w", name, err)
	}
	found, err := r.store.FindCollection(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("httpapi: get collection %q: %w", name, err)
	}
	return newRecord(found), nil
}

// Put creates a collection, if its Revision is 0, or changes the one that the caller has seen at that Revision, and returns it as it is stored then.
// The same as is stored changes nothing. A changed State begins a transition, in place of one that was not finished; a lowered MaxNames binds new
// names only. Names and the instant of the last sweep stay. To delete a collection put the state deleted, release its names, and call Delete.
//
// ErrConflict: it is at another revision, or there is one already. ErrNotFound: there is none, and Revision is not 0. [ErrDeleting]: it is deleted.
// [ErrQuota]: there are 10,000 collections. Nothing was changed then. After an error of the store it may be stored: Get says so. The first call checks
// the store: one that cannot be trusted is refused with an error that wraps ErrUnfit.
func (r *Records) Put(ctx context.Context, collection Record) (*Record, error) {
	put, err := collection.put()
	if err == nil {
		err = r.usable(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("httpapi: put collection %.40q: %w", collection.Name, err)
	}
	if _, err := r.fit.Check(ctx); err != nil {
		return nil, fmt.Errorf("httpapi: put collection %q: %w", put.Name, err)
	}
	found, err := r.store.PutCollection(ctx, put)
	if err != nil {
		return nil, fmt.Errorf("httpapi: put collection %q: %w", put.Name, err)
	}
	return newRecord(found), nil
}

// Delete removes a collection whose state is deleted and whose names are all released: the last step of its deletion. Of the collection it reads
// Name, Creation and Revision. One that is gone, or was created again since, is no error, so Delete may be repeated. ErrConflict: it is at another
// revision, is not deleted, or has names.
func (r *Records) Delete(ctx context.Context, collection *Record) error {
	collection = cmp.Or(collection, &Record{})
	if err := r.check(ctx, collection.Name); err != nil {
		return fmt.Errorf("httpapi: delete collection %.40q: %w", collection.Name, err)
	}
	if err := r.store.DeleteCollection(ctx, collection.Name, collection.Creation, collection.Revision); err != nil {
		return fmt.Errorf("httpapi: delete collection %q: %w", collection.Name, err)
	}
	return nil
}

// Finish notes that a change of state is carried out: the one of the collection's Transition, as the caller has read it before it began. If another
// change has come since, Finish changes nothing, for that is not carried out; nor of a collection that is deleted, which Delete finishes, or gone.
func (r *Records) Finish(ctx context.Context, collection *Record) error {
	collection = cmp.Or(collection, &Record{})
	if err := r.check(ctx, collection.Name); err != nil {
		return fmt.Errorf("httpapi: finish collection %.40q: %w", collection.Name, err)
	}
	if collection.Transition == 0 {
		return nil
	}
	if err := r.store.FinishTransition(ctx, collection.Name, collection.Transition); err != nil {
		return fmt.Errorf("httpapi: finish collection %q: %w", collection.Name, err)
	}
	return nil
}

// Unswept returns collections whose last sweep is longer ago than an age, by the store's clock, the longest ago first: fifty at most. What a sweep
// is, the program says: it mends what crashes have left, names without schedules say. A program calls [Records.Swept] before it sweeps one.
func (r *Records) Unswept(ctx context.Context, age time.Duration) ([]*Record, error) {
	err := r.usable(ctx)
	if err == nil && (age < 0 || age > protocol.MaxDelay) {
		err = protocol.Invalid("age", age.String(), "0s to 876000h (100 years)")
	}
	var found []protocol.Collection
	if err == nil {
		found, _, err = r.store.PageCollections(ctx, protocol.CollectionPage{Order: protocol.BySweep, Age: age})
	}
	if err != nil {
		return nil, fmt.Errorf("httpapi: list collections to sweep: %w", err)
	}
	collections := make([]*Record, len(found))
	for i, f := range found {
		collections[i] = newRecord(f)
	}
	return collections, nil
}

// Swept moves the instant of the collection's last sweep to now, if it still is the one that the caller has seen, and reports whether it did: who
// moves it sweeps. Of many callers one moves it, but one time in a thousand another gets the same answer. ErrNotFound: there is no such collection.
func (r *Records) Swept(ctx context.Context, collection *Record) (moved bool, err error) {
	collection = cmp.Or(collection, &Record{})
	if err := r.check(ctx, collection.Name); err != nil {
		return false, fmt.Errorf("httpapi: sweep collection %.40q: %w", collection.Name, err)
	}
	if moved, err = r.store.MoveSwept(ctx, collection.Name, collection.Swept); err != nil {
		return false, fmt.Errorf("httpapi: sweep collection %q: %w", collection.Name, err)
	}
	return moved, nil
}

var errNilStore = protocol.Because(protocol.Invalid("store", "", "one of redisstore.New or redisstore/embedded"), "is nil")

// check refuses what no call to the store is needed for.
func (r *Records) check(ctx context.Context, name string) error {
	if err := r.usable(ctx); err != nil {
		return err
	}
	return protocol.CheckName("collection", name)
}

func (r *Records) usable(ctx context.Context) error {
	switch {
	case r.store == nil:
		return errNilStore
	case ctx == nil:
		return protocol.ErrNilContext
	}
	return nil
}

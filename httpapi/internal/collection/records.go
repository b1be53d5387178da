// Package collection stores the collections of the API, groups of names with a quota and a state, in the store of the schedules.
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

// Records are the collections of a store. The store does not interpret the names. A writer reserves a schedule's name before it creates the schedule,
// and releases the name when the schedule is gone. So no collection ever exceeds its quota, however many programs write. New returns Records; the
// zero value has no store.
//
// A change of state is one step, but it affects many schedules: [Records.Put] stores the state and begins a transition, [Records.Unfinished] finds
// transitions that nobody has completed, also after a crash, and [Records.Finish] ends one. After a writer has written a schedule, it reads the
// collection again, and aligns the schedule if Creation or State differ from the answer of [Records.Reserve]. Then no schedule is missed, without
// locks: either the walk after the change finds the schedule, or its writer sees the change.
//
// Every call is one or two round trips to one slot of a cluster. All calls can be repeated after an error.
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

// List returns all collections in the order of their names, after a name, which need not exist; "" begins. It reads fifty at a time, at most one
// mebibyte. A collection that is created or deleted meanwhile may be in the list or not; every other one is in it once.
//
// After an error of the store, which comes with a nil collection, the list ends. If this program cannot read a collection, because a newer version
// wrote it or somebody edited it manually, the list returns its name with an error and continues.
func (r *Records) List(ctx context.Context, after string) iter.Seq2[*Record, error] {
	err := r.usable(ctx)
	if err == nil && after != "" {
		err = protocol.CheckName("collection", after)
	}
	page := protocol.CollectionPage{Order: protocol.ByName, After: after}
	return r.list(ctx, page, err)
}

// Unfinished returns the collections with an unfinished change of state, the oldest change first, like List. Collections that are being deleted are
// among them until they are gone.
func (r *Records) Unfinished(ctx context.Context) iter.Seq2[*Record, error] {
	return r.list(ctx, protocol.CollectionPage{Order: protocol.ByTransition}, r.usable(ctx))
}

// Owned returns the collections of an owner in the order of their names, like List.
func (r *Records) Owned(ctx context.Context, owner string) iter.Seq2[*Record, error] {
	return r.list(ctx, protocol.CollectionPage{Order: protocol.ByOwner, Owner: owner}, r.usable(ctx))
}

// list reads the pages of an order.
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

// Get returns a collection; ErrNotFound if it does not exist.
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

// Put creates a collection, if its Revision is 0, or changes the collection at that Revision. It returns the stored record. Equal content changes nothing.
// A changed State begins a transition, which replaces an unfinished one; a lower MaxNames limits new names only. Names and the time of the last sweep
// are kept. To delete a collection put the state deleted, release its names, and call Delete.
//
// ErrConflict: it is at another revision, or it exists already. ErrNotFound: it does not exist, and Revision is not 0. [ErrDeleting]: it is being
// deleted. [ErrQuota]: there are 10,000 collections. [ErrOwnerQuota]: a new collection would be one more than MaxOwned of its owner. In these cases nothing was changed. After an error of the store the change may be stored: Get
// shows it. The first call checks the store, and refuses an unsuitable one with an error that wraps ErrUnfit.
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

// Delete removes a collection whose state is deleted and whose names are all released: the last step of its deletion. It uses Name, Creation and
// Revision. If the collection is gone, or was created again since, Delete returns no error, so it can be repeated. ErrConflict: it is at another
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

// Finish ends a change of state: the Transition that the caller read before it began the work. If another change has come since, Finish changes nothing,
// because that change is not complete. It also changes nothing if the collection is gone, or is deleted: Delete finishes that.
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

// Unswept returns collections whose last sweep is older than an age, by the store's clock, the oldest sweep first: fifty at most. The program defines
// a sweep: it repairs what crashes have left, such as names without schedules. A program calls [Records.Swept] before it sweeps a collection.
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

// Swept sets the time of the collection's last sweep to now, if it is still the one that the caller has read. It reports whether it did, and then the
// caller sweeps. Of many callers one gets true; at most one time in a thousand a second one does too. ErrNotFound: the collection does not exist.
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

// SecretsVersion returns the version in which programs seal the secrets of jobs; 0: [Records.RaiseSecretsVersion] was never called.
func (r *Records) SecretsVersion(ctx context.Context) (int, error) {
	err := r.usable(ctx)
	version := 0
	if err == nil {
		version, err = r.store.SecretsVersion(ctx)
	}
	if err != nil {
		return 0, fmt.Errorf("httpapi: read the version of secrets: %w", err)
	}
	return version, nil
}

// RaiseSecretsVersion stores a version, unless a newer one is stored.
func (r *Records) RaiseSecretsVersion(ctx context.Context, version int) error {
	err := r.usable(ctx)
	if err == nil {
		_, err = r.store.RaiseSecretsVersion(ctx, version)
	}
	if err != nil {
		return fmt.Errorf("httpapi: raise the version of secrets: %w", err)
	}
	return nil
}

var errNilStore = protocol.Because(protocol.Invalid("store", "", "a store of redisstore.New or redisstore/embedded"), "is nil")

// check refuses calls that need no call to the store.
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

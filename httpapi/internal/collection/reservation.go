package collection

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// A Reservation is the result of a reserved name. With an error it has the collection that refused the name.
type Reservation struct {
	Collection *Record   // the stored record, read in the same step
	Known      bool      // the name existed before this call, or an earlier attempt of this call added it and lost the answer
	Now        time.Time // the store's clock
}

// Reserve adds a name to a collection, or finds it there: 1 to 200 bytes, as for a schedule's name. Adding and counting are one step, so the quota is
// exact with any number of writers.
//
// ErrNotFound: there is no such collection. [ErrDeleting]: it is being deleted; even its existing names are refused. [ErrQuota]: the name is new, and the
// collection has its maximum. These two errors come with the Reservation, without the name. After an error of the store the name may be there: reserve
// it again. The first call checks the store like [Records.Put].
func (r *Records) Reserve(ctx context.Context, collection, name string) (*Reservation, error) {
	if err := errors.Join(r.check(ctx, collection), protocol.CheckID("name", name)); err != nil {
		return nil, fmt.Errorf("httpapi: reserve %.40q in collection %.40q: %w", name, collection, err)
	}
	if _, err := r.fit.Check(ctx); err != nil {
		return nil, fmt.Errorf("httpapi: reserve %q in collection %q: %w", name, collection, err)
	}
	answer, err := r.store.ReserveName(ctx, collection, name)
	if err != nil {
		err = fmt.Errorf("httpapi: reserve %q in collection %q: %w", name, collection, err)
	}
	if answer.Collection.Name == "" {
		return nil, err
	}
	return &Reservation{Collection: newRecord(answer.Collection), Known: answer.Known, Now: answer.Now}, err
}

// Release removes names from a collection, identified by Name and Creation: names of a later collection with that Name remain. Missing names, and a
// collection that is gone, are not errors. One call to the store releases five hundred names.
func (r *Records) Release(ctx context.Context, collection *Record, names ...string) error {
	collection = cmp.Or(collection, &Record{})
	err := r.check(ctx, collection.Name)
	for _, name := range names {
		err = errors.Join(err, protocol.CheckID("name", name))
	}
	if err != nil {
		return fmt.Errorf("httpapi: release names of collection %.40q: %w", collection.Name, err)
	}
	if err := r.store.ReleaseNames(ctx, collection.Name, collection.Creation, names); err != nil {
		return fmt.Errorf("httpapi: release names of collection %q: %w", collection.Name, err)
	}
	return nil
}

// A NameFilter selects names of a collection.
type NameFilter struct {
	After  string // names after this one, which need not exist: pass the last name of a page to continue
	Offset int    // number of names to skip: 0 to 100,000. Without After it costs nothing
	Limit  int    // maximum number of names: 1 to 1000; 0: 100
}

// Names returns the names that the filter selects, in byte order, and the total number of names of the collection. If pages are read one after the
// other, each After the last name, a name that exists all the time is returned once. ErrNotFound: there is no such collection.
func (r *Records) Names(ctx context.Context, collection string, filter NameFilter) (names []string, total int, err error) {
	if err := errors.Join(r.check(ctx, collection), filter.validate()); err != nil {
		return nil, 0, fmt.Errorf("httpapi: list names of collection %.40q: %w", collection, err)
	}
	call := protocol.CollectionNamesCall{Collection: collection, After: filter.After, Offset: filter.Offset, Count: filter.Limit}
	if call.Count == 0 {
		call.Count = defaultNames
	}
	if names, total, err = r.store.CollectionNames(ctx, call); err != nil {
		return nil, 0, fmt.Errorf("httpapi: list names of collection %q: %w", collection, err)
	}
	return names, total, nil
}

const defaultNames = 100

// validate returns all mistakes of the filter.
func (f NameFilter) validate() error {
	var bad []error
	if f.After != "" {
		bad = append(bad, protocol.CheckID("NameFilter.After", f.After))
	}
	if f.Offset < 0 || f.Offset > protocol.MaxCollectionNames {
		bad = append(bad, protocol.Invalid("NameFilter.Offset", strconv.Itoa(f.Offset), "0 to 100000"))
	}
	if f.Limit < 0 || f.Limit > protocol.MaxNamesPage {
		bad = append(bad, protocol.Invalid("NameFilter.Limit", strconv.Itoa(f.Limit), "0 (100) to 1000"))
	}
	return errors.Join(bad...)
}

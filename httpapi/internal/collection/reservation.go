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

// A Reservation is a name that is in a collection now; one that comes with an error says how the collection stands that has refused the name.
type Reservation struct {
	Collection *Record   // as it is stored, in the same step
	Known      bool      // the name was there before, or an earlier try of this call has put it there and its answer was lost
	Now        time.Time // the store's clock
}

// Reserve adds a name to a collection, or finds it there: 1 to 200 bytes, as a schedule's name. It is one step with the count, so the quota holds
// exactly, under any number of writers.
//
// ErrNotFound: there is no such collection. [ErrDeleting]: it is deleted; its names are refused too. [ErrQuota]: the name is not there, and the collection
// has as many as it may have. These two come with the Reservation, without the name. After an error of the store the name may be there: reserve it again. The first call checks the store, as
// [Records.Put] does.
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

// Release takes names out of a collection, of which it reads Name and Creation: names of a later collection of that name stay. Names that are not
// there, and a collection that is gone, are no error. Five hundred names are a call to the store.
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

// A NameFilter says which names of a collection to return.
type NameFilter struct {
	After  string // names behind this one, which need not be there: the last one of a page goes on
	Offset int    // leaves out so many of them: 0 to 100,000. Without After that costs nothing
	Limit  int    // at most so many: 1 to 1000; 0: 100
}

// Names returns the names of a collection that the filter means, in their order byte by byte, and how many the collection has in all. A name that is
// there while one page after the other is read, each After the last name, is in them once. ErrNotFound: there is no such collection.
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

// validate returns all that is wrong with the filter.
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

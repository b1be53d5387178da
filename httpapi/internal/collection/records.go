package chime

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/retry"
)

// Collections keeps groups of names, with a quota and a state for each: what a service needs whose users make schedules. It gives the names no
// meaning. Who makes a schedule of a collection reserves its name before, and releases the name when the schedule is gone. So no collection ever has
// more than its quota, however many programs write. NewCollections makes one; the zero value has no store.
//
// A change of state is one step, what follows from it for the schedules is many: [Collections.Put] stores the state and begins a transition,
// [Collections.Unfinished] finds those that nobody has carried out, after a crash too, and [Collections.Finish] ends one. Whoever writes a schedule
// reads the collection again afterwards, and brings the schedule in line if Creation or State are not what [Collections.Reserve] answered.
// Then no schedule is missed, without locks: it is written either before the walk that follows the change, or by somebody who sees the change.
//
// Every call is one or two round trips to one slot of a cluster. All may be repeated after an error.
type Collections struct {
	store protocol.Store
	fit   *retry.FitCheck
}

// NewCollections returns the collections of a store. It does no I/O.
func NewCollections(store Store) *Collections {
	c := &Collections{store: protocolOf(store)}
	if c.store != nil {
		c.fit = retry.NewFitCheck(c.store, retry.CheckTimeout)
	}
	return c
}

// A Collection is a collection as it is stored. To [Collections.Put] a program gives Name, State, MaxNames, Data and the Revision that it has
// seen; the rest is the store's.
type Collection struct {
	Name     string          `json:"name"`           // 1 to 100 of A-Z a-z 0-9 _ . : -
	State    CollectionState `json:"state"`          // empty in a Put: enabled
	MaxNames int             `json:"max_names"`      // how many names it may have: 1 to 100,000; 0 in a Put: 100,000
	Data     json.RawMessage `json:"data,omitempty"` // the program's own: JSON of at most 16 KiB, kept without superfluous space; nil: none

	Revision   int64 `json:"revision"`             // grows with every change, but not with names, sweeps and the end of a transition
	Creation   int64 `json:"creation"`             // no other collection ever has it, not even a later one of the name
	Transition int64 `json:"transition,omitempty"` // the change of state that was not finished; 0: none

	Created time.Time `json:"created"` // by the store's clock, in milliseconds
	Changed time.Time `json:"changed"` // when it got its revision
	Swept   time.Time `json:"swept"`   // see [Collections.Swept]; of a new one when it was created
}

// A CollectionState says what may be done with a collection.
type CollectionState string

const (
	CollectionEnabled  CollectionState = "enabled"  // as long as nothing else is said
	CollectionDisabled CollectionState = "disabled" // takes names as before; what else it means the program says
	CollectionDeleted  CollectionState = "deleted"  // takes no names and changes no more: it is there until Delete
)

// List goes through all collections in the order of their names, those behind a name, which need not be there; "" begins. It reads fifty by a call,
// which are a mebibyte at most. One that is created or deleted meanwhile may be in the list or not; every other one is in it once.
//
// The list ends after an error of the store, which comes with a nil collection. A collection that this program cannot read, because a newer version
// wrote it or because it was changed by hand, comes with its name and an error of its own, and the list goes on.
func (c *Collections) List(ctx context.Context, after string) iter.Seq2[*Collection, error] {
	err := c.usable(ctx)
	if err == nil && after != "" {
		err = protocol.CheckName("collection", after)
	}
	page := protocol.CollectionPage{Order: protocol.ByName, After: after}
	return c.list(ctx, page, err)
}

// Unfinished goes through the collections with a change of state that nobody has finished, the oldest change first, as List goes through all. Those
// that are being deleted are among them until they are gone.
func (c *Collections) Unfinished(ctx context.Context) iter.Seq2[*Collection, error] {
	return c.list(ctx, protocol.CollectionPage{Order: protocol.ByTransition}, c.usable(ctx))
}

// list goes through the pages of an order.
func (c *Collections) list(ctx context.Context, page protocol.CollectionPage, err error) iter.Seq2[*Collection, error] {
	return func(yield func(*Collection, error) bool) {
		for next, err := &page, err; next != nil; {
			var found []protocol.Collection
			if err == nil {
				found, next, err = c.store.PageCollections(ctx, *next)
			}
			if err != nil {
				yield(nil, fmt.Errorf("chime: list collections: %w", err))
				return
			}
			for _, f := range found {
				if !yield(newCollection(f), f.Err) {
					return
				}
			}
		}
	}
}

// Get returns a collection; ErrNotFound if there is none of that name.
func (c *Collections) Get(ctx context.Context, name string) (*Collection, error) {
	if err := c.check(ctx, name); err != nil {
		return nil, fmt.Errorf("chime: get collection %.40q: %w", name, err)
	}
	found, err := c.store.FindCollection(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("chime: get collection %q: %w", name, err)
	}
	return newCollection(found), nil
}

// Put creates a collection, if its Revision is 0, or changes the one that the caller has seen at that Revision, and returns it as it is stored then.
// The same as is stored changes nothing. A changed State begins a transition, in place of one that was not finished; a lowered MaxNames binds new
// names only. Names and the instant of the last sweep stay. To delete a collection put the state deleted, release its names, and call Delete.
//
// ErrConflict: it is at another revision, or there is one already. ErrNotFound: there is none, and Revision is not 0. [ErrDeleting]: it is deleted.
// [ErrQuota]: there are 10,000 collections. Nothing was changed then. After an error of the store it may be stored: Get says so. The first call checks
// the store: one that cannot be trusted is refused with an error that wraps ErrUnfit.
func (c *Collections) Put(ctx context.Context, collection Collection) (*Collection, error) {
	put, err := collection.put()
	if err == nil {
		err = c.usable(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("chime: put collection %.40q: %w", collection.Name, err)
	}
	if _, err := c.fit.Check(ctx); err != nil {
		return nil, fmt.Errorf("chime: put collection %q: %w", put.Name, err)
	}
	found, err := c.store.PutCollection(ctx, put)
	if err != nil {
		return nil, fmt.Errorf("chime: put collection %q: %w", put.Name, err)
	}
	return newCollection(found), nil
}

// Delete removes a collection whose state is deleted and whose names are all released: the last step of its deletion. Of the collection it reads
// Name, Creation and Revision. One that is gone, or was created again since, is no error, so Delete may be repeated. ErrConflict: it is at another
// revision, is not deleted, or has names.
func (c *Collections) Delete(ctx context.Context, collection *Collection) error {
	collection = cmp.Or(collection, &Collection{})
	if err := c.check(ctx, collection.Name); err != nil {
		return fmt.Errorf("chime: delete collection %.40q: %w", collection.Name, err)
	}
	if err := c.store.DeleteCollection(ctx, collection.Name, collection.Creation, collection.Revision); err != nil {
		return fmt.Errorf("chime: delete collection %q: %w", collection.Name, err)
	}
	return nil
}

// Finish notes that a change of state is carried out: the one of the collection's Transition, as the caller has read it before it began. If another
// change has come since, Finish changes nothing, for that is not carried out; nor of a collection that is deleted, which Delete finishes, or gone.
func (c *Collections) Finish(ctx context.Context, collection *Collection) error {
	collection = cmp.Or(collection, &Collection{})
	if err := c.check(ctx, collection.Name); err != nil {
		return fmt.Errorf("chime: finish collection %.40q: %w", collection.Name, err)
	}
	if collection.Transition == 0 {
		return nil
	}
	if err := c.store.FinishTransition(ctx, collection.Name, collection.Transition); err != nil {
		return fmt.Errorf("chime: finish collection %q: %w", collection.Name, err)
	}
	return nil
}

// Unswept returns collections whose last sweep is longer ago than an age, by the store's clock, the longest ago first: fifty at most. What a sweep
// is, the program says: it mends what crashes have left, names without schedules say. Who sweeps one calls [Collections.Swept] first.
func (c *Collections) Unswept(ctx context.Context, age time.Duration) ([]*Collection, error) {
	err := c.usable(ctx)
	if err == nil && (age < 0 || age > protocol.MaxDelay) {
		err = protocol.Invalid("age", age.String(), "0s to 876000h (100 years)")
	}
	var found []protocol.Collection
	if err == nil {
		found, _, err = c.store.PageCollections(ctx, protocol.CollectionPage{Order: protocol.BySweep, Age: age})
	}
	if err != nil {
		return nil, fmt.Errorf("chime: list collections to sweep: %w", err)
	}
	collections := make([]*Collection, len(found))
	for i, f := range found {
		collections[i] = newCollection(f)
	}
	return collections, nil
}

// Swept moves the instant of the collection's last sweep to now, if it still is the one that the caller has seen, and reports whether it did: who
// moves it sweeps. Of many callers one moves it, but one time in a thousand another is told so too. ErrNotFound: there is no such collection.
func (c *Collections) Swept(ctx context.Context, collection *Collection) (moved bool, err error) {
	collection = cmp.Or(collection, &Collection{})
	if err := c.check(ctx, collection.Name); err != nil {
		return false, fmt.Errorf("chime: sweep collection %.40q: %w", collection.Name, err)
	}
	if moved, err = c.store.MoveSwept(ctx, collection.Name, collection.Swept); err != nil {
		return false, fmt.Errorf("chime: sweep collection %q: %w", collection.Name, err)
	}
	return moved, nil
}

// put is what to store; its error says all that is wrong.
func (c *Collection) put() (protocol.CollectionPut, error) {
	put := protocol.CollectionPut{
		Name: c.Name, Revision: c.Revision, State: string(cmp.Or(c.State, CollectionEnabled)), MaxNames: cmp.Or(c.MaxNames, protocol.MaxCollectionNames),
		Data: []byte("null"),
	}
	bad := []error{protocol.CheckName("collection", c.Name)}
	switch c.State {
	case "", CollectionEnabled, CollectionDisabled:
	case CollectionDeleted:
		if c.Revision == 0 {
			bad = append(bad, protocol.Because(protocol.Invalid("Collection.State", "deleted", "enabled or disabled"), "comes without a Revision"))
		}
	default:
		bad = append(bad, protocol.Invalid("Collection.State", string(c.State), "enabled, disabled or deleted"))
	}
	if c.MaxNames < 0 || c.MaxNames > protocol.MaxCollectionNames {
		bad = append(bad, protocol.Invalid("Collection.MaxNames", strconv.Itoa(c.MaxNames), "1 to 100000, or 0 for the most"))
	}
	if c.Revision < 0 {
		bad = append(bad, protocol.Invalid("Collection.Revision", strconv.FormatInt(c.Revision, 10), "one that was read, or 0"))
	}
	if len(c.Data) > 0 {
		var compact bytes.Buffer
		if err := json.Compact(&compact, c.Data); err != nil {
			bad = append(bad, protocol.Invalid("Collection.Data", string(c.Data), "JSON"))
		}
		if put.Data = compact.Bytes(); len(put.Data) > protocol.MaxCollectionData {
			bad = append(bad, protocol.Invalid("Collection.Data", fmt.Sprintf("%d bytes", len(put.Data)), fmt.Sprintf("at most %d bytes", protocol.MaxCollectionData)))
		}
	}
	return put, errors.Join(bad...)
}

// newCollection is a collection as it is shown.
func newCollection(f protocol.Collection) *Collection {
	return &Collection{
		Name: f.Name, State: CollectionState(f.State), MaxNames: f.MaxNames, Data: f.Data,
		Revision: f.Revision, Creation: f.Creation, Transition: f.Transition, Created: f.Created, Changed: f.Changed, Swept: f.Swept,
	}
}

// check refuses what no call to the store is needed for.
func (c *Collections) check(ctx context.Context, name string) error {
	if err := c.usable(ctx); err != nil {
		return err
	}
	return protocol.CheckName("collection", name)
}

func (c *Collections) usable(ctx context.Context) error {
	switch {
	case c.store == nil:
		return errNilStore
	case ctx == nil:
		return errNilContext
	}
	return nil
}

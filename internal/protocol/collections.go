package protocol

import (
	"context"
	"errors"
	"time"
)

// Bounds of collections.
const (
	MaxCollections     = 10_000
	MaxCollectionNames = 100_000  // of a collection
	MaxCollectionData  = 16 << 10 // bytes of JSON
	MaxCollectionPage  = 50       // collections that a call reads: with their data less than MaxBytes
	MaxNamesPage       = 1000     // names that a call reads
)

// The errors of collections that a caller branches on.
var (
	// ErrQuota: there are as many names in the collection, or as many collections, as there may be. Nothing was added.
	ErrQuota = errors.New("the quota is used up")
	// ErrDeleting: the collection is being deleted. Nothing is added to it or changed any more.
	ErrDeleting = errors.New("the collection is being deleted")
)

// The states of a collection.
const (
	CollectionEnabled  = "enabled"
	CollectionDisabled = "disabled"
	CollectionDeleted  = "deleted"
)

// A CollectionStore keeps collections: a record and a set of names for each. It gives neither a meaning: whoever uses a name has reserved it
// before, and releases it afterwards. Every number that is drawn, a creation or a revision, is higher than all before it.
type CollectionStore interface {
	// PutCollection creates a collection, for the revision 0, or changes the one of that revision; the same again changes nothing. A changed
	// state begins a transition. ErrConflict, ErrNotFound, ErrDeleting, ErrQuota: nothing was changed.
	PutCollection(ctx context.Context, put CollectionPut) (Collection, error)

	// DeleteCollection removes a collection that is deleted and has no names. One that is gone, or was created again since, is no error.
	// ErrConflict: it is at another revision, is not deleted, or has names.
	DeleteCollection(ctx context.Context, name string, creation, revision int64) error

	// FindCollection returns a collection, or ErrNotFound.
	FindCollection(ctx context.Context, name string) (Collection, error)

	// PageCollections returns the next collections of an order, at most MaxCollectionPage, and the page behind them; nil: there is none. A page may
	// be short, or empty, where some were removed meanwhile.
	PageCollections(ctx context.Context, page CollectionPage) (collections []Collection, next *CollectionPage, err error)

	// ReserveName adds a name to a collection, or finds it there. ErrNotFound, ErrDeleting and ErrQuota come with the answer, as far as there
	// is one.
	ReserveName(ctx context.Context, collection, name string) (ReserveAnswer, error)

	// ReleaseNames removes names of the collection of that creation.
	ReleaseNames(ctx context.Context, collection string, creation int64, names []string) error

	// CollectionNames returns names of a collection in their order, and how many it has. ErrNotFound: there is no such collection.
	CollectionNames(ctx context.Context, call CollectionNamesCall) (names []string, total int, err error)

	// FinishTransition notes that a transition is carried out. Where another one has begun since, and of a deleted collection, it does nothing.
	FinishTransition(ctx context.Context, collection string, transition int64) error

	// MoveSwept moves the instant of the last sweep from the one seen to now, and reports whether this call did. ErrNotFound: there is no such
	// collection.
	MoveSwept(ctx context.Context, collection string, seen time.Time) (moved bool, err error)
}

// A CollectionPut is a collection as it is to be.
type CollectionPut struct {
	Name     string
	Revision int64  // that the caller has seen; 0: there is none
	State    string // of one that is to be created not deleted
	MaxNames int
	Data     []byte // JSON without superfluous space
}

// A Collection is a collection as it is stored.
type Collection struct {
	Name               string
	Creation, Revision int64
	State              string
	Transition         int64 // that is not finished; 0: none
	MaxNames           int
	Data               []byte
	Created, Changed   time.Time
	Swept              time.Time
	Err                error // why the record cannot be read; only Name and Swept are known then
}

// A CollectionPage says which collections to read.
type CollectionPage struct {
	Order      CollectionOrder
	After      string        // ByName: names behind this one
	Transition int64         // ByTransition: those behind this one
	Age        time.Duration // BySweep: those whose last sweep is longer ago
}

// A CollectionOrder says which collections are read, and in which order.
type CollectionOrder int

// The orders.
const (
	ByName       CollectionOrder = iota // all, by name
	ByTransition                        // those with a transition that is not finished; the oldest first
	BySweep                             // those that were not swept for a while; the longest ago first. It has one page.
)

// A ReserveAnswer is the answer of ReserveName.
type ReserveAnswer struct {
	Collection Collection
	Known      bool // the name was there
	Now        time.Time
}

// A CollectionNamesCall asks for names of a collection.
type CollectionNamesCall struct {
	Collection string
	After      string // names behind this one, which need not be there; empty: from the first
	Offset     int    // so many of them are left out
	Count      int    // at most MaxNamesPage
}

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
	// ErrQuota: the collection has its maximum number of names, or the store its maximum number of collections. Nothing was added.
	ErrQuota = errors.New("the quota is used up")
	// ErrDeleting: the collection is being deleted. Nothing is added to it or changed any more.
	ErrDeleting = errors.New("the collection is being deleted")
	// ErrOwnerQuota: the owner has its maximum number of collections. Nothing was added.
	ErrOwnerQuota = errors.New("the owner's quota of collections is used up")
)

// The states of a collection.
const (
	CollectionEnabled  = "enabled"
	CollectionDisabled = "disabled"
	CollectionDeleted  = "deleted"
)

// A CollectionStore keeps collections: a record and a set of names for each. It gives them no meaning: a caller reserves a name before
// it uses it, and releases it afterwards. Every number that is drawn, a creation or a revision, is higher than all earlier ones.
type CollectionStore interface {
	// PutCollection creates a collection, for the revision 0, or changes the given revision; a repeated call changes nothing. A changed
	// state begins a transition. ErrConflict, ErrNotFound, ErrDeleting, ErrQuota, ErrOwnerQuota: nothing was changed.
	PutCollection(ctx context.Context, put CollectionPut) (Collection, error)

	// DeleteCollection removes a collection that is deleted and has no names. If it is gone, or was created again since, that is not an error.
	// ErrConflict: it is at another revision, is not deleted, or has names.
	DeleteCollection(ctx context.Context, name string, creation, revision int64) error

	// FindCollection returns a collection, or ErrNotFound.
	FindCollection(ctx context.Context, name string) (Collection, error)

	// PageCollections returns the next collections of an order, at most MaxCollectionPage, and the page after them; nil: it was the last. A page may
	// be short, or empty, if some were removed meanwhile.
	PageCollections(ctx context.Context, page CollectionPage) (collections []Collection, next *CollectionPage, err error)

	// ReserveName adds a name to a collection unless it is there. ErrNotFound, ErrDeleting and ErrQuota come with the answer, if there
	// is one.
	ReserveName(ctx context.Context, collection, name string) (ReserveAnswer, error)

	// ReleaseNames removes names of the collection with that creation.
	ReleaseNames(ctx context.Context, collection string, creation int64, names []string) error

	// CollectionNames returns names of a collection in their order, and how many it has. ErrNotFound: there is no such collection.
	CollectionNames(ctx context.Context, call CollectionNamesCall) (names []string, total int, err error)

	// FinishTransition records that a transition is complete. It does nothing if another one has begun since, or if the collection is deleted.
	FinishTransition(ctx context.Context, collection string, transition int64) error

	// MoveSwept moves the instant of the last sweep from the given one to now, and reports whether this call did. ErrNotFound: there is no such
	// collection.
	MoveSwept(ctx context.Context, collection string, seen time.Time) (moved bool, err error)

	// SecretsVersion returns the version in which programs seal the secrets of collections; 0: RaiseSecretsVersion was never called.
	SecretsVersion(ctx context.Context) (int, error)

	// RaiseSecretsVersion stores a version, from 1, unless a newer one is stored, and returns the stored one.
	RaiseSecretsVersion(ctx context.Context, version int) (stored int, err error)
}

// A CollectionPut is the wanted state of a collection.
type CollectionPut struct {
	Name     string
	Revision int64  // that the caller has read; 0: none
	State    string // not deleted for a collection that is to be created
	MaxNames int
	Data     []byte // JSON without superfluous space
	Owner    string // 1 to 100 characters of UTF-8 without control characters, quotes and backslashes; empty: none
	MaxOwned int    // collections that the owner of a new one may have with it; 0: any number
}

// A Collection is a collection as it is stored.
type Collection struct {
	Name               string
	Creation, Revision int64
	State              string
	Transition         int64 // not finished; 0: none
	MaxNames           int
	Data               []byte
	Owner              string // empty: none
	Created, Changed   time.Time
	Swept              time.Time
	Err                error // why the record cannot be read; only Name and Swept are known then
}

// A CollectionPage selects the collections to read.
type CollectionPage struct {
	Order      CollectionOrder
	After      string        // ByName, ByOwner: names after this one
	Owner      string        // ByOwner
	Transition int64         // ByTransition: those after this one
	Age        time.Duration // BySweep: those whose last sweep is longer ago
}

// A CollectionOrder selects which collections are read, and in which order.
type CollectionOrder int

// The orders.
const (
	ByName       CollectionOrder = iota // all, by name
	ByTransition                        // those with a transition that is not finished; the oldest first
	BySweep                             // those that were not swept for some time; the longest ago first. It has one page.
	ByOwner                             // those of an owner, by name
)

// A ReserveAnswer is the answer of ReserveName.
type ReserveAnswer struct {
	Collection Collection
	Known      bool // the name was there
	Now        time.Time
}

// A CollectionNamesCall requests names of a collection.
type CollectionNamesCall struct {
	Collection string
	After      string // names after this one, which need not be there; empty: from the first
	Offset     int    // how many of them to skip
	Count      int    // at most MaxNamesPage
}

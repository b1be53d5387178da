package collection

import "github.com/chimejobs/chime/internal/protocol"

// The errors that a caller may check with errors.Is, in addition to [chime.ErrNotFound], [chime.ErrConflict] and [chime.ErrUnfit].
var (
	// ErrQuota: the collection, or the store, has reached its maximum number of names or collections. Nothing was added. It is not an
	// InvalidError: the same call may succeed after others have made room.
	ErrQuota = protocol.ErrQuota
	// ErrDeleting: the collection is being deleted. It accepts no names and no changes; when it is gone it can be created again.
	ErrDeleting = protocol.ErrDeleting
	// ErrOwnerQuota: the owner has its maximum number of collections, so a new one was not created.
	ErrOwnerQuota = protocol.ErrOwnerQuota
)

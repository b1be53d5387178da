package collection

import "github.com/chimejobs/chime/internal/protocol"

// The errors that a caller may branch on with errors.Is, beside [chime.ErrNotFound], [chime.ErrConflict] and [chime.ErrUnfit].
var (
	// ErrQuota: a collection has as many names as it may have, or there are as many collections as there may be. Nothing was added. It is no
	// InvalidError: what was given may be accepted as soon as others have made room.
	ErrQuota = protocol.ErrQuota
	// ErrDeleting: the collection is being deleted. It takes no names and is not changed any more; when it is gone it may be created again.
	ErrDeleting = protocol.ErrDeleting
)

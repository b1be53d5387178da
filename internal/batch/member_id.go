package batch

import (
	"hash/fnv"
	"slices"
	"time"
)

// idDigits are the digits of an ID, in the order of their bytes.
const idDigits = "-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz"

// memberID returns the ID of an item: 7 digits of the instant at which the batch was created, and 9 of a hash of its ID and of the position. The IDs of
// a batch sort in the order of its items. A later batch with the same ID has other ones, because members of the first one may exist still. All other IDs
// that chime makes have another length.
func memberID(created time.Time, batch string, position int64) string {
	const (
		high, low    = 7, 9
		positionBits = 20 // MaxItems is less
	)
	h := fnv.New64a()
	h.Write([]byte(batch))
	rest := h.Sum64()>>(64-(6*low-positionBits))<<positionBits | uint64(position)
	var id [high + low]byte
	for i := range slices.Backward(id[high:]) {
		id[high+i] = idDigits[rest&63]
		rest >>= 6
	}
	ms := uint64(created.UnixMilli())
	for i := range slices.Backward(id[:high]) {
		id[i] = idDigits[ms&63]
		ms >>= 6
	}
	return string(id[:])
}

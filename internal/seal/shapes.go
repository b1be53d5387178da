package seal

import (
	"context"
	"slices"

	"github.com/chimejobs/chime/internal/protocol"
)

// The shape of an error is a part of a text that is sealed elsewhere. It is not sealed itself, because the store compares shapes: so the store gets the
// counts of errors, and no shape.

// CloseSession sends the last measurements without shapes.
func (s *Store) CloseSession(ctx context.Context, partition protocol.Partition, session string, measured *protocol.Measured) error {
	return s.Store.CloseSession(ctx, partition, session, shapeless(measured))
}

// withoutShapes returns the calls, or copies whose measurements have no shapes.
func withoutShapes(calls []protocol.WorkCall) []protocol.WorkCall {
	sent := calls
	for i := range calls {
		if measured := shapeless(calls[i].Measured); measured != calls[i].Measured {
			if &sent[0] == &calls[0] {
				sent = slices.Clone(calls)
			}
			sent[i].Measured = measured
		}
	}
	return sent
}

// shapeless returns measurements in which all errors of a job name have the empty shape.
func shapeless(measured *protocol.Measured) *protocol.Measured {
	if measured == nil || len(measured.Shapes) == 0 {
		return measured
	}
	copied := *measured
	copied.Shapes = nil
	for _, one := range measured.Shapes {
		one.Shape = ""
		i := slices.IndexFunc(copied.Shapes, func(other protocol.MeasuredShape) bool { return other.Name == one.Name })
		if i < 0 {
			copied.Shapes = append(copied.Shapes, one)
			continue
		}
		sum := &copied.Shapes[i]
		sum.Count += one.Count
		if one.First.Before(sum.First) {
			sum.First = one.First
		}
		if one.Last.After(sum.Last) {
			sum.Last, sum.ID = one.Last, one.ID
		}
	}
	return &copied
}

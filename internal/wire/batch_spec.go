package wire

import "errors"

// A BatchSpec is what an application has set for a batch: the jobs that follow it, and a note. Redis only keeps it.
type BatchSpec struct {
	Done, Ended []byte // envelopes with the queue in their details; empty: none follows
	Note        string
}

type batchSpecForm struct {
	Done  []byte `json:"d,omitempty"`
	Ended []byte `json:"e,omitempty"`
	Note  string `json:"n,omitempty"`
}

var errBatchSpec = errors.New("the definition of the batch cannot be read")

// Encode returns the stored form. Equal specs have equal ones.
func (s *BatchSpec) Encode() []byte {
	encoded, err := EncodeStable(batchSpecForm{s.Done, s.Ended, s.Note})
	if err != nil {
		panic(err) // it has strings and bytes only
	}
	return encoded
}

// DecodeBatchSpec reads the stored form, which may be any bytes.
func DecodeBatchSpec(stored []byte) (BatchSpec, error) {
	var form batchSpecForm
	if err := decodeMsgpack(stored, &form); err != nil {
		return BatchSpec{}, errBatchSpec
	}
	return BatchSpec{Done: some(form.Done), Ended: some(form.Ended), Note: form.Note}, nil
}

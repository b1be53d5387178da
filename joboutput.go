package chime

import (
	"fmt"
	"strconv"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/wire"
)

const maxProgress = 4 << 10 // bytes

// Return sets what the job returns: with the option [Keep] it is kept after the job has ended, and [Jobs.Wait] gives it to those who wait.
// v is encoded as [Encode] does, to 64 KiB at most. The last Return counts, if the handler then returns nil; so a handler may end with
// "return job.Return(v)". It makes no call to the store. The error is one of encoding or size.
func (j *Job) Return(v any) error {
	value, err := j.encode("result", v, wire.MaxResult)
	if err == nil && j.output != nil {
		j.output.Return(value)
	}
	return err
}

// Progress says how far the job is: [Jobs.Get] shows the newest in JobInfo.Progress while it runs. v is encoded as [Encode] does, to 4 KiB
// at most. It makes no call to the store itself: the newest progress of all jobs is sent at most once a second, and is gone when the attempt ends. The error is one of encoding or size.
func (j *Job) Progress(v any) error {
	progress, err := j.encode("progress", v, maxProgress)
	if err == nil && j.output != nil {
		j.output.Report(progress)
	}
	return err
}

// Note adds a remark to what is recorded of the attempt, for people: "1000 rows". It is cut to 2 KiB, and what is not printable is
// escaped. The last Note counts.
func (j *Job) Note(text string) {
	if j.output != nil {
		j.output.Note(wire.Printable(text, wire.MaxNote))
	}
}

func (j *Job) encode(what string, v any, limit int) ([]byte, error) {
	data, err := wire.Encode(v)
	if err == nil && len(data) > limit {
		err = protocol.Invalid(what, strconv.Itoa(len(data))+" bytes", "at most "+strconv.Itoa(limit)+" bytes")
	}
	if err != nil {
		return nil, fmt.Errorf("chime: %s of job %q: %w", what, j.ID, err)
	}
	return data, nil
}

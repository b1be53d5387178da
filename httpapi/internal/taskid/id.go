// Package taskid is the form of the IDs of tasks and of batches. The service creates them, and the sender recognizes them.
package taskid

import (
	"regexp"
	"strconv"
	"strings"
)

// An ID is the ID of a task's job: "demo:task/kz2t1f3q9o/order-42". No job, schedule or run of the API has such an ID, because their names have no "/".
type ID struct {
	Collection string
	Creation   int64  // of the collection: a later collection of the same name has other tasks
	Task       string // the client's ID, or one from the server
}

const mark = "task/"

// Form is the form of a task's own ID. It has none of the characters that separate the parts.
var Form = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$`)

// String is the ID of the job.
func (id ID) String() string {
	return id.Collection + ":" + mark + strconv.FormatInt(id.Creation, 36) + "/" + id.Task
}

// Parse reads the result of String; ok is false for every other text.
func Parse(text string) (id ID, ok bool) {
	collection, rest, found := strings.Cut(text, ":")
	rest, marked := strings.CutPrefix(rest, mark)
	creation, task, divided := strings.Cut(rest, "/")
	if !found || !marked || !divided || collection == "" || !Form.MatchString(task) {
		return ID{}, false
	}
	n, err := strconv.ParseInt(creation, 36, 64)
	if id = (ID{collection, n, task}); err != nil || id.String() != text {
		return ID{}, false
	}
	return id, true
}

// A BatchID is the ID of a batch: "demo:batch/kz2t1f3q9o/import-7".
type BatchID struct {
	Collection string
	Creation   int64 // of the collection
	Batch      string
}

const batchMark = "batch/"

// String is the ID of the batch.
func (id BatchID) String() string {
	return id.Collection + ":" + batchMark + strconv.FormatInt(id.Creation, 36) + "/" + id.Batch
}

// ParseBatch reads the result of String; ok is false for every other text.
func ParseBatch(text string) (id BatchID, ok bool) {
	collection, rest, found := strings.Cut(text, ":")
	rest, marked := strings.CutPrefix(rest, batchMark)
	creation, batch, divided := strings.Cut(rest, "/")
	if !found || !marked || !divided || collection == "" || !Form.MatchString(batch) {
		return BatchID{}, false
	}
	n, err := strconv.ParseInt(creation, 36, 64)
	if id = (BatchID{collection, n, batch}); err != nil || id.String() != text {
		return BatchID{}, false
	}
	return id, true
}

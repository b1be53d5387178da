package resource

import (
	"strconv"
	"time"

	"github.com/chimejobs/chime/httpapi/action"
	"github.com/chimejobs/chime/httpapi/internal/body"
	"github.com/chimejobs/chime/httpapi/internal/problem"
	"github.com/chimejobs/chime/httpapi/internal/taskid"
)

// A BatchName identifies a batch.
type BatchName struct{ Collection, Batch string }

// A Batch is tasks that belong together, as a client adds them.
type Batch struct {
	ID                   string // empty: the server creates one
	Note                 string
	Keep                 time.Duration // 0: not given
	DoneWithoutCancelled bool
	Done, Ended          *Task // jobs of the program; nil: none
	Tasks                []*Task
}

const (
	maxBatchNote = 1 << 10 // bytes
	minBatchKeep = time.Minute
)

// ReadBatch reads a batch. The actions of its tasks are the client's: they are not prepared.
func ReadBatch(text []byte) (*Batch, []problem.Mistake) {
	v, mistakes := parse(text)
	if mistakes != nil {
		return nil, mistakes
	}
	r := &body.Reader{}
	in := r.Object(v, "")
	if v.Kind == body.Null {
		r.Add(v, problem.Mistake{Code: "type", Field: "body", Detail: "want an object"})
		return nil, r.Mistakes()
	}
	b := &Batch{ID: in.Text("id"), Note: in.Text("note"), DoneWithoutCancelled: in.Bool("doneWithoutCancelled", false)}
	if b.ID != "" && !taskid.Form.MatchString(b.ID) {
		in.Wrong("id", "name", "want 1 to 100 of A-Z a-z 0-9 _ . -, a letter or a digit first")
	}
	if len(b.Note) > maxBatchNote {
		in.Wrong("note", "note_size", "want at most 1024 bytes; got "+strconv.Itoa(len(b.Note)))
	}
	b.Keep = span(in, "keep", "keep_range", minBatchKeep, maxTaskTime, "want PT1M to P365D")
	b.Done, b.Ended = readFollower(in, "done"), readFollower(in, "ended")
	if value := in.Value.Get("value"); value == nil || value.Kind == body.Null {
		in.Wrong("value", "required", "want an array of 1 to 500 tasks")
	} else {
		b.Tasks = readTaskList(r, in, value)
	}
	in.Ignore("value")
	in.Done()
	return b, r.Mistakes()
}

// readFollower reads a job of the program that follows a batch; nil: none.
func readFollower(in *body.ObjectReader, key string) *Task {
	job := in.Object(key)
	if !job.There() {
		return nil
	}
	return &Task{Plain: true, Action: &action.Action{Type: action.Job, Job: readJobTarget(job)}, Prefix: key + "."}
}

// A BatchView is a batch in an answer.
type BatchView struct {
	Repeated                                     bool // it existed already when a request wanted to add it
	ID, State, Note                              string
	Total, Existing, Left, Done, Dead, Cancelled int64
	Created, Sealed, Ended, DoneAdded            time.Time // zero: none
	DoneJob, EndedJob                            string    // the names of the jobs; empty: none
	Queues                                       []BatchQueueView
}

// A BatchQueueView is the members of a batch on one queue.
type BatchQueueView struct {
	Queue     string `json:"queue"`
	Total     int64  `json:"total"`
	Left      int64  `json:"left"`
	Done      int64  `json:"done"`
	Dead      int64  `json:"dead"`
	Cancelled int64  `json:"cancelled"`
}

type batchJSON struct {
	ID          string           `json:"id"`
	State       string           `json:"state"`
	Repeated    bool             `json:"repeated,omitempty"`
	Note        string           `json:"note,omitempty"`
	Total       int64            `json:"total"`
	Existing    int64            `json:"existing"`
	Left        int64            `json:"left"`
	Done        int64            `json:"done"`
	Dead        int64            `json:"dead"`
	Cancelled   int64            `json:"cancelled"`
	CreatedTime string           `json:"createdTime"`
	SealedTime  string           `json:"sealedTime,omitempty"`
	EndTime     string           `json:"endTime,omitempty"`
	DoneTime    string           `json:"doneTime,omitempty"`
	DoneJob     string           `json:"doneJob,omitempty"`
	EndedJob    string           `json:"endedJob,omitempty"`
	Queues      []BatchQueueView `json:"queues,omitempty"`
}

// Append appends the answer's JSON, without a newline.
func (v *BatchView) Append(to []byte) []byte {
	return appendJSON(to, batchJSON{
		ID: v.ID, State: v.State, Repeated: v.Repeated, Note: v.Note, Total: v.Total, Existing: v.Existing, Left: v.Left, Done: v.Done, Dead: v.Dead, Cancelled: v.Cancelled,
		CreatedTime: Time(v.Created), SealedTime: Time(v.Sealed), EndTime: Time(v.Ended), DoneTime: Time(v.DoneAdded), DoneJob: v.DoneJob, EndedJob: v.EndedJob, Queues: v.Queues,
	})
}

package resource

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/chimejobs/chime/httpapi/action"
	"github.com/chimejobs/chime/httpapi/internal/body"
	"github.com/chimejobs/chime/httpapi/internal/problem"
	"github.com/chimejobs/chime/httpapi/internal/taskid"
)

// A Task is a job that a client adds to a queue, without a rule.
type Task struct {
	Action  *action.Action    // it is of type job if the client has sent job; nil after a mistake
	Plain   bool              // the client has sent job: its retries and its timeout are those of its handler
	Timed   bool              // in or at was given
	In      time.Duration     // 0 to 100 years
	At      time.Time         // zero: In counts
	ID      string            // empty: the server creates one
	Once    time.Duration     // 0: not given
	Keep    time.Duration     // 0: not given
	Expire  time.Duration     // 0: not given
	Group   string            // empty: the collection's
	Headers map[string]string // data for the handler of a job
	Prefix  string            // the beginning of the fields' paths in the client's body: "value[3]." or nothing
}

const (
	maxTasks      = 500
	maxTaskIn     = 36_500 * 24 * time.Hour
	maxTaskTime   = 365 * 24 * time.Hour // of once, keep and expire
	maxHeaderKey  = 100                  // bytes
	maxHeaderSize = 4 << 10              // bytes of the keys and values of a task
)

// ReadTasks reads one task, or {"value": […]} with 1 to 500 tasks; many reports the second form. The actions are the client's: they are not prepared.
func ReadTasks(text []byte) (tasks []*Task, many bool, mistakes []problem.Mistake) {
	v, mistakes := parse(text)
	if mistakes != nil {
		return nil, false, mistakes
	}
	r := &body.Reader{}
	in := r.Object(v, "")
	if v.Kind == body.Null {
		r.Add(v, problem.Mistake{Code: "type", Field: "body", Detail: "want an object"})
	}
	value := in.Value.Get("value")
	if value == nil {
		in.Ignore("value") // it is null
		return []*Task{readTask(in, "")}, false, r.Mistakes()
	}
	in.Ignore("value")
	in.Done()
	tasks = readTaskList(r, in, value)
	return tasks, true, r.Mistakes()
}

// readTaskList reads an array of 1 to 500 tasks, the field value of an object.
func readTaskList(r *body.Reader, in *body.ObjectReader, value *body.Value) (tasks []*Task) {
	if value.Kind != body.Array {
		in.Wrong("value", "type", "want an array of tasks")
		return nil
	}
	if n := len(value.Items); n < 1 || n > maxTasks {
		r.Add(value, problem.Mistake{Code: "task_count", Field: "value", Value: strconv.Itoa(n), Detail: "want 1 to 500 tasks"})
		return nil
	}
	for i, item := range value.Items {
		path := "value[" + strconv.Itoa(i) + "]"
		if item.Kind == body.Null {
			r.Add(item, problem.Mistake{Code: "type", Field: path, Detail: "want an object"})
		}
		tasks = append(tasks, readTask(r.Object(item, path), path+"."))
	}
	return tasks
}

func readTask(in *body.ObjectReader, prefix string) *Task {
	t := &Task{Prefix: prefix}
	job, full := in.Object("job"), in.Object("action")
	switch {
	case in.Value == nil: // its kind is a mistake already
	case job.Value != nil && full.Value != nil:
		in.Wrong("job", "conflict", "give either job or action")
	case job.Value != nil:
		t.Plain, t.Action = true, &action.Action{Type: action.Job, Job: readJobTarget(job)}
	case full.Value != nil:
		t.Action = readAction(full, true)
	case in.Value.Get("job") == nil && in.Value.Get("action") == nil:
		in.Wrong("job", "required", "want job, an object with name and payload, or action, an object with type and request")
	}
	t.time(in)
	if t.ID = in.Text("id"); t.ID != "" && !taskid.Form.MatchString(t.ID) {
		in.Wrong("id", "name", "want 1 to 100 of A-Z a-z 0-9 _ . -, a letter or a digit first")
	}
	t.Once = span(in, "once", "once_range", time.Second, maxTaskTime, "want PT1S to P365D")
	t.Keep = span(in, "keep", "keep_range", time.Second, maxTaskTime, "want PT1S to P365D")
	t.Expire = span(in, "expire", "expire_range", time.Millisecond, maxTaskTime, "want PT0.001S to P365D")
	if t.Once > 0 && t.ID == "" {
		in.Wrong("id", "required", "once needs an id")
	}
	t.Group = group(in)
	t.headers(in)
	in.Done()
	return t
}

// time reads in and at.
func (t *Task) time(in *body.ObjectReader) {
	later, at := in.Text("in"), in.Text("at")
	t.Timed = later != "" || at != ""
	if later != "" && at != "" {
		in.Wrong("at", "conflict", "give either in or at")
	}
	t.In = span(in, "in", "delay_range", 0, maxTaskIn, "want PT0S to P36500D")
	if at == "" {
		return
	}
	instant, err := time.Parse(time.RFC3339, at)
	if err != nil {
		in.Wrong("at", "time_syntax", "want a date and a time with an offset, such as 2027-03-01T10:00:00Z")
		return
	}
	if ahead := time.Until(instant); ahead > maxTaskIn || ahead < -maxTaskIn {
		in.Wrong("at", "time_range", "want at most 100 years from now or ago")
	}
	t.At = instant
}

// headers reads the data for the handler of a job.
func (t *Task) headers(in *body.ObjectReader) {
	t.Headers = in.NamedTexts("headers")
	if t.Headers != nil && t.Action != nil && t.Action.Type != action.Job {
		in.Wrong("headers", "conflict", "headers are for the handler of a job; the headers of a request are in action.request.headers")
	}
	size := 0
	for _, name := range slices.Sorted(maps.Keys(t.Headers)) {
		size += len(name) + len(t.Headers[name])
		if name == "" || len(name) > maxHeaderKey || strings.ContainsFunc(name, unicode.IsControl) {
			in.Wrong("headers", "header_name", "want names of 1 to 100 bytes without control characters")
		}
	}
	if size > maxHeaderSize {
		in.Wrong("headers", "header_size", "want at most 4096 bytes, names and values together; got "+strconv.Itoa(size))
	}
}

// span reads a length of time within bounds; 0: it is not set.
func span(in *body.ObjectReader, key, code string, from, to time.Duration, want string) time.Duration {
	text := in.Text(key)
	if text == "" {
		return 0
	}
	length, err := action.ParseInterval(text)
	switch d := time.Duration(length); {
	case err != nil:
		in.Wrong(key, code, err.Error())
	case d < from || d > to:
		in.Wrong(key, code, want)
	}
	return time.Duration(length)
}

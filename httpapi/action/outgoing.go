package action

import (
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/httpapi/internal/taskid"
)

// An outgoing is a request in the form in which it is sent, also again at a redirect.
type outgoing struct {
	method  string
	url     *url.URL
	header  http.Header
	body    string
	success func(status int) bool
}

// isOnDeath reports whether a job is an error action.
func isOnDeath(job *chime.Job) bool { return job.Death != nil }

// scheduleOf is the schedule of a job's action; the payload does not decide it.
func scheduleOf(job *chime.Job) string {
	if isOnDeath(job) {
		return job.Death.Schedule
	}
	return job.Schedule
}

// placeOf is the place of a job's action: that of its schedule, or that of its task. Other jobs have none.
func placeOf(job *chime.Job) Place {
	if schedule := scheduleOf(job); schedule != "" {
		return PlaceOf(schedule)
	}
	if id, ok := taskOf(job); ok {
		return PlaceOf(id.String())
	}
	return Place{}
}

// taskOf is the task of a job's action; ok is false if it has none.
func taskOf(job *chime.Job) (id taskid.ID, ok bool) {
	switch {
	case scheduleOf(job) != "":
		return taskid.ID{}, false
	case isOnDeath(job):
		return taskid.Parse(job.Death.ID)
	}
	return taskid.Parse(job.ID)
}

const (
	maxErrorHeader = 256               // characters
	azurePrefix    = "x-ms-scheduler-" // the headers of Azure's service, which an action may set itself
)

// chimeHeaders are the headers that identify the job and the attempt. They are set after the headers of the action, which may replace only Azure's.
func chimeHeaders(job *chime.Job) map[string]string {
	at := placeOf(job)
	planned := job.Planned
	headers := map[string]string{
		"Idempotency-Key": `"` + quotedID(job.ID) + `"`, "Chime-Attempt": strconv.Itoa(job.Attempt), "Chime-Fence": strconv.FormatInt(job.Fence, 10), "Chime-Action": "main",
	}
	if isOnDeath(job) {
		planned = job.Death.Planned
		headers["Chime-Action"] = "error"
		headers["Chime-Error"] = asciiText(job.Death.LastError, maxErrorHeader)
	}
	if !planned.IsZero() {
		headers["Chime-Planned"] = planned.UTC().Format(time.RFC3339Nano)
		headers["x-ms-scheduler-expected-execution-time"] = planned.UTC().Format(time.RFC3339Nano)
	}
	if at.Collection != "" {
		headers["Chime-Collection"], headers["x-ms-scheduler-jobcollection"] = asciiText(at.Collection, 1024), asciiText(at.Collection, 1024)
	}
	if task, ok := taskOf(job); ok {
		headers["Chime-Task"] = task.Task
	} else if at.Job != "" {
		headers["Chime-Job"], headers["x-ms-scheduler-jobid"] = asciiText(at.Job, 1024), asciiText(at.Job, 1024)
	}
	return headers
}

// asciiText is a text for a header: printable ASCII, line ends as spaces, other characters as ?, up to a number of characters.
func asciiText(text string, limit int) string {
	var out strings.Builder
	for _, r := range text {
		if out.Len() == limit {
			break
		}
		if r == '\n' {
			r = ' '
		}
		if r < ' ' || r > '~' {
			r = '?'
		}
		out.WriteByte(byte(r))
	}
	return strings.TrimSpace(out.String())
}

// quotedID is an ID in quotes; different IDs remain different.
func quotedID(id string) string {
	var out strings.Builder
	for i := range len(id) {
		if c := id[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '%' {
			fmt.Fprintf(&out, "%%%02X", c)
		} else {
			out.WriteByte(c)
		}
	}
	return out.String()
}

// outgoing builds the request of an opened action, without a token that has to be got first.
func (r *Request) outgoing(job *chime.Job, now time.Time, agent string) (*outgoing, error) {
	u, err := parseURI(r.URI)
	if err != nil {
		return nil, err
	}
	if len(r.SecretQuery) > 0 {
		values := url.Values{}
		for name, s := range r.SecretQuery {
			values.Set(name, s.text)
		}
		u.RawQuery = strings.TrimPrefix(u.RawQuery+"&"+values.Encode(), "&")
	}
	out := &outgoing{method: r.Method, url: u, header: http.Header{"User-Agent": {agent}}, body: r.Body, success: r.succeeds}
	for _, name := range slices.Sorted(maps.Keys(r.Headers)) {
		out.header.Set(name, r.Headers[name])
	}
	for _, name := range slices.Sorted(maps.Keys(r.SecretHeaders)) {
		out.header.Set(name, r.SecretHeaders[name].text)
	}
	for name, value := range chimeHeaders(job) {
		if azure := strings.HasPrefix(name, azurePrefix); !azure || out.header.Get(name) == "" {
			out.header.Set(name, value)
		}
	}
	if auth := r.Authentication; auth != nil {
		switch auth.Type {
		case Basic:
			out.header.Set("Authorization", "Basic "+basicValue(auth))
		case Bearer:
			out.header.Set("Authorization", "Bearer "+auth.Token.text)
		}
	}
	if r.Signing != nil {
		signed, err := r.Signing.sign(job.ID, now, r.Body)
		if err != nil {
			return nil, err
		}
		for name, value := range signed {
			out.header.Set(name, value)
		}
	}
	return out, nil
}

func basicValue(a *Authentication) string {
	return base64.StdEncoding.EncodeToString([]byte(a.Username + ":" + a.Password.text))
}

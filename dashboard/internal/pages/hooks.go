package pages

import (
	"encoding/json"
	"errors"
	"maps"
	"net/url"
	"slices"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/dashboard/internal/render"
)

// Hooks are functions with which an application decides what is shown. Each may be nil.
type Hooks struct {
	Bare bool // anybody may see the pages: they show no header, note and meta data

	Redact      func(job *chime.JobInfo, payload any) any
	RedactError func(job *chime.JobInfo, text string) string
	Links       func(job *chime.JobInfo) []Link

	// Recovered is called with a panic of one of these functions, which then has no result. Recovered may be nil.
	Recovered func(function string, panicked any)
}

// recovered is called by defer, around a call of a function of this name.
func (h Hooks) recovered(function string) {
	if v := recover(); v != nil && h.Recovered != nil {
		h.Recovered(function, v)
	}
}

// A Link links to a page of another program.
type Link struct{ Text, URL string }

// failed returns the shown text of an error or a note of a job.
func (h Hooks) failed(job *chime.JobInfo, text string) (shown string) {
	if h.RedactError == nil || text == "" {
		return text
	}
	shown = "not shown: Options.RedactError panicked"
	defer h.recovered("RedactError")
	return h.RedactError(job, text)
}

// headers returns the shown headers of a job, by key.
func (h Hooks) headers(job *chime.JobInfo, headers map[string]string) (shown []render.Pair) {
	for _, key := range slices.Sorted(maps.Keys(headers)) {
		shown = append(shown, render.Pair{Name: key, Value: h.failed(job, headers[key])})
	}
	return shown
}

// redacted returns the JSON of what may be shown of a value.
func (h Hooks) redacted(job *chime.JobInfo, value any) (text []byte, err error) {
	err = errors.New("it panicked")
	defer h.recovered("Redact")
	return json.Marshal(h.Redact(job, value))
}

// shownError returns failed for the last error of a job, or nil if the whole error is shown.
func (h Hooks) shownError() func(*chime.JobInfo) string {
	if h.RedactError == nil {
		return nil
	}
	return func(job *chime.JobInfo) string { return h.failed(job, job.LastError) }
}

// links returns the links of a job. It leaves out addresses that are not http or https.
func (h Hooks) links(job *chime.JobInfo) []Link {
	if h.Links == nil {
		return nil
	}
	defer h.recovered("Links")
	return slices.DeleteFunc(slices.Clone(h.Links(job)), func(link Link) bool {
		to, err := url.Parse(link.URL)
		return err != nil || to.Scheme != "http" && to.Scheme != "https" || to.Host == "" || link.Text == ""
	})
}

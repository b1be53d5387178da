package pages

import (
	"net/url"
	"slices"

	"github.com/chimejobs/chime"
)

// Hooks are functions with which an application decides what is shown. Each may be nil.
type Hooks struct {
	Redact      func(job *chime.JobInfo, payload any) any
	RedactError func(job *chime.JobInfo, text string) string
	Links       func(job *chime.JobInfo) []Link
}

// A Link links to a page of another program.
type Link struct{ Text, URL string }

// failed returns the shown text of an error of a job.
func (h Hooks) failed(job *chime.JobInfo, text string) string {
	if h.RedactError == nil || text == "" {
		return text
	}
	return h.RedactError(job, text)
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
	return slices.DeleteFunc(slices.Clone(h.Links(job)), func(link Link) bool {
		to, err := url.Parse(link.URL)
		return err != nil || to.Scheme != "http" && to.Scheme != "https" || to.Host == "" || link.Text == ""
	})
}

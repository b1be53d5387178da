package dashboard

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/dashboard/internal/pages"
)

// Options are the options of New. The zero value serves this machine only, and changes nothing.
type Options struct {
	// Prefix is what is cut off the path of a request, as "/chime" where the handler is mounted at "/chime/". Empty where http.StripPrefix, or a
	// proxy, has cut it off already.
	Prefix string
	// Title names the application, at the top of each page. Empty means "chime".
	Title string
	// Zone is the time zone that times are shown in until a viewer chooses another one; nil means UTC. It is one that time.LoadLocation returns,
	// but not time.Local, whose name no browser knows.
	Zone *time.Location

	// Authorize says who sends a request and what they may do; an error is answered with 403, and logged. It is asked for every request but
	// those for styles, scripts and fonts. nil: requests of this machine alone are served, with every right.
	Authorize func(r *http.Request) (Viewer, error)
	// Write lets viewers who have the rights change something. false: the dashboard only shows.
	Write bool
	// Audit is called after each change that somebody has made or tried to make, and after each look at a payload. It is called besides the
	// log line. It may be called by many requests at once, and holds them up.
	Audit func(ctx context.Context, action Action)

	// Redact returns what is shown of the arguments, the result or the progress of a job, which are decoded: what encoding/json would make of them,
	// with json.Number for numbers. What cannot be decoded is then not shown. nil: all is shown to those who may reveal it.
	Redact func(job *chime.JobInfo, payload any) any
	// RedactError returns what is shown of the error of a job; filters and groups of failures go by it too. It is asked about every job that such a
	// filter looks at. A long error is stored cut, with … at its end: what hides a secret must not wait for what follows it. nil: all is shown.
	RedactError func(job *chime.JobInfo, text string) string
	// Links are shown on the page of a job, as to its trace or its logs. nil: none.
	Links func(job *chime.JobInfo) []Link

	// Logger gets a line for each change and each request that was denied. nil means slog.Default().
	Logger *slog.Logger
}

// A Link leads to a page of another program.
type Link struct {
	Text string // such as "Trace"
	URL  string // http or https; others are not shown
}

// hooks are what pages ask the application.
func (o *Options) hooks() pages.Hooks {
	hooks := pages.Hooks{Redact: o.Redact, RedactError: o.RedactError}
	if o.Links != nil {
		hooks.Links = func(job *chime.JobInfo) []pages.Link {
			var links []pages.Link
			for _, link := range o.Links(job) {
				links = append(links, pages.Link(link))
			}
			return links
		}
	}
	return hooks
}

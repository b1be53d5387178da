package dashboard

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"sync"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/dashboard/internal/pages"
)

// Options are the options of New. With the zero value the dashboard is read-only, serves only requests that seem to come from this machine, and hides
// what jobs contain. A panic of one of the functions is recovered, and the first one of each is logged. In that case Authorize and Check deny the
// request, and Redact and RedactError show nothing.
type Options struct {
	// Prefix is removed from the path of a request. It is "/chime" if the handler is mounted at "/chime/", and empty if http.StripPrefix or a
	// proxy has already removed it.
	Prefix string
	// Title is the application's name at the top of each page. Empty means "chime".
	Title string
	// Environment is the system whose store the pages show. Zero: it is not named.
	Environment Environment
	// Elsewhere are other dashboards, such as those of other namespaces, that a menu at the top of each page leads to. Mount each of them in the same program, or
	// link to another one. A relative URL is relative to where this dashboard is mounted, as "../mail/".
	Elsewhere []Link
	// Zone is the time zone of the pages until a viewer chooses another one; nil means UTC. It has to come from time.LoadLocation. It cannot be
	// time.Local, because no browser knows that name.
	Zone *time.Location

	// Authorize returns the viewer who sends a request, and the viewer's rights. If it returns an error, the error is logged and the response is
	// 403. It is called for every request except those for styles, scripts and fonts. nil: as Loopback, but the only right is View, and the pages
	// show no arguments, results, headers, errors and notes.
	Authorize func(r *http.Request) (Viewer, error)
	// Check returns why a viewer may not do something to names, in addition to the rights; nil: they may. It is called before the confirmation of an
	// action is asked for, and again before the action. action has Act, Viewer, Remote, Queue and Args. names are those of the form: a schedule, a queue,
	// the ID of a job of action.Queue or of a batch, or the ticked schedules. They are empty for a new schedule and for a change of many jobs, or of all that match a
	// filter. In these cases Check is called again before each step, with the name of the schedule, or with the IDs of at most 500 jobs of action.Queue;
	// the refused ones are left out. The text of a [*Refusal] is shown; other errors are only logged. nil: the rights decide.
	Check func(ctx context.Context, viewer Viewer, action Action, names []string) error
	// Write allows changes by viewers who have the rights. It needs Authorize: without it, New panics. false: the dashboard is read-only.
	Write bool
	// Audit is called after each change, each attempt to change something and each view of a payload, in addition to the log line. Several
	// requests may call it at the same time, and they wait for it.
	Audit func(ctx context.Context, action Action)

	// Redact returns the part of a job's arguments, result or progress that pages may show. It gets the decoded value, as encoding/json returns it,
	// with json.Number for numbers. A value that cannot be decoded is not shown. nil: viewers with the right to reveal see everything.
	Redact func(job *chime.JobInfo, payload any) any
	// RedactError returns the text that is shown for an error, a stack or a note of a job, or for the value of a header, or for the note of a batch, with a job that has only the Batch. Filters and groups of failures use
	// this text of errors too, so it is called for every job that such a filter reads. A long error is cut when it is stored, and then ends with …. So a
	// pattern that hides a secret must not need the text after the secret. nil: all these texts are shown.
	RedactError func(job *chime.JobInfo, text string) string
	// Links are shown on the page of a job, for example to its trace or its logs. nil: no links.
	Links func(job *chime.JobInfo) []Link

	// Logger gets a line for each change and each denied request. nil means slog.Default().
	Logger *slog.Logger
}

// A Link leads to a page of another program.
type Link struct {
	Text string // such as "Trace"
	URL  string // http or https; others are not shown
}

// guard makes Authorize, Check and Audit recover their panics: if Authorize or Check panics, the request is denied; if Audit panics, it continues.
func (o *Options) guard(recovered func(function string, panicked any)) {
	authorize, audit := o.Authorize, o.Audit
	o.Authorize = func(r *http.Request) (viewer Viewer, err error) {
		defer func() {
			if v := recover(); v != nil {
				viewer, err = Viewer{}, errors.New("Options.Authorize panicked")
				recovered("Authorize", v)
			}
		}()
		return authorize(r)
	}
	if check := o.Check; check != nil {
		o.Check = func(ctx context.Context, viewer Viewer, action Action, names []string) (err error) {
			defer func() {
				if v := recover(); v != nil {
					err = errors.New("Options.Check panicked")
					recovered("Check", v)
				}
			}()
			return check(ctx, viewer, action, names)
		}
	}
	if audit == nil {
		return
	}
	o.Audit = func(ctx context.Context, action Action) {
		defer func() {
			if v := recover(); v != nil {
				recovered("Audit", v)
			}
		}()
		audit(ctx, action)
	}
}

// A panicLog logs the first panic of each function of the options.
type panicLog struct {
	log    *slog.Logger
	logged sync.Map // function -> true
}

// recovered is called in the goroutine of the panic.
func (p *panicLog) recovered(function string, panicked any) {
	if _, before := p.logged.LoadOrStore(function, true); before {
		return
	}
	p.log.Error("dashboard: a function of the options panicked; its later panics are not logged", "event", "dashboard.failed", "action", function,
		"error", fmt.Sprint(panicked), "stack", string(debug.Stack()))
}

// hooks are the functions of the application that pages call. bare: the dashboard has no Authorize.
func (o *Options) hooks(bare bool, recovered func(function string, panicked any)) pages.Hooks {
	hooks := pages.Hooks{Bare: bare, Redact: o.Redact, RedactError: o.RedactError, Recovered: recovered}
	if bare {
		hooks.RedactError = func(*chime.JobInfo, string) string { return "not shown without Options.Authorize" }
	}
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

package action

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/chimejobs/chime"
)

// SenderOptions configure a Sender. The zero value sends to public addresses, and opens no secrets.
type SenderOptions struct {
	Secrets        *Ring  // opens the secrets of actions, see [Ring.Sealing]; nil: an action with secrets fails
	Egress         Egress // the addresses that requests may go to
	PerHost        int    // requests at once to one host and port in this process; more are snoozed for 5 to 60 s. Zero means 20
	Slots          int    // jobs at once of all workers of this process; see Owner. Zero means 256
	UserAgent      string // empty: "chime"
	StorageSuffix  string // of Azure Storage: {account}.queue.{suffix}. Empty: "core.windows.net"
	BusSuffix      string // of Azure Service Bus: {namespace}.servicebus.{suffix}. Empty: "windows.net"
	TokenAuthority string // where ActiveDirectoryOAuth gets tokens, without / at its end. Empty: "https://login.microsoftonline.com"
	Region         string // the region in messages to Azure Storage; empty: none

	// Owner returns the owner of a collection's jobs, so that no owner keeps the others waiting: the jobs of one owner have at most a quarter of Slots, and a
	// quarter of PerHost for each host and port, but at least one. More are snoozed for 5 to 60 s. Requests for tokens count for their host. Owner is called
	// for each attempt, by several goroutines; empty: the job has no owner, and only PerHost limits it. Nil: no job has an owner.
	Owner func(ctx context.Context, collection string) string
	// RedactError returns the text that an error action sends as Chime-Error, for the error of a job of a schedule: the error may be that of a handler of
	// the application. Nil: the whole error, up to 256 characters.
	RedactError func(schedule, text string) string
	// Logger gets the details of requests without a complete answer: addresses, the resolver, the proxy. A job's note and error have none of them. Nil
	// means slog.Default().
	Logger *slog.Logger
}

const (
	defaultPerHost = 20
	defaultSlots   = 256
)

// A Sender performs actions: its method Handle is the handler of [JobName]. It is safe for concurrent use, also by several workers.
type Sender struct {
	options    SenderOptions
	transports *transports
	tokens     tokens
	gate       gate
}

// NewSender returns a Sender. It does no I/O.
func NewSender(options SenderOptions) *Sender {
	options.PerHost = cmp.Or(max(options.PerHost, 0), defaultPerHost)
	options.Slots = cmp.Or(max(options.Slots, 0), defaultSlots)
	options.UserAgent = cmp.Or(options.UserAgent, "chime")
	options.StorageSuffix = cmp.Or(options.StorageSuffix, "core.windows.net")
	options.BusSuffix = cmp.Or(options.BusSuffix, "windows.net")
	options.TokenAuthority = cmp.Or(options.TokenAuthority, "https://login.microsoftonline.com")
	options.Logger = cmp.Or(options.Logger, slog.Default())
	return &Sender{options: options, transports: newTransports(options.Egress, options.PerHost), gate: gate{perHost: options.PerHost, slots: options.Slots}}
}

// Close closes idle connections. The Sender can be used again.
func (s *Sender) Close() { s.transports.close() }

// Handle makes one attempt of a job's action, and notes the answer. Its error is
//
//   - nil for an answer with a success code;
//   - a [chime.RetryAfter] for 429 and 503 with Retry-After: the longer of the policy's wait and the answer's, up to a day;
//   - a [chime.Discard] for 410 Gone, and for a payload that is not an action, or is one that [Action.Validate] refuses even with the widest [Limits];
//   - a [chime.Snooze] if the host, or the job's owner, has its maximum of simultaneous requests;
//   - another error for every other answer, for a missing answer, and for a secret that cannot be opened: the job is retried by its policy. A destination
//     that Egress refuses counts as not reachable, like a name without an address.
//
// The status decides also if the body of the answer breaks off; the note contains this. No error and no note contains a secret, or anything about the
// network except what the action and the answer contain: SenderOptions.Logger gets that.
func (s *Sender) Handle(ctx context.Context, job *chime.Job) error {
	a, err := Decode(job.Payload)
	if err != nil {
		return chime.Discard(err)
	}
	place, path := placeOf(job), mainPath
	if isOnDeath(job) {
		path = errorPath
	}
	a.ErrorAction = nil // the store adds its own job for it
	if err := a.refuse(path, s.options.Egress); err != nil {
		return chime.Discard(err)
	}
	policy := a.RetryPolicy.orDefault()
	opened, err := a.open(s.options.Secrets, place, path)
	if err != nil {
		return s.failed(policy, job, err)
	}
	d := &delivery{sender: s, job: s.redacted(job), action: opened, policy: policy, owner: owner(place.Collection, place.Job)}
	if s.options.Owner != nil && place.Collection != "" {
		d.tenant = s.options.Owner(ctx, place.Collection)
	}
	if place == (Place{}) {
		d.owner = owner("", "", job.ID)
	}
	d.clean.addAction(opened)
	return d.do(ctx)
}

// redacted is a job whose error may be sent to the receiver of an error action.
func (s *Sender) redacted(job *chime.Job) *chime.Job {
	if !isOnDeath(job) || s.options.RedactError == nil || job.Death.LastError == "" {
		return job
	}
	shown, death := *job, *job.Death
	death.LastError, death.Stack = s.options.RedactError(death.Schedule, death.LastError), "" // the stack is not sent
	shown.Death = &death
	return &shown
}

// failed is the error of an attempt that the policy retries. It requests the waits of a fixed policy, which are exact, while chime.Fixed lengthens each
// at random.
func (s *Sender) failed(policy RetryPolicy, job *chime.Job, err error) error {
	if wait := policy.wait(job.Attempt); policy.Type == RetryFixed {
		return chime.RetryAfter(wait, err)
	}
	return err
}

// outcome is the error of an answer.
func (d *delivery) outcome(host string, a *answer, success bool, now time.Time) error {
	if success {
		return nil
	}
	err := fmt.Errorf("action: %s: status %d %s", host, a.status, http.StatusText(a.status))
	switch a.status {
	case http.StatusGone:
		return chime.Discard(err)
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		if wait, ok := retryAfter(a.header.Get("Retry-After"), now); ok {
			return chime.RetryAfter(max(wait, d.policy.wait(d.job.Attempt)), err)
		}
	}
	return d.sender.failed(d.policy, d.job, err)
}

const maxRetryAfter = 24 * time.Hour

// retryAfter reads the header Retry-After: seconds or a date; more than a day counts as a day.
func retryAfter(value string, now time.Time) (time.Duration, bool) {
	if value == "" {
		return 0, false
	}
	seconds := 0
	digits := true
	for _, c := range value {
		if c < '0' || c > '9' {
			digits = false
			break
		}
		seconds = min(seconds*10+int(c-'0'), int(maxRetryAfter/time.Second))
	}
	if digits {
		return time.Duration(seconds) * time.Second, true
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0, false
	}
	return min(max(at.Sub(now), 0), maxRetryAfter), true
}

// withoutURL is an error of net/http without its URL, which may contain secrets.
func withoutURL(err error) error {
	for {
		var of *url.Error
		if !errors.As(err, &of) {
			return err
		}
		err = of.Err
	}
}

// noAnswer is the error of a request without an answer: the job is retried, whatever the reason.
func (d *delivery) noAnswer(ctx context.Context, host string, err error) error {
	f := requestErrorOf(ctx, err)
	d.log(ctx, host, f)
	d.job.Note(cut(d.clean.clean(notePrefix+"No response from host '"+host+"': "+f.reason), maxNote))
	return d.sender.failed(d.policy, d.job, fmt.Errorf("action: %s: no answer: %s", host, f.reason))
}

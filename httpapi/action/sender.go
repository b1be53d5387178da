package action

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/httpapi/internal/egress"
)

// SenderOptions configure a Sender. The zero value sends to public addresses, and opens no secrets.
type SenderOptions struct {
	Secrets        *Ring  // opens the secrets of actions, see [Ring.Sealing]; nil: an action with secrets fails
	Egress         Egress // the addresses that requests may go to
	PerHost        int    // requests at once to one host and port in this process; more are snoozed for 5 to 60 s. Zero means 20
	UserAgent      string // empty: "chime"
	StorageSuffix  string // of Azure Storage: {account}.queue.{suffix}. Empty: "core.windows.net"
	BusSuffix      string // of Azure Service Bus: {namespace}.servicebus.{suffix}. Empty: "windows.net"
	TokenAuthority string // where ActiveDirectoryOAuth gets tokens, without / at its end. Empty: "https://login.microsoftonline.com"
	Region         string // the region in messages to Azure Storage; empty: none
}

const defaultPerHost = 20

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
	options.UserAgent = cmp.Or(options.UserAgent, "chime")
	options.StorageSuffix = cmp.Or(options.StorageSuffix, "core.windows.net")
	options.BusSuffix = cmp.Or(options.BusSuffix, "windows.net")
	options.TokenAuthority = cmp.Or(options.TokenAuthority, "https://login.microsoftonline.com")
	return &Sender{options: options, transports: newTransports(options.Egress, options.PerHost), gate: gate{max: options.PerHost}}
}

// Close closes idle connections. The Sender can be used again.
func (s *Sender) Close() { s.transports.close() }

// Handle makes one attempt of a job's action, and notes the answer. Its error is
//
//   - nil for an answer with a success code;
//   - a [chime.RetryAfter] for 429 and 503 with Retry-After: the longer of the policy's wait and the answer's, up to a day;
//   - a [chime.Discard] for 410 Gone, for a destination that Egress refuses, and for a payload that is not an action, or is one that [Action.Validate]
//     refuses even with the widest [Limits];
//   - a [chime.Snooze] if the host has its maximum of simultaneous requests;
//   - another error for every other answer, for a missing answer, and for a secret that cannot be opened: the job is retried by its policy.
//
// No error and no note contains a secret.
func (s *Sender) Handle(ctx context.Context, job *chime.Job) error {
	a, err := Decode(job.Payload)
	if err != nil {
		return chime.Discard(err)
	}
	place, path := PlaceOf(scheduleOf(job)), mainPath
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
	d := &delivery{sender: s, job: job, action: opened, policy: policy, owner: owner(place.Collection, place.Job)}
	if place == (Place{}) {
		d.owner = owner("", "", job.ID)
	}
	d.clean.addAction(opened)
	return d.do(ctx)
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

// noAnswer is the error of a request without an answer.
func (d *delivery) noAnswer(ctx context.Context, host string, err error) error {
	if blocked := (*egress.BlockedError)(nil); errors.As(err, &blocked) {
		d.job.Note(notePrefix + "host '" + host + "': " + printable(d.clean.clean(blocked.Error())))
		return chime.Discard(fmt.Errorf("action: %s: %w", host, blocked))
	}
	text := d.clean.clean(withoutURL(err).Error())
	if cause := context.Cause(ctx); cause != nil {
		text = cause.Error()
	}
	d.job.Note(cut(notePrefix+"No response from host '"+host+"': "+printable(text), maxNote))
	return d.sender.failed(d.policy, d.job, fmt.Errorf("action: %s: no answer: %s", host, cut(printable(text), 500)))
}

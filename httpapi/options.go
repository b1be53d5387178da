package httpapi

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/httpapi/action"
	"github.com/chimejobs/chime/httpapi/internal/service"
	"github.com/chimejobs/chime/internal/guardlog"
)

// Options configure an API. Only Authenticate is required; the zero value of every other field has a useful meaning.
type Options struct {
	// Authenticate returns who sends a request: [Tokens], [Loopback], or your own function.
	Authenticate Authenticator

	// Secrets seals the secrets of jobs. Nil: bodies with secrets are refused.
	Secrets *action.Ring
	// Sealed is the oldest version of sealed secrets that is opened: 1 or 2, see [action.Ring]. Zero means 1. With 2 a secret of version 1 is refused, so
	// first call [API.Rekey] until no run waits with an old seal. A later release will have 2 as its default.
	Sealed int
	// Egress limits the addresses that jobs may send requests to. The zero value allows public addresses, by name.
	Egress action.Egress
	// OpenPFX opens client certificates in PKCS #12. Nil: PKCS #12 is refused; PEM works.
	OpenPFX action.OpenPFX

	// Queues are the queues that a collection may name. A collection without a queue uses the first one. Nil: "default".
	Queues []string
	// PublicURL is the handler's URL for clients, such as "https://jobs.example.com/scheduler". Links and Location begin with it. Empty: the scheme and
	// host of each request. X-Forwarded headers are never read.
	PublicURL string
	// Limits bound the size of jobs.
	Limits Limits
	// Rates bound the number of requests that a principal may send.
	Rates Rates
	// Retention is the time for which jobs that have ended are kept. Zero means 60 days.
	Retention time.Duration
	// Quota returns the quota of an owner, who has created a collection or got it from an administrator; an empty name means a collection without an owner.
	// Nil: the defaults. [TokenQuotas] reads quotas from the lines of tokens.
	Quota func(owner string) Quota
	// RedactError returns what a client may read of an error or a note of a job of a schedule "collection:job": the messages of histories, and Chime-Error of
	// error actions. The message and the stack of a task belong to "collection:". The handlers of job actions write such texts. Requests of a job have no secrets and no addresses in them. Several requests may call
	// it at the same time. Nil: the whole text.
	RedactError func(schedule, text string) string
	// Logger logs every change, every request that was not allowed, and the details of requests of jobs that had no complete answer. Nil means
	// slog.Default().
	Logger *slog.Logger

	// The following fields configure the requests that jobs send, see [action.SenderOptions].

	PerHost        int    // requests at once to one host and port in this process. Zero means 20
	Slots          int    // jobs at once of all workers of this process. An owner has at most a quarter, see [action.SenderOptions]. Zero means 256
	UserAgent      string // empty: "chime"
	StorageSuffix  string // of Azure Storage. Empty: "core.windows.net"
	BusSuffix      string // of Azure Service Bus. Empty: "windows.net"
	TokenAuthority string // of ActiveDirectoryOAuth. Empty: "https://login.microsoftonline.com"
	Region         string // named in messages to Azure Storage. Empty: none
}

// A Quota bounds what the collections of one owner use together.
type Quota = service.Quota

// Limits bound the size of jobs. A request may have twice JobBytes plus 64 KiB.
type Limits = action.Limits

// Rates are the requests a second that one principal may send to this process. After a pause ten times as many may come at once. Negative: no limit.
type Rates struct {
	Reads  int // GET and HEAD. Zero means 200
	Writes int // all others. Zero means 100
}

const (
	defaultReads  = 200
	defaultWrites = 100
)

var queueName = regexp.MustCompile(`^[A-Za-z0-9_.:-]{1,100}$`)

// withDefaults sets the defaults.
func (o Options) withDefaults() Options {
	o.PublicURL = strings.TrimSuffix(o.PublicURL, "/")
	o.Rates.Reads = cmp.Or(o.Rates.Reads, defaultReads)
	o.Rates.Writes = cmp.Or(o.Rates.Writes, defaultWrites)
	o.Logger = guardlog.New(cmp.Or(o.Logger, slog.Default()))
	o.RedactError = guarded(o.RedactError)
	return o
}

// guarded returns a function that shows nothing of a text with which redact panics.
func guarded(redact func(schedule, text string) string) func(schedule, text string) string {
	if redact == nil {
		return nil
	}
	return func(schedule, text string) (shown string) {
		defer func() {
			if recover() != nil {
				shown = "not shown: Options.RedactError panicked"
			}
		}()
		return redact(schedule, text)
	}
}

// validate returns all errors, joined.
func (o *Options) validate(store chime.Store) error {
	var bad []error
	wrong := func(format string, args ...any) { bad = append(bad, fmt.Errorf("httpapi: Options."+format, args...)) }
	if store == nil {
		bad = append(bad, errors.New("httpapi: the store is nil: want a store of redisstore.New or redisstore/embedded"))
	}
	if o.Authenticate == nil {
		wrong("Authenticate is nil: want Tokens(…), Loopback() or a function that returns who sends a request")
	}
	for _, queue := range o.Queues {
		if !queueName.MatchString(queue) {
			wrong("Queues: %.40q: want 1 to 100 of A-Z a-z 0-9 _ . : -", queue)
		}
	}
	if o.Retention < 0 {
		wrong("Retention is %v: want a positive duration, or 0 for 60 days", o.Retention)
	}
	if o.Sealed < 0 || o.Sealed > 2 {
		wrong("Sealed is %d: want 1 or 2, or 0 for 1", o.Sealed)
	}
	if o.PerHost < 0 {
		wrong("PerHost is %d: want a positive number, or 0 for 20", o.PerHost)
	}
	if o.Slots < 0 {
		wrong("Slots is %d: want a positive number, or 0 for 256", o.Slots)
	}
	if o.PublicURL != "" {
		at, err := url.Parse(o.PublicURL)
		if err != nil || at.Scheme != "http" && at.Scheme != "https" || at.Host == "" || at.User != nil || at.RawQuery != "" || at.Fragment != "" {
			wrong("PublicURL: want an absolute http or https URL without user, query and fragment, such as https://jobs.example.com")
		}
	}
	return errors.Join(bad...)
}

func (o *Options) service(store chime.Store) service.Options {
	return service.Options{
		Store: store, Queues: o.Queues, Secrets: o.Secrets, Sealed: o.Sealed, Egress: o.Egress, OpenPFX: o.OpenPFX, Limits: o.Limits, Retention: o.Retention, Logger: o.Logger,
		RedactError: o.RedactError, Quota: o.Quota,
	}
}

func (o *Options) sender() action.SenderOptions {
	return action.SenderOptions{
		Secrets: o.Secrets.Sealing(2, o.Sealed), Egress: o.Egress, PerHost: o.PerHost, Slots: o.Slots, UserAgent: o.UserAgent,
		StorageSuffix: o.StorageSuffix, BusSuffix: o.BusSuffix, TokenAuthority: o.TokenAuthority, Region: o.Region,
		RedactError: o.RedactError, Logger: o.Logger,
	}
}

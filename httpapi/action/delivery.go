package action

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/chimejobs/chime"
)

// A delivery is one attempt of one action.
type delivery struct {
	sender *Sender
	job    *chime.Job
	action *Action // with plain secrets
	policy RetryPolicy
	owner  string // identifies the job, for tokens and connections that no other job may use
	tenant string // the owner of the job's collection; empty: it has none
	gated  string // the host and port of the request
	clean  redactor
}

// An answer is the response of the receiver.
type answer struct {
	status int
	header http.Header
	body   []byte // at most 64 KiB
	cut    bool   // the body was longer
	broken string // why the body broke off; empty: it did not
}

const maxAnswerBody = 64 << 10 // bytes

var (
	errTimeout = errors.New("the request has timed out")
	errNoRoom  = errors.New("the host of the token has its maximum of simultaneous requests")
)

func (d *delivery) do(ctx context.Context) error {
	out, err := d.outgoing(time.Now())
	if err != nil {
		return chime.Discard(fmt.Errorf("action: %s", d.clean.clean(err.Error())))
	}
	host := out.url.Host
	if err := d.sender.options.Egress.checkURL(out.url); err != nil {
		return d.noAnswer(ctx, host, err)
	}
	d.gated = hostAndPort(out.url)
	if !d.sender.gate.enter(d.tenant, d.gated) {
		return chime.Snooze(snooze(d.job.Lateness()))
	}
	defer d.sender.gate.leave(d.tenant, d.gated)

	ctx, cancel := context.WithTimeoutCause(ctx, d.timeout(), errTimeout)
	defer cancel()
	a, err := d.exchange(ctx, out)
	if errors.Is(err, errNoRoom) {
		return chime.Snooze(snooze(d.job.Lateness()))
	}
	if err != nil {
		return d.noAnswer(ctx, host, err)
	}
	success := out.success(a.status)
	noted, withBody := a, d.action.Excerpt == ExcerptAlways || d.action.Excerpt == ExcerptOfFailures && !success
	if d.proxied(out.url) && !success { // it may be the proxy's own, about its resolver and its network
		if a.status == http.StatusProxyAuthRequired {
			return d.noAnswer(ctx, host, &requestError{unreachable, errors.New("the proxy wants a login")})
		}
		noted, withBody = &answer{status: a.status}, false
	}
	d.job.Note(note(host, noted, withBody, &d.clean))
	return d.outcome(host, a, success, time.Now())
}

// proxied reports whether a proxy reads the requests to a URL, and may answer them itself. Over https it only passes the bytes of a connection.
func (d *delivery) proxied(to *url.URL) bool {
	return d.sender.options.Egress.Proxy != nil && strings.EqualFold(to.Scheme, "http")
}

// outgoing is the request of the action.
func (d *delivery) outgoing(now time.Time) (*outgoing, error) {
	o := &d.sender.options
	switch a := d.action; {
	case a.Request != nil && (a.Type == HTTP || a.Type == HTTPS):
		if !o.Egress.AllowInsecure && strings.HasPrefix(strings.ToLower(a.Request.URI), "http:") && (!a.Request.Authentication.none() || a.Request.Signing != nil) {
			return nil, errors.New("credentials and signatures need https; Egress.AllowInsecure allows http")
		}
		return a.Request.outgoing(d.job, now, o.UserAgent)
	case a.QueueMessage != nil && a.Type == StorageQueue:
		return a.QueueMessage.outgoing(d.job, o)
	case a.BusQueueMessage != nil && a.Type == ServiceBusQueue:
		return a.BusQueueMessage.outgoing(d.job, now, o, &d.clean)
	case a.BusTopicMessage != nil && a.Type == ServiceBusTopic:
		return a.BusTopicMessage.outgoing(d.job, now, o, &d.clean)
	}
	return nil, errors.New("there is nothing to send")
}

func (d *delivery) timeout() time.Duration {
	if d.action.Request != nil {
		return d.action.Request.timeout()
	}
	return defaultTimeout
}

// exchange sends the request, with a token if it needs one, and follows redirects within the origin.
func (d *delivery) exchange(ctx context.Context, out *outgoing) (*answer, error) {
	var auth *Authentication
	redirects := 0
	if d.action.Request != nil {
		auth, redirects = d.action.Request.Authentication, d.action.Request.Redirects
	}
	pool, err := d.sender.transports.of(d.owner, auth)
	if err != nil {
		return nil, err
	}
	config, needed := tokenRequest(auth, d.sender.options.TokenAuthority)
	if needed {
		token, err := d.token(ctx, config.TokenURL, func(client *http.Client) (string, error) {
			return d.sender.tokens.get(ctx, d.owner, &config, client)
		})
		if err != nil {
			return nil, err
		}
		out.header.Set("Authorization", "Bearer "+token)
	}
	for {
		a, err := d.send(ctx, pool, out)
		if err != nil {
			return nil, err
		}
		if needed && a.status == http.StatusUnauthorized {
			d.sender.tokens.drop(d.owner, &config)
		}
		next := redirected(out.url, a)
		if next == nil || redirects == 0 {
			return a, nil
		}
		if err := d.sender.options.Egress.checkURL(next); err != nil {
			return nil, err
		}
		redirects--
		again := *out
		again.url, out = next, &again
	}
}

// token gets a token over the shared connections. It never follows a redirect, because the request contains a secret.
func (d *delivery) token(ctx context.Context, from string, get func(*http.Client) (string, error)) (string, error) {
	u, err := parseURI(from)
	if err != nil {
		return "", &requestError{tokenEndpoint + err.Error(), nil}
	}
	if err := d.sender.options.Egress.checkURL(u); err != nil {
		return "", &requestError{tokenEndpoint + unreachable, err}
	}
	if u.Scheme == "http" && !d.sender.options.Egress.AllowInsecure {
		return "", &requestError{tokenEndpoint + "credentials need https; Egress.AllowInsecure allows http", nil}
	}
	gated := &gatedTransport{delivery: d}
	defer gated.leave()
	token, err := get(&http.Client{Transport: gated, CheckRedirect: stay})
	if err == nil {
		d.clean.add(token)
	}
	return token, err
}

// A gatedTransport sends the request for a token over the shared connections, if there is room at its host: a stored token needs no request and no room. The
// job's own host has room already, because the request for the token comes before the job's request.
type gatedTransport struct {
	delivery *delivery
	entered  []string // hosts
}

func (g *gatedTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	d, host := g.delivery, hostAndPort(request.URL)
	if host != d.gated {
		if !d.sender.gate.enterHost(d.tenant, host) {
			if request.Body != nil {
				_ = request.Body.Close()
			}
			return nil, errNoRoom
		}
		g.entered = append(g.entered, host)
	}
	return d.sender.transports.shared.RoundTrip(request)
}

func (g *gatedTransport) leave() {
	for _, host := range g.entered {
		g.delivery.sender.gate.leaveHost(g.delivery.tenant, host)
	}
}

func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// send sends one request and reads at most 64 KiB of the answer. An answer whose body breaks off is an answer.
func (d *delivery) send(ctx context.Context, pool *pool, out *outgoing) (*answer, error) {
	var body io.Reader
	if out.body != "" {
		body = strings.NewReader(out.body)
	}
	request, err := http.NewRequestWithContext(ctx, out.method, out.url.String(), body)
	if err != nil {
		return nil, err
	}
	request.Header = out.header.Clone()
	response, err := pool.RoundTrip(request) // a Client would follow redirects, and parse a Location that may be invalid
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	a := &answer{status: response.StatusCode, header: response.Header}
	a.body, err = io.ReadAll(io.LimitReader(response.Body, maxAnswerBody+1))
	if len(a.body) > maxAnswerBody {
		a.body, a.cut = a.body[:maxAnswerBody], true
	} else if err != nil { // the receiver has decided: the status is the result
		f := requestErrorOf(ctx, answerError(err))
		d.log(ctx, out.url.Host, f)
		a.broken, a.cut = f.reason, true
	}
	return a, nil
}

// redirected is the target of a redirect within the origin, with the same method and body; nil: the answer is final.
func redirected(from *url.URL, a *answer) *url.URL {
	if a.status != http.StatusTemporaryRedirect && a.status != http.StatusPermanentRedirect {
		return nil
	}
	location := a.header.Get("Location")
	next, err := from.Parse(location)
	if err != nil || location == "" || next.User != nil || origin(next.String()) != origin(from.String()) {
		return nil
	}
	return next
}

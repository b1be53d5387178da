package action

import (
	"cmp"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"
)

const (
	defaultTimeout = time.Minute
	maxTimeout     = 30 * time.Minute
	maxRedirects   = 5
	timeoutMargin  = 10 * time.Second // from the end of a request to the end of its job's ctx
)

// A Request is a request to a URL. The body is sent byte for byte.
type Request struct {
	URI            string            `json:"uri"`                      // absolute, http or https, ASCII, without user and fragment
	Method         string            `json:"method,omitempty"`         // GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS; empty: POST with a body, else GET
	Headers        map[string]string `json:"headers,omitempty"`        // in addition to the Sender's own
	SecretHeaders  map[string]Secret `json:"secretHeaders,omitempty"`  // headers that are never shown
	SecretQuery    map[string]Secret `json:"secretQuery,omitempty"`    // parameters that are added to the query
	Body           string            `json:"body,omitempty"`           // with every method; empty: none
	Authentication *Authentication   `json:"authentication,omitempty"` // nil: none
	Signing        *Signing          `json:"signing,omitempty"`        // nil: not signed
	Timeout        Interval          `json:"timeout,omitzero"`         // 1 s to 30 min, for tokens, connecting and the answer's body too; 0: 1 min
	SuccessCodes   []string          `json:"successCodes,omitempty"`   // statuses and ranges of them, such as "200-299" and "409", within 200 to 499; nil: "200-299"
	Redirects      int               `json:"redirects,omitempty"`      // the maximum number to follow, 0 to 5, within the origin and only for 307 and 308
}

// The methods that a request may have.
var methods = []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}

// origin is the scheme, host and port of a URI; empty if the URI has no host.
func origin(uri string) string {
	u, err := url.Parse(uri)
	if err != nil || u.Host == "" {
		return ""
	}
	return strings.ToLower(u.Scheme) + "://" + strings.ToLower(u.Hostname()) + ":" + portOf(u)
}

// hostAndPort is the destination of a URL, the same for all spellings of one name.
func hostAndPort(u *url.URL) string {
	return strings.ToLower(strings.TrimSuffix(u.Hostname(), ".")) + ":" + portOf(u)
}

// portOf is the port of a URL, or the default of its scheme.
func portOf(u *url.URL) string {
	if u.Port() != "" {
		return u.Port()
	}
	if strings.EqualFold(u.Scheme, "https") {
		return "443"
	}
	return "80"
}

// prepare converts a request to the stored form.
func (r *Request) prepare() {
	r.Method = strings.ToUpper(r.Method)
	if r.Method == "" {
		r.Method = "GET"
		if r.Body != "" {
			r.Method = "POST"
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Headers)) {
		if !confidential(name) {
			continue
		}
		if _, ok := r.SecretHeaders[name]; ok {
			continue // given twice: Validate reports it
		}
		if r.SecretHeaders == nil {
			r.SecretHeaders = map[string]Secret{}
		}
		r.SecretHeaders[name] = Plain(r.Headers[name])
		delete(r.Headers, name)
	}
}

// confidential reports whether the value of a header is a secret by the header's name.
func confidential(name string) bool {
	name = strings.ToLower(name)
	return name == "authorization" || name == "cookie" || strings.Contains(name, "apikey") ||
		strings.HasSuffix(name, "-key") || strings.HasSuffix(name, "-token") || strings.HasSuffix(name, "-secret")
}

// timeout is the time limit of the request.
func (r *Request) timeout() time.Duration { return cmp.Or(time.Duration(r.Timeout), defaultTimeout) }

// jobTimeout is the time limit of an attempt of the job; 0: the handler's, the worker's or chime's own.
func (a *Action) jobTimeout() time.Duration {
	switch {
	case a.Type == Job:
		return 0
	case a.Request != nil:
		return a.Request.timeout() + timeoutMargin
	}
	return defaultTimeout + timeoutMargin
}

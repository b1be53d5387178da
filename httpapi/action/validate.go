package action

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/chimejobs/chime/httpapi/internal/egress"
)

var errURI = errors.New("want an absolute http or https URI in ASCII, without user and fragment")

var (
	jobNamePattern   = regexp.MustCompile(`^[A-Za-z0-9_.:-]{1,100}$`)
	accountPattern   = regexp.MustCompile(`^[a-z0-9]{3,24}$`)
	queuePattern     = regexp.MustCompile(`^[a-z0-9-]{3,63}$`)
	namespacePattern = regexp.MustCompile(`^[A-Za-z0-9-]{6,50}$`)
	segmentPattern   = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)
	sasPattern       = regexp.MustCompile(`^[A-Za-z0-9%&=._~:/+-]*$`)
	tenantPattern    = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*$`)
	tokenPattern     = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")
)

// Validate returns all mistakes of a prepared action, in the order of its fields. Sealed secrets were checked before.
func (a *Action) Validate(rules Rules) []Problem {
	rules.Limits = rules.Limits.OrDefault()
	v := &validator{rules: rules}
	v.action(mainPath, a)
	v.sizes(a)
	return v.problems
}

// refuse returns why a Sender does not perform an action that it has read from the store: the checks of Validate with the widest limits of all services.
// What an API has accepted passes, also after its limits were lowered or a certificate has expired. Sealed secrets were checked before they were sealed,
// and destinations are checked separately. path is the path of the action.
func (a *Action) refuse(path string, egress Egress) error {
	v := &validator{rules: Rules{Limits: widest, Egress: egress}}
	v.action(path, a)
	for _, p := range v.problems {
		if p.Code != "destination_blocked" {
			return fmt.Errorf("action: %s: %s: %s", p.Field, p.Code, p.Detail)
		}
	}
	return nil
}

type validator struct {
	rules    Rules
	problems []Problem
}

func (v *validator) wrong(code, field, value, detail string) {
	v.problems = append(v.problems, Problem{code, field, cut(value, maxProblemValue), detail})
}

func (v *validator) action(path string, a *Action) {
	if !slices.ContainsFunc(a.parts(), func(p part) bool { return slices.Contains(p.types, a.Type) }) {
		v.wrong("action_type", path+".type", string(a.Type), "want http, https, job, storageQueue, serviceBusQueue or serviceBusTopic")
	} else {
		v.parts(path, a)
	}
	if a.Request != nil {
		v.request(path+".request", a.Request)
	}
	if a.Job != nil {
		v.job(path+".job", a.Job, path == errorPath)
	}
	if a.QueueMessage != nil {
		v.queueMessage(path+".queueMessage", a.QueueMessage)
	}
	if a.BusQueueMessage != nil {
		v.busMessage(path+".serviceBusQueueMessage", a.BusQueueMessage, "queueName")
	}
	if a.BusTopicMessage != nil {
		v.busMessage(path+".serviceBusTopicMessage", a.BusTopicMessage, "topicPath")
	}
	if a.RetryPolicy != nil {
		v.retry(path+".retryPolicy", a.RetryPolicy, a.Type == Job)
	}
	if !slices.Contains([]Excerpt{ExcerptOfFailures, ExcerptAlways, ExcerptNever}, a.Excerpt) {
		v.wrong("type", path+".excerpt", string(a.Excerpt), "want always, never or nothing")
	}
	switch {
	case a.ErrorAction == nil:
	case path == errorPath:
		v.wrong("conflict", path+".errorAction", "", "an error action may not have an error action")
	default:
		v.action(errorPath, a.ErrorAction)
	}
}

// parts checks that an action has the part for its type, and no other part.
func (v *validator) parts(path string, a *Action) {
	for _, p := range a.parts() {
		switch belongs := slices.Contains(p.types, a.Type); {
		case belongs && !p.set:
			v.wrong("required", path+"."+p.field, "", fmt.Sprintf("an action of type %s needs it", a.Type))
		case !belongs && p.set:
			v.wrong("conflict", path+"."+p.field, "", fmt.Sprintf("an action of type %s does not have it", a.Type))
		}
	}
}

func (v *validator) request(path string, r *Request) {
	u := v.uri(path+".uri", r.URI)
	if r.Method != "" && !slices.Contains(methods, r.Method) {
		v.wrong("method", path+".method", r.Method, "want one of "+strings.Join(methods, ", "))
	}
	v.headers(path, r.Headers, r.SecretHeaders)
	for _, name := range slices.Sorted(maps.Keys(r.SecretQuery)) {
		if name == "" || strings.ContainsFunc(name, unicode.IsControl) || !utf8.ValidString(name) {
			v.wrong("name", index(path+".secretQuery", name), name, "want a name without control characters")
		}
	}
	v.body(path+".body", r.Body)
	if auth := r.Authentication; auth != nil {
		v.authentication(path+".authentication", auth)
		if has := authorizationOf(r); auth.hasHeader() && has != "" {
			v.wrong("conflict", index(path+".secretHeaders", has), shownSecret, "authentication sets this header")
		}
	}
	if sign := r.Signing; sign != nil {
		for _, s := range []struct {
			field  string
			secret Secret
		}{{"secret", sign.Secret}, {"previousSecret", sign.PreviousSecret}} {
			if _, err := signingKey(s.secret.text); s.secret.plain() && err != nil {
				v.wrong("signing_secret", path+".signing."+s.field, shownSecret, err.Error())
			}
		}
	}
	if u != nil && u.Scheme == "http" && !v.rules.Egress.AllowInsecure && (!r.Authentication.none() || r.Signing != nil) {
		v.wrong("insecure_credentials", path+".uri", shownURI(u), "credentials and signatures need https; Egress.AllowInsecure allows http")
	}
	if d := time.Duration(r.Timeout); d != 0 && (d < time.Second || d > maxTimeout) {
		v.wrong("timeout_range", path+".timeout", r.Timeout.String(), "want 1 second to 30 minutes")
	}
	for i, codes := range r.SuccessCodes {
		if _, err := parseCodes(codes); err != nil || i >= maxSuccessCodes {
			v.wrong("success_codes", fmt.Sprintf("%s.successCodes[%d]", path, i), codes, "want up to 20 statuses or ranges such as 200-299, from 200 to 499")
		}
	}
	if r.Redirects < 0 || r.Redirects > maxRedirects {
		v.wrong("redirects_range", path+".redirects", fmt.Sprint(r.Redirects), "want 0 to 5")
	}
}

func authorizationOf(r *Request) string {
	for _, name := range append(slices.Sorted(maps.Keys(r.SecretHeaders)), slices.Sorted(maps.Keys(r.Headers))...) {
		if strings.EqualFold(name, "Authorization") {
			return name
		}
	}
	return ""
}

// uri parses the URI, or adds a problem.
func (v *validator) uri(field, text string) *url.URL {
	if text == "" {
		v.wrong("required", field, "", errURI.Error())
		return nil
	}
	if n := utf8.RuneCountInString(text); n > v.rules.Limits.URIChars {
		v.wrong("uri", field, withoutSecrets(text), fmt.Sprintf("want at most %d characters, got %d", v.rules.Limits.URIChars, n))
		return nil
	}
	u, err := parseURI(text)
	if err != nil {
		v.wrong("uri", field, withoutSecrets(text), err.Error())
		return nil
	}
	err = v.rules.Egress.checkURL(u)
	if blocked := (*egress.BlockedError)(nil); errors.As(err, &blocked) {
		v.wrong("destination_blocked", field, u.Host, blocked.Reason)
	} else if err != nil {
		v.wrong("uri", field, withoutSecrets(text), err.Error())
	}
	return u
}

// withoutSecrets is an invalid URI without its user, query and fragment, which may contain passwords and signatures. A password
// may contain ? and #.
func withoutSecrets(uri string) string {
	scheme, rest, found := strings.Cut(uri, "//")
	if found {
		scheme += "//"
	} else {
		scheme, rest = "", uri
	}
	shown := rest
	if end := strings.IndexAny(rest, "?#"); end >= 0 {
		shown = rest[:end]
		if strings.Contains(rest[end:], "@") {
			return scheme + shownSecret
		}
	}
	if at := strings.LastIndexByte(shown, '@'); at >= 0 {
		shown = shownSecret + shown[at:]
	}
	return scheme + shown
}

// parseURI reads an absolute URI in the form that Validate accepts.
func parseURI(text string) (*url.URL, error) {
	if strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == '#' || r == '\\' }) {
		return nil, errURI
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.Hostname() == "" || u.User != nil || u.Opaque != "" {
		return nil, errURI // err contains the text
	}
	return u, nil
}

// shownURI is a URI without its query, which may contain secrets.
func shownURI(u *url.URL) string { return u.Scheme + "://" + u.Host + u.EscapedPath() }

func (v *validator) body(field, text string) {
	if n := utf8.RuneCountInString(text); n > v.rules.Limits.BodyChars {
		v.wrong("body_size", field, "", fmt.Sprintf("want at most %d characters, got %d", v.rules.Limits.BodyChars, n))
	}
}

var refusedHeaders = []string{
	"host", "content-length", "transfer-encoding", "connection", "upgrade", "te", "trailer", "expect", "keep-alive", "idempotency-key",
}

var refusedPrefixes = []string{"proxy-", "webhook-", "chime-"}

// ownHeader reports whether the sender sets a header itself, by its name in lower case.
func ownHeader(lower string) bool {
	return slices.Contains(refusedHeaders, lower) || slices.ContainsFunc(refusedPrefixes, func(p string) bool { return strings.HasPrefix(lower, p) })
}

// asVariable is the name of a header in lower case, with a hyphen for each character that receivers replace by the same one: CGI, PHP, WSGI and Rack read
// Chime-Fence and Chime_Fence as HTTP_CHIME_FENCE, and some do so with a point too.
func asVariable(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(name))
}

// headers checks the headers of a request. A receiver must not take one of them for a header of the sender.
func (v *validator) headers(path string, open map[string]string, secret map[string]Secret) {
	v.fields(path, open, secret, func(name string) bool { return ownHeader(asVariable(name)) })
}

// fields checks headers, or the custom properties of a message, which are sent as headers. own reports whether the sender sets a header itself.
func (v *validator) fields(path string, open map[string]string, secret map[string]Secret, own func(name string) bool) {
	seen := map[string]bool{}
	chars := 0
	one := func(field, name, value, shown string) {
		lower := strings.ToLower(name)
		chars += utf8.RuneCountInString(name) + utf8.RuneCountInString(value)
		switch {
		case !tokenPattern.MatchString(name):
			v.wrong("header_name", field, name, "want letters, digits and !#$%&'*+-.^_`|~")
		case own(name):
			v.wrong("header_name", field, name, "the sender sets this header itself")
		case seen[lower]:
			v.wrong("header_name", field, name, "the header is given twice")
		}
		seen[lower] = true
		if strings.ContainsFunc(value, unicode.IsControl) || !utf8.ValidString(value) {
			v.wrong("header_value", field, shown, "want no control characters")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(open)) {
		one(index(path+".headers", name), name, open[name], open[name])
	}
	for _, name := range slices.Sorted(maps.Keys(secret)) {
		value := ""
		if secret[name].plain() {
			value = secret[name].text
		}
		one(index(path+".secretHeaders", name), name, value, shownSecret)
	}
	if n, most := len(open)+len(secret), v.rules.Limits.Headers; n > most {
		v.wrong("header_count", path+".headers", fmt.Sprint(n), fmt.Sprintf("want at most %d headers", most))
	}
	if most := v.rules.Limits.HeaderChars; chars > most {
		v.wrong("header_size", path+".headers", fmt.Sprint(chars), fmt.Sprintf("want at most %d characters, names and values together", most))
	}
}

const (
	maxSecrets     = 100      // of an action, and of its error action
	maxErrorAction = 64 << 10 // bytes, as stored: see chime.OnDeath
	sealedMargin   = 120      // bytes of a sealed secret in addition to its text in base64
)

// sizes checks the stored size of an action.
func (v *validator) sizes(a *Action) {
	secrets, counts := 0, map[string]int{}
	_ = a.Clone().eachSecret(mainPath, func(s slot) (Secret, error) {
		secrets += len(s.secret.text)
		path := mainPath
		if strings.HasPrefix(s.path, errorPath+".") {
			path = errorPath
		}
		if !s.secret.IsZero() {
			counts[path]++
		}
		return s.secret, nil
	})
	for _, path := range []string{mainPath, errorPath} {
		if n := counts[path]; n > maxSecrets {
			v.wrong("secret_count", path, fmt.Sprint(n), fmt.Sprintf("want at most %d secrets in an action", maxSecrets))
		}
	}
	if most := v.rules.Limits.SecretBytes; secrets > 2*most || secrets > most && !anySealed(a) {
		v.wrong("job_size", mainPath, fmt.Sprint(secrets), fmt.Sprintf("want at most %d bytes of secrets", most))
	}
	if data, err := Encode(a.Public()); err == nil && len(data) > v.rules.Limits.JobBytes { // an error is about a payload, and already a problem
		v.wrong("job_size", mainPath, fmt.Sprint(len(data)), fmt.Sprintf("want at most %d bytes, without secrets", v.rules.Limits.JobBytes))
	}
	if a.ErrorAction != nil {
		if n := storedSize(a.ErrorAction); n > maxErrorAction {
			v.wrong("job_size", errorPath, fmt.Sprint(n), fmt.Sprintf("want at most %d bytes, with sealed secrets", maxErrorAction))
		}
	}
}

// storedSize is an estimate of the stored bytes of an action with sealed secrets; it is rather too high than too low.
func storedSize(a *Action) int {
	data, err := Encode(a.Public())
	if err != nil {
		return 0 // the error is about a payload, and already a problem
	}
	size := len(data)
	_ = a.Clone().eachSecret(mainPath, func(s slot) (Secret, error) {
		if s.secret.sealed {
			size += len(s.secret.text) + sealedMargin
		} else if !s.secret.IsZero() {
			size += len(s.secret.text)*4/3 + sealedMargin
		}
		return s.secret, nil
	})
	return size
}

// anySealed reports whether a secret is sealed: then it is longer than its text.
func anySealed(a *Action) bool {
	sealed := false
	_ = a.Clone().eachSecret(mainPath, func(s slot) (Secret, error) {
		sealed = sealed || s.secret.sealed
		return s.secret, nil
	})
	return sealed
}

package action

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

func (v *validator) job(path string, j *JobTarget, onError bool) {
	if !jobNamePattern.MatchString(j.Name) {
		v.wrong("name", path+".name", j.Name, "want 1 to 100 of A-Z a-z 0-9 _ . : -")
	}
	switch {
	case j.Queue != "" && onError:
		v.wrong("queue", path+".queue", j.Queue, "an error action runs on the queue of the failed job")
	case j.Queue != "" && !jobNamePattern.MatchString(j.Queue):
		v.wrong("queue", path+".queue", j.Queue, "want 1 to 100 of A-Z a-z 0-9 _ . : -")
	}
	if len(j.Payload) > 0 && j.Body != "" {
		v.wrong("conflict", path+".body", "", "give either payload or body")
	}
	if len(j.Payload) > 0 && !json.Valid(j.Payload) {
		v.wrong("type", path+".payload", "", "want JSON")
	}
	v.body(path+".body", j.Body)
}

func (v *validator) queueMessage(path string, m *QueueMessage) {
	if !accountPattern.MatchString(m.StorageAccount) {
		v.wrong("name", path+".storageAccount", m.StorageAccount, "want 3 to 24 of a-z 0-9")
	}
	if !queuePattern.MatchString(m.QueueName) {
		v.wrong("name", path+".queueName", m.QueueName, "want 3 to 63 of a-z 0-9 -")
	}
	if m.SASToken.plain() && !sasPattern.MatchString(m.SASToken.text) {
		v.wrong("name", path+".sasToken", shownSecret, "want the query of a shared access signature, percent-encoded")
	}
	if strings.ContainsFunc(m.Message, func(r rune) bool { return r < ' ' && !strings.ContainsRune("\t\n\r", r) || r == 0xfffe || r == 0xffff }) {
		v.wrong("type", path+".message", "", "want characters that XML allows, because the message is sent as XML: no control characters except tabs and line ends")
	}
	v.body(path+".message", m.Message)
}

func (v *validator) busMessage(path string, m *BusMessage, field string) {
	if !namespacePattern.MatchString(m.Namespace) {
		v.wrong("name", path+".namespace", m.Namespace, "want 6 to 50 of A-Z a-z 0-9 -")
	}
	if m.QueueName != "" && field != "queueName" {
		v.wrong("conflict", path+".queueName", m.QueueName, "a message to a topic does not have it")
	}
	if m.TopicPath != "" && field != "topicPath" {
		v.wrong("conflict", path+".topicPath", m.TopicPath, "a message to a queue does not have it")
	}
	segments := strings.Split(m.path(), "/")
	if len(m.path()) > 260 || slices.ContainsFunc(segments, func(s string) bool { return !segmentPattern.MatchString(s) || s == "." || s == ".." }) {
		v.wrong("name", path+"."+field, m.path(), "want segments of A-Z a-z 0-9 . _ - separated by /, at most 260 characters")
	}
	if b := m.Authentication; b == nil {
		v.wrong("required", path+".authentication", "", "want a shared access key")
	} else {
		if b.Type != "SharedAccessKey" {
			v.wrong("auth_type", path+".authentication.type", b.Type, "want SharedAccessKey")
		}
		if b.SASKeyName == "" || len(b.SASKeyName) > 256 {
			v.wrong("name", path+".authentication.sasKeyName", b.SASKeyName, "want 1 to 256 characters")
		}
	}
	if !slices.Contains([]string{"", "NotSpecified", "NetMessaging", "AMQP"}, m.TransportType) {
		v.wrong("type", path+".transportType", m.TransportType, "want NotSpecified, NetMessaging or AMQP")
	}
	inner := &validator{rules: v.rules}
	inner.fields(path, m.Custom, nil, func(name string) bool { return ownHeader(strings.ToLower(name)) }) // Azure reads these headers by their exact names
	for _, p := range inner.problems {
		p.Field = strings.Replace(p.Field, path+".headers", path+".customMessageProperties", 1)
		v.problems = append(v.problems, p)
	}
	for _, name := range slices.Sorted(maps.Keys(m.Custom)) {
		if slices.Contains([]string{"authorization", "content-type", "brokerproperties"}, strings.ToLower(name)) {
			v.wrong("header_name", index(path+".customMessageProperties", name), name, "the sender sets this header itself")
		}
	}
	v.body(path+".message", m.Message)
}

func (v *validator) retry(path string, p *RetryPolicy, job bool) {
	full := p.orDefault()
	most, retries := maxRetryInterval, maxFixedRetries
	switch full.Type {
	case RetryNone:
		return
	case RetryFixed:
		if job {
			most = maxRetryWait
		}
		if p.Max != 0 {
			v.wrong("conflict", path+".maxInterval", p.Max.String(), "only the type exponential has it")
		}
	case RetryExponential:
		most, retries = maxRetryWait, maxExpRetries
		if full.Max < full.Interval || time.Duration(full.Max) > maxRetryWait {
			v.wrong("retry_interval", path+".maxInterval", full.Max.String(), "want retryInterval to P365D")
		}
	default:
		v.wrong("retry_type", path+".retryType", string(p.Type), "want none, fixed or exponential")
		return
	}
	if d := time.Duration(full.Interval); d < minRetryInterval || d > most {
		v.wrong("retry_interval", path+".retryInterval", full.Interval.String(), fmt.Sprintf("want %v to %v", Interval(minRetryInterval), Interval(most)))
	}
	if *full.Count < 0 || *full.Count > retries {
		v.wrong("retry_count", path+".retryCount", fmt.Sprint(*full.Count), fmt.Sprintf("want 0 to %d", retries))
	}
}

func (v *validator) authentication(path string, a *Authentication) {
	if !slices.Contains([]AuthenticationType{"", NotSpecified, Basic, ClientCertificate, ActiveDirectoryOAuth, OAuth, Bearer}, a.Type) {
		v.wrong("auth_type", path+".type", string(a.Type), "want Basic, ClientCertificate, ActiveDirectoryOAuth, OAuth, Bearer or NotSpecified")
		return
	}
	if a.Type == "" && slices.ContainsFunc(a.fields(), func(f authField) bool { return f.set }) {
		v.wrong("auth_type", path+".type", "", "want Basic, ClientCertificate, ActiveDirectoryOAuth, OAuth or Bearer, for the other fields")
		return
	}
	for _, f := range a.fields() {
		switch {
		case f.set && !f.allowed(a.Type):
			v.wrong("conflict", path+"."+f.name, "", fmt.Sprintf("an authentication of type %q does not have it", a.Type))
		case !f.set && slices.Contains(f.needed, a.Type) && a.PFX.IsZero():
			v.wrong("required", path+"."+f.name, "", fmt.Sprintf("an authentication of type %q needs it", a.Type))
		}
	}
	for _, s := range a.secrets() {
		if s.required && s.secret.IsZero() {
			v.wrong("secret_required", path+"."+s.field, "", "a secret is needed here")
		}
	}
	switch a.Type {
	case Basic:
		if strings.Contains(a.Username, ":") {
			v.wrong("name", path+".username", a.Username, "want no colon")
		}
	case Bearer:
		if a.Token.plain() && strings.ContainsFunc(a.Token.text, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
			v.wrong("header_value", path+".token", shownSecret, "want ASCII without spaces")
		}
	case ClientCertificate:
		if expires, err := time.Parse(time.RFC3339, a.Expires); err == nil && !v.rules.Now.IsZero() && v.rules.Now.After(expires) {
			v.wrong("certificate_expired", path+".certificate", a.Expires, "want a certificate that has not expired")
		}
		if !a.PFX.IsZero() && !a.unopened {
			v.wrong("pfx", path+".pfx", shownSecret, "it was not opened")
		}
	case ActiveDirectoryOAuth:
		if a.Tenant != "" && (len(a.Tenant) > 253 || !tenantPattern.MatchString(a.Tenant)) {
			v.wrong("name", path+".tenant", a.Tenant, "want a GUID or a host name")
		}
	case OAuth:
		if a.TokenURL != "" {
			if u := v.uri(path+".tokenUrl", a.TokenURL); u != nil && u.Scheme == "http" && !v.rules.Egress.AllowInsecure {
				v.wrong("insecure_credentials", path+".tokenUrl", shownURI(u), "credentials need https; Egress.AllowInsecure allows http")
			}
		}
		if a.Style != "" && a.Style != StyleHeader && a.Style != StyleBody {
			v.wrong("type", path+".style", a.Style, "want header or body")
		}
	}
}

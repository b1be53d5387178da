package action

import (
	"bytes"
	"encoding/base64"
	"net/url"
	"slices"
	"strings"
)

// A redactor replaces an action's secrets by ***: in plain form, in the forms in which they were sent or may be returned, such as base64, and in
// every decoding of an [echo].
type redactor struct{ forms []string }

const redacted = "***"

func (r *redactor) add(secrets ...string) {
	for _, s := range secrets {
		plain := []byte(s)
		for _, form := range []string{
			s, strings.TrimSpace(s), base64.StdEncoding.EncodeToString(plain), base64.RawStdEncoding.EncodeToString(plain),
			base64.URLEncoding.EncodeToString(plain), base64.RawURLEncoding.EncodeToString(plain),
		} {
			if form != "" && !slices.Contains(r.forms, form) {
				r.forms = append(r.forms, form)
			}
		}
	}
}

// addAction adds the secrets of an opened action, and the texts derived from them.
func (r *redactor) addAction(a *Action) {
	_ = a.Clone().eachSecret(mainPath, func(s slot) (Secret, error) {
		r.add(s.secret.text)
		if strings.HasSuffix(s.path, ".sasToken") {
			values, _ := url.ParseQuery(s.secret.text)
			r.add(values.Get("sig"))
		}
		if strings.HasSuffix(s.path, ".key") { // a receiver may return a single line of a key
			for line := range strings.Lines(s.secret.text) {
				if line = strings.TrimSpace(line); len(line) >= 16 && !strings.HasPrefix(line, "-----") {
					r.add(line)
				}
			}
		}
		return s.secret, nil
	})
	if a.Request == nil {
		return
	}
	for name, s := range a.Request.SecretHeaders {
		r.addHeader(name, s.text)
	}
	if auth := a.Request.Authentication; auth != nil {
		switch auth.Type {
		case Basic:
			r.add(basicValue(auth))
		case OAuth:
			r.add(base64.StdEncoding.EncodeToString([]byte(url.QueryEscape(auth.ClientID) + ":" + url.QueryEscape(auth.ClientSecret.text))))
		}
	}
}

// addHeader adds the parts of a header that a receiver may return alone: the text after a scheme, the login in Basic, the values of cookies.
func (r *redactor) addHeader(name, value string) {
	if strings.EqualFold(name, "Cookie") {
		for cookie := range strings.SplitSeq(value, ";") {
			_, content, _ := strings.Cut(cookie, "=")
			r.add(strings.TrimSpace(content))
		}
		return
	}
	scheme, credentials, _ := strings.Cut(value, " ")
	credentials = strings.TrimSpace(credentials)
	r.add(credentials)
	if login, err := base64.StdEncoding.DecodeString(credentials); err == nil && strings.EqualFold(scheme, "Basic") {
		_, password, _ := strings.Cut(string(login), ":")
		r.add(string(login), password)
	}
}

// clean replaces all parts that a form covers. Overlapping parts are replaced together.
func (r *redactor) clean(text string) string {
	covered := make([]bool, len(text))
	any := false
	for _, e := range echoes(text) {
		for _, form := range r.forms {
			any = cover(covered, &e, form) || any
		}
	}
	if !any {
		return text
	}
	var out bytes.Buffer
	for i := range len(text) {
		switch {
		case !covered[i]:
			out.WriteByte(text[i])
		case i == 0 || !covered[i-1]:
			out.WriteString(redacted)
		}
	}
	return out.String()
}

// cover marks the places of a form in the original text, and reports whether there are any.
func cover(covered []bool, e *echo, form string) (any bool) {
	for from, done := 0, 0; ; { // this form's places before done are marked
		at := strings.Index(e.text[from:], form)
		if at < 0 {
			return any
		}
		at += from
		start, end := e.place(max(at, done), at+len(form))
		for i := start; i < end; i++ {
			covered[i] = true
		}
		any, from, done = true, at+1, at+len(form)
	}
}

// cleanCut cleans a text that was cut at its end, where a secret or an escape may begin.
func (r *redactor) cleanCut(text string) string {
	tail := max(0, len(text)-maxEscape)
	if at := strings.IndexAny(text[tail:], `%\&`); at >= 0 {
		text = text[:tail+at]
	}
	rest := len(text)
	for _, e := range echoes(text) {
		for _, form := range r.forms {
			for n := min(len(form)-1, len(e.text)); n > 0; n-- {
				if strings.HasSuffix(e.text, form[:n]) {
					start, _ := e.place(len(e.text)-n, len(e.text))
					rest = min(rest, start)
					break
				}
			}
		}
	}
	return r.clean(text[:rest])
}

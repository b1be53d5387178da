package action

import (
	"bytes"
	"encoding/base64"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// A redactor replaces an action's secrets by ***: in plain form, in the forms in which they were sent or may be returned, such as base64, and in
// every decoding of an [echo]. The time it takes grows with the length of the text and with the length of all forms, not with their product.
type redactor struct {
	forms  map[string]bool
	finder *finder // of the forms; nil: it is not built yet
}

const redacted = "***"

func (r *redactor) add(secrets ...string) {
	for _, s := range secrets {
		plain := []byte(s)
		for _, form := range []string{
			s, strings.TrimSpace(s), base64.StdEncoding.EncodeToString(plain), base64.RawStdEncoding.EncodeToString(plain),
			base64.URLEncoding.EncodeToString(plain), base64.RawURLEncoding.EncodeToString(plain),
		} {
			if form == "" || r.forms[form] {
				continue
			}
			if r.forms == nil {
				r.forms = map[string]bool{}
			}
			r.forms[form], r.finder = true, nil
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

// find returns the finder of all forms.
func (r *redactor) find() *finder {
	if r.finder == nil {
		r.finder = newFinder(slices.Collect(maps.Keys(r.forms)))
	}
	return r.finder
}

// clean replaces all parts that a form covers. Overlapping parts are replaced together.
func (r *redactor) clean(text string) string {
	if len(r.forms) == 0 {
		return text
	}
	covered := make([]int, len(text)+1) // how many parts begin at this byte, less those that have ended before it
	any := false
	for _, e := range echoes(text) {
		r.find().ends(e.text, func(end, length int) {
			start, after := e.place(end-length, end)
			covered[start]++
			covered[after]--
			any = true
		})
	}
	if !any {
		return text
	}
	var out bytes.Buffer
	parts, before := 0, 0
	for i := range len(text) {
		parts += covered[i]
		switch {
		case parts == 0:
			out.WriteByte(text[i])
		case before == 0:
			out.WriteString(redacted)
		}
		before = parts
	}
	return out.String()
}

// cleanCut cleans a text that was cut at its end, where a secret or an escape may begin.
func (r *redactor) cleanCut(text string) string {
	tail := max(0, len(text)-maxEscape)
	if at := strings.IndexAny(text[tail:], `%\&`); at >= 0 {
		text = text[:tail+at]
	}
	rest := len(text)
	for _, e := range echoes(text) {
		if n := r.find().begun(e.text); n > 0 {
			start, _ := e.place(len(e.text)-n, len(e.text))
			rest = min(rest, start)
		}
	}
	return r.clean(text[:rest])
}

package action

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"html"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// A redactor puts *** in the place of an action's secrets, as they are and in the forms in which they were sent or may be echoed: percent-encoded,
// in base64, escaped for JSON and HTML.
type redactor struct{ forms []string }

const redacted = "***"

var percentCode = regexp.MustCompile(`%[0-9A-F]{2}`)

func (r *redactor) add(secrets ...string) {
	for _, s := range secrets {
		if s == "" {
			continue
		}
		quoted, _ := json.Marshal(s)
		forms := []string{
			s, strings.TrimSpace(s), url.QueryEscape(s), url.PathEscape(s), html.EscapeString(s), string(quoted[1 : len(quoted)-1]),
			base64.StdEncoding.EncodeToString([]byte(s)), base64.RawURLEncoding.EncodeToString([]byte(s)), base64.RawStdEncoding.EncodeToString([]byte(s)),
			base64.URLEncoding.EncodeToString([]byte(s)), strings.ReplaceAll(s, "\n", `\n`), strings.ReplaceAll(strings.ReplaceAll(s, "\r", `\r`), "\n", `\n`),
		}
		for _, form := range forms {
			for _, f := range []string{form, percentCode.ReplaceAllStringFunc(form, strings.ToLower)} {
				if f != "" && !slices.Contains(r.forms, f) {
					r.forms = append(r.forms, f)
				}
			}
		}
	}
}

// addAction adds the secrets of an opened action, and what is made of them.
func (r *redactor) addAction(a *Action) {
	_ = a.Clone().eachSecret(mainPath, func(s slot) (Secret, error) {
		r.add(s.secret.text)
		if strings.HasSuffix(s.path, ".sasToken") {
			values, _ := url.ParseQuery(s.secret.text)
			r.add(values.Get("sig"))
		}
		if strings.HasSuffix(s.path, ".key") { // a line of a key is as good as the key to some
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
	if auth := a.Request.Authentication; auth != nil {
		switch auth.Type {
		case Basic:
			r.add(basicValue(auth))
		case OAuth:
			r.add(base64.StdEncoding.EncodeToString([]byte(url.QueryEscape(auth.ClientID) + ":" + url.QueryEscape(auth.ClientSecret.text))))
		}
	}
}

// clean replaces what is covered by a form. Parts that overlap are covered together.
func (r *redactor) clean(text string) string {
	covered := make([]bool, len(text))
	any := false
	for _, form := range r.forms {
		for from, end := 0, 0; ; { // before end all is covered that this form covers
			at := strings.Index(text[from:], form)
			if at < 0 {
				break
			}
			at += from
			for i := max(at, end); i < at+len(form); i++ {
				covered[i] = true
			}
			any, from, end = true, at+1, at+len(form)
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

// cleanCut cleans a text that was cut at its end, where a secret may have begun.
func (r *redactor) cleanCut(text string) string {
	rest := 0
	for _, form := range r.forms {
		for n := min(len(form)-1, len(text)); n > rest; n-- {
			if strings.HasSuffix(text, form[:n]) {
				rest = n
				break
			}
		}
	}
	return r.clean(text[:len(text)-rest])
}

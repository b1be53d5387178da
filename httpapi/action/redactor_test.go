package action

import (
	"encoding/base64"
	"maps"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
)

func TestATextIsCleanForAllSecrets(t *testing.T) {
	for _, c := range []struct {
		secrets    []string
		text, want string
	}{
		{nil, "text", "text"},
		{[]string{"ab"}, "xabx", "x***x"},
		{[]string{"abc", "cde"}, "xabcdex", "x***x"},
		{[]string{"aa"}, "aaaaa", "***"},
		{[]string{"*"}, "a*b", "a***b"},
		{[]string{"a b"}, "a+b a%20b", "*** ***"},
		{[]string{"a/b"}, "a%2Fb a%2fb", "*** ***"},
		{[]string{"secret"}, "c2VjcmV0", "***"},
		{[]string{`a"b`}, `a\"b a&#34;b a&quot;b a\u0022b`, "*** *** *** ***"},
		{[]string{"a b/c=é"}, "a%20b/c%3D%C3%A9 a+b%2fc=%c3%a9 a%20b%2Fc=é", "*** *** ***"},
		{[]string{"a b/c=é"}, `a b\/c=\u00e9 a b\/c\u003dé a&#x20;b/c=&eacute;`, "*** *** ***"},
		{[]string{"a\nb😀"}, `a\nb\ud83d\ude00`, "***"},
		{[]string{"%41", "100%"}, "%41 %2541 100% 100%25", "*** *** *** ***"},
		{[]string{"a&b"}, "a&b a&amp;b a&ampb", "*** *** a&ampb"},
		{[]string{"a;b"}, "a;b a&#59;b a&semi;b a&nosuch;b", "*** *** *** a&nosuch;b"},
	} {
		var r redactor
		r.add(c.secrets...)
		if got := r.clean(c.text); got != c.want {
			t.Errorf("%q without %q is %q, want %q", c.text, c.secrets, got, c.want)
		}
	}
	var r redactor
	r.add("secret", "päss")
	for _, cutText := range []string{"the sec", "the p%C3%A4s", "the p%C3%A", "the p&auml;s", `the p\u00e4`, `the p\u00e`} {
		if got := r.cleanCut(cutText); got != "the " {
			t.Errorf("the text %q, which is cut within a secret, is %q", cutText, got)
		}
	}
	r.add(strings.Repeat("a", 30_000)) // every byte begins a secret
	if got := r.clean(strings.Repeat("a", 64_000)); got != redacted {
		t.Errorf("%d bytes are left", len(got))
	}
}

// The finder finds at each place the longest text that ends there, like a search for each text.
func TestAFinderFindsWhatASearchForEachTextFinds(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	word := func(most int) string {
		letters := make([]byte, 1+random.IntN(most))
		for i := range letters {
			letters[i] = "ab"[random.IntN(2)]
		}
		return string(letters)
	}
	for range 2000 {
		texts := make([]string, 1+random.IntN(6))
		for i := range texts {
			texts[i] = word(6)
		}
		f, text := newFinder(texts), word(30)
		want, got := map[int]int{}, map[int]int{}
		begun := 0
		for _, one := range texts {
			for end := 1; end <= len(text); end++ {
				if strings.HasSuffix(text[:end], one) {
					want[end] = max(want[end], len(one))
				}
			}
			for n := range one {
				if strings.HasSuffix(text, one[:n]) {
					begun = max(begun, n)
				}
			}
		}
		f.ends(text, func(end, length int) { got[end] = length })
		if !maps.Equal(got, want) || f.begun(text) != begun {
			t.Fatalf("%q in %q: found %v and begun %d, want %v and %d", texts, text, got, f.begun(text), want, begun)
		}
	}
}

// Redaction takes one pass over a text, however many secrets there are and however often they begin in it.
func TestRedactionIsOnePass(t *testing.T) {
	var r redactor
	for n := range 100 {
		r.add(strings.Repeat("a", 500+n) + "b") // 100 secrets of 64 KiB that begin at each byte of the text
	}
	text := strings.Repeat("a", maxAnswerBody)
	nodes, steps := len(r.find().nodes), 0
	r.find().ends(text, func(int, int) { steps++ })
	if got := r.clean(text); got != text {
		t.Errorf("%d bytes of %d are left", len(got), len(text))
	}
	if got, want := len(r.cleanCut(text)), maxAnswerBody-599; got != want || steps != 0 || nodes > 600_000 {
		t.Errorf("a cut text has %d bytes, want %d; %d places, want 0; %d nodes, want at most 600,000", got, want, steps, nodes)
	}
}

// A receiver may return a part of a header in its error: the token without its scheme, the login in Basic, a cookie.
func TestPartsOfASecretHeaderAreNotNoted(t *testing.T) {
	said := ""
	r := receive(t, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, said, http.StatusForbidden) })
	sender := senderTo(t, r.Server)
	login := base64.StdEncoding.EncodeToString([]byte("anna:canary-password"))
	for _, c := range []struct{ header, value, said string }{
		{"Authorization", "Bearer canary-token", "no such token: canary-token"},
		{"Authorization", "basic " + login, "no such login: " + login},
		{"Authorization", "Basic " + login, "wrong password for anna: canary-password"},
		{"X-Auth-Token", "Token canary-token", "no such token: canary-token"},
		{"Cookie", "theme=dark; sid=canary-session", "no session canary-session"},
	} {
		said = c.said
		a := to(r.URL, func(r *Request) { r.SecretHeaders = map[string]Secret{c.header: Plain(c.value)} })
		a.Excerpt = ExcerptAlways
		w := send(t, sender, a)
		if note := w.Note; !strings.Contains(note, redacted) || strings.Contains(note, "canary") || strings.Contains(note, login) {
			t.Errorf("%s: %s: the note is %q", c.header, c.value, note)
		}
	}
}

// FuzzClean: for any text, neither the cleaned text nor a decoding of it contains a secret.
func FuzzClean(f *testing.F) {
	f.Add("a%20b a+b", "a b")
	f.Add(`a\u00e9\/`, "é/")
	f.Add("&amp;&#x26;", "&")
	f.Fuzz(func(t *testing.T, text, secret string) {
		if strings.Contains(redacted, secret) || strings.ContainsAny(secret, "*") {
			return
		}
		var r redactor
		r.add(secret)
		for _, e := range echoes(text) {
			if e.start != nil && (len(e.start) != len(e.text) || len(e.end) != len(e.text)) {
				t.Fatalf("%q is read as %q with %d places", text, e.text, len(e.start))
			}
		}
		if left := r.clean(text); strings.Contains(left, secret) {
			t.Errorf("%q without %q is %q", text, secret, left)
		}
		if left := r.cleanCut(text); strings.Contains(left, secret) {
			t.Errorf("%q, cut, without %q is %q", text, secret, left)
		}
	})
}

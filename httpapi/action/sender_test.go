package action

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/chimetest"
)

// A receiver records its requests and answers as the test defines.
type receiver struct {
	*httptest.Server
	mu     sync.Mutex
	got    []*http.Request
	bodies []string
	peers  []string
}

func receive(t *testing.T, answer http.HandlerFunc) *receiver {
	t.Helper()
	r := &receiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		r.mu.Lock()
		r.got, r.bodies, r.peers = append(r.got, req), append(r.bodies, string(body)), append(r.peers, req.RemoteAddr)
		r.mu.Unlock()
		req.Body = io.NopCloser(strings.NewReader(string(body)))
		if answer != nil {
			answer(w, req)
		}
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) requests() ([]*http.Request, []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]*http.Request(nil), r.got...), append([]string(nil), r.bodies...)
}

// allowed is an Egress to the receivers of a test.
func allowed(t *testing.T, servers ...*httptest.Server) Egress {
	t.Helper()
	e := Egress{AllowInsecure: true}
	for _, s := range servers {
		n, err := ParseNet(s.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		e.AllowNets = append(e.AllowNets, n)
	}
	return e
}

var planned = time.Date(2027, 3, 1, 10, 0, 0, 0, time.UTC)

// jobOf is the job of an action as schedule demo:report would enqueue it.
func jobOf(t *testing.T, a *Action) *chime.Job {
	t.Helper()
	a = a.Clone()
	a.Prepare(t.Context(), nil)
	if err := a.Seal(testRing(t), Place{"demo", "report"}, nil); err != nil {
		t.Fatal(err)
	}
	data, err := Encode(a)
	if err != nil {
		t.Fatal(err)
	}
	return &chime.Job{
		ID: "demo:report@2027-03-01T10:00:00Z", Name: JobName, Schedule: "demo:report", Planned: planned, Started: planned.Add(time.Second),
		Attempt: 2, MaxAttempts: 5, Fence: 77, Timeout: time.Minute, Payload: data,
	}
}

func send(t *testing.T, s *Sender, a *Action) chimetest.Worked {
	t.Helper()
	return chimetest.Work(t, s.Handle, jobOf(t, a))
}

func senderTo(t *testing.T, servers ...*httptest.Server) *Sender {
	s := NewSender(SenderOptions{Secrets: testRing(t), Egress: allowed(t, servers...)})
	t.Cleanup(s.Close)
	return s
}

func TestARequestIsSentAsItIsStored(t *testing.T) {
	r := receive(t, nil)
	a := full(Authentication{Type: Basic, Username: "anna", Password: Plain("x")})
	a.Request.URI, a.Request.Body = r.URL+"/r?a=1", "{\"a\": \"é\"}\n\x00{{not a template}}"
	a.ErrorAction = nil
	if w := send(t, senderTo(t, r.Server), a); w.Action != chime.Succeeded || w.Note != "Http Action - Response from host '"+r.Listener.Addr().String()+"': 'OK' Response Headers: Content-Length: 0" {
		t.Errorf("%v, note %q", w.Outcome, w.Note)
	}
	requests, bodies := r.requests()
	if len(requests) != 1 || bodies[0] != a.Request.Body {
		t.Fatalf("%d requests, bodies %q", len(requests), bodies)
	}
	got := requests[0]
	if got.Method != "POST" || got.URL.Query().Get("a") != "1" || got.URL.Query().Get("sig") != "canary-main-query" {
		t.Errorf("%s %s", got.Method, got.URL)
	}
	if user, password, ok := got.BasicAuth(); !ok || user != "anna" || password != "canary-main-0" {
		t.Errorf("user %q, password %q", user, password)
	}
	for name, want := range map[string]string{
		"X-Open": "1", "X-Hidden": "canary-main-header", "Idempotency-Key": `"demo:report@2027-03-01T10:00:00Z"`, "Chime-Collection": "demo", "Chime-Job": "report",
		"Chime-Planned": "2027-03-01T10:00:00Z", "Chime-Attempt": "2", "Chime-Fence": "77", "Chime-Action": "main", "Chime-Error": "", "User-Agent": "chime",
		"x-ms-scheduler-jobid": "report", "x-ms-scheduler-jobcollection": "demo", "x-ms-scheduler-expected-execution-time": "2027-03-01T10:00:00Z", "Accept-Encoding": "", "Cookie": "",
	} {
		if got.Header.Get(name) != want {
			t.Errorf("%s: %q, want %q", name, got.Header.Get(name), want)
		}
	}
}

// The library of the standard verifies the signature, with the new and with the old secret.
func TestASignatureIsThatOfStandardWebhooks(t *testing.T) {
	const old = "whsec_b2xkIG9sZCBvbGQgb2xkIG9sZCBvbGQgb2xk"
	r := receive(t, nil)
	sender := senderTo(t, r.Server)
	a := to(r.URL, func(r *Request) {
		r.Body, r.Signing = `{"a":1}`, &Signing{Secret: Plain(secretKey), PreviousSecret: Plain(old)}
	})
	for range 2 {
		if w := send(t, sender, a); w.Action != chime.Succeeded {
			t.Fatal(w.Err)
		}
	}
	requests, bodies := r.requests()
	if requests[0].Header.Get("webhook-id") != requests[1].Header.Get("webhook-id") || strings.Contains(requests[0].Header.Get("webhook-id"), ".") {
		t.Errorf("two attempts have the IDs %q and %q", requests[0].Header.Get("webhook-id"), requests[1].Header.Get("webhook-id"))
	}
	for _, secret := range []string{secretKey, old} {
		webhook, err := standardwebhooks.NewWebhook(secret)
		if err != nil {
			t.Fatal(err)
		}
		if err := webhook.Verify([]byte(bodies[0]), requests[0].Header); err != nil {
			t.Error(err)
		}
		if err := webhook.Verify([]byte(bodies[0]+" "), requests[0].Header); err == nil {
			t.Error("a changed body is accepted")
		}
	}
}

func TestAnAnswerDecidesWhatBecomesOfTheJob(t *testing.T) {
	const fixed = defaultRetryInterval // exactly: chime would lengthen it
	for name, c := range map[string]struct {
		status int
		header map[string]string
		codes  []string
		want   chime.Action
		delay  time.Duration
	}{
		"200":                         {200, nil, nil, chime.Succeeded, 0},
		"202":                         {202, nil, nil, chime.Succeeded, 0},
		"299":                         {299, nil, nil, chime.Succeeded, 0},
		"302":                         {302, map[string]string{"Location": "/other"}, nil, chime.Retried, fixed},
		"404":                         {404, nil, nil, chime.Retried, fixed},
		"409, counted as success":     {409, nil, []string{"200-299", "409"}, chime.Succeeded, 0},
		"200, not counted as success": {200, nil, []string{"204"}, chime.Retried, fixed},
		"410":                         {410, nil, nil, chime.Discarded, 0},
		"410, counted as success":     {410, nil, []string{"410"}, chime.Succeeded, 0},
		"500":                         {500, map[string]string{"Retry-After": "100"}, nil, chime.Retried, fixed},
		"429":                         {429, nil, nil, chime.Retried, fixed},
		"429 with a time":             {429, map[string]string{"Retry-After": "100"}, nil, chime.Retried, 100 * time.Second},
		"503 with a short one":        {503, map[string]string{"Retry-After": "1"}, nil, chime.Retried, 30 * time.Second},
		"503 with a long one":         {503, map[string]string{"Retry-After": "99999999999999999999"}, nil, chime.Retried, 24 * time.Hour},
		"503 with a date long past":   {503, map[string]string{"Retry-After": "Mon, 02 Jan 2006 15:04:05 GMT"}, nil, chime.Retried, 30 * time.Second},
		"503 with an invalid one":     {503, map[string]string{"Retry-After": "-1"}, nil, chime.Retried, fixed},
	} {
		r := receive(t, func(w http.ResponseWriter, _ *http.Request) {
			for name, value := range c.header {
				w.Header().Set(name, value)
			}
			w.WriteHeader(c.status)
			_, _ = io.WriteString(w, "the body")
		})
		w := send(t, senderTo(t, r.Server), to(r.URL, func(r *Request) { r.SuccessCodes = c.codes }))
		if w.Action != c.want || w.Delayed != (c.delay > 0) || w.Delay != c.delay {
			t.Errorf("%s: %v after %v, want %v after %v (%v)", name, w.Action, w.Delay, c.want, c.delay, w.Err)
		}
		if NoteStatus(w.Note) != c.status {
			t.Errorf("%s: the note %q has the status %d", name, w.Note, NoteStatus(w.Note))
		}
		if failed := c.want != chime.Succeeded; strings.Contains(w.Note, "Body: the body") != failed {
			t.Errorf("%s: the note is %q", name, w.Note)
		}
		if requests, _ := r.requests(); len(requests) != 1 {
			t.Errorf("%s: %d requests", name, len(requests))
		}
	}
}

func TestRedirectsStayWithinTheOrigin(t *testing.T) {
	elsewhere := receive(t, nil)
	for name, c := range map[string]struct {
		status    int
		location  string
		redirects int
		want      int // requests
		ends      int // status
	}{
		"without redirects": {307, "/next", 0, 1, 307},
		"307":               {307, "/next", 1, 2, 200},
		"308":               {308, "next?x=1", 5, 2, 200},
		"303":               {303, "/next", 5, 1, 303},
		"more than five":    {307, "/again", 5, 6, 307},
		"another origin":    {307, elsewhere.URL, 5, 1, 307},
		"another scheme":    {307, "https:/next", 5, 1, 307},
		"a user":            {307, "//a:b@{host}/next", 5, 1, 307},
		"an empty Location": {307, "", 5, 1, 307},
		"no URL":            {307, "http://[", 5, 1, 307},
	} {
		r := receive(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/next" {
				return
			}
			w.Header().Set("Location", strings.ReplaceAll(c.location, "{host}", r.Host))
			w.WriteHeader(c.status)
		})
		w := send(t, senderTo(t, r.Server, elsewhere.Server), to(r.URL+"/first", func(r *Request) {
			r.Redirects, r.Body, r.SecretHeaders = c.redirects, "hello", map[string]Secret{"X-Key": Plain("canary")}
		}))
		requests, bodies := r.requests()
		if len(requests) != c.want || NoteStatus(w.Note) != c.ends {
			t.Errorf("%s: %d requests, %q; want %d, status %d", name, len(requests), w.Note, c.want, c.ends)
		}
		last := requests[len(requests)-1]
		if last.Method != "POST" || bodies[len(bodies)-1] != "hello" || last.Header.Get("X-Key") != "canary" {
			t.Errorf("%s: the last request is %s with %q", name, last.Method, bodies[len(bodies)-1])
		}
	}
	if requests, _ := elsewhere.requests(); len(requests) != 0 {
		t.Errorf("another origin got %d requests", len(requests))
	}
}

// Every kind of secret is in every place, and the receiver returns it in its status, headers and body. No note and no error contains it.
func TestNoSecretComesBackFromTheReceiver(t *testing.T) {
	echo := func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		quoted, _ := json.Marshal(r.Header)
		user, password, _ := r.BasicAuth()
		w.Header().Set("Location", "https://example.com/?"+r.URL.RawQuery)
		w.Header().Set("Content-Type", r.Header.Get("X-Hidden"))
		w.WriteHeader(500)
		fmt.Fprintf(w, "%s %s %s %v %s %s %s %s", quoted, r.URL.RawQuery, r.URL.Query(), r.Header, body, user, password, strings.Repeat("canary-é", 20_000))
	}
	for name, auth := range map[string]Authentication{
		"Basic": {Type: Basic, Username: "anna", Password: Plain("x")}, "Bearer": {Type: Bearer, Token: Plain("x")},
		"OAuth": {Type: OAuth, ClientID: "me", ClientSecret: Plain("x")}, "OAuth in the body": {Type: OAuth, ClientID: "me", ClientSecret: Plain("x"), Style: StyleBody},
		"Entra": {Type: ActiveDirectoryOAuth, Tenant: "contoso.example", Audience: "https://api", ClientID: "me", Secret: Plain("x")},
	} {
		for _, refuses := range []bool{false, true} {
			r := receive(t, func(w http.ResponseWriter, r *http.Request) {
				if !strings.HasSuffix(r.URL.Path, "/token") {
					echo(w, r)
				} else if refuses {
					w.WriteHeader(400)
					body, _ := io.ReadAll(r.Body)
					fmt.Fprintf(w, `{"error":"canary","error_description":"%s %s"}`, body, r.Header.Get("Authorization"))
				} else {
					w.Header().Set("Content-Type", "application/json")
					_, _ = io.WriteString(w, `{"access_token":"canary-access","token_type":"Bearer","expires_in":3600}`)
				}
			})
			a := full(auth)
			a.ErrorAction, a.Excerpt, a.Request.URI = nil, ExcerptAlways, r.URL
			a.Request.SecretHeaders["X-Hidden"], a.Request.SecretQuery["sig"] = Plain(`canary "<a&b>\ é`), Plain("canary/ü +%?=&x")
			if auth.Type == OAuth {
				a.Request.Authentication.TokenURL = r.URL + "/token"
			}
			sender := NewSender(SenderOptions{Secrets: testRing(t), Egress: allowed(t, r.Server), TokenAuthority: r.URL})
			// the receiver's own long canary is not a secret of the job; the test replaces it to see the body's end
			a.Request.SecretQuery["end"] = Plain("canary-é")
			w := send(t, sender, a)
			sender.Close()
			said := w.Err.Error() + w.Note
			for _, mark := range []string{"canary", "Y2FuYXJ5", "b25h", secretKey, "whsec_"} {
				if strings.Contains(said, mark) {
					t.Errorf("%s: %q comes back: %s", name, mark, said)
				}
			}
			if w.Action != chime.Retried || len(w.Note) > 2048 {
				t.Errorf("%s: %v, %d bytes: %s", name, w.Outcome, len(w.Note), said)
			}
		}
	}
}

func TestAPlaceInsideTheNetworkGetsNothing(t *testing.T) {
	r := receive(t, nil)
	open := NewSender(SenderOptions{Secrets: testRing(t), Egress: Egress{AllowInsecure: true}})
	denied := allowed(t, r.Server)
	denied.DenyNets = denied.AllowNets
	port := r.Listener.Addr().(*net.TCPAddr).Port
	oauth := func(r *Request) {
		r.Authentication = &Authentication{Type: OAuth, TokenURL: fmt.Sprintf("http://127.0.0.1:%d/token", port), ClientID: "me", ClientSecret: Plain("canary")}
	}
	for name, c := range map[string]struct {
		sender *Sender
		action *Action
	}{
		"an address":         {open, to(r.URL, nil)},
		"denied":             {NewSender(SenderOptions{Egress: denied}), to(r.URL, nil)},
		"a name":             {open, to(fmt.Sprintf("http://localhost:%d/", port), nil)},
		"another spelling":   {open, to(fmt.Sprintf("http://0x7f.1:%d/", port), nil)},
		"a number":           {open, to(fmt.Sprintf("http://2130706433:%d/", port), nil)},
		"a token's endpoint": {open, to("https://example.com/", oauth)},
		"mapped":             {open, to(fmt.Sprintf("http://[::ffff:127.0.0.1]:%d/", port), nil)},
	} {
		w := send(t, c.sender, c.action)
		if w.Action != chime.Retried || !strings.Contains(w.Err.Error(), unreachable) || !strings.Contains(w.Note, unreachable) {
			t.Errorf("%s: %v %v, note %q", name, w.Action, w.Err, w.Note)
		}
	}
	if requests, _ := r.requests(); len(requests) != 0 {
		t.Errorf("%d requests came in", len(requests))
	}
}

func TestAnActionThatCannotBeReadOrOpenedIsNotSent(t *testing.T) {
	r := receive(t, nil)
	sender := senderTo(t, r.Server)
	secret := to(r.URL, func(r *Request) { r.SecretHeaders = map[string]Secret{"X-Key": Plain("canary")} })
	elsewhere := jobOf(t, secret)
	elsewhere.Schedule = "demo:other"
	posed := jobOf(t, secret)
	posed.Schedule, posed.Death = "demo:report", &chime.JobInfo{Schedule: "demo:report"}
	garbage := jobOf(t, secret)
	garbage.Payload = []byte(`{"type":"https"`)
	for name, c := range map[string]struct {
		job  *chime.Job
		want chime.Action
	}{
		"another job's": {elsewhere, chime.Retried}, "the main action's as an error action": {posed, chime.Retried}, "no action": {garbage, chime.Discarded},
	} {
		if w := chimetest.Work(t, sender.Handle, c.job); w.Action != c.want || strings.Contains(w.Err.Error(), "canary") {
			t.Errorf("%s: %v, %v", name, w.Action, w.Err)
		}
	}
	clear := NewSender(SenderOptions{Secrets: testRing(t)})
	if w := send(t, clear, to("http://example.com/", func(r *Request) { r.Authentication = &Authentication{Type: Bearer, Token: Plain("canary")} })); w.Action != chime.Discarded {
		t.Errorf("credentials in clear: %v, %v", w.Action, w.Err)
	}
	if requests, _ := r.requests(); len(requests) != 0 {
		t.Errorf("%d requests came in", len(requests))
	}
}

// The dead job alone decides which secrets its error action may open.
func TestAnErrorActionBelongsToWhatDied(t *testing.T) {
	r := receive(t, nil)
	a := to(r.URL, nil)
	a.ErrorAction = to(r.URL, func(r *Request) { r.SecretHeaders = map[string]Secret{"X-Key": Plain("canary")} })
	a.Prepare(t.Context(), nil)
	if err := a.Seal(testRing(t), Place{"demo", "report"}, nil); err != nil {
		t.Fatal(err)
	}
	data, err := Encode(a.ErrorAction)
	if err != nil {
		t.Fatal(err)
	}
	job := &chime.Job{ID: "x#dead-1", Schedule: "demo:other", Attempt: 1, Payload: data, Death: &chime.JobInfo{Schedule: "demo:report", Planned: planned, LastError: "it\nfailed é" + strings.Repeat("x", 300)}}
	if w := chimetest.Work(t, senderTo(t, r.Server).Handle, job); w.Action != chime.Succeeded {
		t.Fatal(w.Err)
	}
	requests, _ := r.requests()
	if h := requests[0].Header; h.Get("X-Key") != "canary" || h.Get("Chime-Job") != "report" || h.Get("Chime-Planned") != "2027-03-01T10:00:00Z" ||
		!strings.HasPrefix(h.Get("Chime-Error"), "it failed ?xx") || len(h.Get("Chime-Error")) != 256 {
		t.Errorf("%v", h)
	}
	hides := senderTo(t, r.Server)
	hides.options.RedactError = func(schedule, text string) string { return schedule + " " + text[:2] }
	if w := chimetest.Work(t, hides.Handle, job); w.Action != chime.Succeeded {
		t.Fatal(w.Err)
	}
	if requests, _ := r.requests(); requests[1].Header.Get("Chime-Error") != "demo:report it" || !strings.HasPrefix(job.Death.LastError, "it\nfailed") {
		t.Errorf("Chime-Error is %q, want what RedactError returns", requests[1].Header.Get("Chime-Error"))
	}
}

// A note is cut after its secrets are removed; otherwise half of a secret could remain.
func TestANoteIsCutBehindASecretNotWithinIt(t *testing.T) {
	secret := strings.Repeat("0123456789", 8)
	for _, before := range []string{strings.Repeat("x", 1900), strings.Repeat("x", 1940), strings.Repeat("x", 2000), strings.Repeat(secret+" ", 24) + strings.Repeat("x", 60)} {
		r := receive(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(500)
			_, _ = io.WriteString(w, before+secret+strings.Repeat("y", 100))
		})
		w := send(t, senderTo(t, r.Server), to(r.URL, func(r *Request) { r.SecretHeaders = map[string]Secret{"X-Key": Plain(secret)} }))
		if _, body, _ := strings.Cut(w.Note, "Body: "); strings.ContainsAny(body, "0123456789") {
			t.Errorf("%d bytes before the secret: %q", len(before), body[max(len(body)-120, 0):])
		}
	}
}

func TestAHostGetsSoManyRequestsAtOnce(t *testing.T) {
	reached, release := make(chan struct{}), make(chan struct{})
	r := receive(t, func(http.ResponseWriter, *http.Request) {
		reached <- struct{}{}
		<-release
	})
	sender := NewSender(SenderOptions{Egress: allowed(t, r.Server), PerHost: 1})
	first := make(chan error)
	job := jobOf(t, to(r.URL, nil))
	go func() { first <- sender.Handle(t.Context(), job) }()
	<-reached
	for lateness, want := range map[time.Duration]time.Duration{0: 5 * time.Second, time.Minute: 30 * time.Second, time.Hour: time.Minute} {
		late := jobOf(t, to(r.URL, nil))
		late.Started = late.Planned.Add(lateness)
		if w := chimetest.Work(t, sender.Handle, late); w.Action != chime.Snoozed || w.Delay != want {
			t.Errorf("%v late: %v for %v, want %v", lateness, w.Action, w.Delay, want)
		}
	}
	close(release)
	if err := <-first; err != nil {
		t.Error(err)
	}
	go func() { <-reached }()
	if w := send(t, sender, to(r.URL, nil)); w.Action != chime.Succeeded {
		t.Errorf("afterwards: %v", w.Err)
	}
}

func TestATokenServesUntilItIsRefusedOrEnds(t *testing.T) {
	var mu sync.Mutex
	tokens, status, lifetime := 0, 200, 3600
	r := receive(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if r.URL.Path != "/token" {
			w.WriteHeader(status)
			return
		}
		tokens++
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"access_token":"t%d","token_type":"Bearer","expires_in":%d}`, tokens, lifetime)
	})
	sender := senderTo(t, r.Server)
	a := to(r.URL, func(q *Request) {
		q.Authentication = &Authentication{Type: OAuth, TokenURL: r.URL + "/token", ClientID: "me", ClientSecret: Plain("canary"), Scopes: []string{"a", "b"}, Audience: "api"}
	})
	expect := func(step string, want int) {
		t.Helper()
		send(t, sender, a)
		mu.Lock()
		defer mu.Unlock()
		if tokens != want {
			t.Errorf("%s: %d tokens were got, want %d", step, tokens, want)
		}
	}
	expect("first", 1)
	expect("again", 1)
	a.Request.Body = "x"
	expect("with another body", 1)
	mu.Lock()
	status = 401
	mu.Unlock()
	expect("refused", 1)
	mu.Lock()
	status, lifetime = 200, 60
	mu.Unlock()
	expect("after that", 2)
	expect("one that ends in a minute", 3)
	a.Request.Authentication.ClientSecret = Plain("canary2")
	expect("with another secret", 4)
	requests, bodies := r.requests()
	if requests[1].Header.Get("Authorization") != "Bearer t1" || !strings.Contains(bodies[0], "audience=api") || !strings.Contains(bodies[0], "scope=a+b") {
		t.Errorf("the first request has %q, its token's has %q", requests[1].Header.Get("Authorization"), bodies[0])
	}
	other := jobOf(t, a)
	if err := sender.Handle(t.Context(), other); err != nil {
		t.Error(err)
	}
}

func TestALargeAnswerIsNotReadToItsEnd(t *testing.T) {
	written := make(chan int64, 1)
	r := receive(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(500)
		var n int64
		for range 1 << 16 {
			m, err := w.Write(make([]byte, 1<<14)) // a gigabyte in total
			n += int64(m)
			if err != nil {
				break
			}
		}
		written <- n
	})
	if w := send(t, senderTo(t, r.Server), to(r.URL, nil)); w.Action != chime.Retried || len(w.Note) > 2048 {
		t.Errorf("%v, a note of %d bytes", w.Outcome, len(w.Note))
	}
	if n := <-written; n > 64<<20 {
		t.Errorf("%d bytes were written", n)
	}
	long := receive(t, func(w http.ResponseWriter, _ *http.Request) {
		for i := range 20 {
			w.Header().Set(fmt.Sprintf("X-%d", i), strings.Repeat("x", 5000))
		}
	})
	if w := send(t, senderTo(t, long.Server), to(long.URL, nil)); w.Action != chime.Retried || w.Err == nil {
		t.Errorf("100 kB of headers: %v", w.Outcome)
	}
}

func TestErrorsOfTheNetworkHaveNoURL(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := listener.Addr().String()
	listener.Close()
	n, err := ParseNet(at)
	if err != nil {
		t.Fatal(err)
	}
	sender := NewSender(SenderOptions{Egress: Egress{AllowNets: []Net{n}}})
	w := send(t, sender, to("http://"+at+"/path?sig=canary", nil))
	if w.Action != chime.Retried || strings.Contains(w.Err.Error()+w.Note, "canary") || strings.Contains(w.Err.Error(), "/path") || !strings.Contains(w.Note, "No response from host '"+at) {
		t.Errorf("%v, note %q", w.Err, w.Note)
	}
	w = send(t, NewSender(SenderOptions{Secrets: testRing(t), Egress: Egress{AllowNets: []Net{n}, AllowInsecure: true}}), to("https://example.com/", func(r *Request) {
		r.Authentication = &Authentication{Type: OAuth, TokenURL: "http://" + at + "/path?sig=canary", ClientID: "me", ClientSecret: Plain("x-canary")}
	}))
	if w.Action != chime.Retried || strings.Contains(w.Err.Error()+w.Note, "canary") || strings.Contains(w.Err.Error(), "/path") || !strings.Contains(w.Note, "token endpoint: refused") {
		t.Errorf("a token's endpoint: %v, note %q", w.Err, w.Note)
	}
	if !errors.Is(withoutURL(fmt.Errorf("x: %w", io.EOF)), io.EOF) {
		t.Error("an error without a URL is changed")
	}
}

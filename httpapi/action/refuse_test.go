package action

import (
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/chimetest"
)

// byHand is a job whose payload somebody has written to the store, past the checks of an API.
func byHand(t *testing.T, a *Action) *chime.Job {
	t.Helper()
	job := jobOf(t, to("http://example.com/", nil))
	if err := a.Seal(testRing(t), Place{"demo", "report"}, nil); err != nil {
		t.Fatal(err)
	}
	job.Payload = []byte(encoded(t, a))
	return job
}

func TestASenderRepeatsTheChecksOfTheAPI(t *testing.T) {
	r := receive(t, nil)
	sender := senderTo(t, r.Server)
	request := func(change func(*Request)) *Action {
		a := &Action{Type: HTTP, Request: &Request{URI: r.URL, Method: "POST", Body: "x"}}
		change(a.Request)
		return a
	}
	header := func(name, value string) *Action {
		return request(func(r *Request) { r.Headers = map[string]string{name: value} })
	}
	sas := &BusAuthentication{"SharedAccessKey", "send", Plain("key")}
	for name, test := range map[string]struct {
		action *Action
		code   string
	}{
		"a forged key":         {header("idempotency-key", "forged"), "header_name"},
		"a forged fence":       {header("Chime-Fence", "1"), "header_name"},
		"a forged signature":   {header("Webhook-Signature", "v1,x"), "header_name"},
		"a host":               {header("Host", "inside.example"), "header_name"},
		"a length":             {header("Content-Length", "1"), "header_name"},
		"a proxy's credential": {header("Proxy-Authorization", "Basic x"), "header_name"},
		"a fence for CGI":      {header("Chime_Fence", "1"), "header_name"},
		"a line end":           {header("X-A", "a\r\nChime-Fence: 1"), "header_value"},
		"a secret fence":       {request(func(r *Request) { r.SecretHeaders = map[string]Secret{"chime-fence": Plain("1")} }), "header_name"},
		"101 headers": {request(func(r *Request) {
			r.Headers = map[string]string{}
			for i := range 101 {
				r.Headers[fmt.Sprint("X-", i)] = "x"
			}
		}), "header_count"},
		"a method":               {request(func(r *Request) { r.Method = "CONNECT" }), "method"},
		"a user in the URI":      {request(func(r *Request) { r.URI = strings.Replace(r.URI, "http://", "http://u:p@", 1) }), "uri"},
		"a long URI":             {request(func(r *Request) { r.URI += "/" + strings.Repeat("a", 8192) }), "uri"},
		"a long body":            {request(func(r *Request) { r.Body = strings.Repeat("a", 256<<10+1) }), "body_size"},
		"an hour":                {request(func(r *Request) { r.Timeout = Interval(time.Hour) }), "timeout_range"},
		"a hundred redirects":    {request(func(r *Request) { r.Redirects = 100 }), "redirects_range"},
		"every status a success": {request(func(r *Request) { r.SuccessCodes = []string{"200-599"} }), "success_codes"},
		"a part of another type": {&Action{Type: HTTP, Request: &Request{URI: r.URL, Method: "GET"}, QueueMessage: &QueueMessage{StorageAccount: "account", QueueName: "orders", SASToken: Plain("sig=x")}}, "conflict"},
		"a tenant with a path": {request(func(r *Request) {
			r.Authentication = &Authentication{Type: ActiveDirectoryOAuth, Tenant: "a/../b", Audience: "https://a", ClientID: "me", Secret: Plain("x")}
		}), "name"},
		"an account with a host":   {&Action{Type: StorageQueue, QueueMessage: &QueueMessage{StorageAccount: "evil.example/", QueueName: "orders", SASToken: Plain("sig=x")}}, "name"},
		"a namespace with a host":  {&Action{Type: ServiceBusQueue, BusQueueMessage: &BusMessage{QueueName: "orders", Namespace: "evil.example#", Authentication: sas}}, "name"},
		"a property of the sender": {&Action{Type: ServiceBusQueue, BusQueueMessage: &BusMessage{QueueName: "orders", Namespace: "namespace", Authentication: sas, Custom: map[string]string{"Authorization": "x"}}}, "header_name"},
		"a job":                    {&Action{Type: Job, Job: &JobTarget{Name: "admin.wipe"}}, "nothing to send"},
	} {
		t.Run(name, func(t *testing.T) {
			w := chimetest.Work(t, sender.Handle, byHand(t, test.action))
			if w.Action != chime.Discarded || !strings.Contains(w.Err.Error(), test.code) {
				t.Errorf("%v, want it discarded with %s", w.Outcome, test.code)
			}
		})
	}
	if requests, _ := r.requests(); len(requests) > 0 {
		t.Errorf("%d requests were sent", len(requests))
	}
}

// An action that was accepted is sent, although a stricter service would refuse it now.
func TestASenderSendsWhatWasAcceptedWithWiderLimits(t *testing.T) {
	r := receive(t, nil)
	for name, change := range map[string]func(*Request){
		"a long URI":  func(r *Request) { r.URI += "/" + strings.Repeat("a", 4000) },
		"a long body": func(r *Request) { r.Body = strings.Repeat("é", 200_000) },
		"a hundred headers": func(r *Request) {
			r.Headers = map[string]string{}
			for i := range 100 {
				r.Headers[fmt.Sprint("X-", i)] = strings.Repeat("x", 300)
			}
		},
		"Azure's headers": func(r *Request) { r.Headers = map[string]string{"X-Ms-Scheduler-Jobid": "my own"} },
	} {
		a := to(r.URL, change)
		if problems := a.Validate(Rules{Limits: widest, Egress: allowed(t, r.Server)}); len(problems) > 0 {
			t.Fatal(name, problems)
		}
		if w := send(t, senderTo(t, r.Server), a); w.Action != chime.Succeeded {
			t.Errorf("%s: %v", name, w.Err)
		}
	}
	if requests, _ := r.requests(); len(requests) != 4 {
		t.Errorf("%d requests, want 4", len(requests))
	}
	server := httptest.NewTLSServer(nil)
	t.Cleanup(server.Close)
	certificate, key, _, _ := clientCertificate(t, time.Now().Add(-time.Hour))
	expired := &Action{Type: HTTPS, Request: &Request{URI: server.URL, Authentication: &Authentication{Type: ClientCertificate, Certificate: certificate, Key: Plain(key)}}}
	if w := send(t, senderTo(t, server), expired); w.Action != chime.Retried { // by TLS: the server's certificate is not trusted
		t.Errorf("an expired client certificate: %v", w.Outcome)
	}
}

// The headers that identify the attempt are set last.
func TestAnActionReplacesOnlyTheHeadersOfAzure(t *testing.T) {
	job := jobOf(t, to("http://example.com/", nil))
	r := &Request{URI: "http://example.com/", Headers: map[string]string{"idempotency-key": "x", "Chime-Fence": "1", "chime-attempt": "9", "x-ms-scheduler-jobid": "my own"}}
	out, err := r.outgoing(job, planned, "chime")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"Idempotency-Key": `"` + job.ID + `"`, "Chime-Fence": "77", "Chime-Attempt": "2", "X-Ms-Scheduler-Jobid": "my own", "X-Ms-Scheduler-Jobcollection": "demo"} {
		if got := out.header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// CGI, PHP, WSGI and Rack make one variable of both names, so a tenant could replace a header that the receiver trusts. Azure does not.
func TestAHeaderInAnotherSpellingOfTheSendersIsRefused(t *testing.T) {
	for name, refused := range map[string]bool{
		"Chime_Fence": true, "chime.fence": true, "Webhook_Signature": true, "webhook-signature": true, "Idempotency_Key": true, "Idempotency~Key": true,
		"Content_Length": true, "Transfer_Encoding": true, "PROXY_Authorization": true, "HOST": true,
		"X_Forwarded_For": false, "X-Forwarded-For": false, "X_Chime_Fence": false, "Chime": false, "My_Key": false, "X.Y": false,
	} {
		open := request(func(r *Request) { r.Headers = map[string]string{name: "1"} })
		secret := request(func(r *Request) { r.SecretHeaders = map[string]Secret{name: Plain("1")} })
		for where, a := range map[string]*Action{"headers": open, "secretHeaders": secret} {
			want := []string(nil)
			if refused {
				want = []string{fmt.Sprintf("header_name action.request.%s[%q]", where, name)}
			}
			if got := codes(a.Validate(Rules{})); !slices.Equal(got, want) {
				t.Errorf("%s in %s: got %q, want %q", name, where, got, want)
			}
		}
	}
	property := &Action{Type: ServiceBusQueue, BusQueueMessage: &BusMessage{
		QueueName: "orders", Namespace: "namespace", Authentication: &BusAuthentication{"SharedAccessKey", "send", Plain("key")},
		Custom: map[string]string{"chime_fence": "1", "content_length": "2"},
	}}
	if got := codes(property.Validate(Rules{})); got != nil {
		t.Errorf("properties of a message: got %q, want none refused", got)
	}
}

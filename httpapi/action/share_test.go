package action

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/chimetest"
)

// inCollection is a job of a collection.
func inCollection(t *testing.T, collection string, a *Action) *chime.Job {
	t.Helper()
	job := jobOf(t, a)
	job.Schedule = collection + ":report"
	return job
}

// held is a receiver that answers when it is asked to, and a function that waits until a request is there.
func held(t *testing.T) (r *receiver, reached func(), release func()) {
	t.Helper()
	there, open := make(chan struct{}, 100), make(chan struct{})
	r = receive(t, func(w http.ResponseWriter, q *http.Request) {
		there <- struct{}{}
		<-open
		if q.URL.Path == "/token" {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"access_token":"token","token_type":"Bearer","expires_in":3600}`)
		}
	})
	return r, func() { <-there }, func() { close(open) }
}

// An owner whose receiver does not answer keeps nobody else waiting, with any number of collections.
func TestAnOwnerGetsAQuarterOfAHostWithAllItsCollections(t *testing.T) {
	r, reached, release := held(t)
	owners := map[string]string{"a-1": "ann", "a-2": "ann", "b": "ben"}
	sender := NewSender(SenderOptions{Egress: allowed(t, r.Server), PerHost: 8, Owner: func(_ context.Context, collection string) string { return owners[collection] }})
	t.Cleanup(sender.Close)
	ended := make(chan error, 10)
	begin := func(collection string) {
		job := inCollection(t, collection, to(r.URL, nil))
		go func() { ended <- sender.Handle(context.Background(), job) }()
		reached()
	}
	begin("a-1")
	begin("a-2")
	for _, collection := range []string{"a-1", "a-2"} {
		if w := chimetest.Work(t, sender.Handle, inCollection(t, collection, to(r.URL, nil))); w.Action != chime.Snoozed {
			t.Errorf("the third request of an owner, by %s: %v", collection, w.Outcome)
		}
	}
	begin("b") // a test that fails here hangs until its time is over
	begin("none")
	begin("none") // it has no owner
	release()
	for range 5 {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// The slots of an owner are counted over all hosts.
func TestAnOwnerGetsAQuarterOfTheSlots(t *testing.T) {
	hosts := make([]*receiver, 3)
	for i := range hosts {
		hosts[i] = receive(t, nil)
	}
	sender := NewSender(SenderOptions{
		Egress: allowed(t, hosts[0].Server, hosts[1].Server, hosts[2].Server), Slots: 8, Owner: func(_ context.Context, collection string) string { return collection },
	})
	t.Cleanup(sender.Close)
	for _, r := range hosts[:2] {
		if !sender.gate.enter("ann", r.Listener.Addr().String()) {
			t.Fatal("an owner gets less than a quarter of the slots")
		}
	}
	if w := chimetest.Work(t, sender.Handle, inCollection(t, "ann", to(hosts[2].URL, nil))); w.Action != chime.Snoozed {
		t.Errorf("the third job of an owner with two slots: %v", w.Outcome)
	}
	sender.gate.leave("ann", hosts[0].Listener.Addr().String())
	if !sender.gate.enter("ann", hosts[2].Listener.Addr().String()) {
		t.Error("a slot that was left cannot be entered")
	}
}

// A request for a token needs a place at its host like every request. A stored token needs none.
func TestARequestForATokenCountsForItsHost(t *testing.T) {
	login, reached, release := held(t)
	r := receive(t, nil)
	sender := NewSender(SenderOptions{Secrets: testRing(t), Egress: allowed(t, login.Server, r.Server), PerHost: 1})
	t.Cleanup(sender.Close)
	withToken := func(target string) *Action {
		return to(target, func(q *Request) {
			q.Authentication = &Authentication{Type: OAuth, TokenURL: login.URL + "/token", ClientID: "me", ClientSecret: Plain("canary")}
		})
	}
	first := make(chan error, 1)
	job := jobOf(t, to(login.URL, nil))
	go func() { first <- sender.Handle(context.Background(), job) }()
	reached()
	if w := send(t, sender, withToken(r.URL)); w.Action != chime.Snoozed {
		t.Errorf("while the host of the token is full: %v", w.Outcome)
	}
	if requests, _ := r.requests(); len(requests) != 0 {
		t.Errorf("%d requests were sent without a token", len(requests))
	}
	release()
	if err := <-first; err != nil {
		t.Fatal(err)
	}
	if w := send(t, sender, withToken(r.URL)); w.Action != chime.Succeeded {
		t.Errorf("afterwards: %v", w.Err)
	}
	if w := send(t, sender, withToken(login.URL+"/r")); w.Action != chime.Succeeded { // one place is enough for both requests to one host
		t.Errorf("the token's host is the receiver: %v", w.Err)
	}
	sender.gate.enter("", login.Listener.Addr().String())
	if w := send(t, sender, withToken(r.URL)); w.Action != chime.Succeeded {
		t.Errorf("with a stored token, while its host is full: %v", w.Err)
	}
	sender.gate.leave("", login.Listener.Addr().String())
	if n := len(sender.gate.taken); n != 0 {
		t.Errorf("in the end %v is taken", sender.gate.taken)
	}
}

// The request for a token counts for the owner too, and a host that is both the token's and the job's counts it once.
func TestARequestForATokenCountsForItsOwner(t *testing.T) {
	login := receive(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"access_token":"token","token_type":"Bearer","expires_in":3600}`)
	})
	r := receive(t, nil)
	sender := NewSender(SenderOptions{
		Secrets: testRing(t), Egress: allowed(t, login.Server, r.Server), PerHost: 4, Owner: func(_ context.Context, collection string) string { return collection },
	})
	t.Cleanup(sender.Close)
	job := func(target string) *chime.Job {
		a := to(target, func(q *Request) {
			q.Authentication = &Authentication{Type: OAuth, TokenURL: login.URL + "/token", ClientID: "me", ClientSecret: Plain("canary")}
		})
		return jobOf(t, a)
	}
	if !sender.gate.enter("demo", login.Listener.Addr().String()) { // a quarter of four
		t.Fatal("there is no room for the first request")
	}
	if w := chimetest.Work(t, sender.Handle, job(r.URL)); w.Action != chime.Snoozed {
		t.Errorf("while the owner has its share of the token's host: %v", w.Outcome)
	}
	sender.gate.leave("demo", login.Listener.Addr().String())
	if w := chimetest.Work(t, sender.Handle, job(login.URL+"/r")); w.Action != chime.Succeeded {
		t.Errorf("the token's host is the receiver: %v, %v", w.Outcome, w.Err)
	}
}

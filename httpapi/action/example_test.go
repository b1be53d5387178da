package action_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/httpapi/action"
)

// All mistakes of an action are returned at once.
func ExampleAction_Validate() {
	a := &action.Action{Type: action.HTTPS, Request: &action.Request{
		URI: "http://169.254.169.254/latest", Method: "FETCH", Headers: map[string]string{"Host": "example.com"},
	}}
	for _, problem := range a.Validate(action.Rules{}) {
		fmt.Println(problem)
	}
	// Output:
	// action.request.uri: it is an address or this machine; -allow-net of chimed or Egress.AllowNets of a program allows it (destination_blocked)
	// action.request.method: want one of GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS (method)
	// action.request.headers["Host"]: the sender sets this header itself (header_name)
}

// A secret is sealed for its schedule, here report of the collection demo, before the action can be stored.
func ExampleAction_Seal() {
	ring, err := action.ParseRing("k1:MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=")
	if err != nil {
		fmt.Println(err)
		return
	}
	a := &action.Action{Type: action.HTTPS, Request: &action.Request{
		URI: "https://example.com/report", Method: "POST", Authentication: &action.Authentication{Type: action.Bearer, Token: action.Plain("s3cret")},
	}}
	_, err = a.Item()
	fmt.Println(err)
	err = a.Seal(ring, action.Place{Collection: "demo", Job: "report"}, nil)
	fmt.Println(err, a.SecretPaths())
	// Output:
	// action: encode: a secret is not sealed
	// <nil> [action.request.authentication.token]
}

// A Sender is the handler of actions. A service inside the network has to be allowed.
func ExampleSender_Handle() {
	service := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		fmt.Println(r.Method, r.URL.Path, r.Header.Get("Idempotency-Key"), "attempt", r.Header.Get("Chime-Attempt"))
	}))
	defer service.Close()
	inside, err := action.ParseNet(service.Listener.Addr().String())
	if err != nil {
		fmt.Println(err)
		return
	}
	sender := action.NewSender(action.SenderOptions{Egress: action.Egress{AllowNets: []action.Net{inside}}})
	defer sender.Close()
	payload, err := action.Encode(&action.Action{Type: action.HTTP, Request: &action.Request{URI: service.URL + "/report", Method: "POST"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	// In a program: worker.Handle(action.JobName, sender.Handle)
	fmt.Println(sender.Handle(context.Background(), &chime.Job{ID: "report@2027-03-01T10:00:00Z", Attempt: 1, Payload: payload}))
	// Output:
	// POST /report "report@2027-03-01T10:00:00Z" attempt 1
	// <nil>
}

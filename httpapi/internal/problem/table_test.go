package problem

import (
	"net/http"
	"strings"
	"testing"
)

func TestEveryCodeHasItsStatusATitleAndAzuresWord(t *testing.T) {
	want := map[int][]Code{
		401: {"unauthenticated"},
		403: {"forbidden", "target_forbidden", "group_forbidden", "loopback_only"},
		404: {"not_found"},
		405: {"method_not_allowed"},
		409: {"quota_collections", "quota_jobs", "quota_runs", "group_full", "quota_recurrence", "quota_occurrences", "quota_authentication", "name_taken", "job_final",
			"collection_disabled", "collection_deleting", "secret_keys_missing", "busy", "batch_state", "job_not_failing"},
		412: {"changed", "exists"},
		413: {"too_large"},
		415: {"content_type"},
		429: {"too_many"},
		500: {"internal", "misconfigured"},
		503: {"store_unavailable", "store_full"},
		400: {"hours_range", "syntax", "uri"},
	}
	codes := 0
	for status, all := range want {
		for _, code := range all {
			if code.Status() != status || code.Title() == "" || azureWords[status] == "" || http.StatusText(status) == "" {
				t.Errorf("%s: status %d, title %q, Azure's word %q; want %d", code, code.Status(), code.Title(), azureWords[status], status)
			}
			if status != 400 {
				codes++
			}
		}
	}
	if len(kinds) != codes {
		t.Errorf("there are %d codes with a status of their own, want %d", len(kinds), codes)
	}
}

func TestAProblemIsWrittenAsRFC9457AndAzureHaveIt(t *testing.T) {
	p := Invalid([]Mistake{{Code: "uri", Field: "action.request.uri", Value: "<x>", Detail: "want a URI"}, {Code: "method", Field: "action.request.method", Detail: "want GET"}})
	const want = `{"type":"https://github.com/chimejobs/chime/blob/main/docs/http-problems.md#uri","title":"The request is not valid","status":400,` +
		`"detail":"action.request.uri: want a URI","instance":"/jobCollections/demo","code":"uri",` +
		`"errors":[{"code":"uri","field":"action.request.uri","value":"<x>","detail":"want a URI"},{"code":"method","field":"action.request.method","detail":"want GET"}],` +
		`"error":{"code":"BadRequest","message":"action.request.uri: want a URI"}}`
	if got := string(p.Append(nil, "/jobCollections/demo")); got != want {
		t.Errorf("got\n%s, want\n%s", got, want)
	}
	if Invalid(nil) != nil {
		t.Error("no mistake gives a problem")
	}
}

// A mistake may have a longer value than an answer shows.
func TestAValueIsCutToAHundredBytes(t *testing.T) {
	long := []Mistake{{Code: "time_syntax", Field: "startTime", Value: "x" + strings.Repeat("é", 64)}}
	if got, want := Invalid(long).Errors[0].Value, "x"+strings.Repeat("é", 49); got != want {
		t.Errorf("got %q, %d bytes; want %q", got, len(got), want)
	}
	if len(long[0].Value) != 129 {
		t.Error("the caller's mistake was changed")
	}
}

// Several checks may find the same mistake: the first description is the best.
func TestOneMistakeOfAFieldIsReportedOnce(t *testing.T) {
	p := Invalid([]Mistake{
		{Code: "secret_required", Field: "token", Detail: "give it again"}, {Code: "uri", Field: "uri"}, {Code: "secret_required", Field: "token", Detail: "it is needed"},
		{Code: "secret_required", Field: "password"}, {Code: "conflict", Field: "token"},
	})
	if len(p.Errors) != 4 || p.Errors[0].Detail != "give it again" || p.Errors[2].Field != "password" || p.Errors[3].Code != "conflict" {
		t.Errorf("got %+v, want four, the second one of secret_required for token left out", p.Errors)
	}
}

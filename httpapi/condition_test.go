package httpapi

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/chimejobs/chime/httpapi/internal/service"
)

func TestConditionsAreReadStrictly(t *testing.T) {
	for _, c := range []struct {
		name   string
		header http.Header
		want   service.Condition
		status int // of the problem; 0: none
	}{
		{"none", nil, service.Condition{}, 0},
		{"one", http.Header{"If-Match": {`"5"`}}, service.Condition{Match: []int64{5}}, 0},
		{"a list", http.Header{"If-Match": {`"5", "7"`}}, service.Condition{Match: []int64{5, 7}}, 0},
		{"a list without spaces", http.Header{"If-Match": {`"5","7"`}}, service.Condition{Match: []int64{5, 7}}, 0},
		{"a list with empty places", http.Header{"If-Match": {`, "5" ,, "7",`}}, service.Condition{Match: []int64{5, 7}}, 0},
		{"two headers", http.Header{"If-Match": {`"5"`, `"7"`}}, service.Condition{Match: []int64{5, 7}}, 0},
		{"any", http.Header{"If-Match": {`*`}}, service.Condition{Any: true}, 0},
		{"a weak tag matches nothing", http.Header{"If-Match": {`W/"5"`}}, service.Condition{Match: []int64{noRevision}}, 0},
		{"a weak tag and a strong one", http.Header{"If-Match": {`W/"5", "7"`}}, service.Condition{Match: []int64{noRevision, 7}}, 0},
		{"a tag of another server matches nothing", http.Header{"If-Match": {`"abc"`}}, service.Condition{Match: []int64{noRevision}}, 0},
		{"leading zeros match nothing", http.Header{"If-Match": {`"05"`}}, service.Condition{Match: []int64{noRevision}}, 0},
		{"zero matches nothing", http.Header{"If-Match": {`"0"`}}, service.Condition{Match: []int64{noRevision}}, 0},
		{"a negative number matches nothing", http.Header{"If-Match": {`"-5"`}}, service.Condition{Match: []int64{noRevision}}, 0},
		{"a number that is too large matches nothing", http.Header{"If-Match": {`"9223372036854775808"`}}, service.Condition{Match: []int64{noRevision}}, 0},
		{"a comma in a tag", http.Header{"If-Match": {`"5,7"`}}, service.Condition{Match: []int64{noRevision}}, 0},
		{"no quotes", http.Header{"If-Match": {`5`}}, service.Condition{}, 412},
		{"one quote", http.Header{"If-Match": {`"5`}}, service.Condition{}, 412},
		{"no comma between two", http.Header{"If-Match": {`"5" "7"`}}, service.Condition{}, 412},
		{"* and a tag", http.Header{"If-Match": {`*, "5"`}}, service.Condition{}, 412},
		{"empty", http.Header{"If-Match": {``}}, service.Condition{}, 412},
		{"commas only", http.Header{"If-Match": {`,,`}}, service.Condition{}, 412},
		{"weak without quotes", http.Header{"If-Match": {`W/5`}}, service.Condition{}, 412},
		{"create only", http.Header{"If-None-Match": {`*`}}, service.Condition{None: true}, 0},
		{"If-None-Match with a tag", http.Header{"If-None-Match": {`"5"`}}, service.Condition{}, 412},
		{"empty, not", http.Header{"If-None-Match": {``}}, service.Condition{}, 412},
		{"both", http.Header{"If-None-Match": {`*`}, "If-Match": {`"5"`}}, service.Condition{None: true, Match: []int64{5}}, 0},
	} {
		api, backend := newTestAPI(t, Options{}, "demo")
		r := httptest.NewRequest("DELETE", "/jobCollections/other", nil)
		for name, values := range c.header {
			r.Header[name] = values
		}
		got := serve(api, r)
		if c.status != 0 {
			if got.Code != c.status || backend.calls != 0 {
				t.Errorf("%s: got %d after %d calls of the store, want %d after none", c.name, got.Code, backend.calls, c.status)
			}
			continue
		}
		if backend.when.Any != c.want.Any || backend.when.None != c.want.None || !slices.Equal(backend.when.Match, c.want.Match) {
			t.Errorf("%s: got %+v, want %+v (status %d: %s)", c.name, backend.when, c.want, got.Code, got.Body)
		}
	}
}

// The ETags that allow a request on a job at revision 2.
func TestAnETagLetsThroughWhatTheClientHasSeen(t *testing.T) {
	const body = `{"action": {"type": "https", "request": {"uri": "https://example.com/r"}}}`
	for _, c := range []struct {
		method, job, header string
		status              int
		code                string
	}{
		{"PUT", "there", "", 200, ""},
		{"PUT", "there", `If-Match: "2"`, 200, ""},
		{"PUT", "there", `If-Match: "1", "2"`, 200, ""},
		{"PUT", "there", `If-Match: *`, 200, ""},
		{"PUT", "there", `If-Match: "1"`, 412, "changed"},
		{"PUT", "there", `If-Match: W/"2"`, 412, "changed"},
		{"PUT", "there", `If-None-Match: *`, 412, "exists"},
		{"PUT", "new", "", 201, ""},
		{"PUT", "new", `If-None-Match: *`, 201, ""},
		{"PUT", "new", `If-Match: "2"`, 412, "changed"},
		{"PUT", "new", `If-Match: *`, 412, "changed"},
		{"PATCH", "there", `If-Match: "2"`, 200, ""},
		{"PATCH", "there", `If-Match: "1"`, 412, "changed"},
		{"PATCH", "new", `If-Match: *`, 412, "changed"},
		{"PATCH", "new", "", 404, "not_found"},
		{"DELETE", "there", `If-Match: "2"`, 200, ""},
		{"DELETE", "there", `If-Match: "1"`, 412, "changed"},
		{"DELETE", "there", `If-Match: W/"2"`, 412, "changed"},
		{"DELETE", "new", "", 204, ""},
		{"DELETE", "new", `If-Match: *`, 412, "changed"},
		{"GET", "there", `If-None-Match: "2"`, 200, ""}, // the answer changes without a new tag, so there is no 304
	} {
		api, backend := newTestAPI(t, Options{}, "demo")
		backend.addJob("demo", "there")
		text := ""
		if c.method == "PUT" || c.method == "PATCH" {
			text = body
		}
		got := send(api, c.method, "/jobCollections/demo/jobs/"+c.job, text, c.header)
		if got.Code != c.status || c.code != "" && problemCode(t, got) != c.code {
			t.Errorf("%s %s with %s: got %d %s, want %d %s", c.method, c.job, c.header, got.Code, got.Body, c.status, c.code)
		}
		if etag, want := got.Header().Get("ETag"), map[bool]string{true: `"2"`, false: `"3"`}[c.method == "GET"]; (c.status == 200 || c.status == 201) && c.method != "DELETE" && etag != want {
			t.Errorf("%s %s with %s: got the ETag %s, want %s", c.method, c.job, c.header, etag, want)
		}
	}
}

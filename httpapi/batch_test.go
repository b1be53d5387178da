package httpapi

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
)

const oneBatch = `{"id": "import-7", "note": "by anna", "keep": "P7D", "doneWithoutCancelled": true, "done": {"name": "summary"}, "ended": {"name": "clean", "queue": "low"}, "value": [` + oneTask + `]}`

func TestBatchesAreAnswered(t *testing.T) {
	api, backend := newTestAPI(t, Options{PublicURL: "https://jobs.example.com"}, "demo")
	got := send(api, "POST", "/jobCollections/demo/batches", oneBatch)
	if got.Code != 200 ||
		strings.TrimSpace(got.Body.String()) != `{"id":"import-7","state":"running","note":"by anna","total":1,"existing":0,"left":1,"done":0,"dead":0,"cancelled":0,"createdTime":"2001-09-09T01:46:40Z"}` {
		t.Errorf("created: %d: %s", got.Code, got.Body)
	}
	if again := answered(t, send(api, "POST", "/jobCollections/demo/batches", oneBatch)); again["repeated"] != true {
		t.Errorf("repeated: %v", again)
	}
	for i := range 5 {
		backend.addBatch("demo", fmt.Sprint("b", i))
	}
	var ids []string
	for target := "/jobCollections/demo/batches?$top=2&$filter=" + url.QueryEscape("state eq 'Done'"); target != ""; {
		page := answered(t, send(api, "GET", target, ""))
		for _, one := range page["value"].([]any) {
			ids = append(ids, one.(map[string]any)["id"].(string))
		}
		next, _ := page["nextLink"].(string)
		target = strings.TrimPrefix(next, "https://jobs.example.com")
	}
	if got := strings.Join(ids, " "); got != "b0 b1 b2 b3 b4" {
		t.Errorf("listed %s", got)
	}
	for _, c := range []struct {
		status         int
		method, target string
	}{
		{200, "GET", "/b0"}, {404, "GET", "/none"}, {404, "GET", "/-"}, {200, "POST", "/b0/cancel"}, {404, "POST", "/none/cancel"}, {200, "DELETE", "/b0"}, {204, "DELETE", "/b0"},
		{400, "GET", "?$filter=odd"}, {400, "GET", "?$skiptoken=%3F"}, {405, "PUT", "/b0"},
	} {
		if got := send(api, c.method, "/jobCollections/demo/batches"+c.target, ""); got.Code != c.status {
			t.Errorf("%s %s: got %d, want %d: %s", c.method, c.target, got.Code, c.status, got.Body)
		}
	}
}

func TestAWrongBatchSaysAllThatIsWrong(t *testing.T) {
	api, _ := newTestAPI(t, Options{}, "demo")
	for body, want := range map[string]string{
		`{}`: "required value", `null`: "type body", `[]`: "type body", `{"value": []}`: "task_count value", `{"value": {}}`: "type value", `{"value": [` + oneTask + `], "more": 1}`: "unknown_field more",
		`{"id": "a/b", "note": "` + strings.Repeat("x", 1025) + `", "keep": "PT59S", "done": {"title": 1}, "value": [{}]}`: "name id, note_size note, keep_range keep, unknown_field done.title, required value[0].job",
	} {
		got := answered(t, send(api, "POST", "/jobCollections/demo/batches", body))
		var found []string
		mistakes, _ := got["errors"].([]any)
		for _, one := range mistakes {
			m := one.(map[string]any)
			found = append(found, fmt.Sprint(m["code"], " ", m["field"]))
		}
		for part := range strings.SplitSeq(want, ", ") {
			if !strings.Contains(strings.Join(found, ", "), part) {
				t.Errorf("%.60s: got %q, want %s", body, found, part)
			}
		}
	}
}

// The tasks of a batch cost as much as other tasks.
func TestABatchCountsAsItsTasks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api, _ := newTestAPI(t, Options{Rates: Rates{Writes: 1}}, "demo")
		many := `{"value": [` + strings.Repeat(oneTask+",", 499) + oneTask + `]}`
		for i, want := range []int{200, 429} {
			if got := send(api, "POST", "/jobCollections/demo/batches", many); got.Code != want {
				t.Errorf("request %d: got %d, want %d: %s", i+1, got.Code, want, got.Body)
			}
		}
	})
}

package httpapi

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/httpapi/internal/resource"
	"github.com/chimejobs/chime/httpapi/internal/service"
)

// names are the last parts of the names in a list.
func names(t *testing.T, entries any) []string {
	t.Helper()
	var all []string
	for _, entry := range entries.([]any) {
		name := entry.(map[string]any)["name"].(string)
		all = append(all, name[strings.LastIndex(name, "/")+1:])
	}
	return all
}

// walk follows nextLink to the end, and calls between with the last name of each page.
func walk(t *testing.T, api *API, target string, between func(last string)) (seen []string, pages int) {
	t.Helper()
	for target != "" {
		got := send(api, "GET", target, "")
		if got.Code != 200 {
			t.Fatalf("GET %s: got %d: %s", target, got.Code, got.Body)
		}
		page := answered(t, got)
		seen = append(seen, names(t, page["value"])...)
		pages++
		next, _ := page["nextLink"].(string)
		target = strings.TrimPrefix(next, "http://example.com")
		between(seen[len(seen)-1])
	}
	return seen, pages
}

func TestAListIsReadWholeWhileJobsComeAndGo(t *testing.T) {
	api, backend := newTestAPI(t, Options{}, "demo")
	want := map[string]bool{}
	for i := range 250 {
		name := fmt.Sprintf("job-%03d", i)
		backend.addJob("demo", name)
		want[name] = true
	}
	seen, pages := walk(t, api, "/jobCollections/demo/jobs?$top=40", func(last string) {
		backend.addJob("demo", "a-new-before-"+last) // before all entries that are not read yet
		backend.addJob("demo", last+"-new")          // just after the entries that were read
		delete(backend.jobs, resource.JobName{Collection: "demo", Job: last})
	})
	counted := map[string]int{}
	for _, name := range seen {
		counted[name]++
	}
	for name := range want {
		if counted[name] != 1 {
			t.Errorf("%sexisted until it was read, but is in the list %d times, want once", name, counted[name])
		}
	}
	if pages < 7 {
		t.Errorf("250 jobs in pages of 40 were %d pages", pages)
	}
}

func TestALinkToTheNextPageKeepsTheParameters(t *testing.T) {
	for _, c := range []struct {
		name, target, public, want string
	}{
		{"bare", "/jobCollections/demo/jobs?$top=1", "", "http://example.com/jobCollections/demo/jobs"},
		{"with a filter", "/jobCollections/demo/jobs?$top=1&$filter=state+eq+'Enabled'", "", "http://example.com/jobCollections/demo/jobs"},
		{"public URL", "/jobCollections/demo/jobs?$top=1&$skip=1", "https://jobs.example.org/scheduler/", "https://jobs.example.org/scheduler/jobCollections/demo/jobs"},
		{"Azure's mount", "/subscriptions/1/resourceGroups/gr%C3%BCn/providers/Microsoft.Scheduler/jobCollections/demo/jobs?$top=1&api-version=2016-03-01", "",
			"http://example.com/subscriptions/1/resourceGroups/gr%C3%BCn/providers/Microsoft.Scheduler/jobCollections/demo/jobs"},
		{"collections", "/jobCollections?$top=1", "", "http://example.com/jobCollections"},
	} {
		api, backend := newTestAPI(t, Options{PublicURL: c.public}, "demo", "other", "third")
		for _, job := range []string{"a", "b", "c"} {
			backend.addJob("demo", job)
		}
		got := send(api, "GET", c.target, "", "X-Forwarded-Host: evil.example", "X-Forwarded-Proto: https")
		next, _ := answered(t, got)["nextLink"].(string)
		at, err := url.Parse(next)
		asked, _ := url.ParseQuery(strings.SplitN(c.target, "?", 2)[1])
		if err != nil || strings.SplitN(next, "?", 2)[0] != c.want {
			t.Errorf("%s: got the link %q, want one to %s: %s", c.name, next, c.want, got.Body)
			continue
		}
		for _, kept := range []string{"$top", "$filter", "api-version"} {
			if at.Query().Get(kept) != asked.Get(kept) {
				t.Errorf("%s: the link has %s=%q, want %q", c.name, kept, at.Query().Get(kept), asked.Get(kept))
			}
		}
		if at.Query().Has("$skip") || at.Query().Get("$skiptoken") == "" {
			t.Errorf("%s: the link %q has $skip, or no $skiptoken", c.name, next)
		}
	}
}

func TestParametersOfListsAreChecked(t *testing.T) {
	const jobs, history, next = "/jobCollections/demo/jobs", "/jobCollections/demo/jobs/report/history", "/jobCollections/demo/jobs/report/next"
	for _, c := range []struct {
		target, query string
		status        int
		code          string
	}{
		{jobs, "$top=1", 200, ""},
		{jobs, "$top=100", 200, ""},
		{jobs, "%24top=100", 200, ""},
		{jobs, "$top=0", 400, "top"},
		{jobs, "$top=101", 400, "top"},
		{jobs, "$top=1e12", 400, "top"},
		{jobs, "$top=-1", 400, "top"},
		{jobs, "$top=+1", 400, "top"},
		{jobs, "$top=007", 400, "top"},
		{jobs, "$top=1&$top=2", 400, "top"},
		{jobs, "$top=99999999999999999999", 400, "top"},
		{jobs, "$skip=0", 200, ""},
		{jobs, "$skip=10000", 200, ""},
		{jobs, "$skip=10001", 400, "skip"},
		{jobs, "$skip=-1", 400, "skip"},
		{jobs, "$filter=state eq 'Enabled'", 200, ""},
		{jobs, "$filter=state eq enabled", 200, ""},
		{jobs, "$filter=STATE EQ 'FAULTED'", 200, ""},
		{jobs, "$filter= state  eq  'completed' ", 200, ""},
		{jobs, "$filter=state eq 'Running'", 400, "filter"},
		{jobs, "$filter=state ne 'Enabled'", 400, "filter"},
		{jobs, "$filter=state eq 'Enabled", 400, "filter"},
		{jobs, "$filter=state eq 'Enabled' or state eq 'Disabled'", 400, "filter"},
		{jobs, "$filter=status eq 'Failed'", 400, "filter"},
		{jobs, "$filter=name eq 'a'", 400, "filter"},
		{jobs, "$skiptoken=cmVwb3J0", 200, ""},
		{jobs, "$skiptoken=report", 400, "skiptoken"},
		{jobs, "$skiptoken=Li4v", 400, "skiptoken"},
		{history, "$filter=status eq 'Failed'", 200, ""},
		{history, "$filter=status eq postponed", 200, ""},
		{history, "$filter=state eq 'Enabled'", 400, "filter"},
		{history, "$skiptoken=Nw", 200, ""},
		{history, "$skiptoken=cmVwb3J0", 400, "skiptoken"},
		{next, "count=1", 200, ""},
		{next, "count=100", 200, ""},
		{next, "count=0", 400, "count"},
		{next, "count=101", 400, "count"},
		{next, "count=many", 400, "count"},
		{"/jobCollections", "$filter=state eq 'Disabled'", 200, ""},
		{"/jobCollections", "$filter=state eq 'Faulted'", 400, "filter"},
	} {
		api, backend := newTestAPI(t, Options{}, "demo")
		backend.addJob("demo", "report")
		got := send(api, "GET", c.target+"?"+strings.ReplaceAll(c.query, " ", "%20"), "")
		if got.Code != c.status || c.code != "" && problemCode(t, got) != c.code {
			t.Errorf("%s?%s: got %d %s, want %d %s", c.target, c.query, got.Code, got.Body, c.status, c.code)
		}
		if c.status != 200 && backend.calls != 0 {
			t.Errorf("%s?%s: the store was called", c.target, c.query)
		}
	}
	api, _ := newTestAPI(t, Options{}, "demo")
	got := answered(t, send(api, "GET", jobs+"?$top=0&$skip=-1&$filter=x&$skiptoken=x", ""))
	if wrong, _ := got["errors"].([]any); len(wrong) != 4 {
		t.Errorf("four wrong parameters: got %d mistakes, want all four: %v", len(wrong), got)
	}
}

func TestTheListOfCollectionsHasThoseThatTheCallerMayRead(t *testing.T) {
	api, _ := newTestAPI(t, Options{Authenticate: func(*http.Request) (Principal, error) {
		return Principal{Name: "p", Allows: func(p Permission, name string) bool { return p == Read && strings.HasPrefix(name, "own") }}, nil
	}}, "own-1", "foreign-1", "own-2", "zfigure", "own-3")
	seen, _ := walk(t, api, "/jobCollections?$top=2", func(string) {})
	if got, want := strings.Join(seen, " "), "own-1 own-2 own-3"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAHistoryIsShownAsExecutions(t *testing.T) {
	api, backend := newTestAPI(t, Options{}, "demo")
	backend.addJob("demo", "report")
	at := time.Date(2027, 3, 1, 12, 0, 0, 250e6, time.FixedZone("", 2*3600))
	backend.history = []service.Execution{
		{Fence: 9, Start: at, End: at.Add(1500 * time.Millisecond), Expected: at, Action: "MainAction", Status: "Failed", Message: `status "500" & <more>`, Retry: 1, Occurrence: "demo:report@x", Outcome: chime.RunFailed, HTTPStatus: 500},
		{Fence: 7, Expected: at, Action: "MainAction", Status: "Postponed", Outcome: chime.RunMissed},
		{Fence: 3, Start: at, End: at, Action: "ErrorAction", Status: "Completed", Outcome: chime.RunDone, Manual: true},
	}
	got := send(api, "GET", "/jobCollections/demo/jobs/report/history", "")
	want := `{"value":[{"id":"/jobCollections/demo/jobs/report/history/9","type":"Microsoft.Scheduler/jobCollections/jobs/history","name":"demo/report/9","properties":{` +
		`"startTime":"2027-03-01T10:00:00.25Z","endTime":"2027-03-01T10:00:01.75Z","expectedExecutionTime":"2027-03-01T10:00:00.25Z","actionName":"MainAction","status":"Failed",` +
		`"message":"status \"500\" & <more>","retryCount":1,"chime":{"occurrence":"demo:report@x","fence":9,"outcome":"failed","httpStatus":500,"durationMs":1500,"manual":false}}},`
	if !strings.HasPrefix(got.Body.String(), want) {
		t.Errorf("got  %s\nwant %s", got.Body, want)
	}
	seen, pages := walk(t, api, "/jobCollections/demo/jobs/report/history?$top=1", func(string) {
		backend.history = append([]service.Execution{{Fence: backend.history[0].Fence + 1, Action: "MainAction", Status: "Completed"}}, backend.history...)
	})
	if got := strings.Join(seen, " "); got != "9 7 3" || pages != 3 {
		t.Errorf("a history that grows while it is read: got %q in %d pages, want 9 7 3 in 3", got, pages)
	}
}

func TestInstantsAreInUTCWithTheRuleInWords(t *testing.T) {
	api, backend := newTestAPI(t, Options{}, "demo")
	backend.addJob("demo", "report")
	got := send(api, "GET", "/jobCollections/demo/jobs/report/next?count=2", "")
	if want := `{"value":["2027-03-01T08:00:00Z","2027-03-02T08:00:00Z"],"text":"every day"}` + "\n"; got.Body.String() != want {
		t.Errorf("got %s, want %s", got.Body, want)
	}
	if got := len(answered(t, send(api, "GET", "/jobCollections/demo/jobs/report/next", ""))["value"].([]any)); got != fewNext {
		t.Errorf("without a count there are %d, want %d", got, fewNext)
	}
}

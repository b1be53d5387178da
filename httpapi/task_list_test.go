package httpapi

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/chimejobs/chime"
)

func TestTasksAreListedInPages(t *testing.T) {
	api, backend := newTestAPI(t, Options{PublicURL: "https://jobs.example.com"}, "demo", "other")
	for i := range 5 {
		backend.addTask("demo", fmt.Sprint("t", i))
	}
	backend.addTask("other", "foreign")
	var ids []string
	for target := "/jobCollections/demo/tasks?$top=2&order=newest&queue=mail&filter=" + url.QueryEscape(`state:dead group:"a b"`); target != ""; {
		page := answered(t, send(api, "GET", target, ""))
		for _, one := range page["value"].([]any) {
			ids = append(ids, one.(map[string]any)["id"].(string))
		}
		if q := backend.query; q.Filter != `state:dead group:"a b"` || q.Order != chime.NewestFirst || q.Queue != "mail" || q.Top != 2 || !q.Arguments {
			t.Errorf("the query is %+v", q)
		}
		next, _ := page["nextLink"].(string)
		target = strings.TrimPrefix(next, "https://jobs.example.com")
	}
	if got := strings.Join(ids, " "); got != "t0 t1 t2 t3 t4" {
		t.Errorf("listed %s", got)
	}
	for _, query := range []string{"?order=up", "?$top=0", "?$skiptoken=%3F", "?queue=%2F", "?filter=a&filter=b", "?filter=" + strings.Repeat("a", 2049)} {
		if got := send(api, "GET", "/jobCollections/demo/tasks"+query, ""); got.Code != 400 {
			t.Errorf("%.40s: got %d, want 400: %s", query, got.Code, got.Body)
		}
	}
}

// Only a caller who may add tasks may search in their arguments.
func TestASearchInArgumentsNeedsWrite(t *testing.T) {
	for permission, want := range map[Permission]bool{Read: false, Run: false, Write: true, Admin: true} {
		api, backend := newTestAPI(t, Options{Authenticate: func(*http.Request) (Principal, error) {
			return Principal{Name: "p", Allows: func(asked Permission, _ string) bool { return asked <= permission }}, nil
		}}, "demo")
		if got := send(api, "GET", "/jobCollections/demo/tasks", ""); got.Code != 200 || backend.query.Arguments != want {
			t.Errorf("%v: got %d, may search in arguments: %v, want %v", permission, got.Code, backend.query.Arguments, want)
		}
	}
}

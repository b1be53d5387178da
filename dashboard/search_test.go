package dashboard

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/chimejobs/chime"
)

func TestASearchLeadsToWhatItFinds(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		hourly(t, store, "report")
		hourly(t, store, "report/daily")
		enqueuer := chime.NewEnqueuer(store, chime.EnqueuerOptions{})
		for _, queue := range []string{"reports", "mail"} {
			_ = must(enqueuer.Enqueue(t.Context(), "send", nil, chime.Queue(queue), chime.ID(hostile)))
		}
		d := newDashboard(t, store, Options{Authorize: as(View)})
		for text, want := range map[string]string{
			"repor":                       "report report/daily reports",
			"report%2F":                   "report/daily",
			"%22%3E%3Cscript%3Ealert%281": "",
			"%22%3E%3Cscript%3Ealert%281%29%3C%2Fscript%3E%3C%2Ftitle%3E": hostile + " " + hostile,
			"send": "",
			"":     "",
		} {
			got := send(d, "GET", "/search?q="+text, "Accept: application/json")
			wants(t, text, got, 200)
			var answer struct{ Items []hit }
			if err := json.Unmarshal(got.Body.Bytes(), &answer); err != nil || answer.Items == nil {
				t.Fatalf("%s: %v: %s", text, err, got.Body)
			}
			var names []string
			for _, found := range answer.Items {
				names = append(names, found.Name)
				if !strings.HasPrefix(found.Href, "./") {
					t.Errorf("%s: the link %q is not relative", text, found.Href)
				}
				if strings.HasPrefix(found.Kind, "job") {
					wants(t, found.Href, send(d, "GET", found.Href[1:]), 200, "It waits for its 1st attempt: no live worker serves queue ")
				}
			}
			if strings.Join(names, " ") != want {
				t.Errorf("%s: found %q, want %q", text, names, want)
			}
			page := send(d, "GET", "/search?q="+text)
			wants(t, text, page, 200, "<h1>Search</h1>")
			if strings.Contains(page.Body.String(), "<script>alert") {
				t.Errorf("%s: it is not escaped:\n%s", text, page.Body)
			}
		}
		wants(t, "a long text", send(d, "GET", "/search?q="+strings.Repeat("x", 201), "Accept: application/json"), 400, "at most 200 bytes")
	})
}

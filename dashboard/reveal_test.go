package dashboard

import (
	"context"
	"strings"
	"testing"

	"github.com/chimejobs/chime"
)

const hostile = `"><script>alert(1)</script></title>`

// A job's contents are only in the response to a viewer who requests them and has the right, and that request is audited.
func TestALookAtAPayloadIsAudited(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		enqueuer := chime.NewEnqueuer(store, chime.EnqueuerOptions{})
		_ = must(enqueuer.Enqueue(t.Context(), "mail", map[string]string{"token": "canary", "greeting": hostile}, chime.ID(hostile), chime.Header("tenant", hostile)))
		var seen []Action
		options := Options{Authorize: as(View | Reveal), Audit: func(_ context.Context, a Action) { seen = append(seen, a) }}
		d := newDashboard(t, store, options)
		list := send(d, "GET", "/jobs")
		href, _, found := strings.Cut(list.Body.String()[strings.Index(list.Body.String(), `href="./jobs/default/`)+len(`href=".`):], `"`)
		if !found {
			t.Fatalf("the list has no link to the job: %s", list.Body)
		}
		page := send(d, "GET", href)
		wants(t, "the page", page, 200, "Show the contents", "It waits for its 1st attempt: no live worker serves queue default.")
		wants(t, "a look", send(d, "POST", href+"/reveal"), 200, "canary", "as JSON")
		if text := send(d, "POST", href+"/reveal").Body.String(); strings.Contains(text, `class="zone"`) || !strings.Contains(page.Body.String(), `class="zone"`) {
			t.Errorf("the page has to offer another zone, and the response to a form must not, because its address has no page:\n%s", text)
		}
		seen = seen[:1]
		wants(t, "of nothing", send(d, "POST", "/jobs/default/nothing/reveal"), 404)
		if len(seen) != 2 || seen[0].Act != "reveal payload" || seen[0].Target != hostile || seen[0].Err != nil || seen[1].Err == nil {
			t.Errorf("the audit has %+v", seen)
		}
		for _, path := range []string{"/jobs", href, "/failures", "/search?q=canary", "/jobs?q=canary"} {
			got := send(d, "GET", path).Body.String()
			if strings.Contains(got, "<script>alert") || strings.Contains(got, hostile) {
				t.Errorf("%s: a name is not escaped:\n%s", path, got)
			}
			if strings.Contains(got, "token") {
				t.Errorf("%s: the page has the payload:\n%s", path, got)
			}
		}
		options.Authorize = as(View | Operate | Edit | Delete)
		other := newDashboard(t, store, options)
		wants(t, "without the right", send(other, "POST", href+"/reveal"), 403, "This needs the right to reveal")
		if page := send(other, "GET", href); strings.Contains(page.Body.String(), "Show the contents") {
			t.Error("a viewer without the right has a button for it")
		}
	})
}

package dashboard

import (
	"context"
	"errors"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime"
)

var foundJob = regexp.MustCompile(`title="([^"]+)">[^<]+</a></td>`)

// Jobs are found on all queues by their ID, a header, an argument, and a text of their error, also those that are done. The page has how many jobs it has read.
func TestJobsAreFoundByWhatPeopleKnow(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		enqueuer := chime.NewEnqueuer(store, chime.EnqueuerOptions{Logger: quiet})
		enqueue := func(id, queue, tenant string, customer int, options ...chime.EnqueueOption) {
			must(enqueuer.Enqueue(t.Context(), "report", map[string]any{"order": map[string]int{"customer": customer}}, append(options, chime.ID(id), chime.Queue(queue), chime.Header("tenant", tenant))...))
		}
		enqueue("fails", "default", "acme", 1, chime.MaxAttempts(1))
		enqueue("succeeds", "default", "acme", 2, chime.Keep(time.Hour))
		work(t, store, time.Minute, func(_ context.Context, job *chime.Job) error {
			if job.ID == "fails" {
				return errors.New("disk 7 is full")
			}
			return nil
		})
		enqueue("waits", "mail", "acme", 4711)
		enqueue("later", "media", "umbrella", 4711, chime.In(time.Hour))
		d := newDashboard(t, store, operator)
		find := func(fields ...string) string {
			query := url.Values{}
			for i := 0; i < len(fields); i += 2 {
				query.Set(fields[i], fields[i+1])
			}
			return "/find?" + query.Encode()
		}
		for what, c := range map[string]struct{ address, want string }{
			"a header":                 {find("header", "tenant", "value", "acme"), "fails waits"},
			"a header and an argument": {find("header", "tenant", "value", "acme", "is", "4711"), "waits"},
			"an argument at its path":  {find("arg", "order.customer", "is", "4711"), "later waits"},
			"another path":             {find("arg", "customer", "is", "4711"), ""},
			"an argument in a state":   {find("is", "4711", "state", "delayed"), "later"},
			"an error":                 {find("error", "is full"), "fails"},
			"no error":                 {find("error", "is empty"), ""},
		} {
			for range 4 { // the page reads on
				send(d, "GET", c.address)
				time.Sleep(2 * time.Second) // fake time passes
			}
			got := send(d, "GET", c.address)
			wants(t, what, got, 200, "<h1>Find jobs</h1>", "found")
			var ids []string
			for _, match := range foundJob.FindAllStringSubmatch(got.Body.String(), -1) {
				ids = append(ids, match[1])
			}
			slices.Sort(ids)
			if strings.Join(ids, " ") != c.want {
				t.Errorf("%s: found %q, want %q\n%s", what, ids, c.want, got.Body)
			}
		}
		wants(t, "an ID", send(d, "GET", find("id", "waits")), 200, `<b>waits</b>`, "job report of queue mail")
		wants(t, "a done job", send(d, "GET", find("id", "succeeds")), 200, `<b>succeeds</b>`)
		wants(t, "no such ID", send(d, "GET", find("id", "nothing")), 200, "No job and no batch has the ID “nothing”")
		wants(t, "a value alone", send(d, "GET", find("value", "acme")), 200, "needs the header’s name")
		wants(t, "an argument alone", send(d, "GET", find("arg", "customer")), 200, "needs the value")
		wants(t, "too long", send(d, "GET", find("id", strings.Repeat("x", 201))), 400, "at most 200 bytes")
		viewer := newDashboard(t, store, Options{Authorize: as(View)})
		got := send(viewer, "GET", find("is", "4711"))
		wants(t, "without the right", got, 200, "You may not see arguments", "no arguments: you may not see them")
		lacks(t, "without the right", got, `title="waits"`)
	})
}

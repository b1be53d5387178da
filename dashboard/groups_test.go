package dashboard

import (
	"testing"

	"github.com/chimejobs/chime"
)

// grouped enqueues jobs of two groups and one without a group on queue exports.
func grouped(t *testing.T, store chime.Store) {
	t.Helper()
	enqueuer := chime.NewEnqueuer(store, chime.EnqueuerOptions{})
	for id, group := range map[string]string{"a-1": "tenant a", "a-2": "tenant a", "b-1": "<b>"} {
		must(enqueuer.Enqueue(t.Context(), "export", nil, chime.Queue("exports"), chime.ID(id), chime.Group(group)))
	}
	must(enqueuer.Enqueue(t.Context(), "export", nil, chime.Queue("exports"), chime.ID("alone")))
}

// The group of a job is on its page and in its row, and leads to the jobs of the group.
func TestTheGroupOfAJobIsShown(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		grouped(t, store)
		d := newDashboard(t, store, operator)
		wants(t, "its page", send(d, "GET", "/jobs/exports/a-1"), 200, "<dt>Group</dt><dd><a", ">tenant a</a>", `group%3A%22tenant&#43;a%22&amp;state=all"`)
		wants(t, "a hostile name", send(d, "GET", "/jobs/exports/b-1"), 200, ">&lt;b&gt;</a>")
		lacks(t, "a job without a group", send(d, "GET", "/jobs/exports/alone"), "<dt>Group</dt>")
		wants(t, "the list", send(d, "GET", "/jobs?state=waiting"), 200, ">tenant a</a>", ">&lt;b&gt;</a>", "a-1", "alone")
		some := send(d, "GET", "/jobs?state=waiting&q=group:%22tenant+a%22")
		wants(t, "a filter", some, 200, "a-1", "a-2")
		lacks(t, "a filter", some, "b-1", "alone")
		wants(t, "an invalid key", send(d, "GET", "/jobs?q=group:%01"), 200, "filter group")
		wants(t, "cancel the group", post(d, "/jobs/bulk", "verb", "cancel", "all", "1", "filter", `state:waiting group:"tenant a"`), 200, "Cancel 2 jobs?")
	})
}

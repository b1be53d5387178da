package dashboard

import (
	"net/url"
	"strings"
	"testing"

	"github.com/chimejobs/chime"
)

// An event puts the same content into a region that a newly loaded page has there.
func TestARegionIsThatPartOfThePage(t *testing.T) {
	onEmbedded(t, func(t *testing.T, store chime.Store) {
		enqueuer := chime.NewEnqueuer(store, chime.EnqueuerOptions{})
		for _, id := range []string{hostile, "a", "a/b", "..", "new", "bulk", "..@x"} {
			if _, err := enqueuer.Enqueue(t.Context(), "send", nil, chime.ID(id)); err != nil {
				t.Fatalf("%q: %v", id, err)
			}
		}
		d := newDashboard(t, store, Options{Write: true, Authorize: as(allRights)})
		for _, address := range []string{"jobs", "jobs?q=send&state=waiting", "jobs?q=stat:x", "jobs/default/a", "jobs/default/~bulk", "jobs/default/a%2Fb", "failures"} {
			got := send(d, "GET", "/"+address)
			wants(t, address, got, 200)
			path, raw, _ := strings.Cut(address, "?")
			query, err := url.ParseQuery(raw)
			if err != nil {
				t.Fatal(err)
			}
			regions, err := source{d}.Regions(t.Context(), topic{path: path, query: query.Encode(), zone: d.options.Zone.String(), rights: allRights})
			if err != nil || len(regions) == 0 {
				t.Fatalf("%s: %d regions, %v", address, len(regions), err)
			}
			for _, region := range regions {
				if !strings.Contains(got.Body.String(), string(region.HTML)) {
					t.Errorf("%s: the page does not contain its region %s:\n%s\n\n%s", address, region.ID, region.HTML, got.Body)
				}
			}
		}
	})
}

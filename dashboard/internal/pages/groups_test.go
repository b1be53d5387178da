package pages

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/redisstore/embedded"
)

// A page of a queue with many groups reads about a hundred of them with each reading, a thousand at most, and shows the fullest of those.
func TestAQueueReadsItsGroupsAPartAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := embedded.StartInMemory()
		defer server.Close()
		time.Sleep(700 * 24 * time.Hour) // fake time passes: places are instants after 2001
		const many = 1500
		enqueuer := chime.NewEnqueuer(server.Store(), chime.EnqueuerOptions{})
		add := func(jobs ...string) {
			var items []chime.Item
			for _, group := range jobs {
				items = append(items, chime.Item{Name: "export", Options: []chime.EnqueueOption{chime.Queue("exports"), chime.Group(group)}})
			}
			if _, err := enqueuer.EnqueueMany(t.Context(), items); err != nil {
				t.Fatal(err)
			}
		}
		add("g0700")
		time.Sleep(time.Minute) // fake time passes
		for first := 0; first < many; first += 500 {
			var groups []string
			for i := range 500 {
				groups = append(groups, fmt.Sprintf("g%04d", first+i))
			}
			add(groups...)
		}
		add("g0042", "g0042", "g0900", "g1400", "g1400", "g1400") // the last one is beyond the sample
		site := NewSite(server.Store(), Hooks{})
		var c counter
		server.Client().AddHook(&c)
		var m *Groups
		for looked := 100; looked <= 1000; looked += 100 {
			if _, err := site.Standing(t.Context()); err != nil {
				t.Fatal(err)
			}
			c.commands.Store(0)
			view, err := readPage(t, site.Queue, "", "queue", "exports")
			if err != nil {
				t.Fatal(err)
			}
			m = view.Model.(*Queue).Groups
			if want := fmt.Sprintf("among %s groups", map[bool]string{true: "1,000", false: fmt.Sprint(looked)}[looked == 1000]); !strings.Contains(m.Note, want) || !strings.Contains(m.Note, "There are more.") {
				t.Errorf("the page says %q, want %q", m.Note, want)
			}
			if n := c.commands.Load(); n > 40 {
				t.Errorf("after %d groups a page sends %d commands, want at most 40", looked, n)
			}
			time.Sleep(time.Minute) // fake time passes
		}
		if len(m.Rows) != shownGroups || m.Rows[0].Key != "g0042" || m.Rows[0].Waiting != 3 || m.Rows[1].Key != "g0700" || m.Rows[2].Key != "g0900" {
			t.Errorf("the rows are %v, %v, %v", m.Rows[0], m.Rows[1], m.Rows[2])
		}
		for _, search := range []struct{ prefix, first, note string }{
			{"g07", "g0700", "among the first 100 groups"}, {"g070", "g0700", ""}, {"g0709", "g0709", ""}, {"nobody", "nobody", "in advance"},
		} {
			if _, err := site.Standing(t.Context()); err != nil {
				t.Fatal(err)
			}
			c.commands.Store(0)
			view, err := readPage(t, site.Queue, "prefix="+search.prefix, "queue", "exports")
			if err != nil {
				t.Fatal(err)
			}
			found := view.Model.(*Queue).Groups
			if n := c.commands.Load(); n > 44 || len(found.Rows) > shownGroups+1 || found.Rows[0].Key != search.first || !strings.Contains(found.Note, search.note) {
				t.Errorf("%s: %d commands, %d rows from %q on, %q; want %+v", search.prefix, n, len(found.Rows), found.Rows[0].Key, found.Note, search)
			}
		}
		if note := foundNote(0, true); !strings.Contains(note, "may be missing") {
			t.Errorf("a search that did not read all groups says %q", note)
		}
		if m.Oldest == nil || m.Oldest.Key != "g0700" || m.Counts.Waiting != many+7 || m.Counts.MayStart != many {
			t.Errorf("the oldest is %+v; %+v", m.Oldest, m.Counts)
		}
	})
}

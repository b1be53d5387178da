package pages

import (
	"net/url"
	"strings"
	"testing"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/redisstore/embedded"
)

// failuresPage returns the page of a query.
func failuresPage(t *testing.T, site *Site, query string) *Failures {
	t.Helper()
	view, err := readPage(t, site.Failures, query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return view.Model.(*Failures)
}

func (m *Failures) groups() string {
	var names []string
	for _, g := range m.Groups {
		names = append(names, g.Job)
	}
	return strings.Join(names, " ")
}

func TestFailuresAreGroupsThatCanBeFoundAgain(t *testing.T) {
	onShop(t, func(t *testing.T, server *embedded.Server) {
		site := NewSite(server.Store(), Hooks{})
		for query, want := range map[string]string{
			"": "resize mail", "state=dead": "resize", "state=retrying": "mail", "q=state:dead": "resize", "queue=mail": "", "q=job:mail": "mail", "q=error:refused": "resize",
			"q=stat:dead": "", "q=state:waiting": "", "queue=nowhere": "",
		} {
			m := failuresPage(t, site, query)
			if m.groups() != want || want == "" && m.Wrong == "" && m.Empty.Text == "" {
				t.Errorf("%q: got %q (wrong: %q), want %q", query, m.groups(), m.Wrong, want)
			}
		}
		m := failuresPage(t, site, "")
		g := m.Groups[0]
		if g.Count != 12 || m.Jobs != 13 || !strings.Contains(string(g.Day), "12") || len(m.Bulk.Verbs) != 3 {
			t.Errorf("got %+v of %d jobs, to %v", g, m.Jobs, m.Bulk.Verbs)
		}
		if jobs := jobsPage(t, site, "q="+url.QueryEscape(g.Find)); len(jobs.Rows) != 12 {
			t.Errorf("%q finds %d jobs, want those of the group", g.Find, len(jobs.Rows))
		}
		job, err := chime.NewJobs(server.Store()).Get(t.Context(), "media", "r03")
		if err != nil || site.Group(job) != g.Tick() {
			t.Errorf("job r03 is in %q, %v; want %q", site.Group(job), err, g.Tick())
		}
	})
}

func TestGroupsAreOfErrorsAsTheyAreShown(t *testing.T) {
	onShop(t, func(t *testing.T, server *embedded.Server) {
		site := NewSite(server.Store(), Hooks{RedactError: func(*chime.JobInfo, string) string { return "hidden" }})
		for _, g := range failuresPage(t, site, "").Groups {
			if g.Error != "hidden" || strings.Contains(g.Find, "refused") {
				t.Errorf("got %+v", g)
			}
			if jobs := jobsPage(t, site, "q="+url.QueryEscape(g.Find)); len(jobs.Rows) != g.Count {
				t.Errorf("%q finds %d jobs, want the %d of the group", g.Find, len(jobs.Rows), g.Count)
			}
		}
		hidden, none := failuresPage(t, site, "q=error:refused"), failuresPage(t, site, "q=error:nonsense")
		if len(hidden.Groups) > 0 || hidden.Looked != none.Looked || len(hidden.GoOn) != len(none.GoOn) || hidden.Empty != none.Empty {
			t.Errorf("a hidden text and an absent text have different results: %+v, want %+v", hidden, none)
		}
		if m := failuresPage(t, site, "q=error:hidden"); m.groups() != "resize mail" {
			t.Errorf("the shown text finds %q", m.groups())
		}
	})
}

func TestAnEmptyStoreShowsThatNothingHasFailed(t *testing.T) {
	server := embedded.StartInMemory()
	defer server.Close()
	site := NewSite(server.Store(), Hooks{})
	if m := failuresPage(t, site, ""); !strings.HasPrefix(m.Empty.Text, "Nothing has failed") || len(m.Bulk.Verbs) > 0 {
		t.Errorf("got %+v", m)
	}
	if m := jobsPage(t, site, ""); m.Empty.Line == "" {
		t.Errorf("the list does not show how to create the first job: %+v", m.Empty)
	}
}

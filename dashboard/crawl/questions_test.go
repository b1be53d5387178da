package crawl_test

import (
	"html"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chimejobs/chime/dashboard"
	"github.com/chimejobs/chime/internal/incident"
)

var (
	nextLink = regexp.MustCompile(`<a class="button" href="([^"]*)" rel="next">`)
	prevLink = regexp.MustCompile(`<a class="button" href="([^"]*)" rel="prev">`)
	endLink  = regexp.MustCompile(`<a class="button" href="([^"]*)">Last page</a>`)
	jobRow   = regexp.MustCompile(`<tr id="row-[^"]*">.*?<time datetime="([^"]*)"`)
)

// instantsOf returns the instants of the rows of a list of jobs.
func instantsOf(page string) (all []string) {
	_, table, _ := strings.Cut(page, "<tbody>")
	for _, row := range strings.Split(table, "<tr id=")[1:] {
		if at := jobRow.FindStringSubmatch(`<tr id=` + strings.ReplaceAll(row, "\n", " ")); at != nil {
			instant, err := time.Parse(time.RFC3339Nano, at[1])
			if err != nil {
				panic(err)
			}
			all = append(all, instant.UTC().Format("2006-01-02T15:04:05.000Z")) // in the order of texts
		}
	}
	return all
}

// visited returns a page. Fake time passes first, to keep below the rate limit.
func visited(d *dashboard.Dashboard, address string) *httptest.ResponseRecorder {
	time.Sleep(100 * time.Millisecond) // fake time passes
	return send(d, "GET", address)
}

// linked returns the address of a link of a page.
func linked(page string, link *regexp.Regexp) string {
	if at := link.FindStringSubmatch(page); at != nil {
		return "/" + strings.TrimPrefix(html.UnescapeString(at[1]), "./")
	}
	return ""
}

// The dead jobs of all queues come in one order, page by page, from both ends.
func TestDeadJobsOfAllQueuesComeNewestFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		world := incident.New(t, incident.Small)
		want := incident.Count(t, world.Server.Client())["dead"]
		d := newDashboard(t, world.Store, dashboard.Options{Authorize: crowd(allRights)})
		var all []string
		pages := 0
		for at := "/jobs?state=dead&limit=20"; at != ""; pages++ {
			page := visited(d, at)
			wants(t, at, page, 200)
			some := instantsOf(page.Body.String())
			if pages > 0 && linked(page.Body.String(), prevLink) == "" {
				t.Fatalf("%s has no link to the previous page", at)
			}
			all = append(all, some...)
			at = linked(page.Body.String(), nextLink)
		}
		if int64(len(all)) != want || !slices.IsSortedFunc(all, func(a, b string) int { return strings.Compare(b, a) }) {
			t.Errorf("%d dead jobs in %d pages, in order: %v; want %d", len(all), pages, all, want)
		}
		first := visited(d, "/jobs?state=dead&limit=20").Body.String()
		end := linked(first, endLink)
		var back []string
		for at := end; at != ""; {
			page := visited(d, at)
			wants(t, at, page, 200)
			back = append(instantsOf(page.Body.String()), back...)
			at = linked(page.Body.String(), prevLink)
		}
		if !slices.Equal(back, all) {
			t.Errorf("from the last page on there are %d jobs, or in another order; want %d", len(back), len(all))
		}
		oldest := instantsOf(visited(d, "/jobs?state=dead&limit=200&sort=oldest").Body.String())
		if !slices.IsSorted(oldest) || len(oldest) == 0 {
			t.Errorf("oldest first: %v", oldest)
		}
		since, until := all[len(all)/2], all[2] // an instant of a job is within since, not within until
		within := 0
		for _, at := range all {
			if at >= since && at < until {
				within++
			}
		}
		found := instantsOf(visited(d, "/jobs?state=dead&limit=200&q="+url.QueryEscape("since:"+since+" until:"+until)).Body.String())
		if len(found) != min(within, 200) {
			t.Errorf("since %s until %s: %d jobs, want %d", since, until, len(found), within)
		}
	})
}

// A group of failures is one page, with its numbers.
func TestAFailureHasItsPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		world := incident.New(t, incident.Small)
		counts := incident.Count(t, world.Server.Client())
		addTries(counts, world)
		d := newDashboard(t, world.Store, dashboard.Options{Write: true, Authorize: crowd(allRights)})
		list := visited(d, "/failures").Body.String()
		links := regexp.MustCompile(`<th scope="row"><a href="\./(failures/[^"]*)"`).FindAllStringSubmatch(list, -1)
		if len(links) < 3 {
			t.Fatalf("the list has %d groups", len(links))
		}
		for _, link := range links {
			at := "/" + html.UnescapeString(link[1])
			page := visited(d, at)
			wants(t, at, page, 200, "The newest error", "The newest jobs", "Queues", "Versions", "Requeue ")
			numbers, err := numbersOf(page.Body.String())
			if err != nil || len(numbers) == 0 {
				t.Fatalf("%s: %v, %v", at, numbers, err)
			}
			for _, n := range numbers {
				if want := counts[n.name]; n.text != strconv.FormatInt(want, 10) {
					t.Errorf("%s shows %s %s, want %d", at, n.text, n.name, want)
				}
			}
		}
		panics := visited(d, "/failures/panics?error="+url.QueryEscape("panic: index # out of range"))
		wants(t, "a panic", panics, 200, "index 7 out of range", "goroutine", "Versions")
		wants(t, "nothing", visited(d, "/failures/none?error=x"), 200, "No dead or retrying job has this error")
	})
}

// What is wrong has a card for each problem, with a true number.
func TestWhatIsWrongHasACardForEachProblem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		world := incident.New(t, incident.Small)
		counts := incident.Count(t, world.Server.Client())
		addTries(counts, world)
		d := newDashboard(t, world.Store, dashboard.Options{Write: true, Authorize: crowd(allRights)})
		page := visited(d, "/problems")
		wants(t, "problems", page, 200, "Queue "+incident.Unserved+" is unserved", "Queue "+incident.Paused+" is paused", "Resume", "Schedule "+incident.Failing+" is failing",
			"Jobs named imports fail", "Requeue…", "Since", "Workers of "+incident.Orphaned+" have vanished")
		numbers, err := numbersOf(page.Body.String())
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range numbers {
			if want, known := counts[n.name]; !known || n.text != strconv.FormatInt(want, 10) {
				t.Errorf("it shows %s %s, want %d (counted: %v)", n.text, n.name, want, known)
			}
		}
		text := page.Body.String()
		if fail, late := strings.LastIndex(text, `<h2 class="ink-fail">`), strings.Index(text, `<h2 class="ink-late">`); fail < 0 || late < 0 || fail > late {
			t.Errorf("the worst problems do not come first: the last failure at %d, the first warning at %d", fail, late)
		}
	})
}

// The page of a job name sums up all queues, beside the day before.
func TestAJobNameHasItsPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		world := incident.New(t, incident.Small)
		d := newDashboard(t, world.Store, dashboard.Options{Authorize: crowd(allRights)})
		var page string
		for range 6 { // each request reads the samples of some queues
			got := visited(d, "/kinds/imports")
			wants(t, "kinds/imports", got, 200, "until now", "the day before")
			if page = got.Body.String(); !strings.Contains(page, "so far") {
				break
			}
			time.Sleep(3 * time.Second) // fake time passes until the page is read again
		}
		for _, want := range []string{"Attempts an hour", "/failures/imports?error=", "/queues/a"} {
			if !strings.Contains(page, want) {
				t.Errorf("the page has no %q:\n%s", want, page)
			}
		}
		hangs := visited(d, "/kinds/hangs").Body.String()
		if !strings.Contains(hangs, "Running jobs of this name") {
			t.Error("the running jobs of a name are not shown")
		}
	})
}

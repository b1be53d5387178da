package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/dashboard"
)

// A pageKind is a kind of page. Each request is for a different page, so that none is answered from a cache.
type pageKind struct {
	name    string
	address func(p *openPages, i int) string // relative, without the zone
	still   bool                             // nothing of it changes while it is open, so it has no stream
	looks   bool                             // it searches jobs, up to the limit of a page
}

func always(address string) func(*openPages, int) string {
	return func(*openPages, int) string { return address }
}

// onQueues is pages of one queue after the other.
func onQueues(format string) func(*openPages, int) string {
	return func(_ *openPages, i int) string { return fmt.Sprintf(format, waitingQueue(i)) }
}

// onSchedules is pages of one schedule after the other, from anywhere.
func onSchedules(format string) func(*openPages, int) string {
	return func(p *openPages, i int) string {
		return fmt.Sprintf(format, scheduleName((i*7919+13)%p.load.schedules))
	}
}

// ofJob is pages of jobs that are in a state.
func ofJob(format string) func(*openPages, int) string {
	return func(p *openPages, i int) string {
		job := p.known[i%len(p.known)]
		return fmt.Sprintf(format, url.PathEscape(job.Queue), url.PathEscape(job.ID))
	}
}

// pageKinds are all pages, and the lists in their expensive forms: long, in other orders, with filters.
var pageKinds = []pageKind{
	{name: "/", address: always("")},
	{name: "/ of 25 h", address: always("?window=25h")},
	{name: "/ of 92 d", address: always("?window=92d")},
	{name: "/schedules", address: onSchedules("schedules?after=%s")},
	{name: "/schedules, 200", address: onSchedules("schedules?limit=200&after=%s")},
	{name: "/schedules, failing, by last run", address: always("schedules?state=failing&sort=last")},
	{name: "/schedules, by next run", address: always("schedules?sort=next")},
	{name: "/schedules, of a prefix, by lateness", address: func(_ *openPages, i int) string { return fmt.Sprintf("schedules?sort=late&prefix=report-%06d", i%100) }},
	{name: "/schedules/{name}", address: onSchedules("schedules/%s")},
	{name: "/schedules/new", address: always("schedules/new"), still: true},
	{name: "/schedules/{name}/edit", address: onSchedules("schedules/%s/edit"), still: true},
	{name: "/calendar", address: always("calendar")},
	{name: "/queues", address: always("queues")},
	{name: "/queues/{queue}", address: onQueues("queues/%s")},
	{name: "/queues/{queue} of 92 d", address: func(_ *openPages, i int) string { return "queues/" + servedQueue(i) + "?window=92d" }},
	{name: "/workers", address: always("workers")},
	{name: "/workers/{worker}", address: func(p *openPages, _ int) string { return "workers/" + p.worker }},
	{name: "/jobs, waiting", address: onQueues("jobs?state=waiting&queue=%s")},
	{name: "/jobs, waiting, 200", address: onQueues("jobs?state=waiting&limit=200&queue=%s")},
	{name: "/jobs, delayed", address: onQueues("jobs?state=delayed&queue=%s")},
	{name: "/jobs, running", address: always("jobs?state=running")},
	{name: "/jobs, retrying", address: always("jobs?state=retrying")},
	{name: "/jobs, parked", address: always("jobs?state=parked")},
	{name: "/jobs, dead, 200", address: always("jobs?state=dead&limit=200")},
	{name: "/jobs, done", address: always("jobs?state=done")},
	{name: "/jobs, of a name", address: func(_ *openPages, i int) string { return "jobs?q=job:" + loadNames[i%len(loadNames)] }, looks: true},
	{name: "/jobs, of an error", address: func(_ *openPages, i int) string {
		return "jobs?q=" + url.QueryEscape(fmt.Sprintf(`state:dead error:"503 from host %d"`, 1000+i))
	}, looks: true},
	{name: "/jobs, of a name that none has", address: func(_ *openPages, i int) string { return fmt.Sprintf("jobs?q=job:none%d*", i) }, looks: true},
	{name: "/jobs, of an ID", address: func(p *openPages, i int) string { return "jobs?q=" + p.known[i%len(p.known)].ID }, looks: true},
	{name: "/jobs/{queue}/{id}", address: ofJob("jobs/%s/%s")},
	{name: "/failures", address: always("failures"), looks: true},
	{name: "/failures, of a name", address: func(_ *openPages, i int) string { return "failures?q=job:" + loadNames[i%len(loadNames)] }, looks: true},
	{name: "/search, a schedule", address: onSchedules("search?q=%s"), still: true},
	{name: "/search, an ID", address: func(p *openPages, i int) string { return "search?q=" + p.known[i%len(p.known)].ID }, still: true},
}

// pageZones are the zones of the requests.
var pageZones = []string{
	"UTC", "Europe/Berlin", "Asia/Kathmandu", "America/St_Johns", "Pacific/Apia", "America/New_York", "Asia/Tokyo", "Australia/Sydney", "Africa/Lagos", "Asia/Kolkata",
	"America/Chicago", "America/Sao_Paulo", "Asia/Dubai", "Europe/London", "Pacific/Auckland", "Asia/Shanghai", "Africa/Nairobi", "Europe/Lisbon", "America/Denver", "Asia/Tehran",
}

// openPages are the pages of a dashboard.
type openPages struct {
	load      *load
	dashboard *dashboard.Dashboard
	client    *redis.Client // the dashboard's
	sent      sentCommands  // by it
	server    *http.Server
	base      string           // with a slash at its end
	worker    string           // that lives
	known     []*chime.JobInfo // jobs, some of each state
	asked     int              // requests so far: each comes from a different viewer, because of the rate limit
}

// close ends the dashboard.
func (p *openPages) close() {
	p.dashboard.Close()
	_ = p.server.Close()
	_ = p.client.Close()
}

// find finds jobs and a worker for the pages.
func (p *openPages) find(ctx context.Context) error {
	for queue, states := range map[string][]chime.JobState{
		servedQueues[0]: {chime.JobRunning, chime.JobParked, chime.JobDone}, waitingQueue(0): {chime.JobWaiting, chime.JobDelayed}, loadMoved[1]: {chime.JobDead, chime.JobRetrying},
	} {
		for _, state := range states {
			page, err := chime.NewJobs(p.load.store).Page(ctx, chime.JobFilter{Queue: queue, State: state, Limit: 3})
			if err != nil {
				return err
			}
			if len(page.Jobs) != 3 {
				return fmt.Errorf("queue %s has %d jobs that are %s, want 3 at least", queue, len(page.Jobs), state)
			}
			p.known = append(p.known, page.Jobs...)
		}
	}
	slices.SortFunc(p.known, func(a, b *chime.JobInfo) int { return strings.Compare(a.ID, b.ID) })
	workers, err := chime.NewWorkers(p.load.store).List(ctx)
	if err == nil && len(workers) != 1 {
		err = fmt.Errorf("%d workers live, want 1", len(workers))
	}
	if err == nil {
		p.worker = workers[0].Name
	}
	return err
}

// request sends a request from a new viewer.
func (p *openPages) request(ctx context.Context, method, address string, form url.Values) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, p.base+address, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, err
	}
	p.asked++
	r.Header.Set("Viewer", fmt.Sprint("viewer ", p.asked))
	r.Header.Set("Accept-Encoding", "gzip")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	return http.DefaultTransport.RoundTrip(r)
}

// A pageRead is a received page.
type pageRead struct {
	took time.Duration // until its last byte
	sent int           // bytes of its body, as they are sent
}

// read reads a page, in a different zone than the previous page.
func (p *openPages) read(ctx context.Context, kind pageKind, i int) (pageRead, error) {
	address := kind.address(p, i)
	join := "?"
	if strings.Contains(address, "?") {
		join = "&"
	}
	address += join + "zone=" + url.QueryEscape(pageZones[i%len(pageZones)])
	began := time.Now()
	response, err := p.request(ctx, http.MethodGet, address, nil)
	if err != nil {
		return pageRead{}, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	took := time.Since(began)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: status %d: %.500s", address, response.StatusCode, bytes.TrimSpace(body))
	}
	return pageRead{took, len(body)}, err
}

// change changes something, so that the next page reads all that it shows.
func (p *openPages) change(ctx context.Context) error {
	response, err := p.request(ctx, http.MethodPost, "queues/"+waitingQueue(0)+"/resume", nil)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusSeeOther {
		return fmt.Errorf("a change is answered with status %d", response.StatusCode)
	}
	return nil
}

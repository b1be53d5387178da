package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/httpapi"
)

const (
	putJobs  = 10_000
	putPages = 200
)

// httpPut fills a collection by the API, and reads it in pages.
var httpPut = measure{
	name: "http put", group: "http", only: []string{chimePeer.library}, slow: true,
	about: fmt.Sprintf("a collection is filled with %d jobs, each by a PUT of its own over one connection, and then %d pages of 100 of its jobs are read from "+
		"anywhere in it; no limit of rate; client and server share the cores", putJobs, putPages),
	run: runPut,
}

func runPut(ctx context.Context, r *testbed, p peer) ([]figure, error) {
	lib, err := p.open(ctx, r)
	if err != nil {
		return nil, err
	}
	defer lib.Close()
	own := func(*http.Request) (httpapi.Principal, error) {
		return httpapi.Principal{Name: "bench", Allows: func(httpapi.Permission, string) bool { return true }}, nil
	}
	api := httpapi.New(lib.(*chimeLibrary).store, httpapi.Options{Authenticate: own, Rates: httpapi.Rates{Reads: -1, Writes: -1}, Logger: quiet})
	stop := runChime(api, chime.NewScheduler(lib.(*chimeLibrary).store, chime.SchedulerOptions{Logger: quiet}))
	defer func() { _ = stop() }()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	server := api.Server()
	defer server.Close()
	go func() { _ = server.Serve(listener) }()

	c := apiClient{"http://" + listener.Addr().String() + "/jobCollections/bench"}
	if _, err := c.send(ctx, http.MethodPut, "", fmt.Sprintf(`{"quota": {"maxJobCount": %d}}`, putJobs)); err != nil {
		return nil, err
	}
	puts, pages := make([]float64, putJobs), make([]float64, putPages)
	for i := range puts {
		if puts[i], err = c.send(ctx, http.MethodPut, fmt.Sprintf("/jobs/job-%05d", i), weeklyRequest); err != nil {
			return nil, err
		}
	}
	for i := range pages {
		if pages[i], err = c.send(ctx, http.MethodGet, fmt.Sprintf("/jobs?$top=100&$skip=%d", rand.IntN(putJobs-100)), ""); err != nil {
			return nil, err
		}
	}
	slices.Sort(puts)
	slices.Sort(pages)
	return []figure{
		{name: "PUT, p50", unit: "ms", value: percentile(puts, 50), less: true},
		{name: "PUT, p99", unit: "ms", value: percentile(puts, 99), less: true},
		{name: "page of 100, p50", unit: "ms", value: percentile(pages, 50), less: true},
		{name: "page of 100, p99", unit: "ms", value: percentile(pages, 99), less: true},
	}, nil
}

const weeklyRequest = `{"startTime": "2030-01-07T00:00Z", "recurrence": {"frequency": "Week", "schedule": {"weekDays": ["Monday"], "hours": [10, 22]}},
	"action": {"type": "https", "request": {"uri": "https://example.com/report", "method": "POST", "headers": {"Content-Type": "text/plain"}, "body": "weekly"}}}`

// An apiClient sends requests about one collection.
type apiClient struct{ base string }

// send returns how long the whole answer took, in ms.
func (c apiClient) send(ctx context.Context, method, path, body string) (ms float64, err error) {
	request, err := http.NewRequestWithContext(ctx, method, c.base+path, strings.NewReader(body))
	if err != nil {
		return 0, err
	}
	request.Header.Set("Content-Type", "application/json")
	began := time.Now()
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode >= 300 {
		err = fmt.Errorf("%s %s: status %d: %.300s", method, path, response.StatusCode, answer)
	}
	return float64(time.Since(began).Nanoseconds()) / 1e6, err
}

// Package crawl_test visits thousands of pages of a dashboard, one after another, like a browser that follows every link. The race detector would make
// it seven times slower, and would find nothing that a single page does not show. So this folder is tested without it, and dashboard's tests with it.
package crawl_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/dashboard"
	"github.com/chimejobs/chime/dashboard/internal/visit"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/redisstore/embedded"
)

var (
	send        = visit.Send
	post        = visit.Post
	wants       = visit.Wants
	dump        = visit.Dump
	differences = visit.Differences
	quiet       = slog.New(slog.DiscardHandler)
)

const (
	writing   = dashboard.Operate | dashboard.Edit | dashboard.Delete
	allRights = dashboard.View | writing | dashboard.Reveal
)

func must[T any](value T, err error) T { return visit.Must(value, err) }

// onServer runs a test on its own store under fake time.
func onServer(t *testing.T, test func(t *testing.T, server *embedded.Server)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		server := embedded.StartInMemory()
		defer server.Close()
		test(t, server)
	})
}

// onEmbedded is onServer for a test that needs only the store.
func onEmbedded(t *testing.T, test func(t *testing.T, store chime.Store)) {
	t.Helper()
	onServer(t, func(t *testing.T, server *embedded.Server) { test(t, server.Store()) })
}

// newDashboard returns a dashboard that is closed when the test ends. Without an Authorize in the options it is for this machine, with all rights.
func newDashboard(t *testing.T, store chime.Store, options dashboard.Options) *dashboard.Dashboard {
	t.Helper()
	if options.Logger == nil {
		options.Logger = quiet
	}
	if options.Authorize == nil {
		options.Authorize = dashboard.Loopback
	}
	d := dashboard.New(store, options)
	t.Cleanup(d.Close)
	return d
}

// crowd is an Authorize that makes each request that of a new viewer, so that no rate limit applies.
func crowd(rights dashboard.Rights) func(*http.Request) (dashboard.Viewer, error) {
	n := 0
	return func(*http.Request) (dashboard.Viewer, error) {
		n++
		return dashboard.Viewer{Name: fmt.Sprint("viewer-", n), Rights: rights}, nil
	}
}

// during runs roles while it calls a function.
func during(t *testing.T, do func(), roles ...chime.Role) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- chime.Run(ctx, roles...) }()
	do()
	stop()
	<-ended
}

// put stores a schedule of a cron text.
func put(t *testing.T, store chime.Store, name, cron string) {
	t.Helper()
	must(chime.NewSchedules(store).Put(t.Context(), name, must(recurrence.Cron(cron)), chime.JobName("report")))
}

package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
)

// viewers have a page open: each reads a stream of events.
type viewers struct {
	stop  context.CancelFunc
	reads sync.WaitGroup
	sent  atomic.Int64 // bytes of events
}

// openViewers opens a number of pages, one kind after the other.
func (p *openPages) openViewers(ctx context.Context, n int) (*viewers, error) {
	ctx, stop := context.WithCancel(ctx)
	all := &viewers{stop: stop}
	kinds := slices.DeleteFunc(slices.Clone(pageKinds), func(kind pageKind) bool { return kind.still })
	for i := range n {
		address := kinds[i%len(kinds)].address(p, i/len(kinds))
		response, err := p.request(ctx, http.MethodGet, "events?page="+url.QueryEscape(address), nil)
		if err == nil && response.StatusCode != http.StatusOK {
			response.Body.Close()
			err = fmt.Errorf("the stream of %q is answered with status %d", address, response.StatusCode)
		}
		if err != nil {
			all.close()
			return nil, err
		}
		all.reads.Go(func() {
			defer response.Body.Close()
			n, _ := io.Copy(io.Discard, response.Body) // until it is closed
			all.sent.Add(n)
		})
	}
	return all, nil
}

// close disconnects all viewers.
func (v *viewers) close() {
	v.stop()
	v.reads.Wait()
}

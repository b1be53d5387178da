package retry

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

func TestAStoreThatIsNoLongerFitIsLoggedOnceAChange(t *testing.T) {
	o, text := newOutage()
	var problem error
	w := NewFitWatch(checkStore{check: func() error { return problem }}, o.Log, "worker")
	evicts := func(policy string) error { return fmt.Errorf("%w: maxmemory-policy %s", protocol.ErrUnfit, policy) }
	const unfit, fit = "level=ERROR msg=\"chime: worker: the store is not fit for jobs any more\" event=store.unfit error=", "level=INFO msg=\"chime: worker: the store is fit for jobs again\" event=store.recovered"
	for i, step := range []struct {
		problem error
		logged  string // empty: nothing
	}{
		{nil, ""},
		{evicts("allkeys-lru"), unfit + "\"store is unfit: maxmemory-policy allkeys-lru\""},
		{errLost, ""},
		{evicts("allkeys-lru"), ""},
		{evicts("allkeys-lfu"), unfit + "\"store is unfit: maxmemory-policy allkeys-lfu\""},
		{nil, fit},
		{nil, ""},
	} {
		problem = step.problem
		text.Reset()
		w.check(t.Context())
		w.check(t.Context())
		if got := text.String(); strings.Count(got, "\n") != min(len(step.logged), 1) || !strings.Contains(got, step.logged) {
			t.Errorf("step %d, two checks with %v: logged %q, want %q once", i+1, step.problem, got, step.logged)
		}
	}
}

func TestAStoreIsCheckedEveryFiveMinutesOrSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var checks atomic.Int64
		ctx, stop := context.WithCancel(t.Context())
		go NewFitWatch(checkStore{check: func() error { checks.Add(1); return nil }}, nil, "worker").Run(ctx)
		time.Sleep(24 * time.Hour) // fake time
		if n := checks.Load(); n < 192 || n > 576 {
			t.Errorf("%d checks in a day, want about 288", n)
		}
		stop()
		synctest.Wait()
	})
}

package pages

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/history"
)

const many = 2000 // schedules

func TestSummariesAreReadBitByBitWhileSomebodyAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reads atomic.Int64
		var down atomic.Bool
		all := newSummaries(func(_ context.Context, schedules []*chime.Schedule) (read []history.History, err error) {
			reads.Add(int64(len(schedules)))
			time.Sleep(2 * time.Millisecond) // fake time passes
			if down.Load() {
				return nil, errors.New("no answer")
			}
			for _, s := range schedules {
				read = append(read, history.History{Known: true, LateP99: time.Duration(s.Revision)})
			}
			return read, nil
		})
		defer all.close()
		var schedules []*chime.Schedule
		for i := range many {
			schedules = append(schedules, &chime.Schedule{Name: fmt.Sprint(i), Revision: int64(i)})
		}
		ask := func() (known int) {
			t.Helper()
			found, err := all.of(t.Context(), schedules)
			if err != nil {
				t.Fatal(err)
			}
			for i, h := range found {
				if h.Known {
					known++
				}
				if h.Known && h.LateP99 != time.Duration(schedules[i].Revision) {
					t.Errorf("schedule %d has the summary of %d", i, h.LateP99)
				}
			}
			return known
		}
		if known := ask(); known != readAtOnce {
			t.Errorf("the first request gets %d, want the first batch", known)
		}
		time.Sleep(10 * time.Minute) // fake time passes
		if n := reads.Load(); n <= readAtOnce || n > many/2 {
			t.Errorf("%d were read for a single request, want those of about ten seconds", n)
		}
		began := time.Now()
		for ask() < many {
			time.Sleep(2 * time.Second) // fake time passes
		}
		if took := time.Since(began); took > many/batchMost*(batchEvery+100*time.Millisecond) || took < many/batchMost/2*batchEvery {
			t.Errorf("all were read within %v, want a batch of %d each %v", took, batchMost, batchEvery)
		}
		synctest.Wait()
		before := reads.Load()
		changed := *schedules[7]
		changed.Last.Ended = time.Now()
		schedules[7] = &changed
		ask()
		time.Sleep(time.Minute) // fake time passes
		if n := reads.Load() - before; n != 1 {
			t.Errorf("%d were read again, want only the one whose run has ended", n)
		}
		down.Store(true)
		schedules = append(schedules, &chime.Schedule{Name: "new"})
		if _, err := all.of(t.Context(), schedules); err == nil {
			t.Error("an error of the store is not returned")
		}
		down.Store(false)
		if known := ask(); known != many+1 {
			t.Errorf("after the error %d are known, want all", known)
		}
	})
}

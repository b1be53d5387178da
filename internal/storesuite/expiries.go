package storesuite

import (
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// expiring is the body of a job that expires, with an instant by the clock of its enqueuer, which is wrong by years.
var expiring = []byte("\x02\x9b\xa1a\xc0\xc0\x00\x00\x00\xa0\xa0\xa0\xc4\x01\x80\xcf\x00\x00\x00\x00\x00\x00\x00\x07")

// expires returns when the stored job expires.
func (b *Bench) expires(id string) time.Time {
	b.Helper()
	found, err := b.Store.FindJobs(b.Context(), "default", []string{id})
	if err != nil || len(found[0].Body) != len(expiring) {
		b.Fatalf("%s: body %q, %v", id, found[0].Body, err)
	}
	if body := found[0].Body; body[0] != 2 {
		return time.Time{}
	}
	return time.UnixMilli(int64(binary.BigEndian.Uint64(found[0].Body[len(expiring)-8:])))
}

// The store sets the instant at which a job expires by its own clock: after the job was accepted, or is due.
func (s *Suite) TestAJobExpiresByTheStoresClock(t *testing.T) {
	s.onServersWith(t, SettableClock, func(b *Bench) {
		now := time.Date(2026, 3, 8, 9, 0, 0, 0, time.UTC)
		b.SetClock(now)
		cases := map[string]struct {
			item protocol.EnqueueItem
			want time.Duration
		}{
			"now":          {protocol.EnqueueItem{}, time.Minute},
			"own":          {protocol.EnqueueItem{Own: true}, time.Minute},
			"once":         {protocol.EnqueueItem{Own: true, Once: time.Hour}, time.Minute},
			"in":           {protocol.EnqueueItem{In: time.Hour}, time.Hour + time.Minute},
			"at":           {protocol.EnqueueItem{Own: true, At: now.Add(2 * time.Hour)}, 2*time.Hour + time.Minute},
			"in the past":  {protocol.EnqueueItem{At: now.Add(-2 * time.Hour)}, time.Minute},
			"s#manual run": {protocol.EnqueueItem{Schedule: "s", In: time.Second}, time.Second + time.Minute},
			"s#manual own": {protocol.EnqueueItem{Schedule: "s", Own: true, Once: time.Hour}, time.Minute},
		}
		b.Declare("s", "skip", `{"job":"j"}`)
		for id, c := range cases {
			c.item.ID, c.item.Body, c.item.Expire = id, expiring, time.Minute
			b.Enqueue(c.item)
			b.Want(id, b.expires(id).UTC().String(), now.Add(c.want).String())
		}
		now = now.Add(30 * time.Second)
		b.SetClock(now)
		for i, c := range []struct {
			item protocol.EnqueueItem
			want time.Duration
		}{
			{protocol.EnqueueItem{ID: "own", In: time.Hour}, 2 * time.Minute}, // it waits: In has no effect
			{protocol.EnqueueItem{ID: "at", In: time.Second}, time.Second + 2*time.Minute},
			{protocol.EnqueueItem{ID: "new", At: now.Add(time.Hour)}, time.Hour + 2*time.Minute},
		} {
			c.item.Own, c.item.Body, c.item.Expire = true, expiring, 2*time.Minute
			if _, err := b.Store.Replace(b.Context(), protocol.ReplaceCall{Partition: DefaultPartition, Token: fmt.Sprint("r", i), Item: c.item}); err != nil {
				b.Fatal(err)
			}
			b.Want("replaced: "+c.item.ID, b.expires(c.item.ID).UTC().String(), now.Add(c.want).String())
		}
		if _, err := b.Store.RequeueJobs(b.Context(), "default", []protocol.RequeuedJob{{ID: "in"}}); err != nil {
			b.Fatal(err)
		}
		b.Want("requeued", b.expires("in").String(), time.Time{}.String())
	})
}

// An expired job is gone, has used no start of a limit, keeps its result, and what follows it is taken next.
func (s *Suite) TestAnExpiredJobEndsWithoutAnAttempt(t *testing.T) {
	for _, cancel := range []bool{false, true} {
		t.Run(fmt.Sprint("cancelled: ", cancel), func(t *testing.T) {
			s.onEveryServer(t, func(b *Bench) {
				b.Limit(protocol.QueueLimit{Running: 1, Starts: 1, Per: time.Hour})
				b.Enqueue(Job("a"), Job("b"))
				held := b.Take("w", 1)[0]
				want, expired, follows := "e r|1", "1 expired, 0 cancelled", protocol.FollowerID("a", protocol.EndDead, held.Fence, "")
				if cancel {
					b.Cancel("a")
					want, expired, follows = "c r|1", "0 expired, 1 cancelled", "b"
				}
				if !b.Settle("w", protocol.Settlement{
					ID: "a", Fence: held.Fence, Kind: protocol.SettleExpired, Unbegun: true, Follower: &protocol.Follower{Body: []byte("\x01alert")},
					Result: &protocol.Result{Keep: time.Hour, Body: []byte("r|1")},
				}) {
					b.Fatal("the settlement was refused")
				}
				b.Want("result", b.Result("a"), want)
				stats := b.Stats()
				b.Want("counted", fmt.Sprintf("%d expired, %d cancelled", stats.Expired, stats.Cancelled), expired)
				b.Want("failed, died, dead, done", fmt.Sprint(stats.Failed, stats.Died, stats.Dead, stats.Done), "0 0 0 0")
				if next := IDs(b.Take("w", 1)); next != follows && !cancel {
					b.Errorf("taken next: %q, want %q: the start was given back", next, follows)
				}
			})
		})
	}
}

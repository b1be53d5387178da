package redisstore

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

// A call executes its settlements before it decides about the next occurrence: a call that settles one occurrence and
// takes the next leaves the same data as two calls that do this one after the other.
func TestACallSettlesBeforeItTakes(t *testing.T) {
	settlements := map[string]protocol.Settlement{
		"done":          {Kind: protocol.SettleDone},
		"failed":        {Kind: protocol.SettleLater, Delay: time.Hour, Failed: true, Body: []byte("\x01again")},
		"failed, bare":  {Kind: protocol.SettleLater, Delay: time.Hour, Failed: true},
		"snoozed":       {Kind: protocol.SettleLater, Delay: time.Hour, Body: []byte("\x01again")},
		"failed at now": {Kind: protocol.SettleLater, Failed: true, Body: []byte("\x01again")},
		"dead":          {Kind: protocol.SettleDead, Body: []byte("\x01again")},
		"parked":        {Kind: protocol.SettlePark, Name: "mail"},
		"missed":        {Kind: protocol.SettleMissed},
	}
	for _, policy := range []string{"skip", "wait", "cancel", "allow"} {
		for name, settlement := range settlements {
			t.Run(fmt.Sprintf("%s, %s", policy, name), func(t *testing.T) {
				onEveryServer(t, func(b *bench) {
					first, second := storesuite.Ago(2*time.Minute), storesuite.Ago(time.Minute)
					var left []string
					for _, schedule := range []string{"once", "twice"} {
						owed := b.Scheduled(schedule, policy, first)
						held := b.Take(schedule, 1)
						b.Want("taken", storesuite.IDs(held), storesuite.OccurrenceID(schedule, first))
						found, err := b.store.Find(b.Context(), []string{schedule})
						if err != nil {
							b.Fatal(err)
						}
						b.Place(protocol.Owed{Partition: storesuite.DefaultPartition, Name: schedule, Cursor: found[0].Cursor}, owed.Revision, 0, second)
						s := settlement
						s.ID, s.Fence = held[0].ID, held[0].Fence
						s.Run = &protocol.RunRecord{Started: first, Ended: second, Outcome: name}
						call := protocol.WorkCall{Take: 1, Settle: []protocol.Settlement{s}}
						if schedule == "twice" {
							b.Work(schedule, protocol.WorkCall{Settle: call.Settle})
							call.Settle = nil
						}
						b.Want("taken next", storesuite.IDs(b.Work(schedule, call).Taken), storesuite.OccurrenceID(schedule, second))
						left = append(left, b.leftOf(schedule))
					}
					b.Want("left by one call", left[0], left[1])
					if superseded := strings.Contains(left[0], "/superseded=1"); superseded != (policy == "cancel" && settlement.Kind == protocol.SettleLater) {
						b.Errorf("the retries were ended: %v\n%s", superseded, left[0])
					}
				})
			})
		}
	}
}

// leftOf returns the stored data of a schedule, without its name and without fences.
func (b *bench) leftOf(schedule string) string {
	b.Helper()
	keys := b.keys()
	var lines []string
	for name, key := range map[string]string{"jobs": keys.jobs, "crashes": keys.crashes, "counters": keys.counters} {
		for field, value := range b.client.HGetAll(b.Context(), key).Val() {
			if strings.HasPrefix(field, schedule) {
				lines = append(lines, fmt.Sprintf("%s %s=%s", name, field, value))
			}
		}
	}
	for name, key := range map[string]string{"due": keys.due, "owed": keys.owed, "dead": keys.dead, "parked": keys.parked("mail")} {
		for _, member := range b.client.ZRange(b.Context(), key, 0, -1).Val() {
			if strings.HasPrefix(member, schedule) {
				lines = append(lines, fmt.Sprintf("%s %s", name, member))
			}
		}
	}
	for _, entry := range b.client.XRange(b.Context(), keys.runs, "-", "+").Val() {
		if entry.Values["schedule"] == schedule {
			lines = append(lines, fmt.Sprintf("ran %v %v", entry.Values["planned"], entry.Values["outcome"]))
		}
	}
	for id := range b.client.HGetAll(b.Context(), keys.inflight(schedule)).Val() {
		lines = append(lines, "in flight "+id)
	}
	open := strings.Split(b.client.HGet(b.Context(), keys.open, schedule).Val(), "\t")
	lines = append(lines, fmt.Sprintf("open %s behind %s", open[0], open[len(open)-1]))
	lines = append(lines, "cursor "+b.client.HGet(b.Context(), keys.cursors, schedule).Val())
	slices.Sort(lines)
	return strings.ReplaceAll(strings.Join(lines, "\n"), schedule, "schedule")
}

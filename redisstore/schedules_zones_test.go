package redisstore

import (
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

const zonedBody = `{"job":"j","recurrence":{"timeZone":"Europe/Berlin"},"misfire":"x"}`

// placeZoned places an occurrence of the schedule "s" in a zone, planned for an instant of a day and with an offset.
func (b *bench) placeZoned(owed protocol.Owed, at time.Time, offset time.Duration, zone string) protocol.PlaceAnswer {
	b.Helper()
	placement := protocol.Placement{
		Partition: owed.Partition, Name: owed.Name, Revision: revisionOf(string(owed.Definition)), Cursor: owed.Cursor, Instants: []time.Time{at}, Zone: zone,
	}
	if zone != "" {
		placement.Offsets = []time.Duration{offset}
	}
	return b.store.Place(b.Context(), []protocol.Placement{placement})[0]
}

func revisionOf(definition string) int64 {
	h, _ := parseHead(definition)
	return h.revision
}

// entry returns the entry of the schedule "s" in zones.
func (b *bench) entry(queue string) string {
	return b.client.HGet(b.Context(), b.store.keys.partition(protocol.Partition{Queue: queue}).zones, "s").Val()
}

// An occurrence is not placed if its local time, or a later one, was taken: whatever the data with which it was planned. A withdrawn one was not
// taken. In another zone, and without a zone, nothing is refused.
func TestNoLocalTimeIsTakenTwice(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		owed := *b.Declare("s", "skip", zonedBody).Owed
		day := b.Now().Truncate(24 * time.Hour).Add(48 * time.Hour)
		nine := day.Add(9 * time.Hour)
		for _, step := range []struct {
			what    string
			cursor  string // empty: as it is; s: withdrawn before its occurrence; p: its occurrence was taken
			local   time.Time
			offset  time.Duration
			zone    string
			repeats bool
		}{
			{"the first one", "", nine, time.Hour, "Europe/Berlin", false},
			{"it was withdrawn", "s", nine, 2 * time.Hour, "Europe/Berlin", false},
			{"it was withdrawn again", "s", nine, time.Hour, "Europe/Berlin", false},
			{"it was taken", "p", nine, 0, "Europe/Berlin", true},
			{"an earlier local time", "p", nine.Add(-time.Minute), 0, "Europe/Berlin", true},
			{"another zone", "p", nine, 0, "Europe/London", false},
			{"the next day", "p", nine.Add(24 * time.Hour), time.Hour, "Europe/London", false},
			{"it was withdrawn: the day before was taken", "s", nine, -time.Hour, "Europe/London", true},
			{"without a zone", "s", nine, 0, "", false},
		} {
			at := step.local.Add(-step.offset)
			stored := b.client.HGet(b.Context(), b.keys().cursors, "s").Val()
			if step.cursor == "s" {
				planned := parseCursor(stored).At
				stored = planned.Add(-time.Second).Format(time.RFC3339) + " 0 s"
				b.client.HSet(b.Context(), b.keys().cursors, "s", stored)
			}
			owed.Cursor = parseCursor(stored)
			answer := b.placeZoned(owed, at, step.offset, step.zone)
			if answer.Err != nil || answer.Repeats != step.repeats || answer.Placed == 1 == step.repeats {
				b.Errorf("%s: %+v, want refused %v; entry %q", step.what, answer, step.repeats, b.entry("default"))
			}
		}
		if entry := b.entry("default"); entry != "" {
			b.Errorf("an occurrence without a zone leaves the entry %q", entry)
		}
	})
}

// The entry moves with the schedule, and is removed with it, and with its mark and its queue.
func TestTheLocalTimeLivesAsLongAsItsSchedule(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		owed := *b.Declare("s", "skip", zonedBody).Owed
		at := b.Now().Truncate(24 * time.Hour).Add(48 * time.Hour)
		if answer := b.placeZoned(owed, at, time.Hour, "Europe/Berlin"); answer.Placed != 1 {
			b.Fatalf("%+v", answer)
		}
		entry := b.entry("default")
		if !strings.HasSuffix(entry, " 3600 - Europe/Berlin") {
			b.Errorf("entry %q", entry)
		}
		moved := b.store.Declare(b.Context(), []protocol.Declaration{{Name: "s", Queue: "mail", Overlap: "skip", Body: []byte(zonedBody)}})[0]
		if moved.Err != nil || moved.Owed == nil || moved.Owed.Zoned != parseZoned(entry) || b.entry("mail") != entry {
			b.Errorf("moved: %+v, entry %q, want %q", moved, b.entry("mail"), entry)
		}
		if found, err := b.store.Remove(b.Context(), protocol.Removal{Name: "s"}); err != nil || !found {
			b.Fatal(found, err)
		}
		if b.entry("default")+b.entry("mail") != "" {
			b.Errorf("after the deletion %q and %q remain", b.entry("default"), b.entry("mail"))
		}
	})
}

// An occurrence that was planned with other data goes back to its schedule in one step, and uses up no run. If the next one was placed meanwhile, it
// runs after all.
func TestAReplannedOccurrenceGoesBackToItsSchedule(t *testing.T) {
	for _, placed := range []bool{false, true} {
		onEveryServer(t, func(b *bench) {
			owed := *b.Declare("s", "skip", zonedBody).Owed
			at := b.Now().Truncate(24 * time.Hour).Add(48 * time.Hour)
			if answer := b.placeZoned(owed, at, time.Hour, "Europe/Berlin"); answer.Placed != 1 {
				b.Fatalf("%+v", answer)
			}
			b.client.ZAdd(b.Context(), b.keys().due, redisZ(1000, "s@"+at.UTC().Format(time.RFC3339))) // it is due
			taken := b.Work("w", protocol.WorkCall{Take: 1})
			if len(taken.Taken) != 1 || len(taken.Owed) != 1 || taken.Owed[0].Zoned.Local() != at.Unix()+3600 {
				b.Fatalf("taken %+v", taken)
			}
			next := at.Add(time.Hour)
			if placed && b.placeZoned(taken.Owed[0], next, time.Hour, "Europe/Berlin").Placed != 1 {
				b.Fatal("the next one is not placed")
			}
			job := taken.Taken[0]
			answer := b.Work("w", protocol.WorkCall{Settle: []protocol.Settlement{{ID: job.ID, Fence: job.Fence, Kind: protocol.SettleReplan, Back: at.Add(-time.Second)}}})
			cursor := parseCursor(b.client.HGet(b.Context(), b.keys().cursors, "s").Val())
			if placed {
				if again := b.Work("w", protocol.WorkCall{Take: 1}); len(again.Taken) != 1 || again.Taken[0].ID != job.ID || again.Taken[0].New || !cursor.At.Equal(next) {
					b.Errorf("the next one was placed: taken %+v, cursor %+v; want %s again", again.Taken, cursor, job.ID)
				}
				return
			}
			want := protocol.Cursor{At: at.Add(-time.Second).UTC()}
			if len(answer.Owed) != 1 || answer.Owed[0].Cursor != want || cursor != want || answer.Owed[0].Zoned != taken.Owed[0].Zoned {
				b.Errorf("owed %+v, cursor %+v; want %+v", answer.Owed, cursor, want)
			}
			if p := b.placeZoned(answer.Owed[0], next, 0, "Europe/Berlin"); p.Placed != 1 {
				b.Errorf("it is not placed again: %+v", p)
			}
			stored, err := b.store.Find(b.Context(), []string{"s"})
			if err != nil || stored[0].Started != 0 || stored[0].Missed != 0 || stored[0].Last.Unfinished != 0 || stored[0].Cursor.Used != 1 {
				b.Errorf("stored %+v, %v; want no start, nothing missed, one run used", stored[0], err)
			}
		})
	}
}

// A waiting occurrence is withdrawn only by a caller that has read it.
func TestReplanComparesWhatTheCallerHasRead(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		declared := b.Declare("s", "skip", zonedBody)
		at := b.Now().Truncate(24 * time.Hour).Add(48 * time.Hour)
		if answer := b.placeZoned(*declared.Owed, at, time.Hour, "Europe/Berlin"); answer.Placed != 1 {
			b.Fatalf("%+v", answer)
		}
		good := protocol.Replan{
			Address: protocol.Address{Partition: storesuite.DefaultPartition, Name: "s"}, Definition: declared.Stored, Revision: declared.Revision,
			Cursor: protocol.Cursor{At: at, Used: 1, Placed: true}, Back: at.Add(-time.Second),
		}
		revision, cursor, back := good, good, good
		revision.Revision--
		cursor.Cursor.Used++
		back.Back = at
		for what, r := range map[string]protocol.Replan{"another revision": revision, "another cursor": cursor, "not back": back} {
			if owed, err := b.store.Replan(b.Context(), []protocol.Replan{r}); err != nil || owed[0] != nil {
				b.Errorf("%s: %+v, %v; want nothing", what, owed[0], err)
			}
		}
		for n, want := range []bool{true, false} {
			owed, err := b.store.Replan(b.Context(), []protocol.Replan{good})
			if err != nil || (owed[0] != nil) != want {
				b.Fatalf("call %d: %+v, %v; want withdrawn %v", n+1, owed[0], err, want)
			}
		}
		if n := b.client.ZCard(b.Context(), b.keys().due).Val(); n != 0 {
			b.Errorf("%d occurrences are due, want none", n)
		}
	})
}

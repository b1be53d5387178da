package redisstore

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// dayCounts are the days of a schedule, by their number since 1970.
type dayCounts map[int64]*protocol.DayRecord

// add adds the days of a text, see scripts/lib/history.lua. From what it cannot read on it reads nothing.
func (d dayCounts) add(text string) {
	parts := strings.Split(text, ".")
	day, err := strconv.ParseInt(parts[0], 36, 32)
	if err != nil {
		return
	}
	for _, part := range parts[1:] {
		of, times, alike := strings.Cut(part, "~")
		n := int64(1)
		if alike {
			if n, err = strconv.ParseInt(times, 36, 32); err != nil || n > protocol.MaxDays {
				return
			}
		}
		for ; n > 0; n-- {
			if d[day] == nil {
				d[day] = &protocol.DayRecord{Day: time.Unix(day*86400, 0).UTC()}
			}
			addDay(d[day], of)
			day--
		}
	}
}

// addDay adds a day of a text: how many were done, then a letter and how many for each other kind.
func addDay(record *protocol.DayRecord, text string) {
	count := &record.Done
	for text != "" {
		end := strings.IndexAny(text, "FSM")
		if end < 0 {
			end = len(text)
		}
		if n, err := strconv.ParseInt(text[:end], 36, 32); err == nil {
			*count += int(n)
		}
		if end == len(text) {
			return
		}
		count = map[byte]*int{'F': &record.Failed, 'S': &record.Skipped, 'M': &record.Missed}[text[end]]
		text = text[end+1:]
	}
}

// records returns the newest MaxDays days, the oldest first, with those of which nothing was counted.
func (d dayCounts) records() []protocol.DayRecord {
	days := slices.Sorted(maps.Keys(d))
	if len(days) == 0 {
		return nil
	}
	last := days[len(days)-1]
	first := max(days[0], last-protocol.MaxDays+1)
	records := make([]protocol.DayRecord, 0, last-first+1)
	for day := first; day <= last; day++ {
		if d[day] == nil {
			records = append(records, protocol.DayRecord{Day: time.Unix(day*86400, 0).UTC()})
		} else {
			records = append(records, *d[day])
		}
	}
	return records
}

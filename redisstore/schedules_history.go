package redisstore

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// runEndings are the outcomes of an attempt, as …:last and …:history store them.
var runEndings = map[string]string{
	"do": "done", "fa": "failed", "sn": "snoozed", "de": "dead", "ca": "cancelled", "su": "superseded", "mi": "missed", "sk": "skipped", "cr": "crashed", "ex": "expired",
}

// parseLast reads an entry of …:last: see scripts/lib/history.lua. A part that it cannot read counts as 0.
func parseLast(text string) (last protocol.LastRun) {
	fields := strings.Split(text, " ")
	if len(fields) < 7 {
		return last
	}
	last.Unfinished, _ = strconv.Atoi(fields[2])
	last.Failures, _ = strconv.Atoi(fields[3])
	if last.Outcome = runEndings[fields[4]]; last.Outcome != "" {
		last.Planned, last.Ended = milliText(fields[5]), milliText(fields[6])
	}
	return last
}

// keptRuns returns how many attempts an entry of …:last keeps.
func keptRuns(text string) int {
	fields := strings.Split(text, " ")
	if len(fields) < 7 {
		return 0
	}
	keep, _ := strconv.Atoi(fields[1])
	return keep
}

func milliText(text string) time.Time {
	ms, _ := strconv.ParseInt(text, 10, 64)
	return time.UnixMilli(ms).UTC()
}

// withLeft merges the last outcomes here with those in a queue that the schedule has left: what was taken there ends there.
func withLeft(last, there protocol.LastRun) protocol.LastRun {
	unfinished := last.Unfinished + there.Unfinished
	if there.Ended.After(last.Ended) {
		last = there
	}
	last.Unfinished = unfinished
	return last
}

// Runs returns the kept attempts of schedules, the newest first of each. It includes what ended in queues that a schedule has left, for as
// long as these remember it.
func (s *store) Runs(ctx context.Context, names []string) ([]protocol.ScheduleRuns, error) {
	stored, read, err := s.readHistories(ctx, names, true)
	if err != nil {
		return nil, err
	}
	all := make([]protocol.ScheduleRuns, len(stored))
	for i := range stored {
		all[i] = protocol.ScheduleRuns{Stored: stored[i], Runs: runsOf(stored[i].Name, read[i])}
	}
	return all, nil
}

// runsOf merges the attempts that partitions have of a schedule.
func runsOf(name string, read []historyRead) []protocol.RunRecord {
	keep, known := 0, false
	var runs []protocol.RunRecord
	for _, r := range read {
		if r.last != "" && !known {
			keep, known = keptRuns(r.last), true
		}
		runs = append(runs, parseRuns(name, r.history.runs)...)
	}
	// The newest first. A record that moved with the schedule may also be in the queue that it has left: the same attempt ended once.
	slices.SortStableFunc(runs, func(a, b protocol.RunRecord) int { return b.Ended.Compare(a.Ended) })
	seen := map[protocol.RunRecord]bool{}
	runs = slices.DeleteFunc(runs, func(r protocol.RunRecord) bool {
		again := seen[r] && len(read) > 1
		seen[r] = true
		return again
	})
	return runs[:min(len(runs), keep)]
}

// Days returns the known last days of a schedule, the oldest first. Runs that ended in queues that it has left are counted for as long as
// these remember them.
func (s *store) Days(ctx context.Context, name string) (protocol.Stored, []protocol.DayRecord, error) {
	stored, read, err := s.readHistories(ctx, []string{name}, false)
	if err != nil {
		return protocol.Stored{}, nil, err
	}
	days := dayCounts{}
	for i, r := range read[0] {
		days.add(r.history.days)
		if i == 0 {
			days.add(r.history.left) // it has left, and has not arrived yet
		}
	}
	return stored[0], days.records(), nil
}

// parseRuns reads the attempts of fields of …:history, the oldest first, and returns them with the newest first. It stops at the first part that
// it cannot read.
func parseRuns(name, text string) (runs []protocol.RunRecord) {
	for text != "" {
		head, rest, _ := strings.Cut(text, ":")
		size, _, _ := strings.Cut(head, ",")
		n, err := strconv.Atoi(size)
		if err != nil || n < 0 || n > len(rest) {
			break
		}
		if run, ok := parseRun(name, rest[:n]); ok {
			runs = append(runs, run)
		}
		text = rest[n:]
	}
	slices.Reverse(runs)
	return runs
}

func parseRun(name, text string) (run protocol.RunRecord, ok bool) {
	fields := strings.SplitN(text, "\t", 9)
	ending := fields[0][:min(2, len(fields[0]))]
	if len(fields) != 9 || runEndings[ending] == "" {
		return run, false
	}
	var numbers [5]int64 // planned, started, ended, attempt, fence
	var backfilled bool
	fields[4], backfilled = strings.CutSuffix(fields[4], "b")
	for i := range numbers {
		numbers[i], _ = strconv.ParseInt(fields[i+1], 10, 64)
	}
	run = protocol.RunRecord{
		Schedule: name, Outcome: runEndings[ending], Planned: time.Unix(numbers[0], 0).UTC(),
		Attempt: int(numbers[3]), Worker: fields[6], Error: fields[7], Note: fields[8],
		Backfilled: backfilled,
	}
	if which := fields[0][2:]; which != "" {
		at := 0
		if run.Manual = which[0] == '#'; !run.Manual {
			at = max(strings.IndexAny(which, "@#"), 1) // no job name has these
			run.Name = which[1:at]
		}
		run.ID = name + which[at:]
	}
	started := numbers[0]*1000 + numbers[1]
	run.Started, run.Ended = time.UnixMilli(started).UTC(), time.UnixMilli(started+numbers[2]).UTC()
	if fields[5] != "" {
		run.Fence = started*1000 + numbers[4]
	}
	return run, true
}

// dayCounts are the days of a schedule, by the number of days since 1970.
type dayCounts map[int64]*protocol.DayRecord

// add adds the days of a text, see scripts/lib/history.lua. It stops at the first part that it cannot read.
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

// addDay adds a day of a text: the number that succeeded, then a letter and a number for each other kind.
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

// records returns the newest MaxDays days, the oldest first, including days without a count.
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

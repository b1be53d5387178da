package recurrence

import (
	"cmp"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"
)

// CodeNoRRule is the code of a rule that RFC 5545 cannot say; only [Recurrence.RRule] gives it.
const CodeNoRRule Code = "no_rrule"

// RRule returns the rule as RFC 5545 writes it, for calendars and other libraries: a DTSTART line and an RRULE line,
//
//	DTSTART;TZID=Europe/Berlin:20260105T090000
//	RRULE:FREQ=WEEKLY;INTERVAL=1;WKST=MO;BYDAY=MO,FR;BYHOUR=9;BYMINUTE=0;BYSECOND=0
//
// Every part that this package takes from the start is spelled out. Three things to know:
//
//   - DTSTART is StartTime, even where no run falls on it. Libraries such as python-dateutil read that as meant here;
//     RFC 5545 leaves it open, and some calendars show an event there.
//   - COUNT counts from DTSTART, Count from creation: they agree for a rule created at or before its StartTime.
//   - A local time that the clocks skip or repeat is the one that RFC 5545 names for it (section 3.3.10: the offset before
//     the change), as in this package. Libraries that drop skipped times differ on those days.
//
// Refused, with [CodeNoRRule], is what RFC 5545 cannot say or says differently: a rule without StartTime; Count together with
// EndTime; a cron rule in which either of two day fields is enough; and in a zone all 24 hours of a day (which follow elapsed
// time here and the clock there), the frequency hour, and hours or minutes with the frequencies minute and second.
func (r Recurrence) RRule() (string, error) {
	if err := r.Validate(); err != nil {
		return "", err
	}
	if r.StartTime.IsZero() {
		return "", refuse(CodeNoRRule, "startTime", "", "RFC 5545 needs a start: set StartTime")
	}
	start := r.StartTime.Truncate(time.Second).UTC()
	if r.Frequency == 0 && r.Cron == "" {
		return rruleStart(start, "") + "\nRRULE:FREQ=DAILY;COUNT=1", nil
	}
	if r.Count > 0 && !r.EndTime.IsZero() {
		return "", refuse(CodeNoRRule, "count", strconv.Itoa(r.Count), "RFC 5545 takes count or endTime, not both: drop one")
	}
	rule, err := r.rruleElements()
	if err != nil {
		return "", err
	}
	zone := ""
	if rule.zone != "" && rule.zone != "UTC" && rule.zone != "Etc/UTC" {
		if err := rule.sayableInZone(); err != nil {
			return "", err
		}
		if rule.Frequency >= Day {
			loc, bad := findZone(rule.zone)
			if bad != nil {
				return "", bad
			}
			if wall := start.In(loc); !resolveLocal(loc, onUTC(wall)).Equal(start) {
				return "", refuse(CodeNoRRule, "startTime", wall.Format(time.RFC3339), "RFC 5545 cannot name the second pass of a repeated hour as a start")
			}
			start, zone = start.In(loc), rule.zone
		}
	}
	return rruleStart(start, zone) + "\nRRULE:" + rule.parts(start) + r.rruleEnd(), nil
}

// rruleStart writes the DTSTART line, in the zone if one is named.
func rruleStart(start time.Time, zone string) string {
	if zone == "" {
		return "DTSTART:" + start.UTC().Format("20060102T150405Z")
	}
	return "DTSTART;TZID=" + zone + ":" + start.Format("20060102T150405")
}

// rruleEnd writes COUNT or UNTIL, or nothing.
func (r Recurrence) rruleEnd() string {
	if r.Count > 0 {
		return ";COUNT=" + strconv.Itoa(r.Count)
	}
	if !r.EndTime.IsZero() {
		return ";UNTIL=" + r.EndTime.UTC().Format("20060102T150405Z")
	}
	return ""
}

// An rruleRule is a rule with its cron text turned into frequency and elements. Its zone is the one it runs in.
type rruleRule struct {
	Recurrence
	zone string
}

// rruleElements turns a cron text into the frequency and elements that mean the same.
func (r Recurrence) rruleElements() (rruleRule, error) {
	if r.Cron == "" {
		return rruleRule{r, r.TimeZone}, nil
	}
	f, err := compileCron(r.Cron)
	if err != nil {
		return rruleRule{}, err
	}
	rule := rruleRule{f.every, cmp.Or(f.zone, r.TimeZone)}
	if rule.Frequency != 0 {
		return rule, nil
	}
	everyDay, everyWeekDay := bits.OnesCount32(f.daysOfMonth) == 31, f.weekDays == 0x7f
	switch {
	case f.domRestricted && f.dowRestricted && !everyDay && !everyWeekDay:
		return rruleRule{}, refuse(CodeNoRRule, "cron", r.Cron, "RFC 5545 cannot say that either of two day fields is enough: make two rules of it")
	case f.domRestricted && f.dowRestricted, everyDay && everyWeekDay:
		rule.Frequency = Day
	case everyWeekDay:
		rule.Frequency, rule.MonthDays = Month, maskValues[int](uint64(f.daysOfMonth))
	default:
		rule.Frequency, rule.WeekDays = Week, maskValues[time.Weekday](uint64(f.weekDays))
	}
	rule.Minutes, rule.Hours = maskValues[int](f.minutes), maskValues[int](uint64(f.hours))
	if bits.OnesCount16(f.months) < 12 {
		rule.Months = maskValues[time.Month](uint64(f.months))
	}
	return rule, nil
}

// maskValues lists the bits of a mask in order.
func maskValues[T ~int](mask uint64) []T {
	values := make([]T, 0, bits.OnesCount64(mask))
	for ; mask != 0; mask &= mask - 1 {
		values = append(values, T(bits.TrailingZeros64(mask)))
	}
	return values
}

// sayableInZone refuses what follows elapsed time here and the clock in RFC 5545.
func (r rruleRule) sayableInZone() error {
	hours := r.allHours()
	switch {
	case r.Frequency >= Day && len(hours) == 24:
		return refuse(CodeNoRRule, "schedule.hours", "", "in a zone RFC 5545 has no rule for every hour of a day: name fewer hours, or drop the timeZone")
	case r.Frequency == Hour:
		return refuse(CodeNoRRule, "frequency", Hour.String(), "in a zone RFC 5545 has no rule for elapsed hours: drop the timeZone")
	case r.Frequency < Hour && len(r.Hours)+len(r.Minutes) > 0:
		return refuse(CodeNoRRule, "schedule", "", "in a zone RFC 5545 has no rule for elapsed time limited by the clock: drop the timeZone")
	}
	return nil
}

// allHours lists the hours in order: the given ones, or with minutes alone, at day and above, every hour.
func (r rruleRule) allHours() []int {
	if r.Frequency >= Day && len(r.Hours) == 0 && len(r.Minutes) > 0 {
		return maskValues[int](1<<24 - 1)
	}
	return sortedSet(r.Hours)
}

var rruleFrequencies = [...]string{
	Second: "SECONDLY", Minute: "MINUTELY", Hour: "HOURLY", Day: "DAILY", Week: "WEEKLY", Month: "MONTHLY", Year: "YEARLY",
}

// parts writes the parts of the RRULE, with those that come from the start filled in. The start is in the rule's zone.
func (r rruleRule) parts(start time.Time) string {
	text := "FREQ=" + rruleFrequencies[r.Frequency] + ";INTERVAL=" + strconv.Itoa(cmp.Or(r.Interval, 1))
	if r.Frequency == Week {
		text += ";WKST=MO"
	}
	text += r.rruleDays(start)

	hours, minutes, seconds := r.allHours(), sortedSet(r.Minutes), []int{start.Second()}
	if r.Frequency >= Hour {
		if len(minutes) > 0 {
			seconds = []int{0}
		} else {
			minutes = []int{start.Minute()}
		}
	}
	if r.Frequency >= Day && len(hours) == 0 {
		hours = []int{start.Hour()}
	}
	if r.Frequency == Second {
		seconds = nil
	}
	return text + rrulePart("BYHOUR", hours) + rrulePart("BYMINUTE", minutes) + rrulePart("BYSECOND", seconds)
}

// rruleDays writes the months and days.
func (r rruleRule) rruleDays(start time.Time) string {
	months, monthDays, weekDays := sortedSet(r.Months), sortedSet(r.MonthDays), rruleWeekDays(r.WeekDays, r.MonthlyOccurrences)
	switch r.Frequency {
	case Week:
		if len(weekDays) == 0 {
			weekDays = rruleWeekDays([]time.Weekday{start.Weekday()}, nil)
		}
	case Month:
		if len(monthDays)+len(weekDays) == 0 {
			monthDays = []int{start.Day()}
		}
	case Year:
		if len(months) == 0 {
			months = []time.Month{start.Month()}
		}
		monthDays = []int{start.Day()}
	}
	numbers := make([]int, len(months))
	for i, month := range months {
		numbers[i] = int(month)
	}
	text := rrulePart("BYMONTH", numbers) + rrulePart("BYMONTHDAY", monthDays)
	if len(weekDays) > 0 {
		text += ";BYDAY=" + strings.Join(weekDays, ",")
	}
	return text
}

// rruleWeekDays writes weekdays from Monday on, the numbered ones from the end of the month first. One without number is
// written as its first to fifth.
func rruleWeekDays(days []time.Weekday, occurrences []NthWeekday) []string {
	all := slices.Clone(occurrences)
	for _, o := range occurrences {
		for n := 1; o.N == 0 && n <= 5; n++ {
			all = append(all, NthWeekday{o.Day, n})
		}
	}
	all = slices.DeleteFunc(all, func(o NthWeekday) bool { return o.N == 0 })
	for _, day := range days {
		all = append(all, NthWeekday{Day: day})
	}
	slices.SortFunc(all, func(a, b NthWeekday) int {
		return cmp.Or(cmp.Compare(fromMonday(a.Day), fromMonday(b.Day)), cmp.Compare(a.N, b.N))
	})
	var words []string
	for _, o := range slices.Compact(all) {
		word := strings.ToUpper(o.Day.String()[:2])
		if o.N != 0 {
			word = strconv.Itoa(o.N) + word
		}
		words = append(words, word)
	}
	return words
}

// rrulePart writes one list of numbers, or nothing where it is empty.
func rrulePart(name string, values []int) string {
	if len(values) == 0 {
		return ""
	}
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = strconv.Itoa(v)
	}
	return ";" + name + "=" + strings.Join(words, ",")
}

// fromMonday counts a weekday from Monday, 0, to Sunday, 6.
func fromMonday(day time.Weekday) int { return (int(day) + 6) % 7 }

// sortedSet returns the values in order, each once. The given slice stays as it is.
func sortedSet[T cmp.Ordered](values []T) []T {
	return slices.Compact(slices.Sorted(slices.Values(values)))
}

// onUTC reads the clock of t as if it were UTC's.
func onUTC(t time.Time) time.Time {
	year, month, day := t.Date()
	hour, minute, second := t.Clock()
	return time.Date(year, month, day, hour, minute, second, 0, time.UTC)
}

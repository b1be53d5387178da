package recurrence

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// timesText describes the times of a filter: "from 02:00 to 03:59", "at 09:00 and from 12:00 to 13:00". Whole minutes have no seconds.
// If the text names the day, a range over midnight is described in the order of that day, which has both parts: "up to 05:59 and from 22:00 on".
func timesText(times []string, hasDay bool) string {
	var spans []span
	var unread []string
	for _, text := range times {
		first, last, bad := parseTimes(text)
		if bad != "" {
			unread = append(unread, fmt.Sprintf("at %q", text))
			continue
		}
		spans = append(spans, span{int64(first), int64(last)})
	}
	slices.SortFunc(spans, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.first, b.first), cmp.Compare(a.last, b.last))
	})
	var single, parts []string
	for _, s := range slices.Compact(spans) {
		first, last := spanClocks(s)
		switch {
		case s.first == s.last, first == last:
			single = append(single, first)
		case s.first > s.last && hasDay:
			parts = append(parts, "up to "+last+" and from "+first+" on")
		default:
			parts = append(parts, "from "+first+" to "+last)
		}
	}
	if len(single) > 0 {
		parts = slices.Insert(parts, 0, "at "+joinList(single, "and"))
	}
	slices.Sort(unread)
	return strings.ReplaceAll(joinList(append(parts, slices.Compact(unread)...), "and"), ", from", " and from")
}

// spanClocks returns both ends of a range of seconds of the day, as minutes if it consists of whole minutes.
func spanClocks(s span) (first, last string) {
	first, last = formatSecond(s.first), formatSecond(s.last)
	if s.first%60 == 0 && s.last%60 == 59 {
		return first[:len("09:00")], last[:len("09:00")]
	}
	return first, last
}

package recurrence

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/long"
)

// A secondReading is a text of another program, read a second time from that program's documents, in the plainest way: it answers for one day and one
// time of day whether the text matches. It shares nothing with the importers.
type secondReading struct {
	seconds, minutes, hours map[int]bool
	day                     func(t time.Time) bool
}

// A foreignField is a field in the words of a document.
type foreignField struct {
	lo, hi      int
	least, most int // the numbers that may be written
	names       string
	overflows   bool // 22-2 continues at the beginning
	maxStep     int  // after * or a value
	onlySlash   bool // /5 is */5
	plainNames  bool // names have no steps and are not in ranges with numbers
	sevenIsZero bool // at the beginning of a range
}

var foreignItem = regexp.MustCompile(`^(?:(\*)|([0-9]{1,4}|[A-Z]{3})(?:-([0-9]{1,4}|[A-Z]{3}))?)?(?:/([0-9]{1,4}))?$`)

// item returns the values of one item of a list. ok is false if the document does not allow it.
func (f foreignField) item(text string) (values []int, ok bool) {
	m := foreignItem.FindStringSubmatch(text)
	if m == nil || m[1] == "" && m[2] == "" && (m[4] == "" || !f.onlySlash) {
		return nil, false
	}
	number := func(word string) (int, bool) {
		if n, err := strconv.Atoi(word); err == nil {
			return n, n >= f.least && n <= f.most
		}
		at := strings.Index(f.names, word)
		return at/3 + 1, at >= 0 && at%3 == 0
	}
	step := 1
	if m[4] != "" {
		step, _ = strconv.Atoi(m[4])
		if step == 0 || f.maxStep > 0 && step > f.maxStep && m[3] == "" {
			return nil, false
		}
	}
	isName := func(word string) bool { return word != "" && word[0] >= 'A' }
	if f.plainNames && (m[4] != "" && (isName(m[2]) || isName(m[3])) || m[3] != "" && isName(m[2]) != isName(m[3])) {
		return nil, false
	}
	first, last := f.lo, f.hi
	if m[2] != "" {
		if first, ok = number(m[2]); !ok {
			return nil, false
		}
		if m[4] == "" {
			last = first
		}
		if last < first {
			last = first
		}
	}
	if m[3] != "" {
		if last, ok = number(m[3]); !ok {
			return nil, false
		}
		if f.sevenIsZero && first == 7 {
			first = 0
		}
		if last < first && !f.overflows {
			return nil, false
		}
	}
	for at, n := first, 0; ; n++ { // one after another, around the field, until the last
		if n%step == 0 {
			values = append(values, at)
		}
		if at == last {
			return values, true
		}
		if at++; at > f.hi && f.overflows {
			at = f.lo
		}
	}
}

// list returns the values of a whole field.
func (f foreignField) list(text string) (map[int]bool, bool) {
	all := map[int]bool{}
	for _, item := range strings.Split(text, ",") {
		values, ok := f.item(item)
		if !ok {
			return nil, false
		}
		for _, v := range values {
			all[v] = true
		}
	}
	return all, true
}

func lastOfMonth(t time.Time) int {
	return time.Date(t.Year(), t.Month()+1, 0, 0, 0, 0, 0, time.UTC).Day()
}

// nearestWeekday returns the day of the weekday nearest to day n of a month by the words of both documents; 0 if the month has no such day, and
// overEnd if that weekday would be in the next month.
func nearestWeekday(t time.Time, n int) (day int, overEnd bool) {
	end := lastOfMonth(t)
	if n < 1 || n > end {
		return 0, false
	}
	switch time.Date(t.Year(), t.Month(), n, 0, 0, 0, 0, time.UTC).Weekday() {
	case time.Saturday:
		if n == 1 {
			return 3, false
		}
		return n - 1, false
	case time.Sunday:
		return n + 1, n == end
	}
	return n, false
}

func lastWeekdayOfMonth(t time.Time) int {
	for day := lastOfMonth(t); ; day-- {
		if w := time.Date(t.Year(), t.Month(), day, 0, 0, 0, 0, time.UTC).Weekday(); w != time.Saturday && w != time.Sunday {
			return day
		}
	}
}

func isNth(t time.Time, n int) bool    { return (t.Day()+6)/7 == n }
func isLastOfItsKind(t time.Time) bool { return t.Day()+7 > lastOfMonth(t) }

const namesOfMonths, namesFromSunday, namesFromMonday = "JANFEBMARAPRMAYJUNJULAUGSEPOCTNOVDEC", "SUNMONTUEWEDTHUFRISAT", "MONTUEWEDTHUFRISATSUN"

// The patterns of the documents for the special values. dd is a day of the month.
var (
	lastMinus    = regexp.MustCompile(`^L-([0-9]{1,4})$`)
	lastMinusW   = regexp.MustCompile(`^L-([0-9]{1,4})W$`)
	dayW         = regexp.MustCompile(`^([0-9]{1,4})W$`)
	weekdayLast  = regexp.MustCompile(`^([0-9]{1,4}|[A-Z]{3})L$`)
	weekdayOfNth = regexp.MustCompile(`^([0-9]{1,4}|[A-Z]{3})#([0-9]{1,4})$`)
)

func numberIn(text string, lo, hi int) (int, bool) {
	n, err := strconv.Atoi(text)
	return n, err == nil && n >= lo && n <= hi
}

// readQuartzAgain reads a text by the documentation of Quartz's CronExpression.
func readQuartzAgain(text string) (r secondReading, ok bool) {
	words := strings.Fields(strings.ToUpper(text))
	if len(words) != 6 && len(words) != 7 {
		return r, false
	}
	sixty := foreignField{lo: 0, hi: 59, least: 0, most: 59, overflows: true, maxStep: 59, onlySlash: true}
	hours := foreignField{lo: 0, hi: 23, least: 0, most: 23, overflows: true, maxStep: 23, onlySlash: true}
	days := foreignField{lo: 1, hi: 31, least: 1, most: 31, overflows: true, maxStep: 31, onlySlash: true}
	months := foreignField{lo: 1, hi: 12, least: 1, most: 12, names: namesOfMonths, overflows: true, maxStep: 12, onlySlash: true, plainNames: true}
	weekdays := foreignField{lo: 1, hi: 7, least: 1, most: 7, names: namesFromSunday, overflows: true, maxStep: 7, onlySlash: true, plainNames: true}
	years := foreignField{lo: 1970, hi: 2199, least: 1970, most: 2199, onlySlash: true}
	var fine [5]bool
	r.seconds, fine[0] = sixty.list(words[0])
	r.minutes, fine[1] = sixty.list(words[1])
	r.hours, fine[2] = hours.list(words[2])
	inMonths, fine3 := months.list(words[4])
	inYears, fine4 := map[int]bool(nil), true
	if len(words) == 7 {
		inYears, fine4 = years.list(words[6])
	}
	fine[3], fine[4] = fine3, fine4
	if slices.Contains(fine[:], false) || (words[3] == "?") == (words[5] == "?") {
		return r, false
	}
	var day func(time.Time) bool
	if words[5] == "?" {
		day, ok = quartzDayOfMonth(words[3], days)
	} else {
		day, ok = quartzDayOfWeek(words[5], weekdays)
	}
	r.day = func(t time.Time) bool {
		return inMonths[int(t.Month())] && (inYears == nil || inYears[t.Year()]) && day(t)
	}
	return r, ok
}

func quartzDayOfMonth(word string, f foreignField) (func(time.Time) bool, bool) {
	w := func(dayOf func(time.Time) int) func(time.Time) bool {
		return func(t time.Time) bool {
			n := dayOf(t)
			day, overEnd := nearestWeekday(t, n)
			if overEnd {
				day = n - 2 // it does not jump over the boundary of a month
			}
			return t.Day() == day
		}
	}
	if word == "LW" {
		return func(t time.Time) bool { return t.Day() == lastWeekdayOfMonth(t) }, true
	}
	if m := dayW.FindStringSubmatch(word); m != nil {
		n, ok := numberIn(m[1], 1, 31)
		return w(func(time.Time) int { return n }), ok
	}
	if m := lastMinusW.FindStringSubmatch(word); m != nil {
		n, ok := numberIn(m[1], 1, 30)
		return w(func(t time.Time) int { return lastOfMonth(t) - n }), ok
	}
	plain, back := map[int]bool{}, map[int]bool{}
	for _, item := range strings.Split(word, ",") {
		if item == "L" {
			back[0] = true
			continue
		}
		if m := lastMinus.FindStringSubmatch(item); m != nil {
			n, ok := numberIn(m[1], 1, 30)
			if !ok {
				return nil, false
			}
			back[n] = true
			continue
		}
		values, ok := f.item(item)
		if !ok {
			return nil, false
		}
		for _, v := range values {
			plain[v] = true
		}
	}
	return func(t time.Time) bool { return plain[t.Day()] || back[lastOfMonth(t)-t.Day()] }, true
}

func quartzDayOfWeek(word string, f foreignField) (func(time.Time) bool, bool) {
	one := func(text string) (time.Weekday, bool) {
		values, ok := f.item(text)
		return time.Weekday(append(values, 1)[0] - 1), ok
	}
	if word == "L" {
		return func(t time.Time) bool { return t.Weekday() == time.Saturday }, true
	}
	if m := weekdayLast.FindStringSubmatch(word); m != nil {
		day, ok := one(m[1])
		return func(t time.Time) bool { return t.Weekday() == day && isLastOfItsKind(t) }, ok
	}
	if m := weekdayOfNth.FindStringSubmatch(word); m != nil {
		day, ok := one(m[1])
		n, inRange := numberIn(m[2], 1, 5)
		return func(t time.Time) bool { return t.Weekday() == day && isNth(t, n) }, ok && inRange
	}
	values, ok := f.list(word)
	return func(t time.Time) bool { return values[int(t.Weekday())+1] }, ok
}

// readSpringAgain reads a text by the documentation of Spring's CronExpression.
func readSpringAgain(text string) (r secondReading, ok bool) {
	words := strings.Split(text, " ")
	if len(words) != 6 {
		return r, false
	}
	sixty := foreignField{lo: 0, hi: 59, least: 0, most: 59}
	hours := foreignField{lo: 0, hi: 23, least: 0, most: 23}
	months := foreignField{lo: 1, hi: 12, least: 1, most: 12, names: namesOfMonths}
	var fine [3]bool
	r.seconds, fine[0] = sixty.list(words[0])
	r.minutes, fine[1] = sixty.list(words[1])
	r.hours, fine[2] = hours.list(words[2])
	inMonths, fine3 := months.list(strings.ToUpper(words[4]))
	if slices.Contains(fine[:], false) || !fine3 {
		return r, false
	}
	dayOfMonth, ok := anyOf(words[3], springDayOfMonth)
	if !ok {
		return r, false
	}
	dayOfWeek, ok := anyOf(strings.ToUpper(words[5]), springDayOfWeek)
	everyDay := true // the week of 4 January 2026, on any day of the month
	for n := range 28 {
		everyDay = everyDay && (!ok || dayOfWeek(time.Date(2026, 1, 4+n, 0, 0, 0, 0, time.UTC)))
	}
	for _, item := range strings.Split(words[3], ",") { // the source looks for the Friday before a Saturday that the month may not have
		if m := dayW.FindStringSubmatch(item); m != nil && (item != words[3] || !everyDay) {
			if _, inEveryMonth := numberIn(m[1], 1, 28); !inEveryMonth {
				return r, false
			}
		}
	}
	r.day = func(t time.Time) bool { return inMonths[int(t.Month())] && dayOfMonth(t) && dayOfWeek(t) }
	return r, ok
}

// anyOf reads a list whose items match on their own. ? alone means *.
func anyOf(word string, read func(string) (func(time.Time) bool, bool)) (func(time.Time) bool, bool) {
	if word == "?" {
		word = "*"
	}
	var items []func(time.Time) bool
	for _, text := range strings.Split(word, ",") {
		item, ok := read(text)
		if !ok {
			return nil, false
		}
		items = append(items, item)
	}
	return func(t time.Time) bool {
		return slices.ContainsFunc(items, func(item func(time.Time) bool) bool { return item(t) })
	}, true
}

func springDayOfMonth(text string) (func(time.Time) bool, bool) {
	switch {
	case text == "L":
		return func(t time.Time) bool { return t.Day() == lastOfMonth(t) }, true
	case text == "LW":
		return func(t time.Time) bool { return t.Day() == lastWeekdayOfMonth(t) }, true
	}
	if m := lastMinus.FindStringSubmatch(text); m != nil {
		n, ok := numberIn(m[1], 1, 30)
		return func(t time.Time) bool { return lastOfMonth(t)-n == t.Day() }, ok
	}
	if m := dayW.FindStringSubmatch(text); m != nil {
		n, ok := numberIn(m[1], 1, 31)
		return func(t time.Time) bool {
			day, overEnd := nearestWeekday(t, n)
			return !overEnd && t.Day() == day // the Monday of the next month is never found
		}, ok
	}
	values, ok := foreignField{lo: 1, hi: 31, least: 1, most: 31}.list(text)
	return func(t time.Time) bool { return values[t.Day()] }, ok
}

func springDayOfWeek(text string) (func(time.Time) bool, bool) {
	f := foreignField{lo: 1, hi: 7, least: 0, most: 7, names: namesFromMonday, sevenIsZero: true}
	one := func(text string) (time.Weekday, bool) {
		values, ok := f.item(text)
		return time.Weekday(append(values, 0)[0] % 7), ok
	}
	if m := weekdayLast.FindStringSubmatch(text); m != nil {
		day, ok := one(m[1])
		return func(t time.Time) bool { return t.Weekday() == day && isLastOfItsKind(t) }, ok
	}
	if m := weekdayOfNth.FindStringSubmatch(text); m != nil {
		day, ok := one(m[1])
		n, inRange := numberIn(m[2], 1, 5)
		return func(t time.Time) bool { return t.Weekday() == day && isNth(t, n) }, ok && inRange
	}
	values, ok := f.list(text)
	return func(t time.Time) bool { return values[int(t.Weekday())] || t.Weekday() == time.Sunday && values[7] }, ok
}

// A foreignGenerator makes texts of the other programs, some of them wrong.
type foreignGenerator struct{ *rand.Rand }

func (g foreignGenerator) pick(words ...string) string { return words[g.IntN(len(words))] }

// number is in or just outside a range, and sometimes has a zero before it.
func (g foreignGenerator) number(lo, hi int) string {
	n := lo + g.IntN(hi-lo+1)
	switch g.IntN(60) {
	case 0:
		n = hi + 1
	case 1:
		n = max(0, lo-1)
	case 2:
		return "0" + strconv.Itoa(n)
	}
	return strconv.Itoa(n)
}

func (g foreignGenerator) value(lo, hi int, names string) string {
	if names == "" || g.IntN(2) == 0 {
		return g.number(lo, hi)
	}
	at := 3 * g.IntN(len(names)/3)
	name := names[at : at+3]
	if g.IntN(4) == 0 {
		name = strings.ToLower(name)
	}
	return name
}

func (g foreignGenerator) item(lo, hi int, names string) string {
	switch g.IntN(12) {
	case 0:
		return "*"
	case 1, 2:
		return "*/" + g.number(1, min(hi, 40))
	case 3:
		return g.value(lo, hi, names) + "/" + g.number(1, min(hi, 40))
	case 4, 5:
		return g.value(lo, hi, names) + "-" + g.value(lo, hi, names)
	case 6:
		return g.value(lo, hi, names) + "-" + g.value(lo, hi, names) + "/" + g.number(1, min(hi, 12))
	case 7:
		if g.IntN(10) == 0 {
			return g.pick("?", "/5", "", "*5", "5-", "-5", "L", "1-2-3", "1/2/3", "/", "?/2", "W", "#", "*-5", "+5", "C")
		}
	}
	return g.value(lo, hi, names)
}

func (g foreignGenerator) list(special func() string, lo, hi int, names string) string {
	items := make([]string, 1+max(0, g.IntN(5)-2))
	for i := range items {
		if special != nil && g.IntN(3) == 0 {
			items[i] = special()
		} else {
			items[i] = g.item(lo, hi, names)
		}
	}
	return strings.Join(items, ",")
}

func (g foreignGenerator) dayOfMonth() string {
	switch g.IntN(7) {
	case 0, 1:
		return "L"
	case 2:
		return "L-" + g.number(1, 30)
	case 3:
		return "LW"
	case 4:
		return "L-" + g.number(1, 30) + "W"
	}
	return g.number(1, 31) + "W"
}

func (g foreignGenerator) dayOfWeek(lo int, names string) string {
	switch g.IntN(8) {
	case 0:
		return "L"
	case 1, 2, 3:
		return g.value(lo, 7, names) + "L"
	}
	return g.value(lo, 7, names) + "#" + g.number(1, 5)
}

func (g foreignGenerator) text(lowestWeekday int, names string, years bool) string {
	small := func(hi int) string {
		if g.IntN(3) == 0 {
			return g.list(nil, 0, hi, "")
		}
		return g.number(0, hi)
	}
	month := "*"
	if g.IntN(2) == 0 {
		month = g.list(nil, 1, 12, namesOfMonths)
	}
	dom, dow := "*", "?"
	switch g.IntN(5) {
	case 0, 1:
		dom = g.list(g.dayOfMonth, 1, 31, "")
	case 2, 3:
		dom, dow = "?", g.list(func() string { return g.dayOfWeek(lowestWeekday, names) }, lowestWeekday, 7, names)
	}
	switch g.IntN(8) {
	case 0, 1, 2:
		if lowestWeekday == 0 { // both are restricted
			dom, dow = g.list(g.dayOfMonth, 1, 31, ""), g.list(func() string { return g.dayOfWeek(lowestWeekday, names) }, lowestWeekday, 7, names)
		}
	case 3:
		dom, dow = g.pick(dom, "*", "?"), g.pick(dow, "*", "?")
	}
	words := []string{small(59), small(59), small(23), dom, month, dow}
	if years && g.IntN(4) == 0 {
		words = append(words, g.list(nil, 2020, 2040, ""))
	}
	return strings.Join(words, " ")
}

// runsAgain returns the first runs of a reading from an instant on, and how far it looked.
func (r secondReading) runsAgain(from time.Time, n, days int) (runs []time.Time, until time.Time) {
	day := from.Truncate(24 * time.Hour)
	for range days {
		if r.day(day) {
			for hour := range 24 {
				for minute := range 60 {
					for second := 0; r.hours[hour] && r.minutes[minute] && second < 60; second++ {
						at := day.Add(time.Duration(hour*3600+minute*60+second) * time.Second)
						if r.seconds[second] && at.After(from) {
							if runs = append(runs, at); len(runs) == n {
								return runs, at
							}
						}
					}
				}
			}
		}
		day = day.AddDate(0, 0, 1)
	}
	return runs, day.Add(-time.Second)
}

// matchesEver reports whether any day from 1970 to 2199 matches.
func (r secondReading) matchesEver() bool {
	for day := time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC); day.Year() < 2200; day = day.AddDate(0, 0, 1) {
		if r.day(day) {
			return true
		}
	}
	return false
}

func checkAgain(t *testing.T, g foreignGenerator, text string, read func(string) (Recurrence, error), again func(string) (secondReading, bool)) (accepted bool) {
	t.Helper()
	rule, err := read(text)
	want, ok := again(text)
	if codes := codesOf(err); codes == string(CodeNeverFires) {
		if !ok || want.matchesEver() {
			t.Errorf("%q: %v, but its document says: allowed %v", text, err, ok)
		}
		return false
	}
	if ok != (err == nil) {
		t.Errorf("%q: %v, but its document says: allowed %v", text, err, ok)
		return false
	}
	if !ok {
		return false
	}
	created := time.Date(2024+g.IntN(6), time.Month(1+g.IntN(12)), 1+g.IntN(28), g.IntN(24), g.IntN(60), g.IntN(60), 0, time.UTC)
	runs, until := want.runsAgain(created, 12, 1500)
	series, err := rule.Series(created)
	if codesOf(err) == string(CodeNeverFires) && len(runs) == 0 {
		return true // its years are over
	}
	if err != nil {
		t.Errorf("%q: %v", text, err)
		return true
	}
	var got []time.Time
	for at := range series.All() {
		if len(got) == 12 || at.After(until) {
			break
		}
		if !at.Equal(created) { // a match at the very instant of creation
			got = append(got, at)
		}
	}
	if !slices.EqualFunc(got, runs, time.Time.Equal) {
		t.Errorf("%q from %v, which is %v\ngot  %v\nwant %v", text, created, rule, got, runs)
	}
	return true
}

func TestTextsOfQuartzRunAsItsDocumentSays(t *testing.T) {
	g := foreignGenerator{rand.New(rand.NewPCG(30, 2))}
	accepted, texts := 0, long.Seeds(4000, 50_000)
	for range texts {
		if checkAgain(t, g, g.text(1, namesFromSunday, true), FromQuartz, readQuartzAgain) {
			accepted++
		}
	}
	if accepted < texts/3 {
		t.Errorf("only %d of %d texts were accepted", accepted, texts)
	}
}

func TestTextsOfSpringRunAsItsDocumentSays(t *testing.T) {
	g := foreignGenerator{rand.New(rand.NewPCG(30, 5))}
	accepted, texts := 0, long.Seeds(4000, 30_000)
	for range texts {
		if checkAgain(t, g, g.text(0, namesFromMonday, false), FromSpring, readSpringAgain) {
			accepted++
		}
	}
	if accepted < texts/3 {
		t.Errorf("only %d of %d texts were accepted", accepted, texts)
	}
}

package jobfind

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/times"
)

const (
	maxText    = 2048 // maximum bytes of a filter
	maxAge     = 3660 * 24 * time.Hour
	maxAttempt = 1_000_000
)

// States are the states that are searched, in this order: first running and failed jobs, then waiting ones.
var States = []chime.JobState{
	chime.JobRunning, chime.JobTaken, chime.JobRetrying, chime.JobDead, chime.JobParked, chime.JobWaiting, chime.JobDelayed, chime.JobDone,
}

// Keys are the words that may precede a colon.
var Keys = []string{"state", "queue", "job", "group", "batch", "error", "header", "arg", "schedule", "worker", "older", "newer", "since", "until", "attempt"}

// Parse is ParseIn for a filter whose instants have an offset. Without one, they are in UTC.
func Parse(text string) (Filter, error) { return ParseIn(text, time.UTC) }

// ParseIn reads a filter. A date and a time without an offset are on the clock of the zone. If the filter is invalid, the error is a
// *chime.InvalidError whose Field names the key.
func ParseIn(text string, zone *time.Location) (Filter, error) {
	f := Filter{zone: zone}
	filter, err := f.parse(text)
	filter.zone = nil
	return filter, err
}

func (f Filter) parse(text string) (Filter, error) {
	if len(text) > maxText {
		return f, invalid("", strconv.Itoa(len(text))+" bytes", "at most "+strconv.Itoa(maxText)+" bytes")
	}
	terms, err := split(text)
	if err != nil {
		return f, err
	}
	seen := map[string]bool{}
	for _, t := range terms {
		if t.key == "" {
			if t.text == "" {
				return Filter{}, invalid("", `""`, "a job name, the beginning of one, or an ID")
			}
			f.Words = append(f.Words, t.text)
			continue
		}
		if seen[t.key] && t.key != "header" && t.key != "arg" {
			return Filter{}, invalid(t.key, t.text, "it once")
		}
		seen[t.key] = true
		if err := f.set(t); err != nil {
			return Filter{}, err
		}
	}
	if !f.Since.IsZero() && !f.Until.IsZero() && !f.Since.Before(f.Until) {
		return Filter{}, invalid("until", f.Until.Format(time.RFC3339Nano), "an instant after since:"+f.Since.Format(time.RFC3339Nano))
	}
	return f, nil
}

func (f *Filter) set(t term) (err error) {
	if t.text == "" && !t.star && slices.Contains(Keys, t.key) {
		return invalid(t.key, "", "a value: "+t.key+":…")
	}
	if t.star && !slices.Contains([]string{"job", "schedule", "worker"}, t.key) {
		t.text, t.star = t.text+"*", false
	}
	pattern := Pattern{Text: t.text, Prefix: t.star}
	switch t.key {
	case "state":
		f.State = chime.JobState(t.text)
		if !slices.Contains(States, f.State) {
			return invalid(t.key, t.text, "waiting, delayed, retrying, running, taken, parked, dead or done")
		}
	case "queue":
		f.Queue = t.text
	case "job":
		f.Job = pattern
	case "group":
		f.Group, err = t.text, protocol.CheckID("filter group", t.text)
	case "batch":
		f.Batch, err = t.text, protocol.CheckID("filter batch", t.text)
	case "error":
		f.Error = t.text
	case "header":
		return f.addHeader(t)
	case "arg":
		return f.addArgument(t)
	case "schedule":
		f.Schedule = pattern
	case "worker":
		f.Worker = pattern
	case "older":
		f.Older, err = age(t)
	case "newer":
		f.Newer, err = age(t)
	case "since":
		f.Since, err = instant(t, f.zone)
	case "until":
		f.Until, err = instant(t, f.zone)
	case "attempt":
		f.Attempt, err = attempts(t)
	default:
		return invalid(t.key, t.text, "one of "+strings.Join(Keys, ", ")+"; a word with a colon in quotes")
	}
	return err
}

// addHeader reads a key and its value.
func (f *Filter) addHeader(t term) error {
	key, value, found := strings.Cut(t.text, "=")
	if !found || key == "" || strings.ContainsFunc(key, unicode.IsControl) || !utf8.ValidString(t.text) {
		return invalid(t.key, t.text, "a key, = and its value: tenant=acme")
	}
	if _, twice := f.Header[key]; twice {
		return invalid(t.key, t.text, "each key once")
	}
	if f.Header == nil {
		f.Header = map[string]string{}
	}
	f.Header[key] = value
	return nil
}

// invalid returns the error about a key of the filter; with an empty key it is about the whole filter.
func invalid(key, value, limit string) error {
	return &chime.InvalidError{Field: strings.TrimSpace("filter " + key), Value: strings.ToValidUTF8(value, "?"), Limit: limit}
}

// A term is a part of a filter's text: a word, or a key with its value.
type term struct {
	key  string
	text string
	star bool // it ended with a * outside quotes
}

// split cuts a text at its blanks, outside quotes.
func split(text string) ([]term, error) {
	var terms []term
	for rest := strings.TrimLeftFunc(text, separates); rest != ""; rest = strings.TrimLeftFunc(rest, separates) {
		var t term
		if key, after, found := strings.Cut(rest, ":"); found && isKey(key) {
			t.key, rest = key, after
		}
		if !strings.HasPrefix(rest, `"`) {
			end := strings.IndexFunc(rest, separates)
			if end < 0 {
				end = len(rest)
			}
			t.text, rest = rest[:end], rest[end:]
			if strings.Contains(t.text, `"`) {
				return nil, invalid(t.key, t.text, `quotes around all of it: "…"`)
			}
			t.text, t.star = strings.CutSuffix(t.text, "*")
			if t.key == "" && t.star { // a word matches names that begin with it anyway
				t.star = false
			}
			terms = append(terms, t)
			continue
		}
		value, after, ok := unquote(rest)
		if !ok {
			return nil, invalid(t.key, rest, `a quote at its end, too`)
		}
		t.text = value
		after, t.star = strings.CutPrefix(after, "*")
		if after != "" && strings.TrimLeftFunc(after, separates) == after {
			return nil, invalid(t.key, rest, "a blank after the quotes")
		}
		rest = after
		terms = append(terms, t)
	}
	return terms, nil
}

func separates(c rune) bool { return unicode.IsSpace(c) }

// isKey reports whether a text before a colon has the form of a key, known or not: lower-case letters. An occurrence's ID has an @ before its
// first colon.
func isKey(text string) bool {
	return text != "" && strings.IndexFunc(text, func(c rune) bool { return c < 'a' || c > 'z' }) < 0
}

// unquote reads a text in quotes, in which \ escapes the next character.
func unquote(text string) (value, rest string, ok bool) {
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] == '"':
			return b.String(), text[i+1:], true
		case text[i] == '\\' && i+1 < len(text):
			i++
		}
		b.WriteByte(text[i])
	}
	return "", "", false
}

// age reads a duration, in which d is 24 hours: 90s, 1h30m, 3d.
func age(t term) (time.Duration, error) {
	const want = "a duration as 90s, 10m, 1h30m or 3d, up to 3660d"
	text, days := t.text, time.Duration(0)
	if number, rest, found := strings.Cut(t.text, "d"); found {
		n, err := strconv.Atoi(number)
		if err != nil || n < 0 || n > 3660 {
			return 0, invalid(t.key, t.text, want)
		}
		text, days = rest, time.Duration(n)*24*time.Hour
	}
	var d time.Duration
	if text != "" {
		var err error
		if d, err = time.ParseDuration(text); err != nil {
			return 0, invalid(t.key, t.text, want)
		}
	}
	if d < 0 || d > maxAge-days || d+days <= 0 {
		return 0, invalid(t.key, t.text, want)
	}
	return d + days, nil
}

// instant reads an instant. Relative forms are refused: they would select other jobs each time that the filter is read.
func instant(t term, zone *time.Location) (time.Time, error) {
	const want = "an instant as 2026-11-27T14:00:00+01:00, 2026-11-27T14:00 or 2026-11-27; with a blank in quotes"
	if t.text == "now" || strings.ContainsAny(t.text[:1], "+-") {
		return time.Time{}, invalid(t.key, t.text, want)
	}
	at, err := times.Parse(t.text, time.Time{}, zone)
	if err != nil {
		return time.Time{}, invalid(t.key, t.text, want)
	}
	return fixed(at.In(zoneOf(at, t.text, zone))), nil
}

// zoneOf returns the zone in which an instant is written: its own if the text has an offset, otherwise the zone of the reader.
func zoneOf(at time.Time, text string, zone *time.Location) *time.Location {
	if _, err := time.Parse(time.RFC3339, text); err == nil {
		return at.Location()
	}
	return zone
}

// attempts reads a range of attempts: 3, >3, >=3, <3, <=3.
func attempts(t term) (Range, error) {
	digits := strings.TrimLeft(t.text, "<>=")
	n, err := strconv.Atoi(digits)
	sign := strings.TrimSuffix(t.text, digits)
	if err != nil || n < 0 || n > maxAttempt || strings.HasPrefix(digits, "+") {
		return Range{}, invalid(t.key, t.text, "a number as 3, >3, >=3, <3 or <=3, up to "+strconv.Itoa(maxAttempt))
	}
	r := Range{Min: n, Max: n}
	switch sign {
	case "", "=":
	case ">":
		r = Range{Min: n + 1}
	case ">=":
		r = Range{Min: n}
	case "<":
		r = Range{Max: n - 1}
	case "<=":
		r = Range{Max: n}
	default:
		return Range{}, invalid(t.key, t.text, "a number as 3, >3, >=3, <3 or <=3, up to "+strconv.Itoa(maxAttempt))
	}
	if r.Min <= 0 && r.Max <= 0 {
		return Range{}, invalid(t.key, t.text, "a range that has a number from 1 on")
	}
	r.Max = min(r.Max, math.MaxInt32)
	return r, nil
}

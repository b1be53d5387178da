package render

import (
	"fmt"
	"html/template"
	"strings"
	"time"
)

// Times are shown in the zone of the page. Each is a <time> element from which a script creates the same text in the browser's zone. Its attribute
// datetime is the instant, data-show is the format, and data-of is a second zone to which it belongs.

// At shows day and clock: "21 Nov 14:30:00 CET", with the year if it is not this one.
func (f *Frame) At(t time.Time) template.HTML { return f.shown(t, "at", "", f.at(t)) }

// AtOf is At for a time that also belongs to another zone, such as a schedule's zone. Its title shows that zone too.
func (f *Frame) AtOf(t time.Time, zone *time.Location) template.HTML {
	if zone == nil {
		return f.At(t)
	}
	return f.shown(t, "at", zone.String(), f.at(t))
}

// Clock shows the clock: "14:30:00 CET".
func (f *Frame) Clock(t time.Time) template.HTML {
	t = t.In(f.zone())
	return f.shown(t, "clock", "", t.Format("15:04:05 ")+clockName(t))
}

// Day shows the day: "Sat 21 Nov", with the year if it is not this one.
func (f *Frame) Day(t time.Time) template.HTML {
	return f.shown(t, "day", "", t.In(f.zone()).Format("Mon 2 Jan"+f.year(t)))
}

// Rel shows a relative time: "in 3 m 12 s", "2 d ago". The browser updates it.
func (f *Frame) Rel(t time.Time) template.HTML { return f.shown(t, "rel", "", Away(t.Sub(f.Now))) }

// For shows the time since an instant: "27 s", "3 h 12 m". The browser updates it.
func (f *Frame) For(t time.Time) template.HTML {
	text := "< 1 s"
	if lasted := f.Now.Sub(t); lasted >= time.Second {
		text = span(lasted, 2)
	}
	return f.shown(t, `rel" data-for="`, "", text)
}

// Both shows the relative time and, less prominently, the time itself. Within twelve hours it shows only the clock.
func (f *Frame) Both(t time.Time) template.HTML {
	if t.IsZero() {
		return never
	}
	when := f.At(t)
	if away := t.Sub(f.Now); away.Abs() < 12*time.Hour {
		when = f.Clock(t)
	}
	return f.Rel(t) + ` <span class="when">` + when + `</span>`
}

// never is shown if there is no time.
const never = `<span class="none">–</span>`

func (f *Frame) shown(t time.Time, show, of, text string) template.HTML {
	if t.IsZero() {
		return never
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<time datetime="%s" data-show="%s"`, t.UTC().Format("2006-01-02T15:04:05.999Z07:00"), show)
	title := t.UTC().Format("2006-01-02 15:04:05") + " UTC"
	if of != "" {
		if zone, err := time.LoadLocation(of); err == nil && of != "UTC" {
			title += ", " + t.In(zone).Format("2006-01-02 15:04:05 MST") + " in " + of
		}
		fmt.Fprintf(&b, ` data-of="%s"`, template.HTMLEscapeString(of))
	}
	fmt.Fprintf(&b, ` title="%s">%s</time>`, template.HTMLEscapeString(title), template.HTMLEscapeString(text))
	return template.HTML(b.String()) // times, and the name of a zone, escaped
}

func (f *Frame) at(t time.Time) string {
	t = t.In(f.zone())
	return t.Format("2 Jan"+f.year(t)+" 15:04:05 ") + clockName(t)
}

// year is the year of a layout, if a time is not in the year that it is now.
func (f *Frame) year(t time.Time) string {
	if t.In(f.zone()).Year() == f.Now.In(f.zone()).Year() {
		return ""
	}
	return " 2006"
}

// Away says how far away something is: to come in two units, "in 3 m 12 s", past in one, "2 d ago". Less than a second is "now".
func Away(d time.Duration) string {
	if d.Abs() < time.Second {
		return "now"
	}
	if d < 0 {
		return span(-d, 1) + " ago"
	}
	return "in " + span(d, 2)
}

// span formats a duration of a second or more in at most the given number of units, truncated, not rounded. It leaves out a zero after the largest unit.
func span(d time.Duration, units int) string {
	seconds := int64(d / time.Second)
	var parts []string
	for _, unit := range []struct {
		name string
		size int64
	}{{"d", 86400}, {"h", 3600}, {"m", 60}, {"s", 1}} {
		n := seconds / unit.size
		seconds %= unit.size
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, unit.name))
		}
		if units > 0 && len(parts) > 0 {
			units--
		}
		if units == 0 {
			break
		}
	}
	return strings.Join(parts, " ")
}

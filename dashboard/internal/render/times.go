package render

import (
	"fmt"
	"html/template"
	"strings"
	"time"

	"github.com/chimejobs/chime/internal/format"
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

// Rel shows a relative time: "in 3m 12s", "2d 1h ago". The browser updates it.
func (f *Frame) Rel(t time.Time) template.HTML {
	return f.shown(t, "rel", "", format.Away(t.Sub(f.Now)))
}

// For shows the time since an instant: "27s", "3h 12m". The browser updates it.
func (f *Frame) For(t time.Time) template.HTML {
	return f.shown(t, `rel" data-for="`, "", format.Age(f.Now.Sub(t)))
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

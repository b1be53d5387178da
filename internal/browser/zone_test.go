package browser

import (
	"html"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/recurrence"
)

// A moment is the text of an instant on a page. Relative times such as "in 3m" are left out.
type moment struct{ Instant, Shown, Text string }

var timePattern = regexp.MustCompile(`<time datetime="([^"]+)" data-show="(at|clock|day)"[^>]*>([^<]+)</time>`)

func TestTheBrowserWritesTimesAsTheServerDoes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	hourly := func(name string, from time.Time) {
		_, err := w.schedules.Put(t.Context(), name, recurrence.Recurrence{Frequency: recurrence.Hour, StartTime: from}, chime.JobName("report"))
		check(t, err)
	}
	year := time.Now().Year() + 1
	sunday := func(month time.Month, day, hour int) time.Time { // the first Sunday from that day on
		at := time.Date(year, month, day, hour, 0, 0, 0, time.UTC)
		return at.AddDate(0, 0, (7-int(at.Weekday()))%7)
	}
	hourly("spring in Europe", sunday(time.March, 25, 0).Add(-4*time.Hour))
	hourly("autumn in Europe", sunday(time.October, 25, 0).Add(-4*time.Hour))
	hourly("spring in America", sunday(time.March, 8, 2))
	hourly("autumn in America", sunday(time.November, 1, 1))
	for _, zone := range []string{"Europe/Berlin", "Asia/Kathmandu", "America/St_Johns", "Pacific/Apia", "Asia/Tokyo", "Asia/Shanghai", "Asia/Kolkata", "America/New_York", "Australia/Adelaide", "UTC"} {
		t.Run(zone, func(t *testing.T) {
			t.Parallel()
			p := w.open(t, Look{Width: 1440, Height: 900, Zone: zone}, "")
			for _, path := range []string{"schedules/spring%20in%20Europe", "schedules/autumn%20in%20Europe", "schedules/spring%20in%20America", "schedules/autumn%20in%20America", "jobs?state=dead"} {
				check(t, p.Go(w.url+path))
				address, err := url.Parse(path)
				check(t, err)
				query := address.Query()
				query.Set("zone", zone)
				address.RawQuery = query.Encode()
				want := map[moment]bool{}
				for _, m := range timePattern.FindAllStringSubmatch(w.get(t, address.String()), -1) {
					want[moment{m[1], m[2], html.UnescapeString(m[3])}] = true
				}
				got := eval[[]moment](t, p, `[...document.querySelectorAll('main time[data-show]:not([data-show="rel"])')].map((e) => ({Instant: e.dateTime, Shown: e.dataset.show, Text: e.textContent}))`)
				if len(got) < 2 || len(want) < 2 {
					t.Fatalf("%s: the browser shows %d times, the server %d", path, len(got), len(want))
				}
				for _, m := range got {
					if !want[m] {
						t.Errorf("%s: the browser shows %s as %q (%s); the server shows %v", path, m.Instant, m.Text, m.Shown, texts(want, m.Instant))
					}
				}
			}
		})
	}
}

// texts returns the texts of an instant.
func texts(moments map[moment]bool, instant string) (found []string) {
	for m := range moments {
		if m.Instant == instant {
			found = append(found, m.Text)
		}
	}
	return found
}

// Content that the server draws is shown in the zone at the top of the page soon after the page is loaded. Until then it is hidden.
func TestChartsAreDrawnInTheZoneThatIsShown(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	const labels = `[...document.querySelectorAll("svg.chart text, .as-table th")].map((label) => label.textContent)`
	day := time.Now().UTC().Format("2006-01-02")
	for _, path := range []string{"calendar", "schedules/report", "schedules/report?day=" + day} {
		chosen := w.open(t, desk, path+map[bool]string{true: "&", false: "?"}[strings.Contains(path, "?")]+"zone=America/St_Johns")
		wait(t, chosen, `!document.querySelector("[data-redraw]")`)
		browsers := w.open(t, Look{Width: 1440, Height: 900, Zone: "America/St_Johns"}, path)
		wait(t, browsers, `document.querySelector("[data-zoned]") && !document.querySelector("[data-redraw]")`)
		wait(t, browsers, `[...document.querySelectorAll("[data-zone-note]")].every((note) => note.hidden && note.textContent === "America/St_Johns")`)
		eventually(t, path+" with the labels of the zone", func() bool { // a minute may pass between the two readings
			return slices.Equal(eval[[]string](t, chosen, labels), eval[[]string](t, browsers, labels))
		})
		if asked := eval[string](t, browsers, `document.querySelector("#asked h3")?.innerText ?? ""`); strings.Contains(asked, "UTC") {
			t.Errorf("%s: the day is %q", path, asked)
		}
		for _, p := range []*Page{chosen, browsers} {
			unspoilt(t, path, p)
		}
	}

	plain := w.open(t, Look{Width: 1440, Height: 900, Zone: "America/St_Johns", NoScript: true}, "calendar")
	if !eval[bool](t, plain, `document.querySelectorAll("[data-zone-note]").length > 0 && [...document.querySelectorAll("[data-zone-note]")].every((note) => !note.hidden && note.textContent === "UTC")`) {
		t.Error("without scripts charts do not show that they are in UTC")
	}
}

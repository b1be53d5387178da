package crawl_test

import (
	"fmt"
	"html"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chimejobs/chime/dashboard"
	"github.com/chimejobs/chime/internal/incident"
)

// A shownNumber is a number on a page, with the name that the page gives it.
type shownNumber struct{ name, text string }

var (
	namedElement = regexp.MustCompile(`<(\w+)[^<>]* data-n="([^"]*)"[^<>]*>`)
	anyTag       = regexp.MustCompile(`<[^>]*>`)
	digits       = regexp.MustCompile(`–|\d[\d,]*`)
)

// numbersOf returns the named numbers of a page.
func numbersOf(page string) (all []shownNumber, err error) {
	for _, at := range namedElement.FindAllStringSubmatchIndex(page, -1) {
		element, names := page[at[2]:at[3]], html.UnescapeString(page[at[4]:at[5]])
		inside, _, _ := strings.Cut(page[at[1]:], "</"+element+">")
		found := digits.FindAllString(html.UnescapeString(anyTag.ReplaceAllString(inside, " ")), -1)
		for i, name := range strings.Split(names, "|") {
			if i >= len(found) {
				return nil, fmt.Errorf("the element of %q has the numbers %q only: %s", names, found, inside)
			}
			all = append(all, shownNumber{name, strings.ReplaceAll(found[i], ",", "")})
		}
	}
	return all, nil
}

// Every number that a page names is the one that plain commands count, in a store in which many things are broken.
func TestEveryNumberEqualsACount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		world := incident.New(t, incident.Small)
		counts := incident.Count(t, world.Server.Client())
		addTries(counts, world)
		d := newDashboard(t, world.Store, dashboard.Options{Write: true, Authorize: crowd(allRights)})
		pages := []string{"", "queues", "queues?sort=dead&limit=5", "workers", "jobs", "failures", "jobs?queue=" + url.QueryEscape(incident.Full)}
		for _, queue := range []string{"a", "default", incident.Unserved, incident.Paused, incident.Wide, incident.Tenants, incident.Full, incident.Orphaned, incident.Long} {
			pages = append(pages, "queues/"+url.PathEscape(queue))
		}
		for _, state := range []string{"waiting", "delayed", "running", "retrying", "parked", "dead"} {
			pages = append(pages, "jobs?state="+state)
		}
		kinds := map[string]bool{}
		for _, address := range pages {
			page := send(d, "GET", "/"+address)
			wants(t, address, page, 200)
			numbers, err := numbersOf(page.Body.String())
			if err != nil {
				t.Errorf("%q: %v", address, err)
			}
			for _, number := range numbers {
				kind, _, _ := strings.Cut(number.name, " ")
				kinds[kind] = true
				want, known := counts[number.name]
				if !known || number.text != strconv.FormatInt(want, 10) {
					t.Errorf("%q shows %s %s, want %d (counted: %v)", address, number.text, number.name, want, known)
				}
			}
		}
		for _, kind := range []string{"waiting", "delayed", "running", "vanished", "parked", "dead", "busy", "slots", "workers", "failed", "group", "groups", "partitions", "schedules", "done", "tries"} {
			if !kinds[kind] {
				t.Errorf("no page shows a number of the kind %q", kind)
			}
		}
	})
}

// addTries adds the numbers that the store does not keep: the attempts by job name of the last hour, up to the last whole minute, which samples count.
func addTries(counts incident.Counts, world *incident.World) {
	counts["failures"], counts["busy"] = counts["dead"], counts["running"]
	for name, n := range counts {
		if group, is := strings.CutPrefix(name, "group "); is && group != "" {
			counts["grouped"] += n
			counts["groups"]++
		}
	}
	tries := slices.DeleteFunc(world.Tries(), func(try incident.Try) bool { return time.Since(try.At) > time.Hour })
	for _, try := range tries {
		name := "tries "
		if try.Error == "" {
			name = "done "
		}
		counts["done "+try.Queue+" "+try.Job] += 0
		counts["tries "+try.Queue+" "+try.Job] += 0
		counts[name+try.Queue+" "+try.Job]++
	}
}

// The days of a schedule have the occurrences that were placed: none at its creation if it was created with NoImmediateRun, and none that its rule of
// today would have planned before it was changed.
func TestADayOfAScheduleHasWhatWasPlaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		world := incident.New(t, incident.Small)
		placed := map[string]map[int64]bool{} // address of a day → planned seconds
		for _, try := range world.Tries() {
			if try.Schedule == "" {
				continue
			}
			address := "schedules/" + try.Schedule + "?day=" + try.Planned.UTC().Format(time.DateOnly)
			if placed[address] == nil {
				placed[address] = map[int64]bool{}
			}
			placed[address][try.Planned.Unix()] = true
		}
		d := newDashboard(t, world.Store, dashboard.Options{Write: true, Authorize: crowd(allRights)})
		kinds := map[string]bool{}
		for address, planned := range placed {
			name, _, _ := strings.Cut(address, "?")
			kinds[name] = true
			page := send(d, "GET", "/"+address)
			wants(t, address, page, 200, `id="asked"`)
			_, day, _ := strings.Cut(page.Body.String(), `id="asked"`)
			day, _, _ = strings.Cut(day, "</tbody>")
			if n := strings.Count(day, `<tr id="fate-`); n != len(planned) {
				t.Errorf("%s shows %d occurrences, want %d", address, n, len(planned))
			}
		}
		for _, name := range []string{incident.Quiet, incident.Edited, incident.Failing} {
			if !kinds["schedules/"+name] {
				t.Errorf("schedule %s has not run", name)
			}
		}
	})
}

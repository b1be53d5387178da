package recurrence

import (
	"archive/zip"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// newYears calls do with the last three days of each year and the first two of the next, about every eleven hours.
func newYears(do func(wall time.Time)) {
	for year := 1900; year < 2200; year++ {
		first := time.Date(year, 12, 29, 0, 0, 0, 0, time.UTC)
		for wall := first; wall.Before(first.AddDate(0, 0, 5)); wall = wall.Add(11*time.Hour + 1799*time.Second) {
			do(wall)
		}
	}
}

// zoneForms returns the zones of this system and those that come with Go. The two hold rules in different forms: lists of changes
// up to 2037, and a rule that applies from the last change in the list on.
func zoneForms(t *testing.T) map[string]map[string]*time.Location {
	t.Helper()
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	archive, err := zip.OpenReader(filepath.Join(strings.TrimSpace(string(out)), "lib", "time", "zoneinfo.zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	withGo, system := map[string]*time.Location{}, map[string]*time.Location{}
	for _, f := range archive.File {
		if strings.HasSuffix(f.Name, "/") {
			continue
		}
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if withGo[f.Name], err = time.LoadLocationFromTZData(f.Name, data); err != nil {
			t.Fatal(err)
		}
		if data, err = os.ReadFile(filepath.Join("/usr/share/zoneinfo", f.Name)); err != nil {
			continue // this system has no zone data, or none of that name
		}
		if system[f.Name], err = time.LoadLocationFromTZData(f.Name, data); err != nil {
			t.Fatal(err)
		}
	}
	return map[string]map[string]*time.Location{"system": system, "go": withGo}
}

// The first instant at which the clocks show a wall time, found by trying every offset of the days around it.
func TestALocalTimeAboutNewYearIsTheFirstInstantThatShowsIt(t *testing.T) {
	for form, locations := range zoneForms(t) {
		t.Run(form, func(t *testing.T) {
			t.Parallel()
			for name, loc := range locations {
				newYears(func(wall time.Time) {
					got := resolveLocal(loc, wall)
					if want, shown := firstShowing(loc, wall); shown && !got.Equal(want) {
						t.Errorf("%s: %s is %s, want %s", name, wall.Format(time.DateTime), got, want)
					} else if _, seconds := got.Add(-24 * time.Hour).In(loc).Zone(); !shown && wall.Sub(got) != time.Duration(seconds)*time.Second {
						t.Errorf("%s: %s, which the clocks skip, is %s, want it by the offset before", name, wall.Format(time.DateTime), got)
					}
				})
			}
		})
	}
}

func firstShowing(loc *time.Location, wall time.Time) (first time.Time, shown bool) {
	tried := map[int]bool{}
	for hours := -48; hours <= 48; hours += 12 {
		_, seconds := wall.Add(time.Duration(hours) * time.Hour).In(loc).Zone()
		if tried[seconds] {
			continue
		}
		tried[seconds] = true
		at := wall.Add(-time.Duration(seconds) * time.Second)
		if _, there := at.In(loc).Zone(); there == seconds && (!shown || at.Before(first)) {
			first, shown = at, true
		}
	}
	return first, shown
}

func TestEveryZoneHasItsOffsetsAboutNewYear(t *testing.T) {
	for form, locations := range zoneForms(t) {
		t.Run(form, func(t *testing.T) {
			t.Parallel()
			for name, loc := range locations {
				z := newZone(loc)
				newYears(func(at time.Time) {
					_, want := at.In(loc).Zone()
					if got := z.offsetAt(at.Unix()); got != int64(want) {
						t.Errorf("%s at %s: offset %d, want %d", name, at, got, want)
					}
				})
			}
		})
	}
}

// Every function of the package that meets a local time returns, and what it returns agrees with the dates in the rule.
func TestRulesThatEndAboutNewYearAreReadShownAndComputed(t *testing.T) {
	for _, name := range engineZones[1:] {
		for year := 2016; year < 2199; year++ { // all zones have had each of these days
			for end, runs := range map[string]int{"12-30T22:00:00": 11, "12-31T00:00:00": 11, "12-31T23:59:59": 12} {
				text := fmt.Sprintf(`{"frequency":"day","startTime":"%d-12-20T08:00:00","endTime":"%[1]d-%s","timeZone":%q}`, year, end, name)
				rec, err := Parse([]byte(text))
				if err != nil {
					t.Fatalf("%s: %v", text, err)
				}
				if got := rec.String(); !strings.Contains(got, name) {
					t.Fatalf("%s is described as %q", text, got)
				}
				if _, err := rec.RRule(); err != nil {
					t.Fatalf("%s: %v", text, err)
				}
				created := time.Date(year, 12, 1, 0, 0, 0, 0, time.UTC)
				series, err := rec.Series(created)
				if err != nil {
					t.Fatalf("%s: %v", text, err)
				}
				count := 0
				for at, ok := series.Next(created); ok; at, ok = series.Next(at) {
					if got, want := at.Format(time.DateTime), fmt.Sprintf("%d-12-%d 08:00:00", year, 20+count); got != want {
						t.Fatalf("%s: run %d is at %s, want %s", text, count, got, want)
					}
					count++
				}
				if count != runs {
					t.Fatalf("%s: %d runs, want %d", text, count, runs)
				}
			}
		}
	}
}

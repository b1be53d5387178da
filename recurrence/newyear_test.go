package recurrence

import (
	"archive/zip"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/long"
)

// newYears calls do with seven local times in the days around each New Year, with a different hour each year.
func newYears(do func(wall time.Time)) {
	for year := 1900; year < 2200; year++ {
		first := time.Date(year, 12, 30, year*7%11, 0, 0, 0, time.UTC)
		for n := range 7 {
			do(first.Add(time.Duration(n) * (11*time.Hour + 1799*time.Second)))
		}
	}
}

// A zoneForm is a source of zone data. The two sources have rules in different forms: lists of changes up to 2037, and a rule that applies after
// the last change in the list.
type zoneForm struct {
	name  string
	zones map[string]*time.Location // without those that have the same offsets as another one at all times
}

// zoneForms returns the zones of this system and those of Go: with the tag long all of them, otherwise a quarter of each.
func zoneForms(t *testing.T) []zoneForm {
	t.Helper()
	forms, err := readZoneForms()
	if err != nil {
		t.Fatal(err)
	}
	for _, form := range forms {
		if n := len(form.zones); n > 0 && n < 300 {
			t.Fatalf("%s has %d different zones, want at least 300", form.name, n)
		}
	}
	if !long.All() {
		forms = slices.Clone(forms)
		for i := range forms {
			forms[i] = forms[i].quarter()
		}
	}
	return forms
}

var readZoneForms = sync.OnceValues(func() ([]zoneForm, error) {
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, err
	}
	archive, err := zip.OpenReader(filepath.Join(strings.TrimSpace(string(out)), "lib", "time", "zoneinfo.zip"))
	if err != nil {
		return nil, err
	}
	defer archive.Close()
	withGo, system := zoneForm{"go", map[string]*time.Location{}}, zoneForm{"system", map[string]*time.Location{}}
	seen := map[string]bool{}
	for _, f := range archive.File {
		if strings.HasSuffix(f.Name, "/") {
			continue
		}
		r, err := f.Open()
		if err != nil {
			return nil, err
		}
		data, err := io.ReadAll(r)
		if err != nil {
			return nil, err
		}
		if err := withGo.add(seen, f.Name, data); err != nil {
			return nil, err
		}
		if data, err = os.ReadFile(filepath.Join("/usr/share/zoneinfo", f.Name)); err != nil {
			continue // this system has no zone data, or no zone of that name
		}
		if err := system.add(seen, f.Name, data); err != nil {
			return nil, err
		}
	}
	return []zoneForm{withGo, system}, nil
})

// quarter returns every fourth zone, sorted by name.
func (f zoneForm) quarter() zoneForm {
	some := zoneForm{f.name, map[string]*time.Location{}}
	for i, name := range slices.Sorted(maps.Keys(f.zones)) {
		if i%4 == 0 {
			some.zones[name] = f.zones[name]
		}
	}
	return some
}

// add adds a zone unless another one of the form has the same offsets.
func (f zoneForm) add(seen map[string]bool, name string, data []byte) error {
	loc, err := time.LoadLocationFromTZData(f.name+"/"+name, data)
	if err != nil {
		return err
	}
	if offsets := fmt.Sprint(f.name, newZone(loc).periods); !seen[offsets] {
		seen[offsets] = true
		f.zones[name] = loc
	}
	return nil
}

// The first instant at which the clocks show a wall time, found by an attempt with every offset of the days around it.
func TestALocalTimeAboutNewYearIsTheFirstInstantThatShowsIt(t *testing.T) {
	for _, form := range zoneForms(t) {
		t.Run(form.name, func(t *testing.T) {
			t.Parallel()
			for name, loc := range form.zones {
				newYears(func(wall time.Time) {
					got := resolveLocal(loc, wall)
					if want, shown := firstShowing(loc, wall); shown && !got.Equal(want) {
						t.Errorf("%s: %s is %s, want %s", name, wall.Format(time.DateTime), got, want)
					} else if _, seconds := got.Add(-24 * time.Hour).In(loc).Zone(); !shown && wall.Sub(got) != time.Duration(seconds)*time.Second {
						t.Errorf("%s: %s, which the clocks skip, is %s, want the offset before", name, wall.Format(time.DateTime), got)
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
	for _, form := range zoneForms(t) {
		t.Run(form.name, func(t *testing.T) {
			t.Parallel()
			for name, loc := range form.zones {
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

// Every function of the package that processes a local time returns, and its result agrees with package time. That holds in every zone, for every
// leap year, whose end package time computes wrongly, and for every seventh of the other years.
func TestRulesAboutNewYearAreReadShownAndComputed(t *testing.T) {
	for _, form := range zoneForms(t) {
		t.Run(form.name, func(t *testing.T) {
			t.Parallel()
			n := 0
			for _, loc := range form.zones {
				n++
				name := loc.String()
				locations.Store(name, loc) // under a name that no file has
				for year := 1900; year < 2199; year++ {
					if year%4 == 0 || (year+n)%7 == 0 {
						checkNewYear(t, name, loc, year)
					}
				}
				locations.Delete(name)
				zones.Delete(name)
			}
		})
	}
}

// checkNewYear checks a rule that runs at 22:00 on the last two days of a year.
func checkNewYear(t *testing.T, name string, loc *time.Location, year int) {
	text := fmt.Sprintf(`{"frequency":"day","startTime":"%d-12-30T22:00","endTime":"%[1]d-12-31T23:59:59","timeZone":%q}`, year, name)
	rec, err := Parse([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	begin, shown := firstShowing(loc, time.Date(year, 12, 30, 22, 0, 0, 0, time.UTC))
	if got := rec.String(); shown && !strings.HasPrefix(got, "Every day at 22:00 "+name+" time, starting on 30 December ") {
		t.Errorf("%s is described as %q", text, got)
	}
	if rule, err := rec.RRule(); err != nil || !strings.HasPrefix(rule, "DTSTART;TZID="+name) {
		t.Errorf("%s has the RFC 5545 rule %q, %v", text, rule, err)
	}
	series, err := rec.Series(rec.StartTime.Add(-time.Hour))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	first, _ := series.First()
	second, _ := series.Next(first)
	end, both := firstShowing(loc, time.Date(year, 12, 31, 22, 0, 0, 0, time.UTC))
	if !shown || !both {
		return // a day is missing in a zone that has crossed the date line
	}
	if !first.Equal(begin) || !second.Equal(end) {
		t.Errorf("%s runs at %s and %s, want %s and %s", text, first, second, begin, end)
	}
	if third, more := series.Next(second); more {
		t.Errorf("%s has a third run at %s", text, third)
	}
}

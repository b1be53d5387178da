package recurrence

import (
	"math/rand/v2"
	"testing"
	"time"
)

func TestHorizonIsTheYear2200(t *testing.T) {
	if got := time.Unix(horizon, 0).UTC(); !got.Equal(horizonTime) {
		t.Errorf("horizon %s, want %s", got, horizonTime)
	}
}

func TestZoneHasTheOffsetsOfItsLocation(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, name := range engineZones {
		z, err := loadZone(name)
		if err != nil {
			t.Fatal(err)
		}
		instants := []int64{minTime.Unix(), horizon - 1}
		for range 3000 {
			instants = append(instants, minTime.Unix()+rng.Int64N(horizon-minTime.Unix()))
		}
		for _, r := range z.periods[1:] {
			instants = append(instants, r.begin-1, r.begin)
		}
		for year := 1900; year < 2200; year++ { // time.Time.ZoneBounds is wrong on the last day of some years
			for hour := range 48 {
				instants = append(instants, time.Date(year, 12, 31, hour, 0, 0, 0, time.UTC).Unix())
			}
		}
		for _, instant := range instants {
			at := time.Unix(min(instant, horizon-1), 0).In(z.location)
			if _, want := at.Zone(); z.offsetAt(at.Unix()) != int64(want) {
				t.Fatalf("%s at %s: offset %d, want %d", name, at, z.offsetAt(at.Unix()), want)
			}
		}
	}
}

// The search relies on two facts: a run that is moved out of a gap falls into the period after the gap, and an overlap ends within the period
// that begins with it.
func TestAnOffsetPeriodLastsLongerThanTheChangeAtItsBeginning(t *testing.T) {
	for _, name := range engineZones {
		z, err := loadZone(name)
		if err != nil {
			t.Fatal(err)
		}
		for i := 1; i < len(z.periods)-1; i++ {
			r := z.periods[i]
			if lasts := z.periods[i+1].begin - r.begin; lasts <= max(r.wallAfter-r.wallBefore, r.wallBefore-r.wallAfter) {
				t.Errorf("%s: the offset of %s lasts %d seconds, the change to it is %d", name, time.Unix(r.begin, 0).UTC(), lasts, r.wallAfter-r.wallBefore)
			}
		}
	}
}

func TestTheZoneOfAWindowsNameExists(t *testing.T) {
	for name, zone := range windowsZones {
		if _, bad := findZone(zone); bad != nil {
			t.Errorf("%s: %v", name, bad)
		}
		if _, bad := findZone(name); bad == nil || bad.Reason != "is a Windows name: write "+zone {
			t.Errorf("%s: %v, want %s named", name, bad, zone)
		}
	}
	if len(windowsZones) < 100 {
		t.Errorf("%d names, want those of CLDR", len(windowsZones))
	}
}

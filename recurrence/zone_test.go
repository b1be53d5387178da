package recurrence

import (
	"math/rand/v2"
	"testing"
	"time"
)

func TestHorizonIsTheYear2200(t *testing.T) {
	if got := time.Unix(horizon, 0).UTC(); !got.Equal(latest) {
		t.Errorf("horizon %s, want %s", got, latest)
	}
}

func TestZoneKeepsTheOffsetsOfItsLocation(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, name := range engineZones {
		z, err := loadZone(name)
		if err != nil {
			t.Fatal(err)
		}
		instants := []int64{earliest.Unix(), horizon - 1}
		for range 3000 {
			instants = append(instants, earliest.Unix()+rng.Int64N(horizon-earliest.Unix()))
		}
		for _, r := range z.regimes[1:] {
			instants = append(instants, r.from-1, r.from)
		}
		for year := 1900; year < 2200; year++ { // the year's end is where time.Time.ZoneBounds errs
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

// The search relies on it: what a gap moves lands within the regime after it, and what is repeated ends within it.
func TestRegimesOutlastTheChangeTheyBeginWith(t *testing.T) {
	for _, name := range engineZones {
		z, err := loadZone(name)
		if err != nil {
			t.Fatal(err)
		}
		for i := 1; i < len(z.regimes)-1; i++ {
			r := z.regimes[i]
			if lasts := z.regimes[i+1].from - r.from; lasts <= max(r.first-r.wall, r.wall-r.first) {
				t.Errorf("%s: the offset of %s lasts %d seconds, the change to it is %d", name, time.Unix(r.from, 0).UTC(), lasts, r.first-r.wall)
			}
		}
	}
}

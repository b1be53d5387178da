package svg

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"testing"
	"time"
	"unicode/utf8"
)

func TestStepsAreRound(t *testing.T) {
	for _, test := range []struct {
		unit  Unit
		most  float64
		step  float64
		lines int
	}{
		{Count, 0, 1, 1}, {Count, 1, 1, 1}, {Count, 3, 1, 3}, {Count, 7, 2, 4}, {Count, 9, 5, 2}, {Count, 1204, 500, 3}, {Count, 20, 5, 4}, {Count, 1e12, 5e11, 2},
		{PerSecond, 0.4, 0.1, 4}, {PerSecond, 0.41, 0.2, 3}, {PerSecond, 1204, 500, 3},
		{Seconds, 0.003, 0.001, 3}, {Seconds, 0.3, 0.1, 3}, {Seconds, 3, 1, 3}, {Seconds, 45, 15, 3}, {Seconds, 100, 30, 4}, {Seconds, 3000, 900, 4}, {Seconds, 86400, 6 * 3600, 4},
		{Seconds, 10 * 86400, 5 * 86400, 2},
	} {
		if step, lines := steps(test.unit, test.most); step != test.step || lines != test.lines {
			t.Errorf("unit %d, up to %v: %d lines of %v, want %d of %v", test.unit, test.most, lines, step, test.lines, test.step)
		}
	}
	for exponent := -300.0; exponent < 12; exponent += 0.1 {
		most := min(math.Pow(10, exponent), maxValue)
		for _, unit := range []Unit{Count, PerSecond, PerMinute, PerHour, Seconds} {
			if step, lines := steps(unit, most); lines < 1 || lines > 4 || step*float64(lines) < most*(1-1e-6) || math.IsInf(step, 0) {
				t.Errorf("unit %d, up to %v: %d lines of %v", unit, most, lines, step)
			}
		}
	}
}

func TestTheTimeAxisHasRoundLabels(t *testing.T) {
	berlin := zone(t, "Europe/Berlin")
	to := time.Date(2026, 10, 25, 14, 26, 48, 0, berlin)
	for _, test := range []struct {
		span time.Duration
		zone *time.Location
		want []string
	}{
		{15 * time.Minute, berlin, []string{"14:15", "14:20", "14:25"}},
		{time.Hour, berlin, []string{"13:30", "13:45", "14:00", "14:15"}},
		{25 * time.Hour, berlin, []string{"18:00", "25 Oct", "06:00", "12:00"}},
		{14 * time.Hour, berlin, []string{"03:00", "06:00", "09:00", "12:00"}},
		{25 * time.Hour, zone(t, "Asia/Kathmandu"), []string{"25 Oct", "06:00", "12:00", "18:00"}},
		{92 * 24 * time.Hour, berlin, []string{"27 Jul", "24 Aug", "21 Sep", "19 Oct"}},
		{7 * 24 * time.Hour, berlin, []string{"19 Oct", "21 Oct", "23 Oct", "25 Oct"}},
		{10 * time.Second, berlin, []string{"14:26:38", "14:26:40", "14:26:42", "14:26:44", "14:26:46", "14:26:48"}},
	} {
		var got []string
		for _, m := range regexp.MustCompile(`text-anchor="middle" x="[^"]*" y="153">([^<]*)<`).FindAllStringSubmatch(string(Lines{From: to.Add(-test.span), To: to, Zone: test.zone}.SVG()), -1) {
			got = append(got, m[1])
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%v in %s: %q, want %q", test.span, test.zone, got, test.want)
		}
	}
}

func TestTheDoubledHourIsNamed(t *testing.T) {
	berlin := zone(t, "Europe/Berlin")
	to := time.Date(2026, 10, 25, 1, 30, 0, 0, time.UTC)
	svg := string(Lines{From: to.Add(-3 * time.Hour), To: to, Zone: berlin}.SVG())
	if !regexp.MustCompile(`>02:00<.*>02:00 CET<`).MatchString(svg) {
		t.Errorf("02:00 is shown twice without a difference: %s", svg)
	}
}

func TestNoNameOfAGridlineIsCutOff(t *testing.T) {
	for _, most := range []float64{0.001, 59, 61, 3599, 5400, 20_000, 400_000, 9_999_999} {
		for _, unit := range []Unit{Count, PerSecond, PerMinute, PerHour, Seconds} {
			d := drawing(0, most)
			d.Unit = unit
			for _, m := range regexp.MustCompile(`text-anchor="end" x="([0-9.]+)" y="[^"]*">([^<]*)<`).FindAllStringSubmatch(string(d.SVG()), -1) {
				var x float64
				if _, err := fmt.Sscan(m[1], &x); err != nil {
					t.Fatal(err)
				}
				if need := 6.5 * float64(utf8.RuneCountInString(m[2])); x < need { // for digits and letters that are 12 pixels high
					t.Errorf("%q ends at %v, and needs %v", m[2], x, need)
				}
			}
		}
	}
}

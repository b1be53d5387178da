package format_test

import (
	"math"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/format"
)

const (
	us = time.Microsecond
	ms = time.Millisecond
	s  = time.Second
	m  = time.Minute
	h  = time.Hour
	d  = 24 * time.Hour
)

// Each row is one span, as each function writes it. Empty: the function is not meant for such a span.
func TestSpans(t *testing.T) {
	for _, c := range []struct {
		span                    time.Duration
		measured, age, to, past string
	}{
		{0, "<1ms", "<1s", "now", "now"},
		{800, "1µs", "<1s", "now", "now"},
		{850 * us, "850µs", "<1s", "now", "now"},
		{999*us + 999, "999µs", "<1s", "now", "now"},
		{ms, "1ms", "<1s", "now", "now"},
		{850 * ms, "850ms", "<1s", "now", "now"},
		{999*ms + 999*us, "999ms", "<1s", "now", "now"},
		{s, "1s", "1s", "in 1s", "1s ago"},
		{1099 * ms, "1s", "1s", "in 1s", "1s ago"},
		{1390 * ms, "1.3s", "1s", "in 1s", "1s ago"},
		{4 * s, "4s", "4s", "in 4s", "4s ago"},
		{9999 * ms, "9.9s", "9s", "in 9s", "9s ago"},
		{10999 * ms, "10s", "10s", "in 10s", "10s ago"},
		{59999 * ms, "59s", "59s", "in 59s", "59s ago"},
		{m, "1m", "1m", "in 1m", "1m ago"},
		{m + 999*ms, "1m", "1m", "in 1m", "1m ago"},
		{4*m + 1*s, "4m 1s", "4m 1s", "in 4m 1s", "4m 1s ago"},
		{3*m + 12*s, "3m 12s", "3m 12s", "in 3m 12s", "3m 12s ago"},
		{59*m + 59*s, "59m 59s", "59m 59s", "in 59m 59s", "59m 59s ago"},
		{h, "1h", "1h", "in 1h", "1h ago"},
		{h + 59*s, "1h", "1h", "in 1h", "1h ago"},
		{2*h + 5*m + 59*s, "2h 5m", "2h 5m", "in 2h 5m", "2h 5m ago"},
		{d, "1d", "1d", "in 1d", "1d ago"},
		{9*d + 4*m, "9d", "9d", "in 9d", "9d ago"},
		{2*d + 1*h, "2d 1h", "2d 1h", "in 2d 1h", "2d 1h ago"},
		{126*d + 12*h, "126d 12h", "126d 12h", "in 126d 12h", "126d 12h ago"},
		{1234*d + 23*h + 59*m, "1,234d 23h", "1,234d 23h", "in 1,234d 23h", "1,234d 23h ago"},
	} {
		for name, got := range map[string][2]string{
			"Span": {format.Span(c.span), c.measured}, "Age": {format.Age(c.span), c.age},
			"Away, to come": {format.Away(c.span), c.to}, "Away, past": {format.Away(-c.span), c.past},
		} {
			if got[0] != got[1] {
				t.Errorf("%s of %v is %q, want %q", name, c.span, got[0], got[1])
			}
		}
	}
	for span, want := range map[time.Duration]string{-3 * ms: "-3ms", -s: "-1s", math.MinInt64: "-106,751d 23h"} {
		if got := format.Span(span); got != want {
			t.Errorf("Span of %v is %q, want %q", span, got, want)
		}
	}
}

func TestConfiguredSpansLoseNothing(t *testing.T) {
	for span, want := range map[time.Duration]struct{ exact, field string }{
		0:                   {"0s", "0s"},
		250 * ms:            {"250ms", "250ms"},
		1250 * ms:           {"1.25s", "1.25s"},
		10 * s:              {"10s", "10s"},
		m:                   {"1m", "1m"},
		90 * s:              {"1m 30s", "1m30s"},
		10 * m:              {"10m", "10m"},
		h:                   {"1h", "1h"},
		h + 30*m:            {"1h 30m", "1h30m"},
		h + s:               {"1h 1s", "1h0m1s"},
		10 * h:              {"10h", "10h"},
		d:                   {"1d", "24h"},
		2*d + 12*h + 500*ms: {"2d 12h 500ms", "60h0m0.5s"},
		365 * d:             {"365d", "8760h"},
		-90 * s:             {"-1m 30s", "-1m30s"},
	} {
		if got := format.Exact(span); got != want.exact {
			t.Errorf("Exact of %v is %q, want %q", span, got, want.exact)
		}
		got := format.Field(span)
		if got != want.field {
			t.Errorf("Field of %v is %q, want %q", span, got, want.field)
		}
		if back, err := time.ParseDuration(got); back != span || err != nil {
			t.Errorf("Field of %v is %q, which is read as %v, %v", span, got, back, err)
		}
	}
}

func TestEstimates(t *testing.T) {
	for span, want := range map[time.Duration]string{
		0: "1m", 20 * s: "1m", 89 * s: "1m", 90 * s: "2m", 5*m + 12*s: "5m", 59*m + 29*s: "59m", 59*m + 30*s: "1h", 89 * m: "1h", 90 * m: "2h",
		23*h + 29*m: "23h", 23*h + 30*m: "1d", 35 * h: "1d", 36 * h: "2d", 1234 * d: "1,234d",
	} {
		if got := format.Rough(span); got != want {
			t.Errorf("Rough of %v is %q, want %q", span, got, want)
		}
	}
}

func TestNumbers(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0", 7: "7", 999: "999", 1000: "1,000", 12345: "12,345", 1234567: "1,234,567", -1: "-1", -999: "-999", -1000: "-1,000", -1234567: "-1,234,567",
		math.MinInt64: "-9,223,372,036,854,775,808",
	} {
		if got := format.Count(n); got != want {
			t.Errorf("%d is written %q, want %q", n, got, want)
		}
	}
	if got := format.Count(uint64(math.MaxUint64)); got != "18,446,744,073,709,551,615" {
		t.Errorf("the largest number is written %q", got)
	}
	for n, want := range map[int]string{0: "0 jobs", 1: "1 job", 2: "2 jobs", 1204: "1,204 jobs", -1: "-1 jobs"} {
		if got := format.Plural(n, "job", "jobs"); got != want {
			t.Errorf("%d of a noun is %q, want %q", n, got, want)
		}
	}
	for r, want := range map[float64]string{0: "0", 0.04: "<0.1", 0.1: "0.1", 0.44: "0.4", 9.94: "9.9", 9.95: "10", 12.5: "13", 1204: "1,204", -3.6: "-4"} {
		if got := format.Rate(r); got != want {
			t.Errorf("the rate %v is written %q, want %q", r, got, want)
		}
	}
	for n, want := range map[int]string{1: "1st", 2: "2nd", 3: "3rd", 4: "4th", 11: "11th", 12: "12th", 13: "13th", 21: "21st", 102: "102nd", 111: "111th", 1003: "1,003rd"} {
		if got := format.Ordinal(n); got != want {
			t.Errorf("position %d is written %q, want %q", n, got, want)
		}
	}
}

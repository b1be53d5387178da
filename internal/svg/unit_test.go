package svg

import "testing"

func TestAFigureIsShort(t *testing.T) {
	for _, test := range []struct {
		unit  Unit
		v     float64
		want  string
		exact string
	}{
		{Count, 0, "0", "0"}, {Count, 7, "7", "7"}, {Count, 1204, "1,204", "1,204"}, {Count, 9999, "9,999", "9,999"}, {Count, 10204, "10.2 k", "10,204"},
		{Count, 999999, "1 M", "999,999"}, {Count, 1234567, "1.23 M", "1,234,567"}, {Count, 1e12, "1 T", "1,000,000,000,000"}, {Count, 0.1 + 0.2, "0.3", "0.3"},
		{PerSecond, 0.4, "0.4/s", "0.4/s"}, {PerSecond, 0.0333333, "0.0333/s", "0.0333/s"}, {PerSecond, 1198.4, "1,198/s", "1,198/s"},
		{PerMinute, 24, "24/min", "24/min"}, {PerMinute, 0.05, "0.05/min", "0.05/min"}, {PerHour, 1440, "1,440/h", "1,440/h"}, {PerHour, 12345, "12.3 k/h", "12.3 k/h"},
		{Seconds, 0, "0 s", "0 s"}, {Seconds, 0.0000005, "0.5 µs", "0.5 µs"}, {Seconds, 0.002, "2 ms", "2 ms"}, {Seconds, 0.9999, "1 s", "1 s"}, {Seconds, 59.99, "1 m", "1 m"},
		{Seconds, 192, "3 m 12 s", "3 m 12 s"}, {Seconds, 7500, "2 h 5 m", "2 h 5 m"}, {Seconds, 273600, "3 d 4 h", "3 d 4 h"},
	} {
		if got := test.unit.format(test.v); got != test.want {
			t.Errorf("unit %d: %v is %q, want %q", test.unit, test.v, got, test.want)
		}
		if got := test.unit.exact(test.v); got != test.exact {
			t.Errorf("unit %d: %v is exactly %q, want %q", test.unit, test.v, got, test.exact)
		}
	}
}

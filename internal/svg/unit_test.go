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
		{PerMinute, 24, "24/min", "24/min"}, {PerMinute, 0.05, "0.05/min", "0.05/min"}, {PerHour, 1440, "1,440/h", "1,440/h"}, {PerHour, 12345, "12.3 k/h", "12.3 k/h"}, {PerQuarter, 6, "6/15 s", "6/15 s"},
		{Seconds, 0, "<1ms", "<1ms"}, {Seconds, 0.0000005, "1µs", "1µs"}, {Seconds, 0.002, "2ms", "2ms"}, {Seconds, 0.1 * 3, "300ms", "300ms"}, {Seconds, 0.9999, "999ms", "999ms"},
		{Seconds, 59.99, "59s", "59s"}, {Seconds, 1e12, "104,166d 16h", "104,166d 16h"},
		{Seconds, 192, "3m 12s", "3m 12s"}, {Seconds, 7500, "2h 5m", "2h 5m"}, {Seconds, 273600, "3d 4h", "3d 4h"},
	} {
		if got := test.unit.format(test.v); got != test.want {
			t.Errorf("unit %d: %v is %q, want %q", test.unit, test.v, got, test.want)
		}
		if got := test.unit.exact(test.v); got != test.exact {
			t.Errorf("unit %d: %v is exactly %q, want %q", test.unit, test.v, got, test.exact)
		}
	}
}

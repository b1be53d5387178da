package recurrence

import (
	"testing"
	"time"
)

func TestCalendarAgreesWithPackageTimeOnEveryDay(t *testing.T) {
	day := time.Date(1899, 12, 1, 0, 0, 0, 0, time.UTC)
	for ; day.Year() < 2601; day = day.AddDate(0, 0, 1) {
		n := day.Unix() / secondsPerDay
		date := dateOf(n)
		if date.month != int64(day.Year())*12+int64(day.Month())-1 || date.day != day.Day() {
			t.Fatalf("%s is %+v", day, date)
		}
		if weekdayOfDay(n) != int64(daysSinceMonday(day.Weekday())) {
			t.Fatalf("%s: weekday %d", day, weekdayOfDay(n))
		}
		if day.Day() == 1 && firstDayOf(date.month) != n {
			t.Fatalf("%s: firstOf gives day %d, want %d", day, firstDayOf(date.month), n)
		}
		if want := day.AddDate(0, 1, -day.Day()).Day(); day.Day() == 1 && lengthOf(date.month) != want {
			t.Fatalf("%s: length %d, want %d", day, lengthOf(date.month), want)
		}
	}
}

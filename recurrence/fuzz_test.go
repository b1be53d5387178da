package recurrence

import (
	"reflect"
	"testing"
	"time"
)

func FuzzParse(f *testing.F) {
	for _, text := range []string{
		`{}`, `null`, `[]`, `{"properties":{"startTime":"2012-08-04T00:00Z","recurrence":{"frequency":"Week","schedule":{"weekDays":["Monday"],"hours":[10]}}}}`,
		`{"frequency":"month","interval":2,"count":3,"endTime":"2030-01-01","schedule":{"minutes":0,"monthDays":[-1,15],"monthlyOccurences":{"day":"friday","occurrence":-1},"months":[2]},"timeZone":"Europe/Berlin"}`,
		`{"cron":"CRON_TZ=America/New_York */15 9-16 * * 1-5","startTime":"2026-03-08T02:30"}`,
		`{"cron":"@every 90m"}`, `{"id":"\ud83d\ude00\ud800","frequency":"day"}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := Parse(data)
		if err == nil {
			checkRoundTrip(t, r)
			return
		}
		if !reflect.DeepEqual(r, Recurrence{}) {
			t.Errorf("an error, but also returns %+v", r)
		}
		list := Errors(err)
		if len(list) == 0 {
			t.Errorf("%v holds no *Error", err)
		}
		for _, e := range list {
			if e.Code == "" || e.Reason == "" || len([]rune(e.Value)) > maxValueChars {
				t.Errorf("incomplete error %#v", e)
			}
		}
	})
}

func FuzzRoundTrip(f *testing.F) {
	f.Add(int64(1767225600), int64(0), uint8(3), 2, 5, uint8(0), uint8(0), []byte{0, 30, 0}, []byte{9, 17}, []byte{}, []byte{}, []byte{}, []byte{})
	f.Add(int64(0), int64(4102444800), uint8(5), 0, 0, uint8(1), uint8(0), []byte{}, []byte{}, []byte{6, 0, 1}, []byte{}, []byte{}, []byte{})
	f.Add(int64(1), int64(0), uint8(6), 18, 0, uint8(2), uint8(0), []byte{}, []byte{}, []byte{}, []byte{255, 1, 31}, []byte{5, 255, 5, 0}, []byte{12, 1})
	f.Add(int64(0), int64(0), uint8(0), 0, 7, uint8(3), uint8(1), []byte{}, []byte{}, []byte{}, []byte{}, []byte{}, []byte{})
	zones := []string{"", "UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia", "Local", "Nowhere"}
	crons := []string{"", "0 5 * * 1-5", "@daily", "@every 90m", "TZ=Asia/Tokyo */2 * * * *", "0 0 30 2 *", "nonsense"}
	f.Fuzz(func(t *testing.T, start, end int64, frequency uint8, interval, count int, zone, cron uint8, minutes, hours, weekDays, monthDays, occurrences, months []byte) {
		r := Recurrence{
			Frequency: Frequency(frequency),
			Interval:  interval,
			Count:     count,
			TimeZone:  zones[int(zone)%len(zones)],
			Cron:      crons[int(cron)%len(crons)],
			Minutes:   signed[int](minutes),
			Hours:     signed[int](hours),
			WeekDays:  signed[time.Weekday](weekDays),
			MonthDays: signed[int](monthDays),
			Months:    signed[time.Month](months),
		}
		if start != 0 {
			r.StartTime = time.Unix(start, start&0xffffff)
		}
		if end != 0 {
			r.EndTime = time.Unix(end, end&0xffffff)
		}
		for i := 1; i < len(occurrences); i += 2 {
			r.MonthlyOccurrences = append(r.MonthlyOccurrences, NthWeekday{time.Weekday(int8(occurrences[i-1])), int(int8(occurrences[i]))})
		}
		if r.Validate() == nil {
			checkRoundTrip(t, r)
			return
		}
		if text := marshal(t, r); len(text) < maxJSONBytes {
			// Canonical JSON has no duplicates, so eight weekdays may become seven. Parse refuses everything else that Validate refuses.
			if _, err := Parse([]byte(text)); err == nil && len(r.WeekDays) <= 7 {
				t.Errorf("Validate refuses %+v but Parse accepts %s: %v", r, text, r.Validate())
			}
		}
	})
}

// signed converts each byte to a number from -128 to 127.
func signed[T ~int](bytes []byte) (list []T) {
	for _, b := range bytes {
		list = append(list, T(int8(b)))
	}
	return list
}

package recurrence

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

func FuzzParse(f *testing.F) {
	for _, text := range []string{
		`{}`, `null`, `[]`, `{"properties":{"startTime":"2012-08-04T00:00Z","recurrence":{"frequency":"Week","schedule":{"weekDays":["Monday"],"hours":[10]}}}}`,
		`{"frequency":"month","interval":2,"count":3,"endTime":"2030-01-01","schedule":{"minutes":0,"monthDays":[-1,15],"monthlyOccurences":{"day":"friday","occurrence":-1},"months":[2]},"timeZone":"Europe/Berlin"}`,
		`{"cron":"CRON_TZ=America/New_York */15 9-16 * * 1-5","startTime":"2026-03-08T02:30"}`,
		`{"frequency":"month","schedule":{"hours":18,"positions":-1,"seconds":[0,30]},"timeZone":"Europe/London","only":{"times":["09:00/17:30","22:00/05:59:59"]},"except":[{"weekDays":["saturday","sunday"]},{"dates":["12-25","2026-12-20/2027-01-03","12-20/01-03"]}]}`,
		`{"frequency":"month","schedule":{"monthDays":25},"only":{"dates":["easter-2/easter+1","orthodoxEaster+39"]},"shift":"next","shiftBy":-2}`,
		`{"cron":"0 9 * * *","except":{"months":1,"monthDays":[-1],"monthlyOccurrences":{"day":"friday"}},"shift":"modifiedFollowing","also":["2026-12-24T13:00",{"frequency":"week","startTime":"2026-01-03"},{"cron":"0 12 1 * *"}],"clockChanges":"shown"}`,
		`{"startTime":"2026-01-01","also":["2026-02-01"],"count":2}`,
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
	f.Add(int64(1767225600), int64(0), uint8(3), 2, 5, uint8(0), uint8(0), []byte{0, 30, 0}, []byte{9, 17}, []byte{}, []byte{}, []byte{}, []byte{}, []byte{}, []byte{}, []byte{})
	f.Add(int64(0), int64(4102444800), uint8(5), 0, 0, uint8(1), uint8(0), []byte{}, []byte{}, []byte{6, 0, 1}, []byte{}, []byte{}, []byte{}, []byte{0, 30, 59}, []byte{1, 255}, []byte("\x00\x60\x17\x03\x33\x06\x1a\x5b\x0c"))
	f.Add(int64(1), int64(0), uint8(6), 18, 0, uint8(2), uint8(0), []byte{}, []byte{}, []byte{}, []byte{255, 1, 31}, []byte{5, 255, 5, 0}, []byte{12, 1}, []byte{}, []byte{255}, []byte("\x04\x25\x17\x92\x06\x28\x19\x6b"))
	f.Add(int64(0), int64(0), uint8(0), 0, 7, uint8(3), uint8(1), []byte{}, []byte{}, []byte{}, []byte{}, []byte{}, []byte{}, []byte{60}, []byte{0}, []byte("\x06\x07\x78\x39\x3d\x4c"))
	zones := []string{"", "UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia", "Local", "Nowhere"}
	crons := []string{"", "0 5 * * 1-5", "@daily", "@every 90m", "TZ=Asia/Tokyo */2 * * * *", "0 0 30 2 *", "nonsense"}
	f.Fuzz(func(t *testing.T, start, end int64, frequency uint8, interval, count int, zone, cron uint8, minutes, hours, weekDays, monthDays, occurrences, months, seconds, positions, calendar []byte) {
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
			Seconds:   signed[int](seconds),
			Positions: signed[int](positions),
		}
		setCalendar(&r, calendar)
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
			if _, err := Parse([]byte(text)); err == nil && !strings.Contains(codesOf(r.Validate()), "_size") {
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

// setCalendar sets the fields of a calendar. The lower half of each byte determines what is added, the upper half which value.
func setCalendar(r *Recurrence, bytes []byte) {
	dates := []string{"12-25", "2026-12-25", "2026-12-25/2026-12-25", "12-20/01-03", "2026-12-20/2027-01-03", "02-29", "easter-2/easter+1", "ORTHODOXEASTER+01", "easter+71", "02-30", "2027-01-01/2026-01-01", ""}
	times := []string{"09:00", "09:00/09:00", "22:00/05:59", "00:00/23:59", "09:00:30", "09:00:00/17:30:59", "24:00", "9"}
	crons := []string{"0 5 * * *", "@every 90m", "TZ=UTC 0 5 * * *", "0 0 30 2 *", "?"}
	var f Filter
	for _, b := range bytes {
		which := int(b >> 4)
		switch b & 15 {
		case 0:
			f.WeekDays = append(f.WeekDays, time.Weekday(which%8))
		case 1:
			f.MonthDays = append(f.MonthDays, which-8)
		case 2:
			f.Months = append(f.Months, time.Month(which%14))
		case 3:
			f.Dates = append(f.Dates, dates[which%len(dates)])
		case 4:
			f.Times = append(f.Times, times[which%len(times)])
		case 5:
			f.MonthlyOccurrences = append(f.MonthlyOccurrences, NthWeekday{time.Weekday(which % 8), which%7 - 1})
		case 6:
			r.Only, f = append(r.Only, f), Filter{}
		case 7:
			r.Except, f = append(r.Except, f), Filter{}
		case 8:
			r.Shift, r.ShiftBy = Shift(which%8), 5*which-37
		case 9:
			r.ClockChanges = ClockChanges(which % 4)
		case 10:
			r.Also = append(r.Also, Recurrence{StartTime: time.Unix(int64(which)*1e9-3e9, int64(which))})
		case 11:
			r.Also = append(r.Also, Recurrence{Frequency: Frequency(which % 9), Interval: which % 3, Hours: []int{which * 2}})
		case 12:
			r.Also = append(r.Also, Recurrence{Cron: crons[which%len(crons)]})
		case 13:
			r.Also = append(r.Also, Recurrence{Frequency: Week, Count: which, Only: r.Only, Also: r.Also})
		}
	}
}

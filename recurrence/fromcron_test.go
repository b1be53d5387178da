package recurrence

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"
)

// bitsOf returns the numbers of the bits that are set in a mask, in order.
func bitsOf(mask uint64) []int {
	var values []int
	for bit := range 64 {
		if mask>>bit&1 == 1 {
			values = append(values, bit)
		}
	}
	return values
}

// upTo returns lo, lo+step, … up to hi.
func upTo(lo, hi, step int) []int {
	var values []int
	for v := lo; v <= hi; v += step {
		values = append(values, v)
	}
	return values
}

func TestCronFieldHasTheseValues(t *testing.T) {
	const minute, hour, day, month, weekday = 0, 1, 2, 3, 4
	tests := []struct {
		field int
		text  string
		want  []int
	}{
		{minute, "*", upTo(0, 59, 1)},
		{minute, "?", upTo(0, 59, 1)},
		{minute, "7", []int{7}},
		{minute, "07", []int{7}},
		{minute, "5,3,5", []int{3, 5}},
		{minute, "10-13", []int{10, 11, 12, 13}},
		{minute, "10-10", []int{10}},
		{minute, "*/15", []int{0, 15, 30, 45}},
		{minute, "?/20", []int{0, 20, 40}},
		{minute, "*/60", []int{0}},
		{minute, "50/5", []int{50, 55}},
		{minute, "10-20/5,59", []int{10, 15, 20, 59}},
		{hour, "*/2", []int{0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22}},
		{hour, "0-23", upTo(0, 23, 1)},
		{hour, "20/2", []int{20, 22}},
		{day, "*", upTo(1, 31, 1)},
		{day, "*/10", []int{1, 11, 21, 31}},
		{day, "15/8", []int{15, 23, 31}},
		{month, "jan", []int{1}},
		{month, "JUN-Aug", []int{6, 7, 8}},
		{month, "*/3", []int{1, 4, 7, 10}},
		{month, "oct/2", []int{10, 12}},
		{month, "jul", []int{7}},
		{weekday, "*", upTo(0, 6, 1)},
		{weekday, "0", []int{0}},
		{weekday, "7", []int{0}},
		{weekday, "0,7", []int{0}},
		{weekday, "5-7", []int{0, 5, 6}},
		{weekday, "0-7", upTo(0, 6, 1)},
		{weekday, "1-7", upTo(0, 6, 1)},
		{weekday, "Mon-FRI", []int{1, 2, 3, 4, 5}},
		{weekday, "sun-sat", upTo(0, 6, 1)},
		{weekday, "1/2", []int{1, 3, 5}},
		{weekday, "*/2", []int{0, 2, 4, 6}},
		{weekday, "7/1", []int{0}},
		{weekday, "fri-7", []int{0, 5, 6}},
	}
	for _, test := range tests {
		words := []string{"0", "0", "1", "1", "1"}
		words[test.field] = test.text
		f, err := compileCron(strings.Join(words, " "))
		if err != nil {
			t.Errorf("%s %q: %v", cronFieldTable[test.field].name, test.text, err)
			continue
		}
		masks := []uint64{f.minutes, uint64(f.hours), uint64(f.daysOfMonth), uint64(f.months), uint64(f.weekDays)}
		if got := bitsOf(masks[test.field]); !slices.Equal(got, test.want) {
			t.Errorf("%s %q holds %v, want %v", cronFieldTable[test.field].name, test.text, got, test.want)
		}
	}
}

func TestDayFieldIsRestrictedUnlessItIsAStar(t *testing.T) {
	tests := []struct {
		text       string
		restricted bool
	}{
		{"*", false}, {"?", false}, {"*/1", false}, {"?/1", false}, {"*/01", false},
		{"*/2", true}, {"1", true}, {"1-5", true}, {"*,5", true}, {"1/1", true},
	}
	for _, test := range tests {
		f, err := compileCron("0 0 " + test.text + " * " + test.text)
		if err != nil {
			t.Errorf("%q: %v", test.text, err)
			continue
		}
		if f.domRestricted != test.restricted || f.dowRestricted != test.restricted {
			t.Errorf("%q restricts days of the month: %v, of the week: %v, want %v", test.text, f.domRestricted, f.dowRestricted, test.restricted)
		}
	}
}

func TestACronMacroMeansItsFiveFields(t *testing.T) {
	tests := []struct{ macro, fields string }{
		{"@yearly", "0 0 1 1 *"}, {"@annually", "0 0 1 1 *"}, {"@monthly", "0 0 1 * *"}, {"@weekly", "0 0 * * 0"},
		{"@daily", "0 0 * * *"}, {"@Midnight", "0 0 * * *"}, {"@HOURLY", "0 * * * *"},
	}
	for _, test := range tests {
		got, err := compileCron(test.macro)
		want, wantErr := compileCron(test.fields)
		if err != nil || wantErr != nil || !equalCron(got, want) {
			t.Errorf("%s = %+v (%v), want %+v (%v)", test.macro, got, err, want, wantErr)
		}
	}
}

// equalCron compares two compiled texts without their zones.
func equalCron(a, b cronFields) bool {
	return a.minutes == b.minutes && a.hours == b.hours && a.daysOfMonth == b.daysOfMonth && a.months == b.months &&
		a.weekDays == b.weekDays && a.domRestricted == b.domRestricted && a.dowRestricted == b.dowRestricted &&
		a.every.Frequency == b.every.Frequency && a.every.Interval == b.every.Interval
}

func TestCronKeepsTheTextAndTurnsEveryIntoAFrequency(t *testing.T) {
	tests := []struct {
		text       string
		cron, zone string
		frequency  Frequency
		interval   int
	}{
		{"0 9 * * *", "0 9 * * *", "", 0, 0},
		{"  0\t9  * * MON \n", "0 9 * * MON", "", 0, 0},
		{"@daily", "@daily", "", 0, 0},
		{"CRON_TZ=Europe/Berlin 0 9 * * *", "0 9 * * *", "Europe/Berlin", 0, 0},
		{"TZ=America/New_York @daily", "@daily", "America/New_York", 0, 0},
		{"TZ=UTC 0 9 * * *", "0 9 * * *", "UTC", 0, 0},
		{"@every 1s", "", "", Second, 1},
		{"@every 90s", "", "", Second, 90},
		{"@every 90m", "", "", Minute, 90},
		{"@every 1h30m", "", "", Minute, 90},
		{"@every 1h", "", "", Hour, 1},
		{"@every 60m", "", "", Hour, 1},
		{"@every 24h", "", "", Hour, 24},
		{"@every 1000h", "", "", Hour, 1000},
		{"@every 1008h", "", "", Day, 42},
		{"@every 13152h", "", "", Day, 548},
		{"TZ=Asia/Tokyo @Every 15m", "", "Asia/Tokyo", Minute, 15},
	}
	for _, test := range tests {
		got, err := Cron(test.text)
		if err != nil {
			t.Errorf("Cron(%q): %v", test.text, err)
			continue
		}
		if got.Cron != test.cron || got.TimeZone != test.zone || got.Frequency != test.frequency || got.Interval != test.interval {
			t.Errorf("Cron(%q) = %+v, want cron %q, zone %q, frequency %d, interval %d", test.text, got, test.cron, test.zone, test.frequency, test.interval)
		}
		for _, rule := range []Recurrence{got, {Cron: test.text}} {
			text, err := rule.MarshalJSON()
			if err != nil {
				t.Errorf("%#v: %v", rule, err)
				continue
			}
			if read, err := Parse(text); err != nil || !read.Equal(rule) {
				t.Errorf("%s reads back as %#v (%v)", text, read, err)
			}
		}
	}
}

func TestTheErrorOfARefusedCronTextSaysWhatToWrite(t *testing.T) {
	tests := []struct {
		text string
		code Code
		says string
	}{
		{"", CodeCronSyntax, "five fields"},
		{" \t", CodeCronSyntax, "five fields"},
		{"TZ=UTC", CodeCronSyntax, "five fields"},
		{"* * * *", CodeCronSyntax, "fewer than five"},
		{"0 * * * * *", CodeCronSyntax, "in AWS and Temporal the last one is the year; FromAWS reads cron(…)"},
		{"0 0 * * * *", CodeCronSyntax, "use FromQuartz, FromSpring or FromRobfig"},
		{"0 0 12 * * ? 2026", CodeCronSyntax, "FromQuartz reads them"},
		{"H * * * *", CodeCronSyntax, "option Spread"},
		{"H/15 * * * *", CodeCronSyntax, "option Spread"},
		{"h(0-29) * * * *", CodeCronSyntax, "write one from 0 to 59"},
		{"0~30 * * * *", CodeCronSyntax, "option Spread"},
		{"0 0 * * 7-1", CodeCronSyntax, "so write 0-1"},
		{"0 0 * * 7-0", CodeCronSyntax, "Sunday twice: write 0"},
		{"0 22-6/2 * * *", CodeCronSyntax, "write its values as a list"},
		{"1 2 3 4 5 6 7 8", CodeCronSyntax, "more than five"},
		{"@reboot", CodeCronSyntax, "runs once"},
		{"@fortnightly", CodeCronSyntax, "@weekly"},
		{"@daily 5", CodeCronSyntax, "must be alone"},
		{"0 0 L * *", CodeCronSyntax, "monthDays: [-1]"},
		{"0 0 L-3 * *", CodeCronSyntax, "monthDays: [-1]"},
		{"0 0 15W * *", CodeCronSyntax, "monthDays: [15], shift: nearestInMonth"},
		{"0 0 15W * *", CodeCronSyntax, "FromQuartz and FromSpring read it"},
		{"0 0 LW * *", CodeCronSyntax, "positions: [-1]"},
		{"0 0 L-3 * *", CodeCronSyntax, "[-4] for L-3"},
		{"0 0 * * 5#2", CodeCronSyntax, "monthlyOccurrences"},
		{"0 0 * * fri#2", CodeCronSyntax, "monthlyOccurrences"},
		{"0 0 * * 5L", CodeCronSyntax, "monthlyOccurrences"},
		{"0 0 * * 1,5L", CodeCronSyntax, "monthlyOccurrences"},
		{"*/0 * * * *", CodeCronSyntax, "step of 0"},
		{"*/61 * * * *", CodeCronSyntax, "@every"},
		{"*/ * * * *", CodeCronSyntax, "*/2"},
		{"0 22-6 * * *", CodeCronSyntax, "22-23,0-6"},
		{"0 0 * nov-feb *", CodeCronSyntax, "11-12,1-2"},
		{"0 0 * * fri-mon", CodeCronSyntax, "5-6,0-1"},
		{"0 0 * * sat-sun", CodeCronSyntax, "6-7"},
		{"60 * * * *", CodeCronSyntax, "0 to 59"},
		{"0 24 * * *", CodeCronSyntax, "0 to 23"},
		{"0 0 0 * *", CodeCronSyntax, "1 to 31"},
		{"0 0 32 * *", CodeCronSyntax, "1 to 31"},
		{"0 0 * 0 *", CodeCronSyntax, "1 to 12"},
		{"0 0 * 13 *", CodeCronSyntax, "1 to 12"},
		{"0 0 * * 8", CodeCronSyntax, "0 to 7"},
		{"99999999999999999999 * * * *", CodeCronSyntax, "0 to 59"},
		{"0 0 * * monday", CodeCronSyntax, "three letters"},
		{"0 0 * * onm", CodeCronSyntax, "three letters"},
		{"1,,2 * * * *", CodeCronSyntax, "not a value"},
		{"-5 * * * *", CodeCronSyntax, "not a value"},
		{"1-2-3 * * * *", CodeCronSyntax, "not a value"},
		{"*-5 * * * *", CodeCronSyntax, "not a value"},
		{"+5 * * * *", CodeCronSyntax, "not a value"},
		{"5/2/2 * * * *", CodeCronSyntax, "step"},
		{"@every", CodeCronSyntax, "90m"},
		{"@every 1d", CodeCronSyntax, "24h"},
		{"@every 0s", CodeCronSyntax, "at least one"},
		{"@every -5m", CodeCronSyntax, "at least one"},
		{"@every 1.5s", CodeCronSyntax, "whole seconds"},
		{"@every 1001s", CodeCronSyntax, "1000 seconds"},
		{"@every 13176h", CodeCronSyntax, "548 days"},
		{"@every 5 m", CodeCronSyntax, "one duration"},
		{"TZ= 0 9 * * *", CodeTimeZoneUnknown, "names no zone"},
		{"CRON_TZ=Europe/Berin 0 9 * * *", CodeTimeZoneUnknown, "Europe/Berlin"},
		{"TZ=Local 0 9 * * *", CodeTimeZoneUnknown, "IANA"},
		{strings.Repeat("1,", 500) + "1 * * * *", CodeCronSyntax, "1000"},
	}
	for _, test := range tests {
		_, err := Cron(test.text)
		var refused *Error
		if !errors.As(err, &refused) {
			t.Errorf("Cron(%q) = %v, want an error %s", test.text, err, test.code)
			continue
		}
		if refused.Code != test.code || !strings.Contains(refused.Reason, test.says) {
			t.Errorf("Cron(%q): %s: %s, want %s with %q", test.text, refused.Code, refused.Reason, test.code, test.says)
		}
	}
}

func TestCronRefusesADateThatNoYearHas(t *testing.T) {
	for _, text := range []string{"0 0 30 2 *", "0 0 31 2,4,6,9,11 *", "CRON_TZ=Europe/Berlin 0 0 30 2 ?"} {
		rec, err := Cron(text)
		if codesOf(err) != string(CodeNeverFires) || !rec.Equal(Recurrence{}) {
			t.Errorf("%s: got %+v and %v, want never_fires and no rule", text, rec, err)
		}
	}
	for _, text := range []string{"0 0 29 2 *", "0 0 30 2 1", "0 0 31 2,5 *"} {
		if _, err := Cron(text); err != nil {
			t.Errorf("%s: %v, want a rule", text, err)
		}
	}
}

func TestACronZonePrefixTogetherWithTimeZoneIsRefused(t *testing.T) {
	err := checkCron("CRON_TZ=Europe/Berlin 0 9 * * *", true)
	var refused *Error
	if !errors.As(err, &refused) || refused.Code != CodeCronConflict {
		t.Errorf("prefix beside timeZone: %v, want %s", err, CodeCronConflict)
	}
	if err := checkCron("CRON_TZ=Europe/Berlin 0 9 * * *", false); err != nil {
		t.Errorf("prefix alone: %v, want no error", err)
	}
	if err := checkCron("0 9 * * *", true); err != nil {
		t.Errorf("timeZone alone: %v, want no error", err)
	}
}

// FuzzCron checks that every text is read or refused within a second, and that every field of an accepted text has a value.
func FuzzCron(f *testing.F) {
	for _, text := range []string{
		"*/15 9-16 * * mon-fri", "0 0 13 * 5", "0 0 L * *", "@every 1h30m", "TZ=UTC @daily", "CRON_TZ= 1 2 3 4 5",
		"1/1 0-23/2,5 ? JAN,feb 5-7", "\x00 \xff * * *", "0 0 * * 7/7", strings.Repeat("*", 2000),
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		began := time.Now()
		fields, err := compileCron(string(text))
		if took := time.Since(began); took > time.Second {
			t.Fatalf("%q took %v", text, took)
		}
		if err != nil {
			return
		}
		if e := fields.every; e.Frequency != 0 {
			if e.Interval < 1 || e.Interval > 1000 {
				t.Fatalf("%q: interval %d", text, e.Interval)
			}
			return
		}
		if fields.minutes == 0 || fields.hours == 0 || fields.daysOfMonth == 0 || fields.months == 0 || fields.weekDays == 0 {
			t.Fatalf("%q compiles to an empty field: %+v", text, fields)
		}
		if fields.minutes>>60 != 0 || fields.hours>>24 != 0 || fields.daysOfMonth&1 != 0 || fields.months&1 != 0 ||
			fields.months>>13 != 0 || fields.weekDays>>7 != 0 {
			t.Fatalf("%q compiles to values out of range: %+v", text, fields)
		}
	})
}

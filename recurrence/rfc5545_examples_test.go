package recurrence

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// rfcExamples are all examples of RFC 5545, section 3.8.5.3, in their order: the start, the rule, and the days of its runs by month, at 09:00 or at the
// given times. "…" means that the rule has more. The RFC gives them in New York.
var rfcExamples = []struct{ start, rule, want string }{
	{"19970902", "FREQ=DAILY;COUNT=10", "1997-9: 2-11"},
	{"19970902", "FREQ=DAILY;UNTIL=19971224T000000Z", "1997-9: 2-30; 1997-10: 1-31; 1997-11: 1-30; 1997-12: 1-23"},
	{"19970902", "FREQ=DAILY;INTERVAL=2", "1997-9: 2,4,6,8,10,12,14,16,18,20,22,24,26,28,30; 1997-10: 2,4,6,8,10,12,14,16,18,20,22,24,26,28,30; 1997-11: 1,3,5,7; …"},
	{"19970902", "FREQ=DAILY;INTERVAL=10;COUNT=5", "1997-9: 2,12,22; 1997-10: 2,12"},
	{"19980101", "FREQ=YEARLY;UNTIL=20000131T140000Z;BYMONTH=1;BYDAY=SU,MO,TU,WE,TH,FR,SA", "1998-1: 1-31; 1999-1: 1-31; 2000-1: 1-31"},
	{"19980101", "FREQ=DAILY;UNTIL=20000131T140000Z;BYMONTH=1", "1998-1: 1-31; 1999-1: 1-31; 2000-1: 1-31"},
	{"19970902", "FREQ=WEEKLY;COUNT=10", "1997-9: 2,9,16,23,30; 1997-10: 7,14,21,28; 1997-11: 4"},
	{"19970902", "FREQ=WEEKLY;UNTIL=19971224T000000Z", "1997-9: 2,9,16,23,30; 1997-10: 7,14,21,28; 1997-11: 4,11,18,25; 1997-12: 2,9,16,23"},
	{"19970902", "FREQ=WEEKLY;INTERVAL=2;WKST=SU", "1997-9: 2,16,30; 1997-10: 14,28; 1997-11: 11,25; 1997-12: 9,23; 1998-1: 6,20; 1998-2: 3,17; …"},
	{"19970902", "FREQ=WEEKLY;UNTIL=19971007T000000Z;WKST=SU;BYDAY=TU,TH", "1997-9: 2,4,9,11,16,18,23,25,30; 1997-10: 2"},
	{"19970902", "FREQ=WEEKLY;COUNT=10;WKST=SU;BYDAY=TU,TH", "1997-9: 2,4,9,11,16,18,23,25,30; 1997-10: 2"},
	{"19970901", "FREQ=WEEKLY;INTERVAL=2;UNTIL=19971224T000000Z;WKST=SU;BYDAY=MO,WE,FR",
		"1997-9: 1,3,5,15,17,19,29; 1997-10: 1,3,13,15,17,27,29,31; 1997-11: 10,12,14,24,26,28; 1997-12: 8,10,12,22"},
	{"19970902", "FREQ=WEEKLY;INTERVAL=2;COUNT=8;WKST=SU;BYDAY=TU,TH", "1997-9: 2,4,16,18,30; 1997-10: 2,14,16"},
	{"19970905", "FREQ=MONTHLY;COUNT=10;BYDAY=1FR", "1997-9: 5; 1997-10: 3; 1997-11: 7; 1997-12: 5; 1998-1: 2; 1998-2: 6; 1998-3: 6; 1998-4: 3; 1998-5: 1; 1998-6: 5"},
	{"19970905", "FREQ=MONTHLY;UNTIL=19971224T000000Z;BYDAY=1FR", "1997-9: 5; 1997-10: 3; 1997-11: 7; 1997-12: 5"},
	{"19970907", "FREQ=MONTHLY;INTERVAL=2;COUNT=10;BYDAY=1SU,-1SU", "1997-9: 7,28; 1997-11: 2,30; 1998-1: 4,25; 1998-3: 1,29; 1998-5: 3,31"},
	{"19970922", "FREQ=MONTHLY;COUNT=6;BYDAY=-2MO", "1997-9: 22; 1997-10: 20; 1997-11: 17; 1997-12: 22; 1998-1: 19; 1998-2: 16"},
	{"19970928", "FREQ=MONTHLY;BYMONTHDAY=-3", "1997-9: 28; 1997-10: 29; 1997-11: 28; 1997-12: 29; 1998-1: 29; 1998-2: 26; …"},
	{"19970902", "FREQ=MONTHLY;COUNT=10;BYMONTHDAY=2,15", "1997-9: 2,15; 1997-10: 2,15; 1997-11: 2,15; 1997-12: 2,15; 1998-1: 2,15"},
	{"19970930", "FREQ=MONTHLY;COUNT=10;BYMONTHDAY=1,-1", "1997-9: 30; 1997-10: 1,31; 1997-11: 1,30; 1997-12: 1,31; 1998-1: 1,31; 1998-2: 1"},
	{"19970910", "FREQ=MONTHLY;INTERVAL=18;COUNT=10;BYMONTHDAY=10,11,12,13,14,15", "1997-9: 10-15; 1999-3: 10-13"},
	{"19970902", "FREQ=MONTHLY;INTERVAL=2;BYDAY=TU", "1997-9: 2,9,16,23,30; 1997-11: 4,11,18,25; 1998-1: 6,13,20,27; 1998-3: 3,10,17,24,31; …"},
	{"19970610", "FREQ=YEARLY;COUNT=10;BYMONTH=6,7",
		"1997-6: 10; 1997-7: 10; 1998-6: 10; 1998-7: 10; 1999-6: 10; 1999-7: 10; 2000-6: 10; 2000-7: 10; 2001-6: 10; 2001-7: 10"},
	{"19970310", "FREQ=YEARLY;INTERVAL=2;COUNT=10;BYMONTH=1,2,3",
		"1997-3: 10; 1999-1: 10; 1999-2: 10; 1999-3: 10; 2001-1: 10; 2001-2: 10; 2001-3: 10; 2003-1: 10; 2003-2: 10; 2003-3: 10"},
	{"19970101", "FREQ=YEARLY;INTERVAL=3;COUNT=10;BYYEARDAY=1,100,200",
		"1997-1: 1; 1997-4: 10; 1997-7: 19; 2000-1: 1; 2000-4: 9; 2000-7: 18; 2003-1: 1; 2003-4: 10; 2003-7: 19; 2006-1: 1"},
	{"19970519", "FREQ=YEARLY;BYDAY=20MO", "1997-5: 19; 1998-5: 18; 1999-5: 17; …"},
	{"19970512", "FREQ=YEARLY;BYWEEKNO=20;BYDAY=MO", "1997-5: 12; 1998-5: 11; 1999-5: 17; …"},
	{"19970313", "FREQ=YEARLY;BYMONTH=3;BYDAY=TH", "1997-3: 13,20,27; 1998-3: 5,12,19,26; 1999-3: 4,11,18,25; …"},
	{"19970605", "FREQ=YEARLY;BYDAY=TH;BYMONTH=6,7,8",
		"1997-6: 5,12,19,26; 1997-7: 3,10,17,24,31; 1997-8: 7,14,21,28; 1998-6: 4,11,18,25; 1998-7: 2,9,16,23,30; 1998-8: 6,13,20,27; 1999-6: 3,10,17,24; 1999-7: 1,8,15,22,29; 1999-8: 5,12,19,26; …"},
	{"19970902", "FREQ=MONTHLY;BYDAY=FR;BYMONTHDAY=13\nEXDATE@19970902T090000", "1998-2: 13; 1998-3: 13; 1998-11: 13; 1999-8: 13; 2000-10: 13; …"},
	{"19970913", "FREQ=MONTHLY;BYDAY=SA;BYMONTHDAY=7,8,9,10,11,12,13",
		"1997-9: 13; 1997-10: 11; 1997-11: 8; 1997-12: 13; 1998-1: 10; 1998-2: 7; 1998-3: 7; 1998-4: 11; 1998-5: 9; 1998-6: 13; …"},
	{"19961105", "FREQ=YEARLY;INTERVAL=4;BYMONTH=11;BYDAY=TU;BYMONTHDAY=2,3,4,5,6,7,8", "1996-11: 5; 2000-11: 7; 2004-11: 2; …"},
	{"19970904", "FREQ=MONTHLY;COUNT=3;BYDAY=TU,WE,TH;BYSETPOS=3", "1997-9: 4; 1997-10: 7; 1997-11: 6"},
	{"19970929", "FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-2", "1997-9: 29; 1997-10: 30; 1997-11: 27; 1997-12: 30; 1998-1: 29; 1998-2: 26; 1998-3: 30; …"},
	{"19970902", "FREQ=HOURLY;INTERVAL=3;UNTIL=19970902T170000Z", "1997-9: 2 at 9:00,12:00,15:00"}, // in New York this UNTIL is 13:00, by an erratum of the RFC
	{"19970902", "FREQ=MINUTELY;INTERVAL=15;COUNT=6", "1997-9: 2 at 9:00,9:15,9:30,9:45,10:00,10:15"},
	{"19970902", "FREQ=MINUTELY;INTERVAL=90;COUNT=4", "1997-9: 2 at 9:00,10:30,12:00,13:30"},
	{"19970902", "FREQ=DAILY;BYHOUR=9,10,11,12,13,14,15,16;BYMINUTE=0,20,40", "1997-9: 2-4 at 9:00,9:20,9:40,10:00,10:20,10:40,11:00,11:20,11:40," +
		"12:00,12:20,12:40,13:00,13:20,13:40,14:00,14:20,14:40,15:00,15:20,15:40,16:00,16:20,16:40; …"},
	{"19970902", "FREQ=MINUTELY;INTERVAL=20;BYHOUR=9,10,11,12,13,14,15,16", "1997-9: 2-4 at 9:00,9:20,9:40,10:00,10:20,10:40,11:00,11:20,11:40," +
		"12:00,12:20,12:40,13:00,13:20,13:40,14:00,14:20,14:40,15:00,15:20,15:40,16:00,16:20,16:40; …"},
	{"19970805", "FREQ=WEEKLY;INTERVAL=2;COUNT=4;BYDAY=TU,SU;WKST=MO", "1997-8: 5,10,19,24"},
	{"19970805", "FREQ=WEEKLY;INTERVAL=2;COUNT=4;BYDAY=TU,SU;WKST=SU", "1997-8: 5,17,19,31"},
	{"20070115", "FREQ=MONTHLY;BYMONTHDAY=15,30;COUNT=5", "2007-1: 15,30; 2007-2: 15; 2007-3: 15,30"},
}

// localTimes reads the runs of an example: local times as 1997-09-02 09:00, and whether there are more.
func localTimes(text string) (list []string, more bool) {
	for part := range strings.SplitSeq(text, "; ") {
		if part == "…" {
			return list, true
		}
		month, days, _ := strings.Cut(part, ": ")
		days, clocks, timed := strings.Cut(days, " at ")
		if !timed {
			clocks = "9:00"
		}
		for word := range strings.SplitSeq(days, ",") {
			first, last, ranged := strings.Cut(word, "-")
			if !ranged {
				last = first
			}
			from, _ := strconv.Atoi(first)
			to, _ := strconv.Atoi(last)
			for day := from; day <= to; day++ {
				for clock := range strings.SplitSeq(clocks, ",") {
					at, err := time.Parse("2006-1-2 15:04", fmt.Sprintf("%s-%d %s", month, day, clock))
					if err != nil {
						panic(err)
					}
					list = append(list, at.Format("2006-01-02 15:04"))
				}
			}
		}
	}
	return list, false
}

// All 42 examples run as the RFC lists them, in UTC and in New York. In New York two are refused by name: elapsed hours with an interval, and minutes of
// elapsed time that the clock limits.
func TestTheExamplesOfRFC5545RunAsItListsThem(t *testing.T) {
	if len(rfcExamples) != 42 {
		t.Errorf("%d examples, want 42", len(rfcExamples))
	}
	for zone, want := range map[string]struct{ agree, refused int }{"": {42, 0}, "America/New_York": {40, 2}} {
		agree, refused := 0, 0
		for _, c := range rfcExamples {
			begin, exdate := ":"+c.start+"T090000Z", "EXDATE:$1Z"
			if zone != "" {
				begin, exdate = ";TZID="+zone+":"+c.start+"T090000", "EXDATE;TZID="+zone+":$1"
			}
			rule, excluded, _ := strings.Cut(c.rule, "\nEXDATE@")
			text := "DTSTART" + begin + "\nRRULE:" + rule
			if excluded != "" {
				text += "\n" + strings.Replace(exdate, "$1", excluded, 1)
			}
			r, err := FromRRule(text)
			if codesOf(err) == string(CodeNoRecurrence) {
				refused++
				continue
			}
			if err != nil {
				t.Errorf("%s: %v", text, err)
				continue
			}
			s, err := r.Series(r.StartTime)
			if err != nil {
				t.Errorf("%s: %v", text, err)
				continue
			}
			runs, more := localTimes(c.want)
			n := len(runs)
			if !more {
				n++
			}
			var got []string
			for _, at := range firstRuns(s, n) {
				got = append(got, at.Format("2006-01-02 15:04"))
			}
			if !slices.Equal(got, runs) {
				t.Errorf("%s, which is %v\ngot  %v\nwant %v", text, r, got, runs)
				continue
			}
			agree++
		}
		if agree != want.agree || refused != want.refused {
			t.Errorf("%q: %d agree and %d are refused, want %d and %d", zone, agree, refused, want.agree, want.refused)
		}
	}
}

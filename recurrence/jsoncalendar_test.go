package recurrence

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestParseGivesThisCanonicalCalendar(t *testing.T) {
	for _, c := range []struct{ claim, text, canonical string }{
		{"a filter for an array, single values for arrays", `{"frequency":"day","only":{"weekDays":"monday","monthDays":-1,"monthlyOccurrences":{"day":"monday"},"months":12,"dates":"12-31","times":"09:00"}}`,
			`{"frequency":"day","only":[{"weekDays":["monday"],"monthDays":[-1],"monthlyOccurrences":[{"day":"monday"}],"months":[12],"dates":["12-31"],"times":["09:00"]}]}`},
		{"keys and words in any case", `{"FREQUENCY":"MONTH","SCHEDULE":{"SECONDS":[5]},"EXCEPT":[{"WEEKDAYS":["Sunday"],"Dates":[],"TIMES":null}],"SHIFT":"NEXTINMONTH","CLOCKCHANGES":"Skip"}`,
			`{"frequency":"month","schedule":{"seconds":[5]},"except":[{"weekDays":["sunday"]}],"shift":"nextInMonth","clockChanges":"skip"}`},
		{"null and [] are not set", `{"frequency":"day","schedule":{"seconds":[],"positions":null},"only":[],"except":null,"shift":null,"also":[],"clockChanges":null}`, `{"frequency":"day"}`},
		{"drop and once are not set", `{"frequency":"minute","shift":"drop","clockChanges":"once"}`, `{"frequency":"minute"}`},
		{"drop and once need no rule", `{"startTime":"2026-01-01","shift":"Drop","clockChanges":"ONCE"}`, `{"startTime":"2026-01-01T00:00:00Z"}`},
		{"following", `{"frequency":"day","except":{"months":1},"shift":"following"}`, `{"frequency":"day","except":[{"months":[1]}],"shift":"next"}`},
		{"preceding", `{"frequency":"day","except":{"months":1},"shift":"Preceding"}`, `{"frequency":"day","except":[{"months":[1]}],"shift":"previous"}`},
		{"modifiedFollowing", `{"frequency":"day","except":{"months":1},"shift":"modifiedFollowing"}`, `{"frequency":"day","except":[{"months":[1]}],"shift":"nextInMonth"}`},
		{"modifiedPreceding", `{"frequency":"day","except":{"months":1},"shift":"modifiedpreceding"}`, `{"frequency":"day","except":[{"months":[1]}],"shift":"previousInMonth"}`},
		{"the article's misspelling in a filter", `{"frequency":"day","only":{"monthlyOccurences":{"day":"friday","occurrence":-1}}}`,
			`{"frequency":"day","only":[{"monthlyOccurrences":[{"day":"friday","occurrence":-1}]}]}`},
		{"the order and the duplicates of a filter", `{"frequency":"day","only":[{"weekDays":["sunday","monday","sunday"],"monthDays":[15,-1,15],"months":[2,1,2]}]}`,
			`{"frequency":"day","only":[{"weekDays":["monday","sunday"],"monthDays":[-1,15],"months":[1,2]}]}`},
		{"filters are sorted by their text", `{"frequency":"day","except":[{"weekDays":["saturday","sunday"]},{"times":"09:00"},{"weekDays":"monday"},{"months":[1]},{"dates":["2026-05-25","12-25"]},{"weekDays":["sunday","saturday","sunday"]}]}`,
			`{"frequency":"day","except":[{"dates":["12-25","2026-05-25"]},{"months":[1]},{"times":["09:00"]},{"weekDays":["monday"]},{"weekDays":["saturday","sunday"]}]}`},
		{"dates are sorted by their text, and a range of one day is that day", `{"frequency":"day","except":{"dates":["2026-12-25/2026-12-25","12-25/12-25","2026-12-25","12-20/01-03","2026-01-01/2026-01-02"]}}`,
			`{"frequency":"day","except":[{"dates":["12-20/01-03","12-25","2026-01-01/2026-01-02","2026-12-25"]}]}`},
		{"days that count from Easter", `{"frequency":"day","except":{"dates":["ORTHODOXEASTER","easter-2/easter+1","12-25","Easter+0/easter","easter+01","2026-12-25"]}}`,
			`{"frequency":"day","except":[{"dates":["12-25","2026-12-25","easter","easter+1","easter-2/easter+1","orthodoxEaster"]}]}`},
		{"a range of one minute is that minute", `{"frequency":"day","only":{"times":["22:00/05:59","09:00/09:00","09:00:00/09:00:59","09:00","08:00:30/08:00:30"]}}`,
			`{"frequency":"day","only":[{"times":["08:00:30","09:00","22:00/05:59"]}]}`},
		{"seconds are left out at the ends of a minute", `{"frequency":"day","only":{"times":["09:00:00/17:30:59","01:00:51/18:15","07:00:00/07:00:05"]}}`,
			`{"frequency":"day","only":[{"times":["01:00:51/18:15","07:00/07:00:05","09:00/17:30"]}]}`},
		{"an instant of also is in UTC and an object", `{"frequency":"day","also":["2026-12-24T13:00","2026-12-24T10:00:00.5+01:00","2026-12-23"]}`,
			`{"frequency":"day","also":[{"startTime":"2026-12-23T00:00:00Z"},{"startTime":"2026-12-24T09:00:00Z"},{"startTime":"2026-12-24T13:00:00Z"}]}`},
		{"an instant is written either way", `{"frequency":"day","also":["2026-12-24",{"startTime":"2026-12-24T00:00Z"},{"STARTTIME":"2026-12-25","endTime":null,"schedule":{}}]}`,
			`{"frequency":"day","also":[{"startTime":"2026-12-24T00:00:00Z"},{"startTime":"2026-12-25T00:00:00Z"}]}`},
		{"one instant for an array", `{"frequency":"day","also":"2026-12-24"}`, `{"frequency":"day","also":[{"startTime":"2026-12-24T00:00:00Z"}]}`},
		{"one rule for an array", `{"frequency":"day","also":{"frequency":"weekly","schedule":{"weekDays":"saturday","hours":11}}}`,
			`{"frequency":"day","also":[{"frequency":"week","schedule":{"hours":[11],"weekDays":["saturday"]}}]}`},
		{"times of also are in the outer zone", `{"frequency":"day","timeZone":"Europe/Berlin","also":["2026-07-01T12:00","2026-12-01T12:00",{"frequency":"day","startTime":"2026-07-01T00:00","endTime":"2026-07-02T00:00"}]}`,
			`{"frequency":"day","timeZone":"Europe/Berlin","also":[{"startTime":"2026-06-30T22:00:00Z","frequency":"day","endTime":"2026-07-01T22:00:00Z"},{"startTime":"2026-07-01T10:00:00Z"},{"startTime":"2026-12-01T11:00:00Z"}]}`},
		{"times of also are in the zone of the cron prefix", `{"cron":"TZ=Europe/Berlin 0 5 * * *","also":["2026-07-01T12:00"]}`,
			`{"cron":"TZ=Europe/Berlin 0 5 * * *","also":[{"startTime":"2026-07-01T10:00:00Z"}]}`},
		{"rules and instants are sorted by their text, without duplicates", `{"frequency":"day","also":[{"cron":"0 5 * * *"},"2026-12-24",{"frequency":"week","interval":2},"2026-12-24",{"cron":"0 5 * * *"}]}`,
			`{"frequency":"day","also":[{"cron":"0 5 * * *"},{"frequency":"week","interval":2},{"startTime":"2026-12-24T00:00:00Z"}]}`},
		{"a start and also is a list", `{"startTime":"2026-01-01","also":["2026-02-01"]}`, `{"startTime":"2026-01-01T00:00:00Z","also":[{"startTime":"2026-02-01T00:00:00Z"}]}`},
		{"a list in the job form", `{"startTime":"2026-01-01","recurrence":{"also":["2026-02-01"]}}`, `{"startTime":"2026-01-01T00:00:00Z","also":[{"startTime":"2026-02-01T00:00:00Z"}]}`},
		{"a list with a count and an end", `{"startTime":"2026-01-01","count":2,"endTime":"2026-03-01","also":["2026-02-01"]}`,
			`{"startTime":"2026-01-01T00:00:00Z","count":2,"endTime":"2026-03-01T00:00:00Z","also":[{"startTime":"2026-02-01T00:00:00Z"}]}`},
		{"a calendar with cron", `{"cron":"0 9 * * *","except":{"dates":"12-25"},"shift":"next","also":"2026-12-25","clockChanges":"shown"}`,
			`{"cron":"0 9 * * *","except":[{"dates":["12-25"]}],"shift":"next","also":[{"startTime":"2026-12-25T00:00:00Z"}],"clockChanges":"shown"}`},
		{"a shift by days", `{"frequency":"day","clockChanges":"skip","also":["2026-07-02"],"SHIFTBY":-31,"only":{"months":[1,2]},"shift":"next"}`,
			`{"frequency":"day","only":[{"months":[1,2]}],"shift":"next","shiftBy":-31,"also":[{"startTime":"2026-07-02T00:00:00Z"}],"clockChanges":"skip"}`},
		{"a shift by no days is not set", `{"frequency":"minute","shiftBy":0}`, `{"frequency":"minute"}`},
		{"a shift by no days needs no rule", `{"startTime":"2026-01-01","shiftBy":-0}`, `{"startTime":"2026-01-01T00:00:00Z"}`},
		{"all fields in the order of the table", `{"clockChanges":"skip","also":["2026-07-02"],"shift":"nearest","except":{"months":1},"only":{"months":[1,2]},"timeZone":"UTC","schedule":{"seconds":3,"months":[1],"minutes":[1],"hours":2},"endTime":"2027-01-01","count":3,"interval":2,"frequency":"year","startTime":"2026-07-01"}`,
			`{"startTime":"2026-07-01T00:00:00Z","frequency":"year","interval":2,"count":3,"endTime":"2027-01-01T00:00:00Z","schedule":{"minutes":[1],"hours":[2],"months":[1],"seconds":[3]},"timeZone":"UTC","only":[{"months":[1,2]}],"except":[{"months":[1]}],"shift":"nearest","also":[{"startTime":"2026-07-02T00:00:00Z"}],"clockChanges":"skip"}`},
		{"positions come last in a schedule", `{"frequency":"month","schedule":{"positions":[2,-1,2],"seconds":[30,0],"monthDays":[1,2]}}`,
			`{"frequency":"month","schedule":{"monthDays":[1,2],"seconds":[0,30],"positions":[-1,2]}}`},
		{"the largest positions", `{"frequency":"year","schedule":{"positions":[366,-366]},"also":[{"frequency":"month","schedule":{"positions":[31,-31]}},{"frequency":"week","schedule":{"positions":[7,-7]}}]}`,
			`{"frequency":"year","schedule":{"positions":[-366,366]},"also":[{"frequency":"month","schedule":{"positions":[-31,31]}},{"frequency":"week","schedule":{"positions":[-7,7]}}]}`},
		{"the example of the last working day", `{"frequency":"month","schedule":{"minutes":[0],"hours":[18],"positions":[-1]},"timeZone":"Europe/London","except":[{"dates":["12-25","2026-05-25"]},{"weekDays":["saturday","sunday"]}]}`,
			`{"frequency":"month","schedule":{"minutes":[0],"hours":[18],"positions":[-1]},"timeZone":"Europe/London","except":[{"dates":["12-25","2026-05-25"]},{"weekDays":["saturday","sunday"]}]}`},
	} {
		r, err := Parse([]byte(c.text))
		if err != nil {
			t.Errorf("%s: %s is refused: %v", c.claim, c.text, err)
			continue
		}
		if got := marshal(t, r); got != c.canonical {
			t.Errorf("%s: %s\n got %s\nwant %s", c.claim, c.text, got, c.canonical)
		}
		checkRoundTrip(t, r)
	}
}

func TestParseRefusesCalendarsWithCodeFieldAndValue(t *testing.T) {
	for _, c := range []struct{ text, want string }{ // want: code field value, joined
		// Filters.
		{`{"frequency":"day","only":5}`, `filter_type|only|5`},
		{`{"frequency":"day","except":[{"months":1},"weekend",null]}`, `filter_type|except[1]|weekend; filter_type|except[2]|null`},
		{`{"frequency":"day","only":{}}`, `filter_empty|only|{}`},
		{`{"frequency":"day","only":[{"months":1},{"weekDays":[],"dates":null}]}`, `filter_empty|only[1]|{"weekDays":[],"dates":null}`},
		{`{"frequency":"day","only":[{"years":2026}]}`, `unknown_field|only[0].years|2026`},
		{`{"frequency":"day","only":[{"hours":null}]}`, `unknown_field|only[0].hours|null`},
		{`{"frequency":"day","only":[{"positions":1},{"seconds":1}]}`, `unknown_field|only[0].positions|1; unknown_field|only[1].seconds|1`},
		{`{"frequency":"day","except":[{"dates":["12-25"],"Dates":["12-26"]}]}`, `duplicate_field|except[0].dates|["12-26"]`},
		{`{"frequency":"day","except":[{"weekDays":["monday","weekend"]}]}`, `weekdays_value|except[0].weekDays[1]|weekend`},
		{`{"frequency":"day","except":{"weekDays":[1]}}`, `weekdays_type|except.weekDays[0]|1`},
		{`{"frequency":"day","only":[{"weekDays":["monday","monday","monday","monday","monday","monday","monday","monday"]}]}`,
			`weekdays_size|only[0].weekDays|["monday","monday","monday","monday","monday","monday","monday",`},
		{`{"frequency":"day","except":[{"monthDays":[1,32]}]}`, `monthdays_range|except[0].monthDays[1]|32`},
		{`{"frequency":"day","except":[{"monthDays":"1"}]}`, `monthdays_type|except[0].monthDays|1`},
		{`{"frequency":"day","except":[{"months":[0]}]}`, `months_range|except[0].months[0]|0`},
		{`{"frequency":"day","except":[{"months":["may"]}]}`, `months_type|except[0].months[0]|may`},
		{`{"frequency":"day","except":[{"monthlyOccurrences":[{"day":"monday","occurrence":6},{"day":"day"},5,{"day":"friday","nth":1}]}]}`,
			`occurrence_range|except[0].monthlyOccurrences[0].occurrence|6; occurrence_day|except[0].monthlyOccurrences[1].day|day; occurrences_type|except[0].monthlyOccurrences[2]|5; unknown_field|except[0].monthlyOccurrences[3].nth|1`},
		{`{"frequency":"day","except":[{"dates":["12-25",20261224,"2026-02-29"]}]}`, `dates_type|except[0].dates[1]|20261224; dates_value|except[0].dates[2]|2026-02-29`},
		{`{"frequency":"day","except":[{"dates":"christmas"}]}`, `dates_value|except[0].dates|christmas`},
		{`{"frequency":"day","only":[{"times":["09:00",9,"18:00/24:00"]}]}`, `times_type|only[0].times[1]|9; times_value|only[0].times[2]|18:00/24:00`},
		{`{"frequency":"day","only":[{"times":{"from":"09:00"}}]}`, `times_type|only[0].times|{"from":"09:00"}`},
		{`{"frequency":"day","only":[` + strings.Repeat(`{"months":1},`, 32) + `{"months":1}]}`, `filter_size|only|[{"months":1},{"months":1},{"months":1},{"months":1},{"months":1`},
		{`{"frequency":"day","only":{"dates":[` + strings.Repeat(`"12-25",`, 1000) + `"12-25"]}}`, `filter_size|only.dates|["12-25","12-25","12-25","12-25","12-25","12-25","12-25","12-25"`},
		{`{"frequency":"day","only":[{"times":[` + strings.Repeat(`"09:00",`, 100) + `"09:00"]}]}`, `filter_size|only[0].times|["09:00","09:00","09:00","09:00","09:00","09:00","09:00","09:00"`},
		{`{"startTime":"2026-01-01","only":{"months":1}}`, `frequency_missing|frequency|`},
		{`{"except":{"months":1}}`, `frequency_missing|frequency|`},
		{`{"startTime":"2026-01-01","except":{"months":1},"also":["2026-02-01"]}`, `frequency_missing|frequency|`},

		// Shift.
		{`{"frequency":"month","except":{"months":1},"shift":"forward"}`, `shift_value|shift|forward`},
		{`{"frequency":"month","except":{"months":1},"shift":""}`, `shift_value|shift|`},
		{`{"frequency":"month","except":{"months":1},"shift":1}`, `shift_value|shift|1`},
		{`{"frequency":"month","except":{"months":1},"shift":["next"]}`, `shift_value|shift|["next"]`},
		{`{"frequency":"month","shift":"next"}`, `shift_alone|shift|next`},
		{`{"frequency":"month","only":[{}],"shift":"next"}`, `filter_empty|only[0]|{}`},
		{`{"frequency":"hour","only":{"months":1},"shift":"next"}`, `shift_frequency|shift|next`},
		{`{"cron":"@every 90m","only":{"months":1},"shift":"Following"}`, `shift_frequency|shift|Following`},
		{`{"frequency":"day","only":{"months":1},"shift":"next","also":["2026-01-01",{"frequency":"minute"}]}`, `shift_frequency|shift|next`},
		{`{"frequency":"day","only":{"months":1},"shift":"next","also":[{"cron":"@every 1h"}]}`, `shift_frequency|shift|next`},
		{`{"frequency":"second","shift":"next"}`, `shift_alone|shift|next; shift_frequency|shift|next`},
		{`{"frequency":"week","schedule":{"positions":1},"only":{"months":1},"shift":"next"}`, `shift_positions|shift|next`},
		{`{"frequency":"week","only":{"months":1},"shift":"next","also":{"frequency":"month","schedule":{"positions":1}}}`, `shift_positions|shift|next`},
		{`{"frequency":"day","shiftBy":32}`, `shiftby_range|shiftBy|32`},
		{`{"frequency":"day","shiftBy":-99999999999999999999}`, `shiftby_range|shiftBy|-99999999999999999999`},
		{`{"frequency":"day","shiftBy":"2"}`, `shiftby_type|shiftBy|2`},
		{`{"frequency":"day","shiftBy":1.5}`, `shiftby_type|shiftBy|1.5`},
		{`{"frequency":"day","shiftBy":[1]}`, `shiftby_type|shiftBy|[1]`},
		{`{"frequency":"hour","shiftBy":-2}`, `shiftby_frequency|shiftBy|-2`},
		{`{"cron":"@every 90m","shiftBy":1}`, `shiftby_frequency|shiftBy|1`},
		{`{"frequency":"day","shiftBy":1,"also":["2026-01-01",{"frequency":"minute"}]}`, `shiftby_frequency|shiftBy|1`},
		{`{"startTime":"2026-01-01","shiftBy":1}`, `frequency_missing|frequency|`},
		{`{"frequency":"day","also":{"frequency":"week","shiftBy":1}}`, `unknown_field|also.shiftBy|1`},
		{`{"startTime":"2026-01-01","shift":"next"}`, `frequency_missing|frequency|; shift_alone|shift|next`},

		// ClockChanges.
		{`{"frequency":"day","clockChanges":"both"}`, `clockchanges_value|clockChanges|both`},
		{`{"frequency":"day","clockChanges":true}`, `clockchanges_value|clockChanges|true`},
		{`{"frequency":"hour","clockChanges":"skip"}`, `clockchanges_frequency|clockChanges|skip`},
		{`{"cron":"@every 90s","clockChanges":"shown"}`, `clockchanges_frequency|clockChanges|shown`},
		{`{"startTime":"2026-01-01","clockChanges":"shown"}`, `frequency_missing|frequency|`},

		// Seconds and positions.
		{`{"frequency":"day","schedule":{"seconds":[0,60]}}`, `seconds_range|schedule.seconds[1]|60`},
		{`{"frequency":"day","schedule":{"seconds":["5"]}}`, `seconds_type|schedule.seconds[0]|5`},
		{`{"frequency":"day","schedule":{"positions":1}}`, `positions_frequency|schedule.positions|1`},
		{`{"frequency":"month","schedule":{"positions":["last"]}}`, `positions_type|schedule.positions[0]|last`},
		{`{"frequency":"week","schedule":{"positions":[8,-8,0]}}`, `positions_range|schedule.positions[0]|8; positions_range|schedule.positions[1]|-8; positions_range|schedule.positions[2]|0`},
		{`{"frequency":"month","schedule":{"positions":[32,-32]}}`, `positions_range|schedule.positions[0]|32; positions_range|schedule.positions[1]|-32`},
		{`{"frequency":"year","schedule":{"positions":[367,-367]}}`, `positions_range|schedule.positions[0]|367; positions_range|schedule.positions[1]|-367`},
		{`{"schedule":{"positions":-31},"frequency":"week"}`, `positions_range|schedule.positions|-31`},
		{`{"cron":"0 5 * * *","schedule":{"seconds":5}}`, `cron_conflict|cron|0 5 * * *`},
		{`{"cron":"0 5 * * *","schedule":{"positions":5}}`, `cron_conflict|cron|0 5 * * *`},
		{`{"startTime":"2026-01-01","schedule":{"seconds":5}}`, `frequency_missing|frequency|`},

		// Also.
		{`{"frequency":"day","also":[5,null,["2026-01-01"],true]}`, `also_type|also[0]|5; also_type|also[1]|null; also_type|also[2]|["2026-01-01"]; also_type|also[3]|true`},
		{`{"frequency":"day","also":7}`, `also_type|also|7`},
		{`{"frequency":"day","also":["tomorrow","2026-02-30","1899-12-31"]}`, `time_syntax|also[0]|tomorrow; time_value|also[1]|2026-02-30; time_range|also[2]|1899-12-31`},
		{`{"frequency":"day","also":[{"startTime":"tomorrow"}]}`, `time_syntax|also[0].startTime|tomorrow`},
		{`{"frequency":"day","also":[{}]}`, `frequency_missing|also[0].frequency|`},
		{`{"frequency":"day","also":{}}`, `frequency_missing|also.frequency|`},
		{`{"frequency":"day","also":[{"endTime":"2026-01-01"}]}`, `frequency_missing|also[0].frequency|`},
		{`{"frequency":"day","also":[{"startTime":"2026-01-01","schedule":{"hours":1}}]}`, `frequency_missing|also[0].frequency|`},
		{`{"frequency":"day","also":[{"startTime":"2026-01-01","endTime":"2026-01-02"}]}`, `frequency_missing|also[0].frequency|`},
		{`{"frequency":"day","also":[{"frequency":"week","count":3}]}`, `unknown_field|also[0].count|3`},
		{`{"frequency":"day","also":[{"startTime":"2026-01-01","COUNT":null}]}`, `unknown_field|also[0].count|null`},
		{`{"frequency":"day","also":[{"frequency":"week","timeZone":"UTC","only":[],"except":{},"shift":"drop","also":[],"clockChanges":"once","name":1}]}`,
			`unknown_field|also[0].timeZone|UTC; unknown_field|also[0].only|[]; unknown_field|also[0].except|{}; unknown_field|also[0].shift|drop; unknown_field|also[0].also|[]; unknown_field|also[0].clockChanges|once; unknown_field|also[0].name|1`},
		{`{"frequency":"day","also":[{"frequency":"week","recurrence":{"frequency":"week"}}]}`, `unknown_field|also[0].recurrence|{"frequency":"week"}`},
		{`{"frequency":"day","also":["2026-01-01",{"frequency":"week","schedule":{"minutes":[60],"count":1}}]}`, `minutes_range|also[1].schedule.minutes[0]|60; unknown_field|also[1].schedule.count|1`},
		{`{"frequency":"day","also":[{"frequency":"eon"},{"frequency":"day","interval":549}]}`, `frequency_unknown|also[0].frequency|eon; interval_range|also[1].interval|549`},
		{`{"frequency":"day","also":[{"frequency":"day","schedule":{"weekDays":"monday"}}]}`, `weekdays_frequency|also[0].schedule.weekDays|monday`},
		{`{"frequency":"day","also":[{"frequency":"day","schedule":5}]}`, `syntax|also[0].schedule|5`},
		{`{"frequency":"day","also":[{"frequency":"day","frequency":"day"}]}`, `duplicate_field|also[0].frequency|day`},
		{`{"frequency":"day","also":[{"cron":"0 5 * *"},{"cron":"0 5 * * *","interval":2}]}`, `cron_syntax|also[0].cron|0 5 * *; cron_conflict|also[1].cron|0 5 * * *`},
		{`{"frequency":"day","also":[{"cron":"TZ=UTC 0 5 * * *"}]}`, `cron_conflict|also[0].cron|TZ=UTC 0 5 * * *`},
		{`{"frequency":"day","also":[{"frequency":"day","startTime":"2026-01-02","endTime":"2026-01-01"}]}`, `end_before_start|also[0].endTime|2026-01-01`},
		{`{"startTime":"2026-01-02","frequency":"day","also":[{"frequency":"day","endTime":"2026-01-01"}]}`, `end_before_start|also[0].endTime|2026-01-01`},
		{`{"also":["2026-01-01"]}`, `frequency_missing|frequency|`},
		{`{"recurrence":{"also":["2026-01-01"]}}`, `frequency_missing|frequency|`},
		{`{"startTime":"2026-01-01","interval":2,"also":["2026-02-01"]}`, `frequency_missing|frequency|`},
		{`{"also":["2026-02-01"],"recurrence":{"frequency":"day"}}`, `conflict|also|["2026-02-01"]`},
		{`{"only":{"months":1},"except":{"months":2},"shift":"next","clockChanges":"skip","recurrence":{"frequency":"day"}}`,
			`conflict|only|{"months":1}; conflict|except|{"months":2}; conflict|shift|next; conflict|clockChanges|skip`},

		// Several errors, in the order of the text.
		{`{"clockChanges":"?","also":[{"frequency":"eon"},"?"],"frequency":"day","except":[{"times":"?"},{"months":13}],"only":{}}`,
			`clockchanges_value|clockChanges|?; frequency_unknown|also[0].frequency|eon; time_syntax|also[1]|?; times_value|except[0].times|?; months_range|except[1].months|13; filter_empty|only|{}`},
	} {
		_, err := Parse([]byte(c.text))
		if got := describeErrors(err); got != c.want {
			t.Errorf("%.200s\n got %s\nwant %s", c.text, got, c.want)
		}
	}
}

func TestAlsoHasAThousandInstantsAndSixteenRules(t *testing.T) {
	for _, c := range []struct {
		instants, rules int
		want            string // codes and reasons
	}{
		{1000, 16, ""},
		{1001, 16, "also_size must have at most 1000 instants, has 1001"},
		{1000, 17, "also_size must have at most 16 rules, has 17"},
		{1001, 17, "also_size must have at most 1000 instants, has 1001; also_size must have at most 16 rules, has 17"},
	} {
		r := Recurrence{Frequency: Day}
		var texts []string
		for i := range c.instants {
			at := time.Date(2026, 1, 1, 0, i, 0, 0, time.UTC)
			texts = append(texts, at.Format(`"2006-01-02T15:04"`))
			r.Also = append(r.Also, Recurrence{StartTime: at})
		}
		for i := range c.rules {
			texts = append(texts, fmt.Sprintf(`{"frequency":"hour","interval":%d}`, i+1))
			r.Also = append(r.Also, Recurrence{Frequency: Hour, Interval: i + 1})
		}
		_, err := Parse([]byte(`{"frequency":"day","also":[` + strings.Join(texts, ",") + `]}`))
		for form, err := range map[string]error{"JSON": err, "Go": r.Validate()} {
			var got []string
			for _, e := range Errors(err) {
				got = append(got, string(e.Code)+" "+e.Reason)
			}
			if strings.Join(got, "; ") != c.want {
				t.Errorf("%d instants and %d rules in %s: got %s, want %s", c.instants, c.rules, form, strings.Join(got, "; "), c.want)
			}
		}
		if c.want == "" {
			checkRoundTrip(t, r)
		}
	}
}

func TestTheErrorOfAnElementNamesTheFilterToWriteInstead(t *testing.T) {
	for text, want := range map[string]string{
		`{"frequency":"day","schedule":{"weekDays":"monday"}}`:                         `goes with frequency week only, not with day; to limit other frequencies write only: [{"weekDays": […]}]`,
		`{"frequency":"year","schedule":{"monthDays":1}}`:                              `goes with frequency month only, not with year; to limit other frequencies write only: [{"monthDays": […]}]`,
		`{"frequency":"week","schedule":{"monthlyOccurrences":[{"day":"friday"}]}}`:    `goes with frequency month only, not with week; to limit other frequencies write only: [{"monthlyOccurrences": […]}]`,
		`{"frequency":"hour","schedule":{"months":1}}`:                                 `goes with frequency month or year only, not with hour; to limit other frequencies write only: [{"months": […]}]`,
		`{"frequency":"day","schedule":{"positions":1}}`:                               `goes with frequency week, month or year only, not with day`,
		`{"frequency":"week","also":[{"frequency":"week","schedule":{"months":[6]}}]}`: `goes with frequency month or year only, not with week; to limit other frequencies write only: [{"months": […]}]`,
	} {
		_, err := Parse([]byte(text))
		if list := Errors(err); len(list) != 1 || list[0].Reason != want {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}

func TestReasonsNameTheLimit(t *testing.T) {
	for text, want := range map[string]string{
		`{"frequency":"week","schedule":{"positions":8}}`:                                                     "must be 1 to 7, or -1 (the last) to -7, with frequency week",
		`{"frequency":"month","schedule":{"positions":32}}`:                                                   "must be 1 to 31, or -1 (the last) to -31, with frequency month",
		`{"frequency":"year","schedule":{"positions":367}}`:                                                   "must be 1 to 366, or -1 (the last) to -366",
		`{"frequency":"day","only":[` + strings.Repeat(`{"months":1},`, 32) + `{"months":1}]}`:                "must have at most 32 filters, has 33",
		`{"frequency":"day","only":{"dates":[` + strings.Repeat(`"12-25",`, 1000) + `"12-25"]}}`:              "must have at most 1000 dates, has 1001",
		`{"frequency":"day","only":{"times":[` + strings.Repeat(`"09:00",`, 100) + `"09:00"]}}`:               "must have at most 100 times, has 101",
		`{"frequency":"day","only":{"dates":"2200-01-01"}}`:                                                   "must lie in the years 1900 to 2199",
		`{"frequency":"day","only":{"months":1},"shift":"next","also":["2026-01-01",{"frequency":"minute"}]}`: "goes with frequency day, week, month or year and with cron fields, not with minute of also[1]",
	} {
		_, err := Parse([]byte(text))
		if list := Errors(err); len(list) != 1 || list[0].Reason != want {
			t.Errorf("%.100s: got %v, want %s", text, err, want)
		}
	}
}

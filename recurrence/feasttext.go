package recurrence

import (
	"cmp"
	"slices"
)

// feastNames has the names of days, by their number of days after Easter. Orthodox days have the word Orthodox before the name.
var feastNames = [...]map[int64]string{
	easter: {
		-47: "Shrove Tuesday", -46: "Ash Wednesday", -7: "Palm Sunday", -3: "Maundy Thursday", -2: "Good Friday", -1: "Holy Saturday", 0: "Easter Sunday",
		1: "Easter Monday", 39: "Ascension Day", 49: "Whit Sunday", 50: "Whit Monday", 60: "Corpus Christi",
	},
	orthodoxEaster: {
		-48: "Clean Monday", -7: "Palm Sunday", -3: "Maundy Thursday", -2: "Good Friday", -1: "Holy Saturday", 0: "Easter Sunday", 1: "Easter Monday",
		39: "Ascension Day", 49: "Whit Sunday", 50: "Whit Monday",
	},
}

// name describes a day that counts from the feast: "Good Friday", "the 12th day before Orthodox Easter".
func (f feast) name(days int64) string {
	orthodox := ""
	if f == orthodoxEaster {
		orthodox = "Orthodox "
	}
	switch name := feastNames[f][days]; {
	case name != "":
		return orthodox + name
	case days < 0:
		return "the " + ordinal(int(-days)) + " day before " + orthodox + "Easter"
	}
	return "the " + ordinal(int(days)) + " day after " + orthodox + "Easter"
}

// A feastList holds entries of dates that count from Easter.
type feastList []dateEntry

// add adds an entry. It reports whether it counts from Easter.
func (l *feastList) add(text string) bool {
	entry, reason := parseDates(text)
	if reason != "" || entry.feast == noFeast {
		return false
	}
	*l = append(*l, entry)
	return true
}

// parts describes the single days, if there are any, and each range. Each part ends with the suffix.
func (l feastList) parts(suffix, last string) (parts []string) {
	slices.SortFunc(l, func(a, b dateEntry) int {
		return cmp.Or(cmp.Compare(a.feast, b.feast), cmp.Compare(a.first, b.first), cmp.Compare(a.last, b.last))
	})
	var single []string
	for _, e := range slices.Compact(l) {
		if e.first == e.last {
			single = append(single, e.feast.name(e.first))
		} else {
			parts = append(parts, "from "+e.feast.name(e.first)+" to "+e.feast.name(e.last)+suffix)
		}
	}
	if len(single) > 0 {
		parts = slices.Insert(parts, 0, "on "+joinList(single, last)+suffix)
	}
	return parts
}

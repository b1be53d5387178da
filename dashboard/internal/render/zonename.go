package render

import "time"

// clockNames are the abbreviations of clocks that browsers have an English name for (Unicode CLDR, the locales en-*), with their distance from UTC in
// seconds. Others stand for several clocks, or for one that browsers write as a distance: Go's JST is a browser's GMT+9.
var clockNames = map[string]int{
	"UTC": 0, "GMT": 0, "BST": 3600, "WET": 0, "WEST": 3600, "CET": 3600, "CEST": 7200, "EET": 7200, "EEST": 10800, "IST": 19800,
	"NST": -12600, "NDT": -9000, "AST": -14400, "ADT": -10800, "EST": -18000, "EDT": -14400, "CST": -21600, "CDT": -18000,
	"MST": -25200, "MDT": -21600, "PST": -28800, "PDT": -25200, "AKST": -32400, "AKDT": -28800, "HST": -36000,
	"AWST": 28800, "ACST": 34200, "ACDT": 37800, "AEST": 36000, "AEDT": 39600, "NZST": 43200, "NZDT": 46800,
}

// clockName is what the clock of a time is called: "CET"; where English has no name for it its distance from UTC: "+09", "+0545". It is what
// time.js writes, so that a page says the same with and without scripts.
func clockName(t time.Time) string {
	name, distance := t.Zone()
	if known, ok := clockNames[name]; ok && known == distance {
		return name
	}
	if distance%3600 == 0 {
		return t.Format("-07")
	}
	return t.Format("-0700")
}

package render

import "time"

// clockNames are the abbreviations for which browsers have an English name (Unicode CLDR, the locales en-*), with their offset from UTC in seconds. Other
// abbreviations are ambiguous, or browsers write an offset instead: Go's JST is a browser's GMT+9.
var clockNames = map[string]int{
	"UTC": 0, "GMT": 0, "BST": 3600, "WET": 0, "WEST": 3600, "CET": 3600, "CEST": 7200, "EET": 7200, "EEST": 10800, "IST": 19800,
	"NST": -12600, "NDT": -9000, "AST": -14400, "ADT": -10800, "EST": -18000, "EDT": -14400, "CST": -21600, "CDT": -18000,
	"MST": -25200, "MDT": -21600, "PST": -28800, "PDT": -25200, "AKST": -32400, "AKDT": -28800, "HST": -36000,
	"AWST": 28800, "ACST": 34200, "ACDT": 37800, "AEST": 36000, "AEDT": 39600, "NZST": 43200, "NZDT": 46800,
}

// clockName returns the abbreviation of a time's clock, such as "CET", or the offset from UTC if English has none: "+09", "+0545". time.js writes the
// same, so a page shows the same text with and without scripts.
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

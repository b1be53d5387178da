package recurrence

import (
	"fmt"
	"strconv"
	"strings"
)

// feastWords has the words of the feasts in entries of dates.
var feastWords = [...]string{easter: "easter", orthodoxEaster: "orthodoxEaster"}

// cutFeast cuts the word of a feast, in any case, from the beginning of a text. ok is false if there is no such word.
func cutFeast(text string) (f feast, days string, ok bool) {
	for _, f := range [...]feast{easter, orthodoxEaster} {
		if n := len(feastWords[f]); len(text) >= n && strings.EqualFold(text[:n], feastWords[f]) {
			return f, text[n:], true
		}
	}
	return noFeast, "", false
}

// parseFromFeast reads the days after a feast or before it: -2, +1, or nothing.
func parseFromFeast(text string) (days int64, reason string) {
	if text == "" {
		return 0, ""
	}
	sign, digits := text[0], text[1:]
	if sign != '+' && sign != '-' || len(digits) == 0 || len(digits) > 9 || strings.Trim(digits, "0123456789") != "" {
		return 0, datesWant
	}
	days, _ = strconv.ParseInt(digits, 10, 64) // at most nine digits
	switch {
	case days > maxFromEaster:
		return 0, datesFar
	case sign == '-':
		return -days, ""
	}
	return days, ""
}

// format returns the canonical form of a day that counts from the feast.
func (f feast) format(days int64) string {
	if days == 0 {
		return feastWords[f]
	}
	return fmt.Sprintf("%s%+d", feastWords[f], days)
}

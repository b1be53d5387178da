package action

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A Problem is one mistake of an action.
type Problem struct {
	Code   string `json:"code"`            // for programs: "uri", "header_name", …
	Field  string `json:"field"`           // its place: action.request.headers["X"]
	Value  string `json:"value,omitempty"` // the given value, cut to 100 bytes; "(secret)" of secrets
	Detail string `json:"detail"`          // the expected value, for people
}

const maxProblemValue = 100 // bytes

// Error has the field and the detail.
func (p Problem) Error() string { return fmt.Sprintf("%s: %s (%s)", p.Field, p.Detail, p.Code) }

// cut shortens a text to a number of bytes, without splitting a character. Bytes that are not UTF-8, such as those of a host with %80, become
// the replacement character: JSON has no others.
func cut(text string, limit int) string {
	text = strings.ToValidUTF8(text, "\ufffd")
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}

// index is the field of an entry of a map.
func index(field, key string) string { return field + "[" + strconv.Quote(key) + "]" }

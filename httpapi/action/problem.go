package action

import (
	"fmt"
	"strconv"
	"unicode/utf8"
)

// A Problem is one thing that is wrong with an action.
type Problem struct {
	Code   string `json:"code"`            // a word that programs tell it by: "uri", "header_name", …
	Field  string `json:"field"`           // where it is: action.request.headers["X"]
	Value  string `json:"value,omitempty"` // what was given, cut to 100 bytes; "(secret)" of secrets
	Detail string `json:"detail"`          // what is wanted, for people
}

const maxProblemValue = 100 // bytes

// Error names the field and what is wanted.
func (p Problem) Error() string { return fmt.Sprintf("%s: %s (%s)", p.Field, p.Detail, p.Code) }

// cut shortens a text to so many bytes, and leaves no part of a character.
func cut(text string, limit int) string {
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

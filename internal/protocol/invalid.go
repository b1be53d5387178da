package protocol

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// An InvalidError refuses a value from an application: a name, an option, arguments. Nothing was sent. Its text has the field, the value and the limit.
//
// errors.As finds the first one in a joined error. errors.Is finds the one of a field: errors.Is(err, &InvalidError{Field: "queue"}).
type InvalidError struct {
	Field string `json:"field"` // what it is: "queue", "job name", "timeout", "WorkerOptions.Concurrency", …
	Value string `json:"value"` // the given value, cut to 64 bytes; for arguments their type or size; empty: no value was given
	Limit string `json:"limit"` // the allowed values

	flaw  string // what is wrong with the value, if Limit does not show it
	cause error  // found by errors.Is; nil: none
	plain bool   // the text is that of cause
}

const maxShownValue = 64

// ErrNilContext refuses a ctx that is nil.
var ErrNilContext = Because(Invalid("ctx", "", "a context"), "is nil")

// Invalid refuses a value of a field.
func Invalid(field, value, limit string) *InvalidError {
	if len(value) > maxShownValue {
		cut := maxShownValue
		for cut > maxShownValue-utf8.UTFMax && !utf8.RuneStart(value[cut]) {
			cut--
		}
		value = value[:cut] + "…"
	}
	return &InvalidError{Field: field, Value: value, Limit: limit}
}

// Because adds to an error what is wrong with the value, as a verb and its object: "has 3 bytes".
func Because(e *InvalidError, flaw string) *InvalidError {
	e.flaw = flaw
	return e
}

// Wrapping adds a cause, which errors.Is finds. Its text becomes a part of the error's.
func Wrapping(e *InvalidError, cause error) *InvalidError {
	e.flaw, e.cause = "("+cause.Error()+")", cause
	return e
}

// Restating returns an error with the text of another one, which errors.Is and errors.As find.
func Restating(cause error, field, value, limit string) *InvalidError {
	e := Invalid(field, value, limit)
	e.cause, e.plain = cause, true
	return e
}

// Error returns the field, the value and the limit.
func (e *InvalidError) Error() string {
	if e.plain {
		return e.cause.Error()
	}
	var text strings.Builder
	text.WriteString(e.Field)
	switch {
	case e.Value != "":
		text.WriteString(" " + shown(e.Value))
	case e.flaw == "":
		text.WriteString(" is missing")
	}
	if e.flaw != "" {
		text.WriteString(" " + e.flaw)
	}
	return text.String() + ": want " + e.Limit
}

// Is reports whether target is an *InvalidError whose fields equal those of e; empty fields of target match any value.
func (e *InvalidError) Is(target error) bool {
	t, ok := target.(*InvalidError)
	return ok && (t.Field == "" || t.Field == e.Field) && (t.Value == "" || t.Value == e.Value) && (t.Limit == "" || t.Limit == e.Limit)
}

// Unwrap returns why a value was refused: ErrPayloadTooLarge for arguments that are too long, a *recurrence.Error for a mistake in a rule; nil: there
// is no other error.
func (e *InvalidError) Unwrap() error { return e.cause }

// shown quotes a value unless it is a number, a duration, an instant or a size.
func shown(value string) string {
	other := func(r rune) bool {
		return !(r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || strings.ContainsRune("+-.:µ", r))
	}
	if strings.ContainsRune("0123456789+-", rune(value[0])) && strings.IndexFunc(strings.TrimSuffix(value, " bytes"), other) < 0 {
		return value
	}
	return strconv.Quote(value)
}

package recurrence

import (
	"database/sql/driver"
	"fmt"
	"strings"
)

// readText reads a rule from a text of unknown form: JSON as [Parse] reads it if it begins with a brace, otherwise cron text as [Cron] reads it. A byte
// order mark at the beginning is skipped.
func readText(text string) (Recurrence, error) {
	text = strings.TrimPrefix(text, byteOrderMark)
	if strings.HasPrefix(strings.TrimLeft(text, " \t\r\n"), "{") {
		return Parse([]byte(text))
	}
	return Cron(text)
}

// Value returns the canonical JSON of the rule as a string, so that a Recurrence can be the argument of a statement of database/sql. The column is of a
// type for text of up to 64 KiB, or for JSON. The errors are those of [Recurrence.Validate]. A nil *Recurrence becomes NULL.
func (r Recurrence) Value() (driver.Value, error) {
	if err := r.Validate(); err != nil {
		return nil, err
	}
	text, err := r.MarshalJSON()
	return string(text), err
}

// Scan reads a rule from a column of database/sql: a string or a []byte with JSON as [Parse] reads it, or with cron text as [Cron] reads it. It replaces
// the whole Recurrence, and leaves it unchanged if there is an error. NULL and values of other types are refused with [CodeSyntax], and so is an empty
// text with [CodeCronSyntax]: the zero Recurrence is a rule, which runs once. For a column that may be NULL use sql.Null[Recurrence] or a
// **Recurrence.
func (r *Recurrence) Scan(src any) error {
	var text string
	switch src := src.(type) {
	case string:
		text = src
	case []byte:
		text = string(src)
	case nil:
		return newError(CodeSyntax, "", "NULL", "is not a rule: scan a column that may be NULL into a sql.Null[recurrence.Recurrence]")
	default:
		return newError(CodeSyntax, "", fmt.Sprint(src), "must be text, is a %T", src)
	}
	read, err := readText(text)
	if err != nil {
		return err
	}
	*r = read
	return nil
}

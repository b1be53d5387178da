package protocol

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The lengths of the longest names.
const (
	MaxName = 100 // characters of a queue's or a job's name
	MaxID   = 200 // bytes of a schedule's name and of a caller's ID
	// MaxStoredID is an upper bound of an ID's bytes in the store, which may also contain a schedule's name and an ending.
	MaxStoredID = 512
)

const (
	nameLimit = "1 to 100 of A-Z a-z 0-9 _ . : -"
	idLimit   = "1 to 200 bytes of UTF-8, no control or format character, no space at either end, no ending like an occurrence's ID"
)

// CheckName returns an *InvalidError if the name of a queue or a job does not match [A-Za-z0-9_.:-]{1,100}; field is the field of the error.
func CheckName(field, name string) error {
	if name == "" {
		return Invalid(field, name, nameLimit)
	}
	if utf8.RuneCountInString(name) > MaxName {
		return Because(Invalid(field, name, nameLimit), fmt.Sprintf("has %d characters", utf8.RuneCountInString(name)))
	}
	for i, c := range name {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '_', c == '.', c == ':', c == '-':
		default:
			return Because(Invalid(field, name, nameLimit), fmt.Sprintf("has %q at position %d", c, utf8.RuneCountInString(name[:i])+1))
		}
	}
	return nil
}

// CheckID returns an *InvalidError for a text that cannot be the name of a schedule or the ID that a caller gives a job. Both are data, such as
// a word, an e-mail address or a path: 1 to 200 bytes of UTF-8 without control or format characters (Unicode Cc and Cf), which
// could forge output and which the store uses as separators, and without space at either end. An ending like that of an
// occurrence's ID is refused too.
func CheckID(field, id string) error {
	flaw := ""
	switch {
	case id == "":
		return Invalid(field, id, idLimit)
	case len(id) > MaxID:
		flaw = fmt.Sprintf("has %d bytes", len(id))
	case !utf8.ValidString(id):
		flaw = "is not UTF-8"
	case strings.TrimSpace(id) != id:
		flaw = "begins or ends with space"
	case endsLikeOccurrence(id):
		flaw = "ends like the ID of an occurrence"
	default:
		at := strings.IndexFunc(id, func(c rune) bool { return unicode.In(c, unicode.Cc, unicode.Cf) })
		if at < 0 {
			return nil
		}
		c, _ := utf8.DecodeRuneInString(id[at:])
		flaw = fmt.Sprintf("has %U at byte %d", c, at+1)
	}
	return Because(Invalid(field, id, idLimit), flaw)
}

// CheckPrefix returns an *InvalidError for a prefix that no valid name of CheckID can have.
func CheckPrefix(field, prefix string) error {
	bad := Invalid(field, prefix, "at most 200 bytes of UTF-8, no control or format character")
	switch {
	case len(prefix) > MaxID:
		return Because(bad, fmt.Sprintf("has %d bytes", len(prefix)))
	case !utf8.ValidString(prefix):
		return Because(bad, "is not UTF-8")
	}
	for at, c := range prefix {
		if unicode.In(c, unicode.Cc, unicode.Cf) {
			return Because(bad, fmt.Sprintf("has %U at byte %d", c, at+1))
		}
	}
	return nil
}

// occurrenceEnding is the form of the text after the schedule's name in the ID of an occurrence: 0 matches any digit.
const occurrenceEnding = "@0000-00-00T00:00:00Z"

func endsLikeOccurrence(id string) bool {
	from := len(id) - len(occurrenceEnding)
	if from < 0 || id[from] != '@' || id[len(id)-1] != 'Z' {
		return false
	}
	for i, want := range []byte(occurrenceEnding) {
		c := id[from+i]
		if want == '0' && (c < '0' || c > '9') || want != '0' && c != want {
			return false
		}
	}
	return true
}

// CutOccurrence cuts the ID of an occurrence, "<schedule>@<planned instant>". It recognizes the whole ending, not only the @. ok is false for
// every other ID.
func CutOccurrence(id string) (schedule, instant string, ok bool) {
	if at := len(id) - len(occurrenceEnding); at > 0 && endsLikeOccurrence(id) {
		return id[:at], id[at+1:], true
	}
	return "", "", false
}

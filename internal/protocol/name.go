package protocol

import (
	"fmt"
	"unicode/utf8"
)

const MaxName = 100

// CheckName returns an error if a name does not match [A-Za-z0-9_.:-]{1,100}; field says what it is the name of.
func CheckName(field, name string) error {
	if name == "" {
		return fmt.Errorf("%s is missing: want 1 to %d of A-Z a-z 0-9 _ . : -", field, MaxName)
	}
	if utf8.RuneCountInString(name) > MaxName {
		return fmt.Errorf("%s %.40q… has %d characters: want at most %d", field, name, utf8.RuneCountInString(name), MaxName)
	}
	for i, c := range name {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '_', c == '.', c == ':', c == '-':
		default:
			return fmt.Errorf("%s %q has %q at position %d: want only A-Z a-z 0-9 _ . : -", field, name, c, utf8.RuneCountInString(name[:i])+1)
		}
	}
	return nil
}

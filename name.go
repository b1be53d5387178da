package chime

import (
	"fmt"
	"unicode/utf8"
)

const nameLength = 100

// checkName refuses a name outside of [A-Za-z0-9_.:-]{1,100}; field says whose.
func checkName(field, name string) error {
	if name == "" {
		return fmt.Errorf("%s is missing: want 1 to %d of A-Z a-z 0-9 _ . : -", field, nameLength)
	}
	if utf8.RuneCountInString(name) > nameLength {
		return fmt.Errorf("%s %.40q… has %d characters: want at most %d", field, name, utf8.RuneCountInString(name), nameLength)
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

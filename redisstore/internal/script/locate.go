package script

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// A place in a script, as servers write it: Redis and Valkey "user_script:7" or "@user_script:7", the simulated server ":7:".
var place = regexp.MustCompile(`@?user_script:(\d+)\b|(^|\s):(\d+):`)

// Locate replaces the places in a server's error about the script by the file and the line where they were written: "sessions/work.lua:7".
// It keeps the rest of the text, and what the error wraps. It returns an error unchanged if it names no place, if it is
// not a server's, or if it is an answer of the scripts themselves (CHIME…), which may contain names.
//
// It counts the lines only when there is such an error.
func (s *Script) Locate(err error) error {
	var answered interface {
		error
		RedisError() // the method by which go-redis marks these
	}
	if !errors.As(err, &answered) || strings.HasPrefix(err.Error(), "CHIME") || !place.MatchString(err.Error()) {
		return err
	}
	parts := s.library.Parts(s.Name)
	text := place.ReplaceAllStringFunc(err.Error(), func(at string) string {
		found := place.FindStringSubmatch(at)
		line, _ := strconv.Atoi(found[1] + found[3]) // of the two forms the other one is empty
		origin := origin(parts, line)
		switch {
		case origin == "":
			return at
		case found[3] != "":
			return found[2] + origin + ":"
		}
		return origin
	})
	return &located{err, text}
}

// origin returns the file and the line of a line, from 1, of the text that parts form; nothing if the line is behind the end.
func origin(parts []Part, line int) string {
	before := 0 // lines that have ended
	for _, part := range parts {
		lines := strings.Count(part.Text, "\n")
		if line <= before+lines {
			return fmt.Sprintf("%s:%d", part.File, part.Line+line-1-before)
		}
		before += lines
	}
	return ""
}

// A located error replaces the text of the error that it wraps.
type located struct {
	err  error
	text string
}

func (e *located) Error() string { return e.text }
func (e *located) Unwrap() error { return e.err }

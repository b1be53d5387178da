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

// Locate returns an error with which a server answered a call of the script with the places that it names as the file and the line
// that they are written in: "sessions/work.lua:7". The rest of its text stays, and so does what it wraps. An error that names no place, or is
// not a server's, is returned as it is; so is an answer of the scripts themselves, CHIME…, which may have names in it.
//
// The lines are counted when there is such an error, and only then.
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

// origin returns the file and the line of a line, from 1, of the text that parts make; of a line behind its end nothing.
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

// A located error has another text than the one that it wraps.
type located struct {
	err  error
	text string
}

func (e *located) Error() string { return e.text }
func (e *located) Unwrap() error { return e.err }

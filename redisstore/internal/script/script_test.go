package script

import (
	"errors"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/redis/go-redis/v9"
)

// library is a small library: a script with a section and pieces, which are also named inside a function.
var library = New(fstest.MapFS{
	"scripts/jobs/take.lua":         {Data: []byte("-- take.lua: take a job.\n-- uses: clock strings\nlocal a = 1\nif a then\n  -- then: answer\nend\nreturn a\n")},
	"scripts/jobs/take/answer.lua":  {Data: []byte("-- answer: a section.\n-- uses: wake\nlocal b = 2\n")},
	"scripts/queues/pause.lua":      {Data: []byte("-- pause.lua: pause a queue.\nreturn 1\n")},
	"scripts/lib/clock.lua":         {Data: []byte("-- clock: a piece.\nlocal now = 1\n")},
	"scripts/lib/strings.lua":       {Data: []byte("-- strings: another piece.\n\nlocal find = string.find\n")},
	"scripts/lib/wake.lua":          {Data: []byte("-- wake: a third one.\nlocal wake = 1\n")},
	"scripts/lib/not_used_here.lua": {Data: []byte("-- not_used_here: a piece.\n")},
}, "scripts")

func TestAScriptIsPutTogether(t *testing.T) {
	const want = "-- take.lua: take a job.\n" +
		"-- clock: a piece.\nlocal now = 1\n-- strings: another piece.\n\nlocal find = string.find\n\n" +
		"local a = 1\nif a then\n" +
		"-- answer: a section.\n-- wake: a third one.\nlocal wake = 1\n\nlocal b = 2\n\n" +
		"end\nreturn a\n"
	if got := library.Load("jobs/take").Text; got != want {
		t.Errorf("the text is\n%s\nwant\n%s", got, want)
	}
	if got, want := library.Names(), []string{"jobs/take", "queues/pause"}; !slices.Equal(got, want) {
		t.Errorf("scripts %q, want %q", got, want)
	}
}

// An answer is an error of a server, in go-redis's type.
type answer string

func (a answer) Error() string { return string(a) }
func (answer) RedisError()     {}

// The errors are as servers write them: Redis and Valkey for a function of Lua and for a command, the simulated server with the stack.
func TestAnErrorNamesTheFileAndTheLine(t *testing.T) {
	take := library.Load("jobs/take")
	for _, c := range []struct{ err, want string }{
		{
			"ERR user_script:3: attempt to index a nil value script: " + take.SHA + ", on @user_script:3.",
			"ERR lib/clock.lua:2: attempt to index a nil value script: " + take.SHA + ", on lib/clock.lua:2.",
		},
		{
			"WRONGTYPE Operation against a key holding the wrong kind of value script: " + take.SHA + ", on @user_script:8.",
			"WRONGTYPE Operation against a key holding the wrong kind of value script: " + take.SHA + ", on jobs/take.lua:3.",
		},
		{
			"ERR Error compiling script (new function): :12: attempt to index a nil value stack traceback:  :17: in main chunk  [G]: ?",
			"ERR Error compiling script (new function): lib/wake.lua:2: attempt to index a nil value stack traceback:  jobs/take.lua:7: in main chunk  [G]: ?",
		},
		{"user_script:1: ", "jobs/take.lua:1: "},
		{"user_script:2: ", "lib/clock.lua:1: "},
		{"user_script:6: ", "lib/strings.lua:3: "},
		{"user_script:7: ", "jobs/take.lua:2: "}, // the end of the line that names them
		{"user_script:10: ", "jobs/take/answer.lua:1: "},
		{"user_script:11: ", "lib/wake.lua:1: "},
		{"user_script:14: ", "jobs/take/answer.lua:3: "},
		{"user_script:16: ", "jobs/take.lua:6: "},
		{"user_script:18: ", "user_script:18: "}, // there is no such line
	} {
		if got := take.Locate(answer(c.err)).Error(); got != c.want {
			t.Errorf("%q became %q, want %q", c.err, got, c.want)
		}
	}
}

// Each line of a script is the same line of a file, unless it replaces a line that names others.
func TestEveryLineHasItsPlace(t *testing.T) {
	parts := library.Parts("jobs/take")
	for _, part := range parts {
		if part.File == "lib/not_used_here.lua" {
			t.Errorf("%s is in the script", part.File)
		}
	}
	if got := origin(parts, 17); got != "jobs/take.lua:7" {
		t.Errorf("the last line is %s", got)
	}
	if got := origin(parts, 18); got != "" {
		t.Errorf("the line behind the last one is %s", got)
	}
}

func TestOtherErrorsStayAsTheyAre(t *testing.T) {
	take := library.Load("jobs/take")
	for _, err := range []error{nil, redis.Nil, answer("CHIMELOST the session has lapsed"), answer("CHIMETWICE a :7: user_script:2"), errors.New("dial tcp :7: connect: connection refused")} {
		if got := take.Locate(err); got != err {
			t.Errorf("%v became %v", err, got)
		}
	}
	const moved = answer("MOVED: user_script:3: no more")
	if got := take.Locate(moved); !errors.Is(got, moved) {
		t.Errorf("%v does not wrap %v any more", got, moved)
	}
}

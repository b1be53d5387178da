package simredis

import (
	"bufio"
	"bytes"
	"crypto/sha1"
	"encoding/hex"
	"reflect"
	"strconv"
	"strings"
	"sync"

	"github.com/alicebob/miniredis/v2/server"
	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"
)

// A script is a compiled text. It is the same for all servers of the process.
type script struct {
	text, sha string
	proto     *lua.FunctionProto
}

var compiled sync.Map // text → *script

// compile returns the script of a text; nil: the text is not correct.
func compile(text string) *script {
	if known, ok := compiled.Load(text); ok {
		return known.(*script)
	}
	chunk, err := parse.Parse(strings.NewReader(text), "<string>")
	if err != nil {
		return nil
	}
	proto, err := lua.Compile(chunk, "")
	if err != nil {
		return nil
	}
	known, _ := compiled.LoadOrStore(text, &script{text: text, sha: sha1Of(text), proto: proto})
	return known.(*script)
}

func sha1Of(text string) string {
	sum := sha1.Sum([]byte(text))
	return hex.EncodeToString(sum[:])
}

// A peerState is what miniredis knows about a connection, or about the commands of a script. Its type is not exported.
type peerState struct {
	database                                 int
	authenticated, multi, subscribed, nested bool
}

func stateOf(ctx any) peerState {
	if ctx == nil {
		return peerState{}
	}
	of := reflect.ValueOf(ctx).Elem()
	return peerState{
		database:      int(of.FieldByName("selectedDB").Int()),
		authenticated: of.FieldByName("authenticated").Bool(),
		multi:         !of.FieldByName("transaction").IsNil(),
		subscribed:    !of.FieldByName("subscriber").IsNil(),
		nested:        of.FieldByName("nested").Bool(),
	}
}

// contextCommand is a command of this package. Miniredis locks itself for each command except for those that have the context of a script, and only
// its own scripts create such contexts: askContext makes one of them and passes it to this package.
const (
	contextCommand = "SIMREDIS.CONTEXT"
	askContext     = "return redis.call('" + contextCommand + "')"
)

var askSHA = sha1Of(askContext) // is in miniredis's errors about commands that scripts may not call

// answer is called before each command of clients and scripts. It answers commands about scripts; false: miniredis answers the command, with its own
// error texts for what is not correct.
func (s *Server) answer(serves *server.Server, c *server.Peer, cmd string, args []string) bool {
	switch cmd {
	case "EVAL", "EVALSHA", "EVAL_RO", "EVALSHA_RO", "SCRIPT":
	case contextCommand:
		at := stateOf(c.Ctx)
		if at.nested { // so miniredis is locked
			s.nested[at.database] = c.Ctx
			c.WriteOK()
		}
		return at.nested // to clients it is an unknown command
	case "TIME":
		return s.answerTime(c)
	default:
		s.watchTTL(c, cmd, args)
		return false
	}
	at := stateOf(c.Ctx)
	switch {
	case at.nested, at.subscribed, len(args) < 2 && cmd != "SCRIPT", len(args) > 0 && args[0] == askContext:
		return false
	case !at.authenticated && !admitted(serves, c):
		return false
	case cmd == "SCRIPT":
		return s.manage(c, at, args)
	case at.multi:
		s.beginTTL() // miniredis runs the script
		return s.queue(serves, c, cmd, args)
	}
	answered, expires := s.eval(serves, c, at.database, cmd, args)
	if expires {
		s.beginTTL()
	}
	return answered
}

// admitted reports whether a client may send commands without a password. It gives the connection a context.
func admitted(serves *server.Server, c *server.Peer) bool {
	if stateOf(c.Ctx).multi {
		return true // else it could not have begun
	}
	var reply bytes.Buffer
	same := server.NewPeer(bufio.NewWriterSize(&reply, 64))
	same.Ctx = c.Ctx
	serves.Dispatch(same, []string{"ECHO", ""})
	same.Flush()
	c.Ctx = same.Ctx
	return !bytes.HasPrefix(reply.Bytes(), []byte("-"))
}

// manage takes part in SCRIPT: miniredis keeps the scripts that were loaded, and this package keeps those and the ones of EVAL.
func (s *Server) manage(c *server.Peer, at peerState, args []string) bool {
	if len(args) == 0 {
		return false
	}
	s.Lock()
	defer s.Unlock()
	switch sub, args := strings.ToUpper(args[0]), args[1:]; {
	case sub == "LOAD" && len(args) == 1:
		if loaded := compile(args[0]); loaded != nil {
			s.scripts[loaded.sha] = loaded
		}
	case sub == "FLUSH" && (len(args) == 0 || len(args) == 1 && (strings.EqualFold(args[0], "SYNC") || strings.EqualFold(args[0], "ASYNC"))):
		clear(s.scripts)
	case sub == "EXISTS" && len(args) > 0 && !at.multi:
		c.WriteLen(len(args))
		for _, sha := range args {
			if s.scripts[sha] != nil {
				c.WriteInt(1)
			} else {
				c.WriteInt(0)
			}
		}
		return true
	}
	return false
}

// queue adds a script to a transaction of miniredis, which does not know the scripts of EVAL.
func (s *Server) queue(serves *server.Server, c *server.Peer, cmd string, args []string) bool {
	if !strings.HasPrefix(cmd, "EVALSHA") {
		return false
	}
	s.Lock()
	found := s.scripts[args[0]]
	s.Unlock()
	if found == nil {
		return false
	}
	serves.Dispatch(c, append([]string{strings.Replace(cmd, "EVALSHA", "EVAL", 1), found.text}, args[1:]...))
	return true
}

// eval runs a script and answers the client. expires: the script may have set a TTL.
func (s *Server) eval(serves *server.Server, c *server.Peer, database int, cmd string, args []string) (answered, expires bool) {
	s.Lock()
	defer s.Unlock()
	var run *script
	if strings.HasPrefix(cmd, "EVALSHA") {
		run = s.scripts[args[0]]
	} else if run = compile(args[0]); run != nil {
		s.scripts[run.sha] = run
	}
	if run == nil {
		return false, false
	}
	keys, err := strconv.Atoi(args[1])
	args = args[2:]
	switch {
	case err != nil:
		c.WriteError("ERR value is not an integer or out of range")
		return true, false
	case keys < 0:
		c.WriteError("ERR Number of keys can't be negative")
		return true, false
	case keys > len(args):
		c.WriteError("ERR Number of keys can't be greater than number of args")
		return true, false
	}
	if s.nested[database] == nil {
		s.Unlock()
		same := server.NewPeer(bufio.NewWriterSize(new(bytes.Buffer), 64))
		same.Ctx = c.Ctx
		serves.Dispatch(same, []string{"EVAL", askContext, "0"})
		s.Lock()
		if s.nested[database] == nil {
			return false, false
		}
	}
	s.lua.serves = serves
	answer := s.lua.run(run, strings.HasSuffix(cmd, "_RO"), s.nested[database], args[:keys], args[keys:], c.Resp3)
	if s.lua.selected { // the database in the context may be another one now
		delete(s.nested, database)
	}
	c.Block(func(w *server.Writer) { w.WriteRaw(string(answer)) })
	return true, s.lua.expires
}

package simredis

import (
	"bufio"
	"bytes"
	"errors"
	"strconv"
	"strings"
	"unicode"

	json "github.com/alicebob/miniredis/v2/gopher-json"
	"github.com/alicebob/miniredis/v2/server"
	lua "github.com/yuin/gopher-lua"
)

// An interpreter runs scripts one after the other, all in the same Lua state. Scripts have no global variables except KEYS and ARGV, which are
// those of the running script. A script must not change the tables of libraries: others would see that. After an error the state is replaced.
type interpreter struct {
	state     *lua.LState
	functions map[*script]*lua.LFunction

	serves *server.Server
	peer   *server.Peer  // of the commands of scripts
	writer *bufio.Writer // of peer
	reply  bytes.Buffer  // to a command
	answer []byte        // of a script, in RESP

	running  *script
	readOnly bool
	selected bool // the script has called SELECT
	expires  bool // the script may have set a TTL
}

// Sizes of the stacks of Lua. A script that needs more fails with "registry overflow" or "stack overflow".
const (
	registry    = 2 << 10  // values at first
	maxRegistry = 64 << 10 // a call with 8,000 arguments, the limit of Redis, needs a fraction of it
	maxCalls    = 200      // nested calls, the limit of Redis
)

func (in *interpreter) open() {
	l := lua.NewState(lua.Options{
		SkipOpenLibs: true, CallStackSize: maxCalls, RegistrySize: registry, RegistryMaxSize: maxRegistry, RegistryGrowStep: 4096,
	})
	for _, library := range []struct {
		name string
		open lua.LGFunction
	}{
		{lua.LoadLibName, lua.OpenPackage}, {lua.BaseLibName, lua.OpenBase}, {lua.CoroutineLibName, lua.OpenCoroutine},
		{lua.TabLibName, lua.OpenTable}, {lua.StringLibName, lua.OpenString}, {lua.MathLibName, lua.OpenMath},
	} {
		l.Push(l.NewFunction(library.open))
		l.Push(lua.LString(library.name))
		l.Call(1, 0)
	}
	l.Push(l.NewFunction(json.Loader))
	l.Call(0, 1)
	l.SetGlobal("cjson", l.Get(-1))
	l.SetTop(0)
	l.SetGlobal("os", l.SetFuncs(l.NewTable(), map[string]lua.LGFunction{"clock": func(l *lua.LState) int { l.Push(lua.LNumber(42)); return 1 }}))
	redis := l.SetFuncs(l.NewTable(), map[string]lua.LGFunction{
		"call": func(l *lua.LState) int { return in.call(l, false) }, "pcall": func(l *lua.LState) int { return in.call(l, true) },
		"error_reply": errorReply, "status_reply": statusReply, "sha1hex": sha1hex, "log": log, "setresp": setresp,
		"replicate_commands": func(l *lua.LState) int { l.Push(lua.LTrue); return 1 }, "set_repl": func(*lua.LState) int { return 0 },
	})
	for level, name := range []string{"LOG_DEBUG", "LOG_VERBOSE", "LOG_NOTICE", "LOG_WARNING"} {
		redis.RawSetString(name, lua.LNumber(level))
	}
	l.SetGlobal("redis", redis)
	l.SetGlobal("server", redis)
	globals := l.NewTable()
	globals.RawSetString("__newindex", l.NewFunction(func(l *lua.LState) int {
		l.RaiseError("Script attempted to create global variable '%s'", l.Get(2).String())
		return 0
	}))
	globals.RawSetString("__index", l.NewFunction(func(l *lua.LState) int {
		l.RaiseError("Script attempted to access nonexistent global variable '%s'", l.Get(2).String())
		return 0
	}))
	l.G.Global.Metatable = globals
	in.state, in.functions = l, map[*script]*lua.LFunction{}
	if in.peer == nil {
		in.writer = bufio.NewWriter(&in.reply)
		in.peer = server.NewPeer(in.writer)
	}
}

// run runs a script and returns its answer in RESP, which is valid until the next run.
func (in *interpreter) run(s *script, readOnly bool, context any, keys, args []string, resp3 bool) []byte {
	if in.state == nil {
		in.open()
	}
	l := in.state
	function := in.functions[s]
	if function == nil {
		function = l.NewFunctionFromProto(s.proto)
		in.functions[s] = function
	}
	l.G.Global.RawSetString("KEYS", list(l, keys))
	l.G.Global.RawSetString("ARGV", list(l, args))
	in.running, in.readOnly, in.selected, in.expires, in.peer.Ctx = s, readOnly, false, false, context
	l.Push(function)
	in.answer = in.answer[:0]
	if err := l.PCall(0, 1, nil); err != nil {
		in.answer = appendError(in.answer, "ERR Error compiling script (new function): "+err.Error())
		l.Close()
		in.state = nil
		return in.answer
	}
	in.answer = appendValue(in.answer, l.Get(-1), resp3)
	l.SetTop(0)
	return in.answer
}

func list(l *lua.LState, texts []string) *lua.LTable {
	table := l.CreateTable(len(texts), 0)
	for _, text := range texts {
		table.Append(lua.LString(text))
	}
	return table
}

// call is redis.call and redis.pcall.
func (in *interpreter) call(l *lua.LState, protected bool) int {
	n := l.GetTop()
	if n == 0 {
		l.RaiseError("Please specify at least one argument for this redis lib call script: %s, &c.", in.running.sha)
	}
	args := make([]string, n) // commands keep parts of it
	for i := range args {
		switch a := l.Get(i + 1).(type) {
		case lua.LString:
			args[i] = string(a)
		case lua.LNumber:
			if whole := int64(a); lua.LNumber(whole) == a {
				args[i] = strconv.FormatInt(whole, 10)
			} else {
				args[i] = a.String()
			}
		default:
			l.RaiseError("Lua redis lib command arguments must be strings or integers script: %s, &c.", in.running.sha)
		}
	}
	value, err := in.command(l, args)
	switch {
	case err == nil:
		l.Push(value)
	case protected:
		l.Push(field("err", err.Error()))
	default:
		l.Error(lua.LString(err.Error()), 1)
	}
	return 1
}

var (
	errWrite   = errors.New("Write commands are not allowed in read-only scripts") // the text of Redis
	errUnknown = errors.New("ERR Unknown Redis command called from script")
)

func (in *interpreter) command(l *lua.LState, args []string) (lua.LValue, error) {
	if in.readOnly && in.serves.IsRegisteredCommand(args[0]) && !in.serves.IsReadOnlyCommand(args[0]) {
		return nil, errWrite
	}
	in.selected = in.selected || strings.EqualFold(args[0], "SELECT")
	in.reply.Reset()
	in.serves.Dispatch(in.peer, args)
	_ = in.writer.Flush()
	value, _, err := parseReply(l, in.reply.Bytes())
	if err == nil {
		return value, nil
	}
	if strings.Contains(err.Error(), "ERR unknown command") {
		return nil, errUnknown
	}
	return nil, errors.New(strings.ReplaceAll(err.Error(), askSHA, in.running.sha))
}

// parseReply returns the first value of a reply, and what follows it. An error reply is returned as an error.
func parseReply(l *lua.LState, reply []byte) (lua.LValue, []byte, error) {
	line, rest, ok := bytes.Cut(reply, []byte("\r\n"))
	if !ok || len(line) == 0 {
		return nil, nil, server.ErrProtocol
	}
	text := line[1:]
	switch line[0] {
	case '+':
		return field("ok", string(text)), rest, nil
	case '-':
		return nil, rest, errors.New(string(text))
	case ':', '$', '*':
	default:
		return nil, nil, server.ErrProtocol
	}
	n, err := strconv.Atoi(string(text))
	switch {
	case err != nil:
		return nil, nil, server.ErrProtocol
	case line[0] == ':':
		return lua.LNumber(n), rest, nil
	case n < 0:
		return lua.LFalse, rest, nil
	case line[0] == '$' && len(rest) < n+2:
		return nil, nil, server.ErrProtocol
	case line[0] == '$':
		return lua.LString(rest[:n]), rest[n+2:], nil
	}
	table := l.CreateTable(n, 0)
	for range n {
		var value lua.LValue
		if value, rest, err = parseReply(l, rest); err != nil {
			return nil, rest, err
		}
		table.Append(value)
	}
	return table, rest, nil
}

// appendValue appends a value of a script in RESP, as Redis converts it.
func appendValue(to []byte, value lua.LValue, resp3 bool) []byte {
	switch v := value.(type) {
	case lua.LString:
		to = append(strconv.AppendInt(append(to, '$'), int64(len(v)), 10), "\r\n"...)
		return append(append(to, v...), "\r\n"...)
	case lua.LNumber:
		return appendInt(to, ':', int(v))
	case *lua.LTable:
		if text := v.RawGetString("err"); text != lua.LNil {
			return appendError(to, text.String())
		}
		if text := v.RawGetString("ok"); text != lua.LNil {
			return appendLine(to, '+', text.String())
		}
		n := 0
		for v.RawGetInt(n+1) != lua.LNil {
			n++
		}
		to = appendInt(to, '*', n)
		for i := range n {
			to = appendValue(to, v.RawGetInt(i+1), resp3)
		}
		return to
	case lua.LBool:
		if v {
			return appendInt(to, ':', 1)
		}
	}
	if resp3 {
		return append(to, "_\r\n"...)
	}
	return appendInt(to, '$', -1)
}

func appendInt(to []byte, kind byte, n int) []byte {
	return append(strconv.AppendInt(append(to, kind), int64(n), 10), "\r\n"...)
}

func appendError(to []byte, text string) []byte { return appendLine(to, '-', text) }

func appendLine(to []byte, kind byte, text string) []byte {
	to = append(to, kind)
	to = append(to, strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return ' '
		}
		return r
	}, text)...)
	return append(to, "\r\n"...)
}

func field(name, text string) *lua.LTable {
	table := new(lua.LTable)
	table.RawSetString(name, lua.LString(text))
	return table
}

func errorReply(l *lua.LState) int {
	text, ok := l.Get(1).(lua.LString)
	if !ok {
		l.RaiseError("wrong number or type of arguments")
	}
	first, rest, more := strings.Cut(strings.TrimPrefix(string(text), "-"), " ")
	if more {
		first = first + " " + rest
	} else {
		first = "ERR " + first
	}
	l.Push(field("err", first))
	return 1
}

func statusReply(l *lua.LState) int {
	text, ok := l.Get(1).(lua.LString)
	if !ok {
		l.RaiseError("wrong number or type of arguments")
	}
	l.Push(field("ok", string(text)))
	return 1
}

func sha1hex(l *lua.LState) int {
	if l.GetTop() != 1 {
		l.RaiseError("wrong number of arguments")
	}
	l.Push(lua.LString(sha1Of(lua.LVAsString(l.Get(1)))))
	return 1
}

func log(l *lua.LState) int {
	l.CheckInt(1)
	l.CheckString(2)
	return 0
}

func setresp(l *lua.LState) int {
	if level := l.CheckInt(1); level != 2 && level != 3 {
		l.RaiseError("RESP version must be 2 or 3")
	}
	return 0
}

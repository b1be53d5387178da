package redisstore

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/yuin/gopher-lua/ast"
	"github.com/yuin/gopher-lua/parse"
)

// A luaWalk walks through a script in the order in which it runs: functions at their calls, both arms of each if, every loop
// twice. It records misuses of Redis. It tracks which variables hold which key; it computes nothing.
type luaWalk struct {
	title titlePage
	lines []string

	now    luaState
	exits  []luaState // of the current function
	breaks []luaState // of the current loop
	calls  []*ast.FunctionExpr

	used        map[int]bool // positions in KEYS
	asked       bool         // the script has asked for the layout
	unasked     map[int]bool // keys that were written before
	firstWrites map[string]bool
	findings    []string
}

// luaState is what a script has done up to a point, on all paths to it together.
type luaState struct {
	written bool
	checked map[int]bool // keys read before the first write: their types cannot cause errors any more
}

// luaValue is the known part of a value: the key it holds (0: none), or the function.
type luaValue struct {
	key   int
	fn    *ast.FunctionExpr
	scope *luaScope
}

type luaScope struct {
	outer *luaScope
	names map[string]luaValue
}

func (s *luaScope) find(name string) (luaValue, *luaScope) {
	for ; s != nil; s = s.outer {
		if v, ok := s.names[name]; ok {
			return v, s
		}
	}
	return luaValue{}, nil
}

func inside(outer *luaScope) *luaScope { return &luaScope{outer, map[string]luaValue{}} }

// commandKind describes the effect of a command on the key that is its first argument, and the type that the key must have.
type commandKind struct {
	writes, grows bool   // grows: refused when the server is out of memory
	of            string // hash, zset, list, stream; empty: any, or no key at all
}

// commands are those that a script may use: Redis 7.0 and miniredis have all of them, with the same behaviour.
var commands = map[string]commandKind{
	"TIME": {}, "PUBLISH": {}, // no key
	"EXISTS": {}, "DEL": {writes: true}, "UNLINK": {writes: true}, "EXPIRE": {writes: true}, "PERSIST": {writes: true}, "TYPE": {},
	"HGET": {of: "hash"}, "HMGET": {of: "hash"}, "HGETALL": {of: "hash"}, "HRANDFIELD": {of: "hash"}, "HSCAN": {of: "hash"}, "HLEN": {of: "hash"}, "HEXISTS": {of: "hash"}, "HSTRLEN": {of: "hash"},
	"HSET": {true, true, "hash"}, "HSETNX": {true, true, "hash"}, "HINCRBY": {true, true, "hash"}, "HDEL": {true, false, "hash"},
	"ZRANGE": {of: "zset"}, "ZRANGEBYSCORE": {of: "zset"}, "ZRANGEBYLEX": {of: "zset"}, "ZLEXCOUNT": {of: "zset"}, "ZSCORE": {of: "zset"}, "ZMSCORE": {of: "zset"}, "ZRANK": {of: "zset"}, "ZCARD": {of: "zset"}, "ZCOUNT": {of: "zset"}, "ZSCAN": {of: "zset"},
	"ZADD": {true, true, "zset"}, "ZREM": {true, false, "zset"}, "ZPOPMIN": {true, false, "zset"}, "ZREMRANGEBYSCORE": {true, false, "zset"}, "ZREMRANGEBYRANK": {true, false, "zset"},
	"LLEN": {of: "list"}, "LPOS": {of: "list"}, "LRANGE": {of: "list"}, "RPUSH": {true, true, "list"}, "LPUSH": {true, true, "list"},
	"RENAME": {true, false, ""}, "LTRIM": {true, false, "list"}, "LREM": {true, false, "list"},
	"XADD": {true, true, "stream"}, "XLEN": {of: "stream"}, "XREVRANGE": {of: "stream"}, "XTRIM": {true, false, "stream"},
}

var keyless = []string{"TIME", "PUBLISH"}

// luaGlobals are in both Lua engines, so a script may use them. tostring is not among them: it loses digits of big
// numbers, but only on a real server.
var luaGlobals = []string{"redis", "KEYS", "ARGV", "tonumber", "unpack", "ipairs", "pairs", "string", "table", "math", "type"}

func walkLua(name, text string, title titlePage) (*luaWalk, error) {
	chunk, err := parse.Parse(strings.NewReader(text), name+".lua")
	if err != nil {
		return nil, err
	}
	w := &luaWalk{
		title: title, lines: strings.Split(text, "\n"), now: luaState{checked: map[int]bool{}},
		used: map[int]bool{}, firstWrites: map[string]bool{}, unasked: map[int]bool{},
	}
	w.run(chunk, inside(nil))
	return w, nil
}

func (w *luaWalk) report(at ast.PositionHolder, format string, arguments ...any) {
	line := strings.TrimSpace(w.lines[max(at.Line()-1, 0)])
	finding := fmt.Sprintf(format, arguments...) + ": " + line
	if !slices.Contains(w.findings, finding) {
		w.findings = append(w.findings, finding)
	}
}

// allowed reports whether a comment on the line, or on the one before, gives a reason for a finding on that line.
func (w *luaWalk) allowed(at ast.PositionHolder, what string) bool {
	for _, line := range w.lines[max(at.Line()-2, 0):at.Line()] {
		if _, reason, ok := strings.Cut(line, "-- "+what+": "); ok && reason != "" {
			return true
		}
	}
	return false
}

// run walks through statements; true: the code after them is unreachable.
func (w *luaWalk) run(statements []ast.Stmt, scope *luaScope) bool {
	for _, statement := range statements {
		if local, ok := statement.(*ast.LocalAssignStmt); ok {
			scope = w.declare(local, scope) // earlier definitions do not know these names
		} else if w.step(statement, scope) {
			return true
		}
	}
	return false
}

func (w *luaWalk) step(statement ast.Stmt, scope *luaScope) bool {
	switch s := statement.(type) {
	case *ast.AssignStmt:
		w.assign(s, scope)
	case *ast.FuncCallStmt:
		w.value(s.Expr, scope)
	case *ast.DoBlockStmt:
		return w.run(s.Stmts, inside(scope))
	case *ast.IfStmt:
		w.value(s.Condition, scope)
		return w.branch(
			func() bool { return w.run(s.Then, inside(scope)) },
			func() bool { return w.run(s.Else, inside(scope)) },
		)
	case *ast.WhileStmt:
		w.loop(func() { w.value(s.Condition, scope) }, s.Stmts, inside(scope))
	case *ast.RepeatStmt:
		w.loop(func() { w.value(s.Condition, scope) }, s.Stmts, inside(scope))
	case *ast.NumberForStmt:
		for _, e := range []ast.Expr{s.Init, s.Limit, s.Step} {
			w.value(e, scope)
		}
		body := inside(scope)
		body.names[s.Name] = luaValue{}
		w.loop(func() {}, s.Stmts, body)
	case *ast.GenericForStmt:
		w.values(s.Exprs, scope)
		body := inside(scope)
		for _, name := range s.Names {
			body.names[name] = luaValue{}
		}
		w.loop(func() {}, s.Stmts, body)
	case *ast.FuncDefStmt:
		w.report(s, "a function that is not local")
	case *ast.ReturnStmt:
		w.values(s.Exprs, scope)
		w.exits = append(w.exits, w.now.copy())
		return true
	case *ast.BreakStmt:
		w.breaks = append(w.breaks, w.now.copy())
		return true
	default:
		w.report(s, "a statement of a kind that this lint does not know")
	}
	return false
}

// declare returns the scope that has the new names.
func (w *luaWalk) declare(s *ast.LocalAssignStmt, outer *luaScope) *luaScope {
	scope := inside(outer)
	if len(s.Exprs) == 1 && len(s.Names) == 1 {
		if fn, ok := s.Exprs[0].(*ast.FunctionExpr); ok {
			scope.names[s.Names[0]] = luaValue{fn: fn, scope: scope} // a local function knows itself
			return scope
		}
	}
	values := w.values(s.Exprs, outer)
	for i, name := range s.Names {
		v := luaValue{}
		if i < len(values) {
			v = values[i]
		}
		scope.names[name] = v
	}
	return scope
}

func (w *luaWalk) assign(s *ast.AssignStmt, scope *luaScope) {
	values := w.values(s.Rhs, scope)
	for i, left := range s.Lhs {
		name, ok := left.(*ast.IdentExpr)
		if !ok {
			w.value(left, scope)
			continue
		}
		known, where := scope.find(name.Value)
		switch {
		case where == nil:
			w.report(s, "%s is assigned and not local", name.Value)
		case known.key != 0:
			w.report(s, "%s holds a key and is assigned again", name.Value)
		case i < len(values) && values[i].fn != nil: // declared before its callers, defined later
			where.names[name.Value] = values[i]
		}
	}
}

// branch walks through two alternative paths.
func (w *luaWalk) branch(one, other func() bool) bool {
	before := w.now.copy()
	endedOne := one()
	after := w.now
	w.now = before
	endedOther := other()
	switch {
	case endedOther && !endedOne:
		w.now = after
	case !endedOne && !endedOther:
		w.now.merge(after)
	}
	return endedOne && endedOther
}

// loop walks through a body that runs never, once or again after itself.
func (w *luaWalk) loop(condition func(), body []ast.Stmt, scope *luaScope) {
	outer := w.breaks
	w.breaks = nil
	condition()
	never := w.now.copy()
	for range 2 {
		if w.run(body, scope) {
			w.now = never.copy()
		}
		condition()
	}
	w.now.merge(never)
	for _, state := range w.breaks {
		w.now.merge(state)
	}
	w.breaks = outer
}

func (w *luaWalk) values(exprs []ast.Expr, scope *luaScope) []luaValue {
	values := make([]luaValue, len(exprs))
	for i, e := range exprs {
		values[i] = w.value(e, scope)
	}
	return values
}

func (w *luaWalk) value(expr ast.Expr, scope *luaScope) luaValue {
	switch e := expr.(type) {
	case nil, *ast.TrueExpr, *ast.FalseExpr, *ast.NilExpr, *ast.NumberExpr, *ast.StringExpr:
	case *ast.IdentExpr:
		v, where := scope.find(e.Value)
		if where == nil && !slices.Contains(luaGlobals, e.Value) {
			w.report(e, "%s is not declared before, nor one of %v", e.Value, luaGlobals)
		}
		return v
	case *ast.AttrGetExpr:
		return w.attribute(e, scope)
	case *ast.TableExpr:
		for _, field := range e.Fields {
			if field.Key != nil {
				w.value(field.Key, scope)
			}
			w.value(field.Value, scope)
		}
	case *ast.FuncCallExpr:
		w.call(e, scope)
	case *ast.FunctionExpr:
		return luaValue{fn: e, scope: scope}
	case *ast.LogicalOpExpr:
		w.value(e.Lhs, scope)
		w.branch(func() bool { w.value(e.Rhs, scope); return false }, func() bool { return false })
	case *ast.RelationalOpExpr:
		w.values([]ast.Expr{e.Lhs, e.Rhs}, scope)
	case *ast.StringConcatOpExpr:
		for _, v := range w.values([]ast.Expr{e.Lhs, e.Rhs}, scope) {
			if v.key != 0 {
				w.report(e, "a key is part of a text")
			}
		}
	case *ast.ArithmeticOpExpr:
		w.values([]ast.Expr{e.Lhs, e.Rhs}, scope)
	case *ast.UnaryMinusOpExpr:
		w.value(e.Expr, scope)
	case *ast.UnaryNotOpExpr:
		w.value(e.Expr, scope)
	case *ast.UnaryLenOpExpr:
		w.value(e.Expr, scope)
	default:
		w.report(e, "an expression of a kind that this lint does not know")
	}
	return luaValue{}
}

// attribute knows KEYS[1], and KEYS[15 + i] if the title page has KEYS[n...]. If the title page has several of these, KEYS[PARKED + i] is the one
// whose name begins with parked.
func (w *luaWalk) attribute(e *ast.AttrGetExpr, scope *luaScope) luaValue {
	w.value(e.Key, scope)
	table, ok := e.Object.(*ast.IdentExpr)
	if !ok || table.Value != "KEYS" {
		w.value(e.Object, scope)
		return luaValue{}
	}
	at := w.title.rest
	if number, ok := e.Key.(*ast.NumberExpr); ok {
		at, _ = strconv.Atoi(number.Value)
	} else if first, ok := leftmost(e.Key).(*ast.IdentExpr); ok {
		for i := at + 1; at > 0 && i <= len(w.title.keys); i++ {
			if name, _, _ := strings.Cut(w.title.keys[i].name, ":"); strings.ToUpper(name) == first.Value {
				at = i
			}
		}
	}
	if _, ok := e.Key.(*ast.NumberExpr); !ok && at == 0 {
		w.report(e, "a position in KEYS that is computed, without KEYS[n...] on the title page")
	}
	if w.title.keys[at] == (titleKey{}) {
		w.report(e, "KEYS[%d] is not on the title page", at)
	}
	w.used[at] = true
	return luaValue{key: at}
}

// leftmost returns the first operand of a sum.
func leftmost(e ast.Expr) ast.Expr {
	for {
		sum, ok := e.(*ast.ArithmeticOpExpr)
		if !ok {
			return e
		}
		e = sum.Lhs
	}
}

func (s luaState) copy() luaState {
	c := luaState{s.written, map[int]bool{}}
	for key := range s.checked {
		c.checked[key] = true
	}
	return c
}

// merge adds the effects of another path to the same point: written by either, checked by either.
func (s *luaState) merge(other luaState) {
	s.written = s.written || other.written
	for key := range other.checked {
		s.checked[key] = true
	}
}

package redisstore

import (
	"slices"

	"github.com/yuin/gopher-lua/ast"
)

func (w *luaWalk) call(e *ast.FuncCallExpr, scope *luaScope) {
	if e.Func == nil {
		w.report(e, "a method call")
		return
	}
	if library, ok := e.Func.(*ast.AttrGetExpr); ok {
		if object, ok := library.Object.(*ast.IdentExpr); ok && object.Value == "redis" {
			w.redis(e, library, scope)
			return
		}
	}
	if name, ok := e.Func.(*ast.IdentExpr); ok && name.Value == "newer" {
		w.asked = true
	}
	callee := w.value(e.Func, scope)
	arguments := w.values(e.Args, scope)
	for _, v := range arguments {
		if v.fn != nil { // called by the function that receives it
			w.enter(v, nil)
		}
	}
	if callee.fn != nil {
		w.enter(callee, arguments)
	}
}

// enter walks through a function's body for this call.
func (w *luaWalk) enter(v luaValue, arguments []luaValue) {
	if slices.Contains(w.calls, v.fn) {
		return
	}
	w.calls = append(w.calls, v.fn)
	exits, breaks := w.exits, w.breaks
	w.exits, w.breaks = nil, nil
	scope := inside(v.scope)
	for i, name := range v.fn.ParList.Names {
		p := luaValue{}
		if i < len(arguments) {
			p = arguments[i]
		}
		scope.names[name] = p
	}
	ended := w.run(v.fn.Stmts, scope)
	for i, state := range w.exits {
		if i == 0 && ended {
			w.now = state
		} else {
			w.now.merge(state)
		}
	}
	w.exits, w.breaks = exits, breaks
	w.calls = w.calls[:len(w.calls)-1]
}

// redis checks one use of the table redis.
func (w *luaWalk) redis(e *ast.FuncCallExpr, library *ast.AttrGetExpr, scope *luaScope) {
	function, _ := library.Key.(*ast.StringExpr)
	values := w.values(e.Args, scope)
	switch {
	case function != nil && function.Value == "error_reply":
		return
	case function != nil && function.Value == "pcall" && w.allowed(e, "undone below"):
		// An error does not end the script here: the script undoes its writes, as if it had read every key before its first write.
	case function == nil || function.Value != "call":
		w.report(e, "only call and error_reply of redis are allowed (pcall with `-- undone below: …`, which gives the reason)")
		return
	}
	var command *ast.StringExpr
	if len(e.Args) > 0 {
		command, _ = e.Args[0].(*ast.StringExpr)
	}
	if command == nil {
		w.report(e, "the command is not a constant")
		return
	}
	kind, ok := commands[command.Value]
	if !ok {
		w.report(e, "%s is not among the commands that both servers have and a script may use", command.Value)
		return
	}
	if slices.Contains(keyless, command.Value) {
		return
	}
	if len(values) < 2 || values[1].key == 0 {
		w.report(e, "the key of %s is not from KEYS", command.Value)
		return
	}
	key := values[1].key
	if is := w.title.keys[key].kind; kind.of != "" && is != "" && is != kind.of {
		w.report(e, "%s on KEYS[%d], a %s on the title page", command.Value, key, is)
	}
	w.order(e, command.Value, kind, key)
}

// order checks that reads come before the first write: nothing is rolled back when one of them fails.
func (w *luaWalk) order(e *ast.FuncCallExpr, command string, kind commandKind, key int) {
	switch {
	case kind.writes:
		if !w.asked {
			w.unasked[key] = true
		}
		if !w.now.written {
			if !w.allowed(e, "grows first") {
				w.firstWrites[command] = true
			}
			w.now.checked[key] = true // if it is refused, it is the first to fail and nothing is half done
		}
		if w.now.written && !w.now.checked[key] && kind.of != "" && !w.allowed(e, "unread") && !w.allowed(e, "undone below") {
			w.report(e, "%s writes KEYS[%d], %s (say why in `-- unread: …`)", command, key, unreadFinding)
		}
		w.now.written = true
	case !w.now.written:
		w.now.checked[key] = true
	case !w.now.checked[key] && kind.of != "" && !w.allowed(e, "read after write"):
		w.report(e, "%s reads KEYS[%d] for the first time after something was written (say why in `-- read after write: …`)", command, key)
	}
}

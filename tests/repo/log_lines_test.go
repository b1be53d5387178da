package repo_test

import (
	"go/ast"
	"go/token"
	"go/types"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The keys and events of log lines. Programs that collect them may rely on these.
var (
	logKeys = strings.Fields(`event queue partition job id schedule planned attempt max_attempts fence worker session host pid term leader
		outcome reason error late_ms took_ms after_ms count viewer action note args detail stack queues handlers concurrency store timeout_ms owner before after last_date
		done retried dead snoozed cancelled parked missed expired given_back unsettled cut_off collection url roles version signal
		principal status request remote code method path op if_match etag task target group`)
	logEvents = strings.Fields(`leader.elected leader.lost leader.handover_failed
		schedule.created schedule.changed schedule.completed schedule.unplaced schedule.uncomputable schedule.unhandled schedule.lost schedule.repaired schedule.outdated schedule.newer schedule.dates_end schedule.pruned schedule.unpruned schedule.paused schedule.replanned
		enqueue.unknown job.dead job.unfollowed job.expired job.superseded job.cancelled job.parked job.late_result job.retrying handler.backoff_panic handler.panic handler.stuck
		observer.panic
		outbox.blocked outbox.carried outbox.full outbox.group outbox.lost batch.unreported batch.open
		session.lost session.expired session.reap_failed session.reaped session.unreadable
		store.trouble store.recovered store.unfit store.unreadable store.emptied client.logged
		worker.started worker.unhandled worker.unserved queue.unserved pause.ended drain.started drain.ended
		schedule.unreadable collection.unreadable collection.failed collection.overfull
		server.token server.started server.stopping server.reloaded server.reload_failed server.cut_off server.handed_back
		dashboard.action dashboard.denied dashboard.revealed dashboard.failed
		api.action api.denied api.unauthenticated api.panicked api.unsent request.failed`)
)

var packagePrefix = regexp.MustCompile(`^(chime|redisstore|embedded|httpapi|chimed|dashboard): `)

// Every line that the library logs has a level, a text that begins with the package, an event, and keys of the list; and all events of the list are logged.
func TestLogLinesHaveAnEventAndStableKeys(t *testing.T) {
	t.Chdir(root)
	lines := 0
	written := map[string]bool{} // all texts of the source, for some events are worked out before they are logged
	for _, s := range sources(t) {
		if s.test || s.under("examples") || s.under("bench") || servesTests(s.folder) {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if text, ok := n.(*ast.BasicLit); ok && text.Kind == token.STRING {
				value, _ := strconv.Unquote(text.Value)
				written[value] = true
			}
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			arguments, ok := logArguments(call)
			if !ok {
				return true
			}
			lines++
			at := s.set.Position(call.Pos())
			if text, constant := literal(arguments[0]); constant && !packagePrefix.MatchString(text) {
				t.Errorf("%s:%d logs %q: want it to begin with the package", s.path, at.Line, text)
			}
			keys := arguments[1:]
			if first, _ := literalOr(keys, 0); first != "event" {
				t.Errorf("%s:%d logs a line whose first key is %q, want event", s.path, at.Line, first)
			}
			for i := 0; i < len(keys); i += 2 {
				if key, _ := literal(keys[i]); !slices.Contains(logKeys, key) {
					t.Errorf("%s:%d logs the key %q, want one of %q", s.path, at.Line, key, logKeys)
				}
			}
			if event, constant := literalOr(keys, 1); constant && !slices.Contains(logEvents, event) {
				t.Errorf("%s:%d logs the event %q, want one of %q", s.path, at.Line, event, logEvents)
			}
			return true
		})
	}
	for _, event := range logEvents {
		if !written[event] {
			t.Errorf("the event %s is listed, and nothing logs it", event)
		}
	}
	if lines < 20 {
		t.Errorf("%d log lines were found: this test searches in the wrong place", lines)
	}
}

// logArguments returns the text and the attributes of a call of a slog.Logger.
func logArguments(call *ast.CallExpr) ([]ast.Expr, bool) {
	selector, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return nil, false
	}
	if receiver := strings.ToLower(types.ExprString(selector.X)); !strings.HasSuffix(receiver, "log") && !strings.HasSuffix(receiver, "logger") && receiver != "slog" && !strings.HasSuffix(receiver, "log()") && !strings.HasSuffix(receiver, "default()") {
		return nil, false
	}
	before := map[string]int{"Debug": 0, "Info": 0, "Warn": 0, "Error": 0, "DebugContext": 1, "InfoContext": 1, "WarnContext": 1, "ErrorContext": 1, "Log": 2}
	n, ok := before[selector.Sel.Name]
	if !ok || len(call.Args) <= n {
		return nil, false
	}
	arguments := call.Args[n:]
	if added, ok := arguments[len(arguments)-1].(*ast.CallExpr); ok && call.Ellipsis.IsValid() && types.ExprString(added.Fun) == "append" {
		if first, ok := added.Args[0].(*ast.CompositeLit); ok { // the rest is another line's too
			return append(slices.Clone(arguments[:len(arguments)-1]), first.Elts...), true
		}
	}
	return arguments, true
}

func literal(e ast.Expr) (text string, constant bool) {
	if basic, ok := e.(*ast.BasicLit); ok {
		text, err := strconv.Unquote(basic.Value)
		return text, err == nil
	}
	return "", false
}

func literalOr(list []ast.Expr, i int) (string, bool) {
	if i < len(list) {
		return literal(list[i])
	}
	return "", true
}

// docs/log-events.md lists every event once, with the levels at which it is logged.
func TestLogEventsAreDocumented(t *testing.T) {
	t.Chdir(root)
	page, err := os.ReadFile("docs/log-events.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `(.*?)` \\| ([A-Z, ]+) \\| .+ \\| .+ \\|$").FindAllStringSubmatch(string(page), -1) {
		if documented[row[1]] != "" {
			t.Errorf("docs/log-events.md has %s twice", row[1])
		}
		documented[row[1]] = row[2]
		if !slices.Contains(logEvents, row[1]) {
			t.Errorf("docs/log-events.md has %s, which nothing logs", row[1])
		}
	}
	logged, computed := loggedLevels(t)
	for _, event := range logEvents {
		levels := strings.Split(documented[event], ", ")
		switch {
		case documented[event] == "":
			t.Errorf("docs/log-events.md has no row of %s", event)
		case !slices.IsSortedFunc(levels, func(a, b string) int { return slices.Index(logLevels, a) - slices.Index(logLevels, b) }) || slices.Contains(levels, ""):
			t.Errorf("docs/log-events.md has %s at %q, want some of %q in this order", event, levels, logLevels)
		}
		for _, level := range logLevels {
			if at := slices.Contains(levels, level); logged[event+" "+level] && !at {
				t.Errorf("%s is logged as %s, docs/log-events.md has %q", event, level, levels)
			} else if at && !logged[event+" "+level] && !computed[event] {
				t.Errorf("docs/log-events.md has %s at %q, and nothing logs it as %s", event, levels, level)
			}
		}
	}
}

var logLevels = []string{"DEBUG", "INFO", "WARN", "ERROR"}

// loggedLevels returns each "event LEVEL" that a call names, and the events with a level or a name that the program computes.
func loggedLevels(t *testing.T) (logged, computed map[string]bool) {
	logged, computed = map[string]bool{}, map[string]bool{}
	named := map[string]bool{}
	for _, s := range sources(t) {
		if s.test || s.under("examples") || s.under("bench") || servesTests(s.folder) {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			arguments, ok := logArguments(call)
			if !ok {
				return true
			}
			event, constant := literalOr(arguments, 2)
			if !constant {
				return true
			}
			level := strings.ToUpper(strings.TrimSuffix(call.Fun.(*ast.SelectorExpr).Sel.Name, "Context"))
			named[event], computed[event] = true, computed[event] || level == "LOG"
			logged[event+" "+level] = true
			return true
		})
	}
	for _, event := range logEvents {
		computed[event] = computed[event] || !named[event]
	}
	return logged, computed
}

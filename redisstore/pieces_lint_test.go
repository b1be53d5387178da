package redisstore

import (
	"fmt"
	"go/ast"
	"go/token"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	lua "github.com/yuin/gopher-lua"
	luaast "github.com/yuin/gopher-lua/ast"
	"github.com/yuin/gopher-lua/parse"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/schedule"
	"github.com/chimejobs/chime/internal/wire"
)

// Rules for the pieces of scripts/lib, which are part of the texts of the scripts that use them.

// pieceFiles returns the texts of all pieces by name.
func pieceFiles(t *testing.T) map[string]string {
	t.Helper()
	found, err := fs.Glob(files, "scripts/lib/*.lua")
	if err != nil || len(found) == 0 {
		t.Fatalf("no pieces: %v", err)
	}
	texts := map[string]string{}
	for _, file := range found {
		texts[strings.TrimSuffix(path.Base(file), ".lua")] = read(file)
	}
	return texts
}

func TestEveryPieceKeepsTheRules(t *testing.T) {
	pieces := pieceFiles(t)
	for name := range pieces {
		for _, finding := range lintPiece(name, pieces) {
			t.Errorf("scripts/lib/%s.lua: %s", name, finding)
		}
	}
}

var (
	needsLine    = regexp.MustCompile(`(?m)^-- needs: (.+)$`)
	functionLine = regexp.MustCompile(`^ *local function (\w+)\(`)
)

func needs(text string) []string {
	if line := needsLine.FindStringSubmatch(text); line != nil {
		return strings.Fields(line[1])
	}
	return nil
}

// lintPiece returns the violations in a piece. It must begin with its name and description; each of its functions needs a comment; it must do
// nothing itself except refuse; and it may only use names that it declares, names of the pieces that it needs, and Lua's libraries. Other
// keys and data must be parameters.
func lintPiece(name string, pieces map[string]string) (findings []string) {
	text := pieces[name]
	if !strings.HasPrefix(text, "-- "+name+": ") {
		findings = append(findings, fmt.Sprintf("begins with %.40q, want -- %s: <description>", text, name))
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		function := functionLine.FindStringSubmatch(line)
		if function == nil {
			continue
		}
		first := i
		for first > 0 && strings.HasPrefix(lines[first-1], "--") {
			first--
		}
		if !strings.HasPrefix(lines[first], "-- "+function[1]+" ") {
			findings = append(findings, fmt.Sprintf("no comment above function %s that begins with its name", function[1]))
		}
	}
	chunk, err := parse.Parse(strings.NewReader(text), name)
	if err != nil {
		return append(findings, err.Error())
	}
	for _, statement := range chunk {
		if _, ok := statement.(*luaast.LocalAssignStmt); !ok && !refuses(statement) {
			findings = append(findings, fmt.Sprintf("line %d is no declaration", statement.Line()))
		}
	}
	before := ""
	for _, needed := range needs(text) {
		if _, ok := pieces[needed]; !ok {
			findings = append(findings, fmt.Sprintf("needs %s, which is not a piece", needed))
		}
		before += pieces[needed]
	}
	names, err := luaFreeNames(name, before+text)
	if err != nil {
		return append(findings, err.Error())
	}
	own, _ := luaFreeNames(name, text)
	for _, free := range names {
		if slices.Contains(own, free) && (free == "KEYS" || free == "ARGV" || !slices.Contains(luaGlobals, free)) {
			findings = append(findings, fmt.Sprintf("%s is neither declared here nor in the pieces that it needs", free))
		}
	}
	return findings
}

// refuses reports whether a statement only ends the script with an error under some condition.
func refuses(statement luaast.Stmt) bool {
	condition, ok := statement.(*luaast.IfStmt)
	if !ok || len(condition.Then) != 1 || len(condition.Else) > 0 {
		return false
	}
	end, ok := condition.Then[0].(*luaast.ReturnStmt)
	if !ok || len(end.Exprs) != 1 {
		return false
	}
	call, ok := end.Exprs[0].(*luaast.FuncCallExpr)
	if !ok {
		return false
	}
	called, ok := call.Func.(*luaast.AttrGetExpr)
	if !ok {
		return false
	}
	name, ok := called.Key.(*luaast.StringExpr)
	return ok && name.Value == "error_reply"
}

// luaFreeNames returns the names that a text reads or writes but does not declare.
func luaFreeNames(name, text string) ([]string, error) {
	chunk, err := parse.Parse(strings.NewReader(text), name)
	if err != nil {
		return nil, err
	}
	compiled, err := lua.Compile(chunk, name)
	if err != nil {
		return nil, err
	}
	var names []string
	var visit func(*lua.FunctionProto)
	visit = func(function *lua.FunctionProto) {
		for _, instruction := range function.Code {
			// the operation is the first 6 bits, the constant that holds the name the last 18
			if operation := int(instruction >> 26); operation == lua.OP_GETGLOBAL || operation == lua.OP_SETGLOBAL {
				names = append(names, function.Constants[instruction&(1<<18-1)].String())
			}
		}
		for _, inner := range function.FunctionPrototypes {
			visit(inner)
		}
	}
	visit(compiled)
	slices.Sort(names)
	return slices.Compact(names), nil
}

// The lint of pieces works: each of these breaks one rule.
func TestThePieceLintFindsWhatIsWrong(t *testing.T) {
	const good = "-- x: a piece.\n-- needs: y\n\n-- f adds.\nlocal function f(key)\n  return redis.call('HGET', key, Y)\nend\n"
	for _, c := range []struct{ rule, text, want string }{
		{"a good piece", good, ""},
		{"the title names the piece", strings.Replace(good, "-- x:", "-- z:", 1), "begins with"},
		{"a function has a comment", strings.Replace(good, "-- f adds.\n", "", 1), "no comment above function f"},
		{"the comment names the function", strings.Replace(good, "-- f adds", "-- It adds", 1), "no comment above function f"},
		{"a piece does nothing", good + "redis.call('PUBLISH', 'a', 'b')\n", "line 8 is no declaration"},
		{"a piece may refuse", good + "if Y > 1 then return redis.error_reply('NO') end\n", ""},
		{"a piece that refuses does nothing else", good + "if Y > 1 then\n  redis.call('PUBLISH', 'a', 'b')\n  return redis.error_reply('NO')\nend\n", "line 8 is no declaration"},
		{"a needed piece exists", strings.Replace(good, "needs: y", "needs: y z", 1), "needs z, which is not a piece"},
		{"a needed piece is listed", strings.Replace(good, "-- needs: y\n", "", 1), "Y is neither declared"},
		{"no variable of the script", strings.Replace(good, "call('HGET', key", "call('HGET', JOBS", 1), "JOBS is neither declared"},
		{"no key but a parameter", strings.Replace(good, "call('HGET', key", "call('HGET', KEYS[1]", 1), "KEYS is neither declared"},
		{"no data but a parameter", strings.Replace(good, "Y)", "ARGV[1])", 1), "ARGV is neither declared"},
		{"no global is written", strings.Replace(good, "return ", "count = ", 1), "count is neither declared"},
	} {
		findings := strings.Join(lintPiece("x", map[string]string{"x": c.text, "y": "-- y: another.\nlocal Y = 1\n"}), "\n")
		if (c.want == "") != (findings == "") || !strings.Contains(findings, c.want) {
			t.Errorf("%s: found %q, want %q", c.rule, findings, c.want)
		}
	}
}

// Every piece is used, and comes after those that it needs.
func TestScriptsUseWhatTheirPiecesNeed(t *testing.T) {
	pieces, used := pieceFiles(t), map[string]bool{}
	for _, name := range scripts.Names() {
		var before []string
		for _, part := range scripts.Parts(name) {
			folder, file := path.Split(part.File)
			if folder != "lib/" {
				continue
			}
			piece := strings.TrimSuffix(file, ".lua")
			for _, needed := range needs(pieces[piece]) {
				if !slices.Contains(before, needed) {
					t.Errorf("scripts/%s.lua uses %s, which needs %s before it", name, piece, needed)
				}
			}
			if slices.Contains(before, piece) {
				t.Errorf("scripts/%s.lua uses %s twice", name, piece)
			}
			before, used[piece] = append(before, piece), true
		}
	}
	for name := range pieces {
		if !used[name] {
			t.Errorf("scripts/lib/%s.lua is used by no script", name)
		}
	}
}

// A section begins with its description and its script, is in that script once, and no file is long.
func TestEverySectionIsInItsScript(t *testing.T) {
	sections, err := fs.Glob(files, "scripts/*/*/*.lua")
	if err != nil || len(sections) == 0 {
		t.Fatalf("no sections: %v", err)
	}
	for _, file := range sections {
		script, name := path.Dir(file), strings.TrimSuffix(path.Base(file), ".lua")
		verb := path.Base(script)
		if title, _, _ := strings.Cut(read(file), "\n"); !strings.HasPrefix(title, "-- "+name+": ") || !strings.HasSuffix(title, " A section of "+verb+".lua.") {
			t.Errorf("%s begins with %q, want -- %s: <description>. A section of %s.lua.", file, title, name, verb)
		}
		if n := strings.Count(read(script+".lua"), "\n-- then: "+name+"\n"); n != 1 {
			t.Errorf("%s is in %s.lua %d times, want once", file, script, n)
		}
	}
	err = fs.WalkDir(files, "scripts", func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		if n := strings.Count(read(file), "\n"); n > maxLines {
			t.Errorf("%s has %d lines, want %d at most", file, n, maxLines)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// maxLines is the maximum length of a file of the scripts.
const maxLines = 450

// luaValues returns the values of names that a piece declares.
func luaValues(t *testing.T, pieces string, names ...string) []string {
	t.Helper()
	state := lua.NewState()
	defer state.Close()
	text := ""
	for piece := range strings.FieldsSeq(pieces) {
		text += read("scripts/lib/"+piece+".lua") + "\n"
	}
	if err := state.DoString(text + "return " + strings.Join(names, ", ")); err != nil {
		t.Fatal(err)
	}
	values := make([]string, len(names))
	for i := range names {
		values[i] = state.ToString(i + 1)
	}
	return values
}

// newestForm returns the newest format of a definition that this program knows. The error for an unknown format contains it.
func newestForm(t *testing.T) string {
	_, err := schedule.Read([]byte(`{"version":1000}`))
	form := regexp.MustCompile(`this program knows (\d+)`).FindStringSubmatch(fmt.Sprint(err))
	if form == nil {
		t.Fatal(err)
	}
	return form[1]
}

// A value that both scripts and Go code know is written once on each side, with the same value.
func TestLuaAndGoKnowTheSameLimits(t *testing.T) {
	for _, c := range []struct{ piece, name, want string }{
		{"limits", "MAX_ITEMS", strconv.Itoa(protocol.MaxInstants)},
		{"limits", "LARGE_BYTES", strconv.Itoa(largeBody)},
		{"limits", "CALL_BYTES", strconv.Itoa(protocol.MaxBytes)},
		{"limits", "STALE_MS", strconv.FormatInt(protocol.IdleRetention.Milliseconds(), 10)},
		{"layout", "LAYOUT", layout},
		{"queuelimit", "MAX_LIMIT", strconv.Itoa(protocol.MaxLimit)},
		{"queuelimit", "MAX_PER_MS", strconv.FormatInt(protocol.MaxPer.Milliseconds(), 10)},
		{"queuelimit", "LIMIT_OPEN", strconv.Itoa(int(protocol.LimitOpen))},
		{"queuelimit", "LIMIT_SPENT", strconv.Itoa(int(protocol.LimitSpent))},
		{"queuelimit", "LIMIT_FULL", strconv.Itoa(int(protocol.LimitFull))},
		{"alarm", "SECOND_ALARM_MS", strconv.FormatInt(protocol.SecondAlarm.Milliseconds(), 10)},
		{"suspects", "SUSPECT_CRASHES", strconv.Itoa(protocol.SuspectCrashes)},
		{"suspects", "WATCH_US", strconv.FormatInt(protocol.SuspectAlone.Microseconds(), 10)},
		{"suspects", "STEP_MS", strconv.FormatInt(protocol.SuspectStep.Milliseconds(), 10)},
		{"parked", "SHARED", sharedParked},
		{"expiry", "EXPIRING", strconv.Itoa(wire.ExpiringVersion)},
		{"expired", "FORM", newestForm(t)},
		{"lapse", "MAX_SEEN_LAPSED", strconv.Itoa(protocol.MaxSeenLapsed)},
		{"collection", "MAX_COLLECTIONS", strconv.Itoa(protocol.MaxCollections)},
	} {
		got := luaValues(t, c.piece, c.name)[0]
		if got != c.want {
			t.Errorf("scripts/lib/%s.lua: %s is %s, the Go code has %s", c.piece, c.name, got, c.want)
		}
		if c.piece == "limits" {
			onlyIn(t, c.piece, got)
		}
	}
}

// Scripts read envelopes of the versions that the Go code writes, sealed or not, and no others.
func TestLuaAndGoKnowTheSameEnvelopes(t *testing.T) {
	for version := range 256 {
		plain := version &^ wire.SealedFlag
		want := fmt.Sprint(plain == wire.Version || plain == wire.ExpiringVersion)
		if got := luaValues(t, "strings envelope", fmt.Sprintf("tostring(readable(string.char(%d)))", version))[0]; got != want {
			t.Errorf("an envelope of version %d is readable: %s, want %s", version, got, want)
		}
	}
}

// The fields of …:counters are those that the Go code reads.
func TestLuaAndGoKnowTheSameCounters(t *testing.T) {
	literal := regexp.MustCompile(`^/[a-z_]+$`)
	var inGo []string
	for _, tree := range goFiles(t) {
		ast.Inspect(tree, func(n ast.Node) bool {
			if text, ok := n.(*ast.BasicLit); ok && text.Kind == token.STRING {
				if field, _ := strconv.Unquote(text.Value); literal.MatchString(field) {
					inGo = append(inGo, field)
				}
			}
			return true
		})
	}
	slices.Sort(inGo)
	of := luaValues(t, "counters", "table.concat({ counters_of('') }, ' ')")[0]
	fields := luaValues(t, "counters", "RETRIED", "EXPIRED", "FAILED", "STARTED", "SKIPPED", "MISSED", "CAUGHT_UP", "SUPERSEDED", "CANCELLED", "DONE", "FAILED", "DIED")
	fields = append(fields, luaValues(t, "counters", "({ counters_of('') })[10]")...) // FULL of the piece unfinished
	for _, field := range fields {
		onlyIn(t, "counters", field)
	}
	if want := strings.Join(fields[3:], " "); of != want {
		t.Errorf("counters_of has %q, want %q", of, want)
	}
	slices.Sort(fields)
	fields = slices.Compact(fields)
	if fmt.Sprint(slices.Compact(inGo)) != fmt.Sprint(fields) {
		t.Errorf("fields of …:counters: the scripts have %q, the Go code has %q", fields, inGo)
	}
}

// onlyIn checks that a number or a field is written in one piece and in no other text.
func onlyIn(t *testing.T, piece, literal string) {
	t.Helper()
	texts := map[string]string{}
	for name, text := range pieceFiles(t) {
		if name != piece {
			texts["lib/"+name] = text
		}
	}
	for _, name := range scripts.Names() {
		for _, part := range scripts.Parts(name) {
			if !strings.HasPrefix(part.File, "lib/") {
				texts[name] += part.Text
			}
		}
	}
	written := regexp.MustCompile(`(^|\W)['"]?` + regexp.QuoteMeta(literal) + `\b`)
	for name, text := range texts {
		for _, line := range strings.Split(text, "\n") {
			code, _, _ := strings.Cut(line, "--")
			if written.MatchString(code) {
				t.Errorf("scripts/%s.lua has %s, which is in lib/%s.lua: %s", name, literal, piece, strings.TrimSpace(line))
			}
		}
	}
}

// The piece waiting knows the places where jobs wait to run now. A script that uses the length of ready for a decision of its own would miss the
// other places. A call that only checks the type of the key is allowed.
func TestOnlyThePieceWaitingDecidesWhetherJobsWait(t *testing.T) {
	only := regexp.MustCompile(`^\s*(if .* then )?redis\.call\('LLEN', READY\)( end)?$`)
	allowed := map[string]string{
		"queues/purge_begin":  "it renames the list",
		"queues/count_queue":  "it decides nothing: the number is shown",
		"repair/free_opens":   "it limits how deep it searches the list",
		"repair/verify_opens": "as above",
		"repair/verify_job":   "as above",
	}
	for _, name := range scripts.Names() {
		for _, part := range scripts.Parts(name) {
			file := strings.TrimSuffix(part.File, ".lua")
			for i, line := range strings.Split(part.Text, "\n") {
				reads := strings.Contains(line, "'LLEN', READY") || strings.Contains(line, "'LLEN', ready")
				if reads && !only.MatchString(line) && file != "lib/waiting" && allowed[file] == "" {
					t.Errorf("scripts/%s line %d uses the length of ready: use the piece waiting", part.File, part.Line+i)
				}
			}
		}
	}
}

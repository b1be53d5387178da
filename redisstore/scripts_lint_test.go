package redisstore

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/chimejobs/chime/redisstore/internal/script"
)

// Rules for every script and the Go code around it. No server checks most of them: only a real one refuses a
// key of another slot, and only in a cluster; miniredis refuses none.

// worksAtMaxMemory are the scripts that must work when the server is out of memory: once a script has written anything it may
// write everything, so it begins with a write that needs no memory.
var worksAtMaxMemory = []string{"sessions/work", "sessions/extend", "sessions/reap", "workers/poll", "leader/lead", "outbox/address_outbox", "outbox/advance_outbox"}

// writesUnread are the scripts that write keys which they have not read before: a key of a wrong type stops enqueue after the job was
// added, and the short path of an ordinary job has no command to spare.
var writesUnread = []string{"jobs/enqueue"}

// unaskedLayout are the scripts that write keys of a partition and do not ask for its layout, and why. Every other one asks before its first write, so
// that a program that does not know the layout changes nothing.
var unaskedLayout = map[string]string{
	"jobs/enqueue_one":  "a program that raises the layout closes the gate, which stops this script",
	"sessions/work_few": "it does nothing if the layout is not the one that it knows",
	"sessions/extend":   "it only renews the program's own session: if it were refused, jobs whose handlers run would run twice",
	"workers/leave":     "it only removes the program's own registration: if it were refused, wake-ups would be sent to a worker that is gone",
}

// ofPartition reports whether a key belongs to a partition: the others belong to the namespace, whose data have no layout.
func ofPartition(key titleKey) bool {
	shared := []string{ // the last six are of collections
		"queues", "leader", "deleted", "pruned", "beats", "served", "workers", "acknowledged", "records", "index", "swept", "unfinished", "owned", "names:<collection>"}
	return !slices.Contains(shared, key.name) && !(key.name == "schedules" && key.kind == "zset")
}

const unreadFinding = "which was not read before the first write"

func TestEveryScriptKeepsTheRules(t *testing.T) {
	for name := range unaskedLayout {
		if !slices.Contains(scripts.Names(), name) {
			t.Errorf("unaskedLayout has %s, which is not a script", name)
		}
	}
	for _, name := range worksAtMaxMemory {
		if !slices.Contains(scripts.Names(), name) {
			t.Errorf("worksAtMaxMemory has %s, which is not a script", name)
		}
	}
	shared := map[string]string{} // the title pages, the logs and the proxy of the tests have a script by its verb
	for name, script := range loadAll(t) {
		if other := shared[path.Base(name)]; other != "" {
			t.Errorf("%s and %s have one verb", name, other)
		}
		shared[path.Base(name)] = name
		t.Run(name, func(t *testing.T) {
			for _, finding := range lint(name, script.Text) {
				t.Error(finding)
			}
		})
	}
}

// lint returns the violations in a script.
func lint(name, text string) []string {
	title, findings := readTitle(name, text)
	w, err := walkLua(name, text, title)
	if err != nil {
		return append(findings, err.Error())
	}
	for _, finding := range w.findings {
		if !slices.Contains(writesUnread, name) || !strings.Contains(finding, unreadFinding) {
			findings = append(findings, finding)
		}
	}
	for key := range w.unasked {
		if is := title.keys[key]; unaskedLayout[name] == "" && ofPartition(is) {
			findings = append(findings, fmt.Sprintf("it writes …:%s before it asks for the layout (lib/layout.lua)", is.name))
		}
	}
	names, err := luaFreeNames(name, text)
	if err != nil {
		return append(findings, err.Error())
	}
	for _, free := range names {
		if !slices.Contains(luaGlobals, free) { // the walk finds the called names, this finds all
			findings = append(findings, fmt.Sprintf("%s is not declared", free))
		}
	}
	for at := range title.keys {
		if !w.used[at] {
			findings = append(findings, fmt.Sprintf("KEYS[%d] is on the title page and never used", at))
		}
	}
	if slices.Contains(worksAtMaxMemory, name) {
		for command := range w.firstWrites {
			if commands[command].grows {
				findings = append(findings, command+" is the first write: out of memory the script fails, begin with a ZREM")
			}
		}
	}
	return findings
}

// A titlePage is the comment at the beginning of a script.
type titlePage struct {
	keys map[int]titleKey
	rest int // the n of the first KEYS[n...]; 0: the number of keys is fixed. Keys of the following ones, KEYS[n+1...], may also be there
}

// fitsAny reports whether a key may be the i-th of a call.
func (t titlePage) fitsAny(key string, i int) bool {
	if t.rest == 0 || i < t.rest {
		return fits(key, t.keys[i].name)
	}
	for at := t.rest; at <= len(t.keys); at++ {
		if fits(key, t.keys[at].name) {
			return true
		}
	}
	return false
}

// A titleKey is one line of it: `-- KEYS[2] …:due  zset  job ID -> …`.
type titleKey struct{ name, kind string }

var titleLine = regexp.MustCompile(`^-- KEYS\[(\d+)(\.\.\.)?\] +…:(\S+) +(hash|zset|list|stream)\b`)

func readTitle(name, text string) (titlePage, []string) {
	title := titlePage{keys: map[int]titleKey{}}
	var findings []string
	lines := strings.Split(text, "\n")
	if !strings.HasPrefix(lines[0], "-- "+path.Base(name)+".lua: ") {
		findings = append(findings, fmt.Sprintf("the first line is %q, want -- %s.lua: <description>", lines[0], path.Base(name)))
	}
	returns := false
	for _, line := range lines {
		if !strings.HasPrefix(line, "--") {
			break
		}
		returns = returns || strings.HasPrefix(line, "-- Returns ")
		if !strings.HasPrefix(line, "-- KEYS[") {
			continue
		}
		part := titleLine.FindStringSubmatch(line)
		if part == nil {
			findings = append(findings, fmt.Sprintf("title page: %q, want -- KEYS[n] …:key  hash, zset, list or stream", line))
			continue
		}
		at, _ := strconv.Atoi(part[1])
		if at != len(title.keys)+1 || title.rest > 0 && part[2] == "" {
			findings = append(findings, fmt.Sprintf("title page: KEYS[%d] comes after %d keys", at, len(title.keys)))
		}
		title.keys[at] = titleKey{part[3], part[4]}
		if part[2] != "" && title.rest == 0 {
			title.rest = at
		}
	}
	if !returns {
		findings = append(findings, "the title page has no line Returns")
	}
	return title, findings
}

// loadAll returns all scripts by name, as they are sent.
func loadAll(t *testing.T) map[string]script.Script {
	t.Helper()
	all := map[string]script.Script{}
	for _, name := range scripts.Names() {
		all[name] = scripts.Load(name)
	}
	if len(all) == 0 {
		t.Fatal("no scripts")
	}
	return all
}

// The lint works: each of these scripts breaks one rule.
func TestTheLintFindsWhatIsWrong(t *testing.T) {
	const asks = "local function newer() end\nnewer()\n"
	const title = "-- x.lua: a script.\n-- KEYS[1] …:due  zset  what is due\n-- KEYS[2] …:jobs  hash  jobs\n-- ARGV[1] a name\n-- Returns 1.\n" + asks
	const good = "local DUE, JOBS = KEYS[1], KEYS[2]\nredis.call('HGET', JOBS, 'a')\nredis.call('ZADD', DUE, 1, ARGV[1])\n"
	if findings := lint("x", title+good); len(findings) > 0 {
		t.Fatalf("a good script: %q", findings)
	}
	for _, c := range []struct{ rule, text, want string }{
		{"the title names the script", "-- y.lua: another.\n" + title + good, "the first line is"},
		{"the title page has the return values", strings.Replace(title, "-- Returns 1.\n", "", 1) + good, "has no line Returns"},
		{"the layout is asked for", strings.Replace(title, asks, "", 1) + good, "it writes …:due before it asks for the layout"},
		{"the layout is asked for first", strings.Replace(title, asks, "", 1) + good + asks, "it writes …:due before it asks for the layout"},
		{"keys are numbered", strings.Replace(title, "KEYS[2]", "KEYS[3]", 1) + good, "comes after 1 keys"},
		{"a key has a type", strings.Replace(title, "hash", "map", 1) + good, "want -- KEYS[n]"},
		{"every key is on the title page", title + good + "redis.call('ZREM', KEYS[3], '')", "KEYS[3] is not on the title page"},
		{"every key of the title page is used", title + "return redis.call('ZCARD', KEYS[1])", "KEYS[2] is on the title page and never used"},
		{"keys are not computed", title + good + "redis.call('ZREM', KEYS[#ARGV], '')", "is computed"},
		{"no key from data", title + good + "redis.call('ZREM', ARGV[1], '')", "the key of ZREM is not from KEYS"},
		{"no key from text", title + good + "redis.call('ZREM', 'chime:' .. ARGV[1], '')", "the key of ZREM is not from KEYS"},
		{"no key becomes text", title + good + "redis.call('ZREM', KEYS[1] .. ':x', '')", "a key is part of a text"},
		{"a key variable is assigned once", title + good + "DUE = ARGV[1]", "holds a key and is assigned again"},
		{"functions get keys only", title + good + "local function f(k) redis.call('ZREM', k, '') end\nf(JOBS)\nf(ARGV[1])", "the key of ZREM is not from KEYS"},
		{"the type fits", title + good + "redis.call('HDEL', DUE, 'a')", "a zset on the title page"},
		{"commands are on the list", title + good + "redis.call('SPUBLISH', 'a', 'b')", "SPUBLISH is not among"},
		{"commands are constant", title + good + "redis.call(ARGV[1], DUE)", "not a constant"},
		{"errors are not swallowed", title + good + "redis.pcall('ZREM', DUE, '')", "only call and error_reply"},
		{"errors undo the writes", title + good + "-- undone below: the ZADD\nredis.pcall('HSET', JOBS, 'a', 'b')", ""},
		{"an undoing command is checked like the rest", title + good + "-- undone below: the ZADD\nredis.pcall('HSET', ARGV[1], 'a', 'b')", "the key of HSET is not from KEYS"},
		{"errors have a code", title + good + "error('no')", "error is not declared"},
		{"no library that one server lacks", title + good + "cmsgpack.pack(1)", "cmsgpack is not declared"},
		{"no digits lost", title + good + "local s = tostring(12)", "tostring is not declared"},
		{"no global is written", title + good + "count = 1", "assigned and not local"},
		{"no local is used before it is there", title + "local function f() return later end\nlocal later = 1\n" + good + "f()", "later is not declared before"},
		{"reads come first", title + "redis.call('ZREM', KEYS[1], '')\nredis.call('HGET', KEYS[2], 'a')", "after something was written"},
		{"a written key was read", title + "redis.call('ZREM', KEYS[1], '')\nredis.call('HSET', KEYS[2], 'a', 'b')", "which was not read before the first write"},
		{"a reason lets it be unread", title + "redis.call('ZREM', KEYS[1], '')\n-- unread: a failure here leaves nothing behind\nredis.call('HSET', KEYS[2], 'a', 'b')", ""},
		{"reads come first, in functions", title + "local function f() return redis.call('HGET', KEYS[2], 'a') end\nredis.call('ZREM', KEYS[1], '')\nf()", "after something was written"},
		{"reads come first, in loops", title + "for i = 1, 3 do\nredis.call('HGET', KEYS[2], i)\nredis.call('ZCARD', KEYS[1])\nredis.call('ZREM', KEYS[1], i)\nend\nredis.call('ZREM', KEYS[1], '')", ""},
		{"a write that ends the script is no write before", title + "if ARGV[1] then\nredis.call('ZREM', KEYS[1], '')\nreturn 0\nend\nredis.call('HGET', KEYS[2], 'a')", ""},
		{"a reason lets it pass", title + "redis.call('ZREM', KEYS[1], '')\n-- read after write: it may be gone now\nredis.call('HGET', KEYS[2], 'a')", ""},
		{"a key may be read again", title + "redis.call('HGET', KEYS[2], 'a')\nredis.call('ZREM', KEYS[1], '')\nredis.call('HGET', KEYS[2], 'b')", ""},
	} {
		findings := strings.Join(lint("x", c.text), "\n")
		if (c.want == "") != (findings == "") || !strings.Contains(findings, c.want) {
			t.Errorf("%s: found %q, want %q", c.rule, findings, c.want)
		}
	}
	full := strings.Replace(title, "x.lua", "extend.lua", 1) + good
	if findings := strings.Join(lint("sessions/extend", full), "\n"); !strings.Contains(findings, "ZADD is the first write") {
		t.Errorf("a script that must work at maxmemory: found %q", findings)
	}
}

// Script text is constant: a script is loaded by a literal name, every script and every piece is used, and only the two
// fields of a loaded script are ever sent.
func TestScriptTextIsConstant(t *testing.T) {
	loaded := map[string]int{}
	for file, tree := range goFiles(t) {
		ast.Inspect(tree, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			name, sent := calledName(call), -1
			switch name {
			case "Load":
				if of, ok := call.Fun.(*ast.SelectorExpr).X.(*ast.Ident); !ok || of.Name != "scripts" {
					return true // of an atomic or a sync.Map
				}
				literal, ok := call.Args[0].(*ast.BasicLit)
				if !ok {
					t.Errorf("%s: Load of something else than a literal name", file)
					return true
				}
				loaded[strings.Trim(literal.Value, `"`)]++
			case "Eval", "EvalSha", "EvalRO", "EvalShaRO", "ScriptLoad":
				sent = 1
			case "NewScript":
				sent = 0
			}
			if sent >= 0 && len(call.Args) > sent {
				if field, ok := call.Args[sent].(*ast.SelectorExpr); !ok || field.Sel.Name != "Text" && field.Sel.Name != "SHA" {
					t.Errorf("%s: %s sends something else than a loaded script", file, name)
				}
			}
			return true
		})
	}
	for name, script := range loadAll(t) {
		if loaded[name] != 1 {
			t.Errorf("scripts/%s.lua is loaded %d times, want once", name, loaded[name])
		}
		if !slices.Contains(Scripts(), script.Text) {
			t.Errorf("%s is not among Scripts()", name)
		}
	}
}

// A key's name is built only in keys.go.
func TestKeysAreBuiltInKeysGoOnly(t *testing.T) {
	var names []string
	for _, title := range titles() {
		for _, key := range title.keys {
			first, _, _ := strings.Cut(key.name, ":")
			names = append(names, first)
		}
	}
	keyLike := regexp.MustCompile(`:\{|\}:|:(` + strings.Join(append(names, "queues", "wake"), "|") + `)\b`)
	for file, tree := range goFiles(t) {
		if file == "keys.go" {
			continue
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING && keyLike.MatchString(literal.Value) {
				t.Errorf("%s: %s looks like a part of a key: build it in keys.go", file, literal.Value)
			}
			return true
		})
	}
}

// titles has the title pages by the SHA1 of their scripts. The guard of every test's client uses them, so they are read once.
var titles = sync.OnceValue(func() map[string]titlePage {
	all := map[string]titlePage{}
	for _, name := range scripts.Names() {
		script := scripts.Load(name)
		all[script.SHA], _ = readTitle(name, script.Text)
	}
	return all
})

// read returns the text of a file of scripts.
func read(file string) string {
	text, err := files.ReadFile(file)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// goFiles returns the files of this package and of its own packages by their paths, tests aside.
func goFiles(t *testing.T) map[string]*ast.File {
	t.Helper()
	trees := map[string]*ast.File{}
	for _, root := range []string{".", "internal"} {
		err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case entry.IsDir() && root == "." && file != ".":
				return fs.SkipDir
			case !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go"):
				return nil
			}
			trees[filepath.ToSlash(file)], err = parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return trees
}

func calledName(call *ast.CallExpr) string {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}

package simredis

import (
	"context"
	"fmt"
	"net"
	"regexp"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
)

// clientOf returns a client of a server in memory.
func clientOf(t *testing.T, dial func() (net.Conn, error), options redis.Options) *redis.Client {
	options.Addr, options.DisableIdentity, options.ContextTimeoutEnabled = "127.0.0.1:0", true, true
	options.Protocol = max(options.Protocol, 2)
	options.Dialer = func(context.Context, string, string) (net.Conn, error) { return dial() }
	client := redis.NewClient(&options)
	t.Cleanup(func() { client.Close() })
	return client
}

func started(t *testing.T) *Server {
	s := New()
	t.Cleanup(s.Close)
	return s
}

// programs are texts of scripts, and the other arguments of EVAL.
var programs = []struct {
	text string
	args []any
}{
	{"return KEYS[1] .. ARGV[1] .. #KEYS .. #ARGV", []any{1, "k", "v", "w"}},
	{"return {1, 2.9, -3.9, 'text', true, false, {}, {{'deep'}}, nil, 'not returned'}", []any{0}},
	{"return 1, 2", []any{0}},
	{"return", []any{0}},
	{"return 'a\\r\\nb\\0c'", []any{0}},
	{"return 9007199254740991", []any{0}},
	{"return redis.call('SET', KEYS[1], 12345678901234) and redis.call('GET', KEYS[1])", []any{1, "k"}},
	{"redis.call('SET', KEYS[1], 0.1) redis.call('APPEND', KEYS[1], 1e25) return redis.call('GET', KEYS[1])", []any{1, "k"}},
	{"return redis.call('GET', 'absent')", []any{1, "absent"}},
	{"return redis.call('GET', 'absent') == false", []any{1, "absent"}},
	{"redis.call('RPUSH', KEYS[1], 'a', 'b') return redis.call('LRANGE', KEYS[1], 0, -1)", []any{1, "list"}},
	{"redis.call('HSET', KEYS[1], 'f', 'v') return redis.call('HMGET', KEYS[1], 'f', 'g', 'f')", []any{1, "hash"}},
	{"redis.call('XADD', KEYS[1], '5-1', 'f', 'v') return redis.call('XREVRANGE', KEYS[1], '+', '-')", []any{1, "stream"}},
	{"return redis.call('SET', KEYS[1], 'v').ok", []any{1, "k"}},
	{"return redis.call('SET', KEYS[1], 'v')", []any{1, "k"}},
	{"return redis.call('ZADD', KEYS[1], 'x', 'm')", []any{1, "zset"}},
	{"return redis.pcall('ZADD', KEYS[1], 'x', 'm')", []any{1, "zset"}},
	{"return redis.pcall('ZADD', KEYS[1], 'x', 'm').err", []any{1, "zset"}},
	{"redis.call('SET', KEYS[1], 'v') return redis.call('HGET', KEYS[1], 'f')", []any{1, "k"}},
	{"redis.call('SET', KEYS[1], 'v')\n\nreturn redis.pcall('HGET', KEYS[1], 'f')", []any{1, "k"}},
	{"return redis.error_reply('CHIMELOST the session')", []any{0}},
	{"return redis.error_reply('word')", []any{0}},
	{"return redis.error_reply('-MOVED a\\nb')", []any{0}},
	{"return redis.error_reply(1)", []any{0}},
	{"return redis.status_reply('fine\\r\\n')", []any{0}},
	{"return {err = 'MINE of the script'}", []any{0}},
	{"return {1, {ok = 'fine'}}", []any{0}},
	{"return redis.sha1hex('')", []any{0}},
	{"return redis.call()", []any{0}},
	{"return redis.call('GET', {})", []any{0}},
	{"return redis.call('GET')", []any{0}},
	{"return redis.call('MULTI')", []any{0}},
	{"return redis.call('EVAL', 'return 1', 0)", []any{0}},
	{"return redis.call('SUBSCRIBE', 'c')", []any{0}},
	{"x = 1", []any{0}},
	{"local a = 1\nreturn a + missing", []any{0}},
	{"local function f() x = 1 end\nlocal ok, text = pcall(f)\nreturn text", []any{0}},
	{"local a = nil\nreturn a.b", []any{0}},
	{"error('words')", []any{0}},
	{"local function f() return f() + 1 end return f()", []any{0}},
	{"this is not Lua", []any{0}},
	{"return unpack({})", []any{0}},
	{"return cjson.encode({1, 'a'}) .. cjson.decode('[\"b\"]')[1]", []any{0}},
	{"local t = {} for i = 1, 300 do t[i] = i end return {unpack(t)}", []any{0}},
	{"return ('%d|%5.2f|%s'):format(3, 2.5, 'x') .. ('abc'):rep(2):upper() .. #ARGV", []any{0, ""}},
	{"return redis.call('SELECT', 3) and redis.call('SET', 'there', 1)", []any{0}},
	{"return redis.call('EXISTS', 'there', 'k')", []any{0}},
	{"return 1", []any{-1}},
	{"return 1", []any{"x"}},
	{"return 1", []any{2, "k"}},
}

// Miniredis has run scripts in all tests for years, and other servers are compared with it.
func TestScriptsAnswerAsThoseOfMiniredis(t *testing.T) {
	mini := miniredis.NewMiniRedis()
	defer mini.Close()
	for _, protocol := range []int{2, 3} {
		was, is := clientOf(t, mini.Dial, redis.Options{Protocol: protocol}), clientOf(t, started(t).Dial, redis.Options{Protocol: protocol})
		for _, p := range programs {
			mini.FlushAll()
			is.FlushAll(t.Context())
			for _, form := range []string{"eval", "evalsha", "eval_ro", "evalsha_ro", "eval"} {
				first := any(p.text)
				if strings.HasPrefix(form, "evalsha") {
					first = redis.NewScript(p.text).Hash()
				}
				args := append([]any{form, first}, p.args...)
				want, wrong := was.Do(t.Context(), args...).Result()
				got, err := is.Do(t.Context(), args...).Result()
				if strings.HasPrefix(form, "evalsha") && err != nil && wrong != nil && strings.HasPrefix(wrong.Error(), "NOSCRIPT") {
					continue // miniredis keeps no script that has failed
				}
				if withoutPlace(got) != withoutPlace(want) || withoutPlace(firstLine(err)) != withoutPlace(firstLine(wrong)) {
					t.Errorf("RESP %d, %s of %q %v: got %#v, %v; want %#v, %v", protocol, form, p.text, p.args, got, err, want, wrong)
				}
			}
		}
	}
}

// firstLine is the text of an error without the trace of calls, which contains the functions of the server.
func firstLine(err error) string {
	text, _, _ := strings.Cut(fmt.Sprint(err), " stack traceback:")
	return text
}

// withoutPlace returns a value without the line of an error about a global variable: miniredis returns a line of its own script there.
func withoutPlace(value any) string {
	return regexp.MustCompile(`:\d+: (Script attempted)`).ReplaceAllString(fmt.Sprintf("%#v", value), "$1")
}

func TestAScriptKeepsNothingForTheNextOne(t *testing.T) {
	client := clientOf(t, started(t).Dial, redis.Options{})
	for i, text := range []string{
		"local mine = KEYS[2] KEYS[2] = 'left' ARGV.x = 1 return mine", "x = 1", "return x", "redis.call('NONE')",
		"return redis.call('SELECT', 5)", "local mine = KEYS[2] return {mine, ARGV.x}",
	} {
		for range 2 {
			got, err := client.Eval(t.Context(), text, []string{"k"}, "v").Result()
			switch want := []any{nil, redis.Nil}; {
			case i == 0 || i == 5:
				if list, is := got.([]any); got != nil && (!is || len(list) != 0) {
					t.Errorf("%q: %v, want %v", text, got, want)
				}
			case i < 4 && err == nil:
				t.Errorf("%q: %v, want an error", text, got)
			}
		}
	}
	client.Set(t.Context(), "k", "in database 0", 0)
	if got := client.Eval(t.Context(), "return redis.call('GET', KEYS[1])", []string{"k"}).Val(); got != "in database 0" {
		t.Errorf("after SELECT in a script: %v", got)
	}
}

func TestScriptsUseTheDatabaseOfTheConnection(t *testing.T) {
	s := started(t)
	for database := range 3 {
		client := clientOf(t, s.Dial, redis.Options{DB: database})
		client.Eval(t.Context(), "return redis.call('SET', KEYS[1], ARGV[1])", []string{"k"}, database)
	}
	for database := range 3 {
		if got, err := s.DB(database).Get("k"); err != nil || got != fmt.Sprint(database) {
			t.Errorf("database %d has %q, %v", database, got, err)
		}
	}
}

func TestAScriptWantsAPassword(t *testing.T) {
	s := started(t)
	s.RequireAuth("secret")
	stranger, friend := clientOf(t, s.Dial, redis.Options{}), clientOf(t, s.Dial, redis.Options{Password: "secret"})
	for range 2 {
		if err := stranger.Eval(t.Context(), "return 1", nil).Err(); !redis.HasErrorPrefix(err, "NOAUTH") {
			t.Errorf("without a password: %v", err)
		}
		if got, err := friend.Eval(t.Context(), "return 1", nil).Result(); got != int64(1) {
			t.Errorf("with the password: %v, %v", got, err)
		}
	}
}

func TestScriptsRunInPipelinesAndTransactions(t *testing.T) {
	client := clientOf(t, started(t).Dial, redis.Options{})
	script := redis.NewScript("return redis.call('INCR', KEYS[1])")
	if known := script.Exists(t.Context(), client).Val(); len(known) != 1 || known[0] {
		t.Errorf("before: %v", known)
	}
	script.Eval(t.Context(), client, []string{"n"})
	if known := script.Exists(t.Context(), client).Val(); len(known) != 1 || !known[0] {
		t.Errorf("after EVAL: %v", known)
	}
	for i, pipe := range []redis.Pipeliner{client.Pipeline(), client.TxPipeline()} {
		first, again := script.EvalSha(t.Context(), pipe, []string{"n"}), script.Eval(t.Context(), pipe, []string{"n"})
		text := pipe.Get(t.Context(), "n")
		_, err := pipe.Exec(t.Context())
		if n := 2*i + 2; err != nil || first.Val() != int64(n) || again.Val() != int64(n+1) || text.Val() != fmt.Sprint(n+1) {
			t.Errorf("%v, %v, %v, %v; want %d, %d", first, again, text, err, n, n+1)
		}
	}
	client.ScriptFlush(t.Context())
	if err := script.EvalSha(t.Context(), client, []string{"n"}).Err(); !redis.HasErrorPrefix(err, "NOSCRIPT") {
		t.Errorf("after SCRIPT FLUSH: %v", err)
	}
	if sha := script.Load(t.Context(), client).Val(); sha != script.Hash() || script.EvalSha(t.Context(), client, []string{"n"}).Val() != int64(6) {
		t.Errorf("after SCRIPT LOAD as %s", sha)
	}
}

// A call with 8,000 values is the largest that Redis allows.
func TestALargeCallInAScript(t *testing.T) {
	client := clientOf(t, started(t).Dial, redis.Options{})
	n, err := client.Eval(t.Context(), "local t = {} for i = 1, 7000 do t[i] = i end return redis.call('RPUSH', KEYS[1], unpack(t))", []string{"list"}).Result()
	if n != int64(7000) {
		t.Errorf("%v, %v", n, err)
	}
}

// A client that could set the context of scripts could make them wait for the lock of Miniredis, which they hold.
func TestClientsCannotSetTheContextOfScripts(t *testing.T) {
	s := started(t)
	client := clientOf(t, s.Dial, redis.Options{})
	if err := client.Do(t.Context(), contextCommand).Err(); err == nil || !strings.HasPrefix(err.Error(), "ERR unknown command") {
		t.Errorf("%s of a client: %v, want an unknown command", contextCommand, err)
	}
	if len(s.nested) != 0 {
		t.Error("a client has set the context of scripts")
	}
	if n, err := client.Eval(t.Context(), "return redis.call('INCR', KEYS[1])", []string{"k"}).Int(); n != 1 || err != nil {
		t.Errorf("a script after it: %d, %v; want 1", n, err)
	}
}

//go:build real

package redisstore

import (
	"context"
	"fmt"
	"net"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/simredis"
	"github.com/chimejobs/chime/internal/storesuite"
)

// A mirror sends each command of a simulated server's client to a redis-server too, and compares the answers.
type mirror struct {
	t       *testing.T
	real    *redis.Client
	texts   map[string]string // SHA-1 → script
	clock   atomic.Pointer[time.Time]
	scripts *atomic.Int64 // that were compared
	one     sync.Mutex    // commands reach both servers in the same order
}

// sameOnBoth replaces calls in scripts that have other answers on each server: the time, IDs made from it, and the order of what a hash contains. It adds
// no line and no local variable to a script: some have as many as the simulated server allows.
var sameOnBoth = strings.NewReplacer(
	"redis.call('TIME')", "redis.call('HMGET', 'mirror', 's', 'us')",
	"'10000', '*',", "'10000', redis.call('HGET', 'mirror', 'ms') .. '-' .. redis.call('HINCRBY', 'mirror', 'n', 1),",
	"redis.call('HGETALL',", "(function(_, key) local t = redis.call('HGETALL', key) "+sortPairs+"return t end)(0,",
	"redis.call('HRANDFIELD',", "(function(_, key, n) local t = redis.call('HGETALL', key) "+sortPairs+
		"for i = #t, 2 * tonumber(n) + 1, -1 do t[i] = nil end return t end)(0,",
	"redis.call('HSCAN',", "(function(_, ...) local page = redis.call('HSCAN', ...) local t = page[2] "+sortPairs+"return page end)(0,",
	"redis.call('ZSCAN',", "(function(_, ...) local page = redis.call('ZSCAN', ...) local t = page[2] "+sortPairs+"return page end)(0,",
)

const sortPairs = "local names, values = {}, {} for i = 1, #t, 2 do names[#names + 1] = t[i] values[t[i]] = t[i + 1] end table.sort(names) " +
	"for i = 1, #names do t[2 * i - 1] = names[i] t[2 * i] = values[names[i]] end "

func (m *mirror) DialHook(next redis.DialHook) redis.DialHook { return next }

func (m *mirror) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		return m.do(ctx, cmd, func(cmds []redis.Cmder) error {
			for _, cmd := range cmds {
				if err := next(ctx, cmd); err != nil {
					return err
				}
			}
			return nil
		})
	}
}

func (m *mirror) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		var first error
		for _, cmd := range cmds {
			err := m.do(ctx, cmd, func(cmds []redis.Cmder) error { return next(ctx, cmds) })
			if first == nil {
				first = err
			}
		}
		return first
	}
}

// do sends a command to both servers.
func (m *mirror) do(ctx context.Context, cmd redis.Cmder, simulated func([]redis.Cmder) error) error {
	args := cmd.Args()
	name := strings.ToLower(cmd.Name())
	switch name {
	case "hello", "client", "select", "time", "scan", "subscribe", "ping": // about the connection, or different on each server
		return simulated([]redis.Cmder{cmd})
	}
	if strings.HasPrefix(name, "eval") {
		text := fmt.Sprint(args[1])
		if known, is := m.texts[text]; is {
			text = known
		}
		args[0], args[1] = strings.Replace(name, "evalsha", "eval", 1), sameOnBoth.Replace(text)
	}
	m.one.Lock()
	defer m.one.Unlock()
	now := m.now()
	clock := []any{"hset", "mirror", "s", now.Unix(), "us", now.Nanosecond() / 1000, "ms", now.UnixMilli()}
	err := simulated([]redis.Cmder{redis.NewCmd(ctx, clock...), cmd})
	m.real.Do(ctx, clock...)
	want, wrong := m.real.Do(ctx, args...).Result()
	if script, is := cmd.(*redis.Cmd); is && err == nil && wrong == nil && strings.HasPrefix(name, "eval") {
		m.scripts.Add(1)
		if got := script.Val(); !reflect.DeepEqual(got, want) {
			m.t.Errorf("script %s\nanswers %v\n redis %v", title(fmt.Sprint(args[1])), got, want)
		}
	}
	if failed(err) != failed(wrong) {
		m.t.Errorf("%s %s: %v, redis: %v", name, title(fmt.Sprint(args[1])), err, wrong)
	}
	return err
}

// title is the first line of a script, or a key.
func title(text string) string {
	text, _, _ = strings.Cut(text, "\n")
	return text
}

// failed returns the kind of an error. Both servers put a place before, or after, the error of a command in a script.
func failed(err error) string {
	switch {
	case err == nil || err == redis.Nil:
		return ""
	case strings.Contains(err.Error(), "WRONGTYPE"):
		return "WRONGTYPE"
	}
	kind, _, _ := strings.Cut(err.Error(), " ")
	return kind
}

// now returns the time of both servers.
func (m *mirror) now() time.Time {
	if set := m.clock.Load(); set != nil {
		return *set
	}
	return time.Now()
}

// compareKeys compares all keys of the two servers.
func (m *mirror) compareKeys(simulated *redis.Client) {
	ctx := context.Background()
	read := func(client *redis.Client) map[string]string {
		keys := map[string]string{}
		for _, key := range client.Keys(ctx, "*").Val() {
			switch kind := client.Type(ctx, key).Val(); {
			case key == "mirror":
			case strings.HasSuffix(key, ":sessions"): // listeners extend sessions on a connection that the mirror does not see
				keys[key] = fmt.Sprint(slices.Sorted(slices.Values(client.ZRange(ctx, key, 0, -1).Val())))
			case kind == "hash":
				keys[key] = fmt.Sprint(client.HGetAll(ctx, key).Val())
			case kind == "zset":
				keys[key] = fmt.Sprint(client.ZRangeWithScores(ctx, key, 0, -1).Val())
			case kind == "list":
				keys[key] = fmt.Sprint(client.LRange(ctx, key, 0, -1).Val())
			case kind == "stream":
				keys[key] = fmt.Sprint(client.XRange(ctx, key, "-", "+").Val())
			default:
				keys[key] = kind + " " + client.Get(ctx, key).Val()
			}
		}
		return keys
	}
	is, want := read(simulated), read(m.real)
	for key := range want {
		if is[key] != want[key] {
			m.t.Errorf("%s\n   is %s\nredis %s", key, is[key], want[key])
		}
		delete(is, key)
	}
	if len(is) > 0 {
		m.t.Errorf("keys that redis does not have: %v", is)
	}
}

// All calls of the suite, those of its random walks included, have the same answers and leave the same keys.
func TestTheSimulatedServerAnswersAsRedis(t *testing.T) {
	texts := map[string]string{}
	for _, text := range Scripts() {
		texts[redis.NewScript(text).Hash()] = text
	}
	var scripts atomic.Int64
	storesuite.Run(t, storesuite.Suite{Open: func(t *testing.T, _ storesuite.Need) storesuite.Server {
		empty(t, redisAdmin())
		server := simredis.New()
		t.Cleanup(server.Close)
		dial := func(context.Context, string, string) (net.Conn, error) { return server.Dial() }
		client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:0", Protocol: 2, DisableIdentity: true, ContextTimeoutEnabled: true, Dialer: dial})
		plain := redis.NewClient(&redis.Options{Addr: "127.0.0.1:0", Protocol: 2, DisableIdentity: true, Dialer: dial})
		m := &mirror{t: t, real: redisAdmin(), texts: texts, scripts: &scripts}
		client.AddHook(m)
		t.Cleanup(func() {
			m.compareKeys(plain)
			plain.Close()
		})
		setClock := func(now time.Time) {
			m.clock.Store(&now)
			server.SetTime(now)
		}
		b := newBench(t, client, setClock)
		return storesuite.Server{Store: b.store, SetClock: setClock, Backdate: b.backdate}
	}})
	if n := scripts.Load(); n < 1000 {
		t.Errorf("%d scripts were compared, want thousands", n)
	}
}

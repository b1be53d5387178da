package redisstore

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/storesuite"
)

// A keyGuard checks every script call of a client: its keys are those of the title page, in that order and of one slot, and it has
// no more arguments than Lua can unpack. A cluster refuses only some calls that break this, other servers none.
type keyGuard struct {
	t      testing.TB
	titles map[string]titlePage
}

// guardKeys puts a guard on a client.
func guardKeys(t *testing.T, client redis.UniversalClient) { client.AddHook(keyGuard{t, titles()}) }

func (g keyGuard) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (g keyGuard) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		g.check(cmd.Args())
		return next(ctx, cmd)
	}
}

func (g keyGuard) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		for _, cmd := range cmds {
			g.check(cmd.Args())
		}
		return next(ctx, cmds)
	}
}

func (g keyGuard) check(args []any) {
	for _, finding := range g.findings(args) {
		g.t.Errorf("%s: %s", args[0], finding)
	}
}

// findings returns the faults of a command: EVALSHA sha numkeys key … argument …; EVAL has the text in place of the hash.
func (g keyGuard) findings(args []any) []string {
	name := strings.ToLower(fmt.Sprint(args[0]))
	if name != "evalsha" && name != "evalsha_ro" && name != "eval" {
		return nil
	}
	count, ok := args[2].(int)
	if !ok || count < 1 || count > len(args)-3 {
		return []string{fmt.Sprintf("%v keys", args[2])}
	}
	var found []string
	title, known := g.titles[fmt.Sprint(args[1])]
	keys := make([]string, count)
	for i := range keys {
		keys[i] = fmt.Sprint(args[3+i])
		if known && !title.fitsAny(keys[i], i+1) {
			want := title.keys[i+1]
			if title.rest > 0 && i+1 > title.rest {
				want = title.keys[title.rest]
			}
			found = append(found, fmt.Sprintf("KEYS[%d] is %s, want …:%s", i+1, keys[i], want.name))
		}
		if slot(keys[i]) != slot(keys[0]) {
			found = append(found, fmt.Sprintf("%s and %s are of two slots", keys[0], keys[i]))
		}
	}
	if fixed := len(title.keys); known && count != fixed && (title.rest == 0 || count < title.rest-1) {
		found = append(found, fmt.Sprintf("%d keys, the title page has %d", count, fixed))
	}
	if arguments := len(args) - 3 - count; arguments > 5000 {
		found = append(found, fmt.Sprintf("%d arguments, want at most 5000: unpack takes no more", arguments))
	}
	return found
}

// fits reports whether a key has the name in the title page: the last part of the key, due or inflight:<session>.
func fits(key, name string) bool {
	name, _, prefix := strings.Cut(name, "<")
	_, last, found := strings.Cut(key, "}:")
	if !found { // the namespace's own
		_, last, _ = strings.Cut(key, ":")
	}
	if prefix {
		return strings.HasPrefix(last, name) && len(last) > len(name)
	}
	return last == name
}

// slot is the cluster slot of a key: CRC16 (XMODEM) of its hash tag, or of all of it, modulo 16384.
func slot(key string) uint16 {
	if _, rest, found := strings.Cut(key, "{"); found {
		if tag, _, closed := strings.Cut(rest, "}"); closed && tag != "" {
			key = tag
		}
	}
	var crc uint16
	for i := range len(key) {
		crc ^= uint16(key[i]) << 8
		for range 8 {
			carry := crc&0x8000 != 0
			crc <<= 1
			if carry {
				crc ^= 0x1021
			}
		}
	}
	return crc % 16384
}

// The wanted values are answers of CLUSTER KEYSLOT.
func TestSlotAgreesWithClusterKeyslot(t *testing.T) {
	for key, want := range map[string]uint16{
		"123456789": 12739, "foo": 12182, "{foo}bar": 12182, "x{foo}{bar}": 12182, "{}foo": 9500, "foo{": 7673, "": 0,
	} {
		if got := slot(key); got != want {
			t.Errorf("slot(%q) = %d, want %d", key, got, want)
		}
	}
}

func TestTheKeyGuardReportsWrongCalls(t *testing.T) {
	g := keyGuard{t, titles()}
	owed := owedScript.SHA
	k := keyspace("chime").partition(storesuite.DefaultPartition)
	for _, c := range []struct {
		what string
		args []any
		want string
	}{
		{"a good call", []any{"evalsha", owed, 5, k.owed, k.schedules, k.cursors, k.zones, k.state, 1000, 100}, ""},
		{"another command", []any{"get", "k"}, ""},
		{"an unknown script in one slot", []any{"EVAL", "return 1", 2, "{a}x", "{a}y"}, ""},
		{"keys in another order", []any{"evalsha", owed, 5, k.schedules, k.owed, k.cursors, k.zones, k.state, 1000, 100}, "want …:owed"},
		{"too few keys", []any{"evalsha", owed, 2, k.owed, k.schedules, k.cursors, 1000, 100}, "2 keys, the title page has 5"},
		{"two slots", []any{"EVAL", "return 1", 2, "{a}x", "{b}x"}, "two slots"},
		{"no keys", []any{"evalsha", owed, 0}, "0 keys"},
		{"too many arguments", append([]any{"EVAL", "return 1", 1, "a"}, make([]any, 5001)...), "5001 arguments"},
	} {
		found := strings.Join(g.findings(c.args), "\n")
		if (c.want == "") != (found == "") || !strings.Contains(found, c.want) {
			t.Errorf("%s: found %q, want %q", c.what, found, c.want)
		}
	}
}

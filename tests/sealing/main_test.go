package sealing_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/chimeseal"
	"github.com/chimejobs/chime/internal/faketime"
	"github.com/chimejobs/chime/tests/internal/fixture"
)

func TestMain(m *testing.M) { faketime.Main(m) }

// canary is in everything that is to be sealed.
const canary = "canary-4711"

func key(name string, fill byte) string {
	return name + ":" + base64.StdEncoding.EncodeToString([]byte(strings.Repeat(string(fill), 32)))
}

// ring returns a ring with a key of IDs and the keys k1, k2, … in this order.
func ring(t *testing.T, numbers ...int) *chimeseal.Ring {
	t.Helper()
	keys := []string{key("@ids", 'i')}
	for _, n := range numbers {
		keys = append(keys, key(fmt.Sprint("k", n), byte('a'+n)))
	}
	parsed, err := chimeseal.Parse(strings.Join(keys, ","))
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// sealed returns the fixture's store with a ring of these keys.
func sealed(f *fixture.Fixture, numbers ...int) chime.Store {
	return chime.WithCodec(f.Server.Store(), ring(f.T, numbers...), chime.CodecOptions{})
}

// dump returns everything that the server has, a line for each value.
func dump(f *fixture.Fixture) (lines []string) {
	f.T.Helper()
	ctx, client := context.Background(), f.Server.Client()
	keys, err := client.Keys(ctx, "*").Result()
	if err != nil {
		f.T.Fatal(err)
	}
	for _, key := range keys {
		var value any
		switch kind := client.Type(ctx, key).Val(); kind {
		case "string":
			value = client.Get(ctx, key).Val()
		case "hash":
			value = client.HGetAll(ctx, key).Val()
		case "zset":
			value = client.ZRange(ctx, key, 0, -1).Val()
		case "set":
			value = client.SMembers(ctx, key).Val()
		case "list":
			value = client.LRange(ctx, key, 0, -1).Val()
		case "stream":
			value = client.XRange(ctx, key, "-", "+").Val()
		default:
			f.T.Errorf("key %s has the type %s", key, kind)
		}
		lines = append(lines, fmt.Sprint(key, " ", value))
	}
	return lines
}

// A sniffer fails a test that sends the canary to the server in any command: what a script gets and does not store is in a monitor and in a slow log.
type sniffer struct{ *testing.T }

func (s sniffer) check(command redis.Cmder) {
	for _, arg := range command.Args() {
		text, ok := arg.(string)
		if data, is := arg.([]byte); is {
			text, ok = string(data), true
		}
		if ok && leaks(text) {
			s.Errorf("the canary was sent to Redis: %s %.300q", command.Name(), text)
		}
	}
}

func (s sniffer) DialHook(next redis.DialHook) redis.DialHook { return next }

func (s sniffer) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, command redis.Cmder) error {
		s.check(command)
		return next(ctx, command)
	}
}

func (s sniffer) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, commands []redis.Cmder) error {
		for _, command := range commands {
			s.check(command)
		}
		return next(ctx, commands)
	}
}

// leaks reports whether a text has the canary, in clear or in base64.
func leaks(text string) bool {
	if strings.Contains(text, canary) {
		return true
	}
	for shift := range 3 {
		encoded := base64.RawStdEncoding.EncodeToString([]byte(strings.Repeat("x", shift) + canary))
		if strings.Contains(text, encoded[(shift*4+2)/3:len(encoded)-2]) {
			return true
		}
	}
	return false
}

// noCanary fails the test if the server has the canary somewhere.
func noCanary(f *fixture.Fixture, when string) {
	f.T.Helper()
	lines := dump(f)
	for _, line := range lines {
		if leaks(line) {
			f.T.Errorf("%s: the canary is in %.300q", when, line)
		}
	}
}

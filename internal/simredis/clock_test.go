package simredis

import (
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
)

func TestKeysExpireByTheClock(t *testing.T) {
	for name, set := range map[string][]any{
		"expire":  {"expire", "h", 10},
		"pexpire": {"pexpire", "h", 10_000},
		"hexpire": {"hexpire", "h", 10, "fields", 1, "f"},
		"set":     {"set", "other", "v", "px", 10_000},
		"setex":   {"setex", "other", 10, "v"},
		"script":  {"eval", "return redis.call('EXPIRE', KEYS[1], 10)", 1, "h"},
	} {
		synctest.Test(t, func(t *testing.T) {
			client := clientOf(t, started(t).Dial, redis.Options{})
			defer client.Close()
			client.HSet(t.Context(), "h", "f", "v")
			time.Sleep(time.Hour) // fake time
			if err := client.Do(t.Context(), set...).Err(); err != nil {
				t.Fatal(err)
			}
			want := []int64{1, 0}
			if name == "set" || name == "setex" {
				want = []int64{2, 1}
			}
			time.Sleep(10*time.Second - 1)
			before := client.DBSize(t.Context()).Val()
			time.Sleep(time.Nanosecond)
			after := client.Exists(t.Context(), "h", "other").Val()
			if before != want[0] || after != want[1] {
				t.Errorf("%s: %d keys just before the expiry, and %d at it, want %v", name, before, after, want)
			}
		})
	}
}

func TestATransactionSetsTTLs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := clientOf(t, started(t).Dial, redis.Options{})
		defer client.Close()
		pipe := client.TxPipeline()
		pipe.Eval(t.Context(), "redis.call('SET', KEYS[1], 1) return redis.call('EXPIRE', KEYS[1], 10)", []string{"k"})
		if _, err := pipe.Exec(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second) // fake time
		if n := client.Exists(t.Context(), "k").Val(); n != 0 {
			t.Error("the key did not expire")
		}
	})
}

func TestCommandsThatMaySetTTLs(t *testing.T) {
	for cmd, want := range map[string]bool{
		"SETEX": true, "PSETEX": true, "GETEX": true, "HGETEX": true, "EXPIREAT": true, "RESTORE": true,
		"LINDEX": false, "ZRANGEBYLEX": false, "ZREVRANGEBYLEX": false, "ZREMRANGEBYLEX": false, "GET": false,
	} {
		if got := setsTTL(cmd, nil); got != want {
			t.Errorf("%s may set a TTL: %v, want %v", cmd, got, want)
		}
	}
}

func TestTheClockOfScriptsMayBeWrong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := started(t)
		client := clientOf(t, s.Dial, redis.Options{})
		defer client.Close()
		for _, offset := range []time.Duration{0, time.Hour, -time.Minute, 0} {
			s.SetOffset(offset)
			want := time.Now().Add(offset)
			got := client.Time(t.Context()).Val()
			script, err := client.Eval(t.Context(), "return redis.call('TIME')", nil).StringSlice()
			if err != nil || !got.Equal(want) || script[0] != strconv.FormatInt(want.Unix(), 10) {
				t.Errorf("with an offset of %v the time is %v, in a script %v (%v), want %v", offset, got, script, err, want)
			}
		}
	})
}

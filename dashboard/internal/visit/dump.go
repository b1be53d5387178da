package visit

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/redis/go-redis/v9"
)

// Dump returns the whole contents of a server: the type, expiry and value of each key.
func Dump(t testing.TB, client redis.UniversalClient) map[string]string {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	all := map[string]string{}
	for _, key := range Must(client.Keys(ctx, "*").Result()) {
		kind := Must(client.Type(ctx, key).Result())
		all[key] = fmt.Sprintf("%s, ends %d: %q", kind, Must(client.PExpireTime(ctx, key).Result()), inside(ctx, client, kind, key))
	}
	return all
}

// inside returns the value of a key: the result of DUMP, or everything that can be read if the server dumps only strings.
func inside(ctx context.Context, client redis.UniversalClient, kind, key string) string {
	if text, err := client.Dump(ctx, key).Result(); err == nil {
		return text
	}
	switch kind {
	case "hash":
		return fmt.Sprintf("%q", Must(client.HGetAll(ctx, key).Result())) // fmt sorts maps by key
	case "list":
		return fmt.Sprintf("%q", Must(client.LRange(ctx, key, 0, -1).Result()))
	case "set":
		return fmt.Sprintf("%q", slices.Sorted(slices.Values(Must(client.SMembers(ctx, key).Result()))))
	case "zset":
		return fmt.Sprint(Must(client.ZRangeWithScores(ctx, key, 0, -1).Result()))
	case "stream":
		return fmt.Sprint(Must(client.XRange(ctx, key, "-", "+").Result()))
	}
	panic("a key of type " + kind)
}

// Differences returns the keys that differ between two dumps.
func Differences(before, after map[string]string) (keys []string) {
	for key, value := range before {
		if after[key] != value {
			keys = append(keys, key)
		}
	}
	for key := range after {
		if _, known := before[key]; !known {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

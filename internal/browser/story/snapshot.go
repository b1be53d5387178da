package story

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
)

// A key is a key of the store in a form for JSON.
type key struct {
	Name   []byte   `json:"name"`
	Type   string   `json:"type"`
	Left   int64    `json:"left_ms,omitempty"` // time to live; 0: no expiry
	Values [][]byte `json:"values"`            // a string; a list's or a set's elements; a hash's fields and values; a sorted set's members and scores
	Stream []entry  `json:"stream,omitempty"`
}

// An entry is an entry of a stream.
type entry struct {
	ID     string   `json:"id"`
	Values [][]byte `json:"values"` // fields and values
}

// save writes the whole contents of a server.
func save(ctx context.Context, client *redis.Client, to io.Writer) error {
	names, err := client.Keys(ctx, "*").Result()
	if err != nil {
		return err
	}
	slices.Sort(names)
	packed := gzip.NewWriter(to)
	out := json.NewEncoder(packed)
	for _, name := range names {
		k, err := read(ctx, client, name)
		if err != nil {
			return fmt.Errorf("read %q: %w", name, err)
		}
		if err := out.Encode(k); err != nil {
			return err
		}
	}
	return packed.Close()
}

func read(ctx context.Context, client *redis.Client, name string) (*key, error) {
	kind, err := client.Type(ctx, name).Result()
	if err != nil {
		return nil, err
	}
	k := &key{Name: []byte(name), Type: kind}
	left, err := client.PTTL(ctx, name).Result()
	if err != nil {
		return nil, err
	}
	k.Left = max(0, left.Milliseconds())
	var values []string
	switch kind {
	case "string":
		var value string
		value, err = client.Get(ctx, name).Result()
		values = []string{value}
	case "list":
		values, err = client.LRange(ctx, name, 0, -1).Result()
	case "set":
		values, err = client.SMembers(ctx, name).Result()
		slices.Sort(values)
	case "hash":
		values, err = client.Do(ctx, "HGETALL", name).StringSlice()
	case "zset":
		values, err = client.Do(ctx, "ZRANGE", name, 0, -1, "WITHSCORES").StringSlice()
	case "stream":
		k.Stream, err = entries(ctx, client, name)
	default:
		err = fmt.Errorf("unsupported type %s", kind)
	}
	for _, value := range values {
		k.Values = append(k.Values, []byte(value))
	}
	return k, err
}

// entries reads a stream with its fields in order.
func entries(ctx context.Context, client *redis.Client, name string) (all []entry, err error) {
	answers, err := client.Do(ctx, "XRANGE", name, "-", "+").Slice()
	for _, answer := range answers {
		parts := answer.([]any)
		e := entry{ID: parts[0].(string)}
		for _, value := range parts[1].([]any) {
			e.Values = append(e.Values, []byte(value.(string)))
		}
		all = append(all, e)
	}
	return all, err
}

// load loads the output of save into a server.
func load(ctx context.Context, client *redis.Client, from io.Reader) error {
	unpacked, err := gzip.NewReader(from)
	if err != nil {
		return err
	}
	in := json.NewDecoder(unpacked)
	for {
		var k key
		if err := in.Decode(&k); err == io.EOF {
			return unpacked.Close()
		} else if err != nil {
			return err
		}
		if err := write(ctx, client, &k); err != nil {
			return fmt.Errorf("write %q: %w", k.Name, err)
		}
	}
}

func write(ctx context.Context, client *redis.Client, k *key) error {
	name := string(k.Name)
	command := map[string]string{"string": "SET", "list": "RPUSH", "set": "SADD", "hash": "HSET", "zset": "ZADD"}[k.Type]
	values := k.Values
	if k.Type == "zset" { // ZADD takes scores first
		values = slices.Clone(values)
		for i := 0; i+1 < len(values); i += 2 {
			values[i], values[i+1] = values[i+1], values[i]
		}
	}
	for _, e := range k.Stream {
		if err := do(ctx, client, append([]any{"XADD", name, e.ID}, anys(e.Values)...)); err != nil {
			return err
		}
	}
	for part := range slices.Chunk(values, 1000) {
		if err := do(ctx, client, append([]any{command, name}, anys(part)...)); err != nil {
			return err
		}
	}
	if k.Left > 0 {
		return client.PExpire(ctx, name, time.Duration(k.Left)*time.Millisecond).Err()
	}
	return nil
}

func do(ctx context.Context, client *redis.Client, command []any) error {
	return client.Do(ctx, command...).Err()
}

func anys(values [][]byte) (all []any) {
	for _, value := range values {
		all = append(all, value)
	}
	return all
}

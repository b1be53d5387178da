package redisstore

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
)

//go:embed rights.lua
var rightsText string

const (
	maxKeysChecked   = 2000            // in a round trip
	subscribeTimeout = 5 * time.Second // limit of the trial subscription
)

// CheckUse returns an error that wraps ErrUnfit if the user of the connection lacks a right that this use of the queues needs, or if a
// key has a type that chime does not give it: then another program has written the key. It writes nothing.
func (s *store) CheckUse(ctx context.Context, use protocol.Use, queues []string) error {
	if s.bad != nil {
		return s.bad
	}
	sizes, err := s.queues.lookUp(ctx, queues...)
	if err != nil && !denied(err) {
		return err
	}
	var partitions []partitionKeys
	for i, queue := range queues {
		n := 1
		if err == nil {
			n = max(sizes[i].partitions, s.options.Partitions[queue], 1)
		}
		for index := range n {
			partitions = append(partitions, s.keys.partition(protocol.Partition{Queue: queue, Index: index}))
		}
	}
	c := &useCheck{client: s.client, keys: s.keys, log: s.options.Logger, use: use, partitions: partitions, missing: map[string]string{}}
	if err := c.rights(ctx); err != nil {
		return err
	}
	return c.types(ctx)
}

// A useCheck finds out whether a user may use partitions, and whether another program uses their keys.
type useCheck struct {
	client     redis.UniversalClient
	keys       keyspace
	log        *slog.Logger
	use        protocol.Use
	partitions []partitionKeys
	missing    map[string]string // rule that grants it → what the user may not do
}

// keysOf returns the keys of a partition that a use needs. Every use but enqueuing needs all of them, with * in place of a name.
func keysOf(use protocol.Use, p partitionKeys) []string {
	if use == protocol.UseEnqueue {
		return p.producing()
	}
	return p.every()
}

// types returns an error if a key of the namespace has a type that chime does not give it.
func (c *useCheck) types(ctx context.Context) error {
	want := map[string]string{c.keys.queues(): "hash"}
	if c.use != protocol.UseEnqueue {
		want = c.keys.shared()
	}
	for _, k := range c.partitions {
		types := k.types()
		for _, key := range keysOf(c.use, k) {
			if kind, ok := types[key]; ok {
				want[key] = kind
			}
		}
	}
	var bad []error
	for keys := range slices.Chunk(slices.Sorted(maps.Keys(want)), maxKeysChecked) {
		pipe := c.client.Pipeline()
		types := make([]*redis.StatusCmd, len(keys))
		for i, key := range keys {
			types[i] = pipe.Type(ctx, key)
		}
		if _, err := pipe.Exec(ctx); err != nil && !denied(err) {
			return failure("check the keys of", string(c.keys), err)
		}
		for i, key := range keys {
			if is := types[i].Val(); is != "" && is != "none" && is != want[key] {
				bad = append(bad, foreign(key, is, want[key]))
			}
		}
	}
	return errors.Join(bad...)
}

// foreign returns the error about a key with a wrong type.
func foreign(key, is, want string) error {
	return fmt.Errorf("redisstore: %w: key %s is a %s, want a %s: it is not chime's", protocol.ErrUnfit, key, is, want)
}

// arguments has the arguments, after the key, with which a command can be tried. No entry: the command has no key. A script cannot try EVAL,
// EVALSHA, SUBSCRIBE and HELLO, and INFO need not be tried.
var arguments = map[string]string{
	"del": "", "exists": "", "expire": "1", "hdel": "f", "hexists": "f", "hget": "f", "hgetall": "", "hincrby": "f 1", "hlen": "", "hmget": "f", "hrandfield": "1",
	"hscan": "0", "hset": "f v", "hsetnx": "f v", "hstrlen": "f", "linsert": "before a b", "llen": "", "lpop": "", "lpos": "v", "lpush": "v", "lrange": "0 0",
	"lrem": "0 v", "ltrim": "0 -1", "persist": "", "ping": "none", "rename": "k", "rpop": "", "rpush": "v", "scan": "0", "time": "none", "type": "", "unlink": "",
	"xadd": "* f v", "xlen": "",
	"xrange": "0 1", "xrevrange": "1 0", "xtrim": "maxlen 0", "zadd": "0 m", "zcard": "", "zcount": "0 0", "zincrby": "0 m", "zlexcount": "- +", "zmscore": "m",
	"zpopmin": "", "zrandmember": "", "zrange": "0 0", "zrangebylex": "- -", "zrangebyscore": "0 0", "zrank": "m", "zrem": "-", "zremrangebyrank": "1 0",
	"zremrangebyscore": "1 0", "zrevrange": "0 0", "zrevrangebyscore": "0 0", "zscan": "0", "zscore": "m",
}

// rights returns an error that names the rights that the user lacks, and the command that grants them.
func (c *useCheck) rights(ctx context.Context) error {
	if err := c.try(ctx); err != nil {
		switch {
		case denied(err) && len(c.missing) > 0:
			c.lacks("+", "eval_ro", "run EVAL_RO") // if it is granted, the next start reports what else is missing
		case denied(err), redis.HasErrorPrefix(err, "ERR"):
			c.log.WarnContext(ctx, "redisstore: the rights of the user are not checked", "event", "store.trouble", "action", "check", "error", err)
			return nil
		default:
			return failure("check the rights of", c.user(), err)
		}
	}
	if len(c.missing) == 0 {
		return nil
	}
	rules := slices.Sorted(maps.Keys(c.missing))
	what := make([]string, len(rules))
	for i, rule := range rules {
		what[i] = c.missing[rule]
	}
	return fmt.Errorf("redisstore: %w: the server's user %q may not %s, which a %s needs: run ACL SETUSER %s %s",
		protocol.ErrUnfit, c.user(), strings.Join(what, ", "), c.use, c.user(), strings.Join(rules, " "))
}

// user returns the name under which the client logs in.
func (c *useCheck) user() string {
	name := ""
	switch client := c.client.(type) {
	case *redis.Client:
		name = client.Options().Username
	case *redis.ClusterClient:
		name = client.Options().Username
	}
	return cmp.Or(name, "default")
}

// lacks records what the user may not do, and the rule that grants it. If many keys share a pattern, the first one is named.
func (c *useCheck) lacks(kind, pattern, what string) {
	if granted := rule(kind, pattern); c.missing[granted] == "" {
		c.missing[granted] = what
	}
}

// try tries every command and every key once: each key of the namespace alone, and the keys of a partition together, because all keys of a
// call must be in one slot. It returns an error if the trial itself failed.
func (c *useCheck) try(ctx context.Context) error {
	k := c.keys
	shared, small := []string{k.queues()}, k.home(0).batch("") // no batch has an empty ID, and a producer may use each of its commands on such a key
	if c.use != protocol.UseEnqueue {
		shared, small = slices.Sorted(maps.Keys(k.shared())), k.leader() // some commands read everything that a key holds
	}
	if err := c.tryCommands(ctx, small); err != nil {
		return err
	}
	var groups []keyGroup
	for _, key := range shared {
		groups = append(groups, keyGroup{{key, patternOf(c.use, key, k)}})
	}
	if c.use == protocol.UseEnqueue {
		patterns, group := k.everyHome().producing("*"), keyGroup{}
		for i, key := range k.home(0).producing("") {
			group = append(group, triedKey{key, patterns[i]})
		}
		groups = append(groups, group)
	}
	patterns := keysOf(c.use, k.everyPartition())
	for _, p := range c.partitions {
		group := make(keyGroup, len(patterns))
		for i, key := range keysOf(c.use, p) {
			group[i] = triedKey{key, patternOf(c.use, patterns[i], k)}
		}
		groups = append(groups, group)
	}
	for some := range slices.Chunk(groups, maxKeysChecked/len(patterns)) {
		doubtful, err := c.without(ctx, some)
		if err == nil && len(doubtful) > 0 {
			err = c.tryKeys(ctx, doubtful)
		}
		if err != nil {
			return err
		}
	}
	if grants[c.use].listens {
		return c.trySubscribe(ctx)
	}
	return nil
}

// patternOf returns the pattern that a grant uses for a key: an enqueuer's keys are listed one by one, the other grants have the whole namespace.
func patternOf(use protocol.Use, single string, k keyspace) string {
	if use == protocol.UseEnqueue {
		return single
	}
	return k.all()
}

// tryCommands tries the commands on a key. Commands that a script may use are tried from a script.
func (c *useCheck) tryCommands(ctx context.Context, key string) error {
	g := grants[c.use]
	var tries, tried []string
	commands := commandsOf[c.use]()
	for _, command := range commands {
		if args, ok := arguments[command]; ok {
			position := "1 "
			if args == "none" {
				position, args = "0 ", ""
			}
			tries, tried = append(tries, position+command+" "+args), append(tried, command)
		}
	}
	channel := c.keys.channel("check")
	if g.wakes {
		tries, tried = append(tries, "0 publish "+channel+" -"), append(tried, "publish")
	}
	pipe := c.client.Pipeline()
	answer := c.addTry(ctx, pipe, []string{key}, tries)
	plain := map[string]*redis.Cmd{"eval": pipe.Do(ctx, "eval", "return 1", 0)}
	for _, command := range []string{"evalsha", "evalsha_ro"} {
		if slices.Contains(commands, command) {
			plain[command] = pipe.Do(ctx, command, strings.Repeat("0", 40), 0)
		}
	}
	_, _ = pipe.Exec(ctx) // each command has its own error
	for command, cmd := range plain {
		if err := cmd.Err(); denied(err) {
			c.lacks("+", command, "run "+strings.ToUpper(command))
		} else if err != nil && !redis.HasErrorPrefix(err, "NOSCRIPT") {
			return err
		}
	}
	if keyDenied(answer.Err()) {
		return nil // tryKeys reports it
	}
	if answer.Err() != nil {
		return answer.Err()
	}
	found, _ := answer.StringSlice()
	for i, what := range found[:min(len(found), len(tried))] {
		switch what {
		case "command":
			c.lacks("", g.permit(tried[i], c.keys), "run "+strings.ToUpper(tried[i]))
		case "channel":
			c.lacks("&", c.keys.everyChannel(), "publish to channel "+channel)
		}
	}
	return nil
}

// A keyGroup is a group of keys of one slot, each with the pattern that a rule uses for it.
type (
	keyGroup []triedKey
	triedKey struct{ key, pattern string }
)

// without removes the groups in which the user may read and write every key: a server checks that before it runs a script that names them,
// whatever the script does with them. With hundreds of queues this keeps a start short.
func (c *useCheck) without(ctx context.Context, groups []keyGroup) (doubtful []keyGroup, err error) {
	pipe := c.client.Pipeline()
	answers := make([]*redis.Cmd, len(groups))
	for g, group := range groups {
		keys := make([]string, len(group))
		for i := range group {
			keys[i] = group[i].key
		}
		answers[g] = runText(ctx, pipe, "eval", "return 1", keys, nil)
	}
	_, _ = pipe.Exec(ctx) // each command has its own error
	for g, answer := range answers {
		switch {
		case denied(answer.Err()):
			doubtful = append(doubtful, groups[g])
		case answer.Err() != nil:
			return nil, answer.Err()
		}
	}
	return doubtful, nil
}

// tryKeys tries to read and to write the keys of groups, one call for each group. A call with a key that the user may not use is refused
// as a whole. Then its keys are tried one by one.
func (c *useCheck) tryKeys(ctx context.Context, groups []keyGroup) error {
	pipe := c.client.Pipeline()
	answers := make([]*redis.Cmd, len(groups))
	for g, group := range groups {
		keys, tries := make([]string, len(group)), make([]string, 0, 2*len(group))
		for i := range group {
			keys[i] = group[i].key
			tries = append(tries, fmt.Sprint(i+1, " hget f"), fmt.Sprint(i+1, " zrem -"))
		}
		answers[g] = c.addTry(ctx, pipe, keys, tries)
	}
	_, _ = pipe.Exec(ctx) // each command has its own error
	var singly []keyGroup
	for g, answer := range answers {
		switch {
		case keyDenied(answer.Err()) && len(groups[g]) > 1:
			for _, key := range groups[g] {
				singly = append(singly, keyGroup{key})
			}
		case keyDenied(answer.Err()):
			c.lacks("~", groups[g][0].pattern, "use key "+groups[g][0].key)
		case answer.Err() != nil:
			return answer.Err()
		}
		found, _ := answer.StringSlice()
		for i, what := range found[:min(len(found), 2*len(groups[g]))] {
			if what == "key" {
				c.lacks("~", groups[g][i/2].pattern, "use key "+groups[g][i/2].key)
			}
		}
	}
	if len(singly) == 0 {
		return nil
	}
	return c.tryKeys(ctx, singly)
}

// addTry adds a call of rights.lua to a pipeline.
func (c *useCheck) addTry(ctx context.Context, pipe redis.Pipeliner, keys, tries []string) *redis.Cmd {
	return runText(ctx, pipe, "eval_ro", rightsText, keys, tries)
}

// runText adds the command eval or eval_ro to a pipeline, with a text that is not a script of the protocol.
func runText(ctx context.Context, pipe redis.Pipeliner, command, text string, keys, values []string) *redis.Cmd {
	args := []any{command, text, len(keys)}
	for _, arg := range slices.Concat(keys, values) {
		args = append(args, arg)
	}
	cmd := redis.NewCmd(ctx, args...)
	cmd.SetFirstKeyPos(3)
	_ = pipe.Process(ctx, cmd)
	return cmd
}

// trySubscribe tries to listen for wake-ups.
func (c *useCheck) trySubscribe(ctx context.Context) error {
	channel := c.keys.channel("check")
	subscription := c.client.Subscribe(ctx, channel)
	defer subscription.Close()
	_, err := subscription.ReceiveTimeout(ctx, subscribeTimeout)
	switch {
	case denied(err) && strings.Contains(err.Error(), "channel"):
		c.lacks("&", c.keys.everyChannel(), "subscribe to channel "+channel)
	case denied(err):
		c.lacks("+", "subscribe", "run SUBSCRIBE")
	default:
		return err
	}
	return nil
}

// keyDenied reports whether a call was refused because of one of its keys.
func keyDenied(err error) bool { return denied(err) && strings.Contains(err.Error(), "key") }

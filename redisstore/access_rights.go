package redisstore

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
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
	subscribeTimeout = 5 * time.Second // of the try to subscribe
)

// CheckUse returns an error that wraps ErrUnfit if the user of the connection lacks a right that this use of the queues needs, or if a
// key that it uses has another type than chime's, so that another program must have written it. It writes nothing.
func (s *store) CheckUse(ctx context.Context, use protocol.Use, queues []string) error {
	if s.bad != nil {
		return s.bad
	}
	sizes, err := s.lookUpQueues(ctx, queues...)
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
	if err := s.checkRights(ctx, use, partitions); err != nil {
		return err
	}
	return s.checkTypes(ctx, use, partitions)
}

// keysOf returns the keys of a partition that a use needs; for the others than enqueuing these are all, and * in place of a name.
func keysOf(use protocol.Use, p partitionKeys) []string {
	if use == protocol.UseEnqueue {
		return p.enqueueing()
	}
	return p.every()
}

// checkTypes refuses a namespace in which a key has another type than chime's.
func (s *store) checkTypes(ctx context.Context, use protocol.Use, partitions []partitionKeys) error {
	want := map[string]string{s.keys.queues(): "hash"}
	if use != protocol.UseEnqueue {
		want = s.keys.shared()
	}
	for _, k := range partitions {
		types := k.types()
		for _, key := range keysOf(use, k) {
			if kind, ok := types[key]; ok {
				want[key] = kind
			}
		}
	}
	var bad []error
	for keys := range slices.Chunk(slices.Sorted(maps.Keys(want)), maxKeysChecked) {
		pipe := s.client.Pipeline()
		types := make([]*redis.StatusCmd, len(keys))
		for i, key := range keys {
			types[i] = pipe.Type(ctx, key)
		}
		if _, err := pipe.Exec(ctx); err != nil && !denied(err) {
			return failure("check the keys of", string(s.keys), err)
		}
		for i, key := range keys {
			if is := types[i].Val(); is != "" && is != "none" && is != want[key] {
				bad = append(bad, foreign(key, is, want[key]))
			}
		}
	}
	return errors.Join(bad...)
}

// foreign is the error for a key of another type.
func foreign(key, is, want string) error {
	return fmt.Errorf("redisstore: %w: key %s is a %s, want a %s: it is not chime's", protocol.ErrUnfit, key, is, want)
}

// arguments has the arguments with which a command may be tried, behind the key; none: it has no key. EVAL, EVALSHA, SUBSCRIBE and
// HELLO cannot be tried by a script, and INFO need not.
var arguments = map[string]string{
	"del": "", "exists": "", "expire": "1", "hdel": "f", "hexists": "f", "hget": "f", "hgetall": "", "hincrby": "f 1", "hlen": "", "hmget": "f", "hrandfield": "1",
	"hscan": "0", "hset": "f v", "hsetnx": "f v", "hstrlen": "f", "linsert": "before a b", "llen": "", "lpop": "", "lpos": "v", "lpush": "v", "lrange": "0 0",
	"lrem": "0 v", "ltrim": "0 -1", "persist": "", "ping": "none", "rename": "k", "rpop": "", "rpush": "v", "scan": "0", "time": "none", "type": "", "unlink": "",
	"xadd": "* f v", "xlen": "",
	"xrange": "0 1", "xrevrange": "1 0", "xtrim": "maxlen 0", "zadd": "0 m", "zcard": "", "zcount": "0 0", "zincrby": "0 m", "zmscore": "m",
	"zpopmin": "", "zrandmember": "", "zrange": "0 0", "zrangebylex": "- -", "zrangebyscore": "0 0", "zrank": "m", "zrem": "-", "zremrangebyrank": "1 0",
	"zremrangebyscore": "1 0", "zrevrange": "0 0", "zrevrangebyscore": "0 0", "zscan": "0", "zscore": "m",
}

// checkRights returns an error that names the rights that the user lacks, and the command that grants them.
func (s *store) checkRights(ctx context.Context, use protocol.Use, partitions []partitionKeys) error {
	r := &rightsCheck{store: s, grant: grants[use], missing: map[string]string{}}
	if err := r.run(ctx, use, partitions); err != nil {
		switch {
		case denied(err) && len(r.missing) > 0:
			r.lacks("+", "eval_ro", "run EVAL_RO") // with it the next start says what else is missing
		case denied(err), redis.HasErrorPrefix(err, "ERR"):
			s.options.Logger.WarnContext(ctx, "redisstore: the rights of the user are not checked", "event", "store.trouble", "action", "check", "error", err)
			return nil
		default:
			return failure("check the rights of", r.user(), err)
		}
	}
	if len(r.missing) == 0 {
		return nil
	}
	rules := slices.Sorted(maps.Keys(r.missing))
	what := make([]string, len(rules))
	for i, rule := range rules {
		what[i] = r.missing[rule]
	}
	return fmt.Errorf("redisstore: %w: the server's user %q may not %s, which a %s needs: run ACL SETUSER %s %s",
		protocol.ErrUnfit, r.user(), strings.Join(what, ", "), use, r.user(), strings.Join(rules, " "))
}

// A rightsCheck tries what a use needs and gathers what is missing.
type rightsCheck struct {
	store   *store
	grant   grant
	missing map[string]string // rule that grants it → what the user may not do
}

// user is the name under which the client logs in.
func (r *rightsCheck) user() string {
	name := ""
	switch c := r.store.client.(type) {
	case *redis.Client:
		name = c.Options().Username
	case *redis.ClusterClient:
		name = c.Options().Username
	}
	return cmp.Or(name, "default")
}

// lacks notes what the user may not do, and the rule that grants it. Of many keys of one pattern the first is named.
func (r *rightsCheck) lacks(kind, pattern, what string) {
	if granted := rule(kind, pattern); r.missing[granted] == "" {
		r.missing[granted] = what
	}
}

// run tries every command once, and every key: each of the namespace by itself, those of a partition together, because the keys of a
// call are in one slot. It returns an error if that could not be tried.
func (r *rightsCheck) run(ctx context.Context, use protocol.Use, partitions []partitionKeys) error {
	k := r.store.keys
	shared, small := []string{k.queues()}, k.queues()
	if use != protocol.UseEnqueue {
		shared, small = slices.Sorted(maps.Keys(k.shared())), k.leader() // some commands read all that a key holds
	}
	if err := r.tryCommands(ctx, small); err != nil {
		return err
	}
	var groups []keyGroup
	for _, key := range shared {
		groups = append(groups, keyGroup{{key, patternOf(use, key, k)}})
	}
	patterns := keysOf(use, k.everyPartition())
	for _, p := range partitions {
		group := make(keyGroup, len(patterns))
		for i, key := range keysOf(use, p) {
			group[i] = triedKey{key, patternOf(use, patterns[i], k)}
		}
		groups = append(groups, group)
	}
	for some := range slices.Chunk(groups, maxKeysChecked/len(patterns)) {
		doubtful, err := r.without(ctx, some)
		if err == nil && len(doubtful) > 0 {
			err = r.tryKeys(ctx, doubtful)
		}
		if err != nil {
			return err
		}
	}
	if r.grant.listens {
		return r.trySubscribe(ctx)
	}
	return nil
}

// patternOf is the pattern by which a grant has a key: an enqueuer's keys are singly in it, the others have all of the namespace.
func patternOf(use protocol.Use, single string, k keyspace) string {
	if use == protocol.UseEnqueue {
		return single
	}
	return k.all()
}

// tryCommands tries the commands on a key: those that a script may use in a script.
func (r *rightsCheck) tryCommands(ctx context.Context, key string) error {
	var tries, tried []string
	for _, command := range r.grant.commands() {
		if args, ok := arguments[command]; ok {
			position := "1 "
			if args == "none" {
				position, args = "0 ", ""
			}
			tries, tried = append(tries, position+command+" "+args), append(tried, command)
		}
	}
	channel := r.store.keys.channel("check")
	if r.grant.wakes {
		tries, tried = append(tries, "0 publish "+channel+" -"), append(tried, "publish")
	}
	pipe := r.store.client.Pipeline()
	answer := r.try(ctx, pipe, []string{key}, tries)
	plain := map[string]*redis.Cmd{"eval": pipe.Do(ctx, "eval", "return 1", 0), "evalsha": pipe.Do(ctx, "evalsha", strings.Repeat("0", 40), 0)}
	_, _ = pipe.Exec(ctx) // each command has its own error
	for command, cmd := range plain {
		if err := cmd.Err(); denied(err) {
			r.lacks("+", command, "run "+strings.ToUpper(command))
		} else if err != nil && !redis.HasErrorPrefix(err, "NOSCRIPT") {
			return err
		}
	}
	if keyDenied(answer.Err()) {
		return nil // tryKeys finds it
	}
	if answer.Err() != nil {
		return answer.Err()
	}
	found, _ := answer.StringSlice()
	for i, what := range found[:min(len(found), len(tried))] {
		switch what {
		case "command":
			r.lacks("+", tried[i], "run "+strings.ToUpper(tried[i]))
		case "channel":
			r.lacks("&", r.store.keys.everyChannel(), "publish to channel "+channel)
		}
	}
	return nil
}

// A keyGroup are keys of one slot, each with the pattern that a rule has for it.
type (
	keyGroup []triedKey
	triedKey struct{ key, pattern string }
)

// without returns the groups but those of which the user may read and write every key: for a server checks for that before it runs a script
// that names them, whatever it does with them. With hundreds of queues this is what makes a start short.
func (r *rightsCheck) without(ctx context.Context, groups []keyGroup) (doubtful []keyGroup, err error) {
	pipe := r.store.client.Pipeline()
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

// tryKeys tries to read and to write the keys of groups, each group in a call. A call with a key that the user may not use is refused
// as a whole: then its keys are tried singly.
func (r *rightsCheck) tryKeys(ctx context.Context, groups []keyGroup) error {
	pipe := r.store.client.Pipeline()
	answers := make([]*redis.Cmd, len(groups))
	for g, group := range groups {
		keys, tries := make([]string, len(group)), make([]string, 0, 2*len(group))
		for i := range group {
			keys[i] = group[i].key
			tries = append(tries, fmt.Sprint(i+1, " hget f"), fmt.Sprint(i+1, " zrem -"))
		}
		answers[g] = r.try(ctx, pipe, keys, tries)
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
			r.lacks("~", groups[g][0].pattern, "use key "+groups[g][0].key)
		case answer.Err() != nil:
			return answer.Err()
		}
		found, _ := answer.StringSlice()
		for i, what := range found[:min(len(found), 2*len(groups[g]))] {
			if what == "key" {
				r.lacks("~", groups[g][i/2].pattern, "use key "+groups[g][i/2].key)
			}
		}
	}
	if len(singly) == 0 {
		return nil
	}
	return r.tryKeys(ctx, singly)
}

// try adds a call of rights.lua to a pipeline.
func (r *rightsCheck) try(ctx context.Context, pipe redis.Pipeliner, keys, tries []string) *redis.Cmd {
	return runText(ctx, pipe, "eval_ro", rightsText, keys, tries)
}

// runText adds to a pipeline the command eval or eval_ro, with a text that is no script of the protocol.
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
func (r *rightsCheck) trySubscribe(ctx context.Context) error {
	channel := r.store.keys.channel("check")
	subscription := r.store.client.Subscribe(ctx, channel)
	defer subscription.Close()
	_, err := subscription.ReceiveTimeout(ctx, subscribeTimeout)
	switch {
	case denied(err) && strings.Contains(err.Error(), "channel"):
		r.lacks("&", r.store.keys.everyChannel(), "subscribe to channel "+channel)
	case denied(err):
		r.lacks("+", "subscribe", "run SUBSCRIBE")
	default:
		return err
	}
	return nil
}

// keyDenied reports whether a call was refused because of one of its keys.
func keyDenied(err error) bool { return denied(err) && strings.Contains(err.Error(), "key") }

//go:build real

package redisstore

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/redistest"
	"github.com/chimejobs/chime/internal/storesuite"
)

// A call that a user may not make is refused, as a command and inside a script.
func TestNoUserMayDoMore(t *testing.T) {
	lines := redistest.DocumentedUsers(t)
	server := redistest.Start(t, redistest.Options{Users: []string{
		lines["producer"], lines["worker"], lines["scheduler"], lines["viewer"], lines["operator"],
	}})
	admin := newStore(server.Client(nil), Options{})
	if _, err := admin.Partitions(t.Context(), "default"); err != nil {
		t.Fatal(err)
	}
	enqueued := admin.Enqueue(t.Context(), []protocol.EnqueueCall{{Partition: storesuite.DefaultPartition, Caller: "c", Number: 1, Items: []protocol.EnqueueItem{storesuite.Job("a")}}})
	if enqueued[0].Err != nil {
		t.Fatal(enqueued[0].Err)
	}
	server.Client(nil).Set(t.Context(), "other:key", "theirs", 0)
	before := snapshot(t, server.Client(nil))
	for use := range grants {
		client := server.Client(&redis.Options{Username: "chime-" + string(use), Password: "SECRET", DisableIdentity: true})
		for _, command := range [][]any{
			{"flushall"}, {"flushdb"}, {"keys", "*"}, {"config", "get", "*"}, {"config", "set", "maxmemory", "1"}, {"script", "flush"}, {"acl", "list"},
			{"debug", "sleep", "0"}, {"shutdown"}, {"monitor"}, {"client", "kill", "id", "1"}, {"replicaof", "127.0.0.1", "1"}, {"module", "list"},
			{"get", "other:key"}, {"set", "other:key", "x"}, {"hget", "other:key", "f"}, {"hset", "other:hash", "f", "v"}, {"hset", "chimes:queues", "f", "v"},
			{"zrange", "other:key", 0, 0}, {"subscribe", "other:wake:x"}, {"subscribe", "__keyspace@0__:chime:queues"}, {"publish", "other", "x"},
		} {
			if err := client.Do(t.Context(), command...).Err(); !denied(err) {
				t.Errorf("%s: %v is answered with %v, want that it is refused", use, command, err)
			}
			if command[0] == "subscribe" || use == useView { // not from scripts; a viewer may run no script that may write
				continue
			}
			inside := "return redis.call('" + strings.Trim(strings.ReplaceAll(fmt.Sprintf("%q", texts(command)), `" "`, `','`), `["]`) + "')"
			if err := client.Eval(t.Context(), inside, nil).Err(); !denied(err) && !strings.Contains(fmt.Sprint(err), "not allowed from script") {
				t.Errorf("%s: %s is answered with %v, want that it is refused", use, inside, err)
			}
		}
	}

	viewer := server.Client(&redis.Options{Username: "chime-" + string(useView), Password: "SECRET", DisableIdentity: true})
	for _, text := range []string{"return redis.call('hset', KEYS[1], 'f', 'v')", "return redis.call('get', 'other:key')"} {
		if err := viewer.EvalRO(t.Context(), text, []string{admin.keys.queues()}).Err(); err == nil {
			t.Errorf("a viewer ran %s", text)
		}
		if err := viewer.Eval(t.Context(), text, []string{admin.keys.queues()}).Err(); !denied(err) {
			t.Errorf("a viewer may run EVAL: %v", err)
		}
	}

	as := func(use protocol.Use) *store {
		return newStore(server.Client(&redis.Options{Username: "chime-" + string(use), Password: "SECRET", DisableIdentity: true}), Options{})
	}
	work := protocol.WorkCall{Partition: storesuite.DefaultPartition, Worker: "w", Session: "s", Number: 1, TTL: 1e9, Take: 1}
	for _, use := range []protocol.Use{protocol.UseEnqueue, useView} {
		if err := as(use).Work(t.Context(), []protocol.WorkCall{work})[0].Err; !denied(err) {
			t.Errorf("a %s took a job: %v", use, err)
		}
		declared := as(use).Declare(t.Context(), []protocol.Declaration{{Name: "s", Queue: "default", Overlap: "skip", Body: []byte(`{"job":"j"}`)}})
		if !denied(declared[0].Err) {
			t.Errorf("a %s declared a schedule: %v", use, declared[0].Err)
		}
	}
	if _, err := as(useView).Leader(t.Context()); err != nil {
		t.Errorf("a viewer read the leader: %v", err)
	}
	enqueued = as(useView).Enqueue(t.Context(), []protocol.EnqueueCall{{Partition: storesuite.DefaultPartition, Caller: "v", Number: 1, Items: []protocol.EnqueueItem{storesuite.Job("b")}}})
	if _, err := as(useView).Partitions(t.Context(), "new"); !denied(err) || !denied(enqueued[0].Err) {
		t.Errorf("a viewer registered a queue: %v, and enqueued: %v", err, enqueued[0].Err)
	}
	if _, err := as(protocol.UseEnqueue).Find(t.Context(), []string{"s"}); !denied(err) {
		t.Errorf("a producer read a schedule: %v", err)
	}
	if _, err := as(protocol.UseEnqueue).Replace(t.Context(), protocol.ReplaceCall{Partition: storesuite.DefaultPartition, Token: "t", Item: storesuite.Job("a")}); !denied(err) || !errors.Is(err, protocol.ErrUnfit) {
		t.Errorf("a producer replaced a job: %v; want an error that waiting does not cure", err)
	}
	if after := snapshot(t, server.Client(nil)); after != before {
		t.Errorf("the keys are\n%s\nwant them unchanged:\n%s", after, before)
	}
}

// docs/access.md lists what the user of a producer can do in addition to enqueuing.
func TestWhatAProducersUserCanDo(t *testing.T) {
	server := redistest.Start(t, redistest.Options{Users: []string{redistest.DocumentedUsers(t)["producer"]}})
	producer := server.Client(&redis.Options{Username: "chime-producer", Password: "SECRET", DisableIdentity: true})
	for _, c := range []struct {
		can      bool
		commands string
	}{
		{true, "hget …:jobs id, hmget …:jobs id, zrange …:due 0 -1, zrange …:once 0 -1, zrange …:callers 0 -1, zrange …:idle 0 -1, hget …:state fence, hget chime:queues mail"},
		{true, "hset …:jobs id body, hdel …:jobs id, zadd …:due 1 id, zrem …:due id, rpush …:ready id, zrem …:once id, zadd …:idle 0 #closed"},
		{true, "hgetall chime:{/0}:batch:b, hset chime:{/0}:batch:b state ended, zrange chime:{/0}:made 0 -1, hget …:batches b, zrange …:reports 0 -1"},
		{true, "hset …:state paused 1, hset …:state layout 9, hset chime:queues mail 7, publish chime:wake:w c1"},
		{false, "lrange …:ready 0 -1, hgetall …:jobs, hscan …:jobs 0, hkeys …:jobs, hgetall chime:queues, hgetall …:batches, hgetall …:state, hgetall chime:{/0}:outgoing"},
		{false, "hget …:schedules s, hset …:schedules s {}, hget …:cursors s, hget …:notes s, hget …:history s, hget …:last s, xrange …:runs - +, hget …:results id"},
		{false, "zrange …:dead 0 -1, zadd …:dead 1 id, hget …:inflight:s id, hset …:inflight:s id 1, zrange …:sessions 0 -1, hget …:counters done"},
		{false, "hget chime:leader term, hset chime:leader term 9, zrange chime:schedules 0 -1, hget chime:{/collections}:records demo, hget other:key f, subscribe chime:wake:w, publish other x"},
	} {
		for command := range strings.SplitSeq(c.commands, ", ") {
			var args []any
			for _, word := range strings.Fields(strings.ReplaceAll(command, "…", "chime:{default}")) {
				args = append(args, word)
			}
			if err := producer.Do(t.Context(), args...).Err(); denied(err) == c.can {
				t.Errorf("%s: %v, want it permitted: %v", command, err, c.can)
			}
		}
	}
}

func TestAProducerOfOneQueueReachesNoOther(t *testing.T) {
	server := redistest.Start(t, redistest.Options{Users: []string{redistest.ProducerOfOneQueue(t)}})
	options := Options{Partitions: map[string]int{"mail": 3}}
	producer := newStore(server.Client(&redis.Options{Username: "mail-producer", Password: "SECRET", DisableIdentity: true}), options)
	if err := producer.CheckUse(t.Context(), protocol.UseEnqueue, []string{"mail"}); err != nil {
		t.Errorf("its own queue: %v", err)
	}
	for _, queue := range []string{"mailings", "default"} {
		if err := producer.CheckUse(t.Context(), protocol.UseEnqueue, []string{queue}); !errors.Is(err, protocol.ErrUnfit) {
			t.Errorf("queue %s: %v, want ErrUnfit", queue, err)
		}
	}
	admin := newStore(server.Client(nil), options)
	for _, queue := range []string{"mail", "mailings"} {
		if _, err := admin.Partitions(t.Context(), queue); err != nil {
			t.Fatal(err)
		}
	}
	for partition, can := range map[protocol.Partition]bool{{Queue: "mail"}: true, {Queue: "mail", Index: 2}: true, {Queue: "mailings"}: false} {
		item := protocol.EnqueueCall{Partition: partition, Caller: "c", Number: 1, Items: []protocol.EnqueueItem{storesuite.Job("a")}}
		if err := producer.Enqueue(t.Context(), []protocol.EnqueueCall{item})[0].Err; denied(err) == can || can && err != nil {
			t.Errorf("partition %v: %v, want it permitted: %v", partition, err, can)
		}
	}
}

func texts(values []any) []string {
	all := make([]string, len(values))
	for i := range values {
		all[i] = fmt.Sprint(values[i])
	}
	return all
}

// snapshot returns everything on a server.
func snapshot(t *testing.T, client *redis.Client) string {
	t.Helper()
	var all []string
	for _, key := range client.Keys(t.Context(), "*").Val() {
		dump, err := client.Dump(t.Context(), key).Result()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, fmt.Sprintf("%s: %q", key, dump))
	}
	slices.Sort(all)
	return strings.Join(all, "\n")
}

// If any right is missing, the start of a process finds this: the error names the right and has the rule that grants it.
func TestAMissingRightIsNamedAtStart(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	admin := server.Client(nil)
	for _, use := range []protocol.Use{protocol.UseEnqueue, protocol.UseWork, protocol.UseSchedule} {
		g := grants[use]
		rules := g.list("chime")
		check := func(without string) error {
			name := "u" + string(use)
			command := []any{"acl", "setuser", name, "reset", "on", ">SECRET"}
			for _, rule := range rules {
				if rule != without {
					command = append(command, rule)
				}
			}
			if err := admin.Do(t.Context(), command...).Err(); err != nil {
				t.Fatal(err)
			}
			client := server.Client(&redis.Options{Username: name, Password: "SECRET", DisableIdentity: true})
			defer client.Close()
			return newStore(client, Options{}).CheckUse(t.Context(), use, []string{"default", "mail"})
		}
		if err := check(""); err != nil {
			t.Errorf("%s with every right: %v", use, err)
		}
		for _, rule := range rules {
			switch rule {
			case "resetchannels", "-@all", "+hello", "+info", "+eval_ro", "+type", "+ping":
				continue // not rights, or unnecessary ones
			}
			err := check(rule)
			if !errors.Is(err, protocol.ErrUnfit) || !strings.Contains(err.Error(), "ACL SETUSER u"+string(use)) || !strings.HasSuffix(err.Error(), " "+rule) {
				t.Errorf("%s without %s: %v, want ErrUnfit that ends with the rule", use, rule, err)
			}
		}
	}
	if n := admin.DBSize(t.Context()).Val(); n != 0 {
		t.Errorf("the checks wrote %d keys: %v", n, admin.Keys(t.Context(), "*").Val())
	}
}

package redisstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/redisstore/internal/script"
)

const (
	verifyScan   = 500         // keys in a step of SCAN
	verifyAgain  = time.Second // time before the second check of something that other processes do in several calls
	maxVerifying = 100_000     // names that are held in memory for comparing
)

// timeIsAWrite is the answer of miniredis to TIME in a read-only script. It has no read-only users.
const timeIsAWrite = "not allowed in read-only scripts"

// Verify reads the namespace, partition by partition. One script decides about the keys of one partition, so that the simultaneous work of
// other processes does not look like damage. The registry, which has a slot of its own, is compared twice.
//
//	SCAN         sessions and lists of parked jobs that no index names: the jobs in them are not lost
//	partitions   types; fields of state; schedules, open, behind; IDs place by place; jobs, compared with ready; records
//	registry     entries without definitions, and then definitions without entries
func (s *store) Verify(ctx context.Context, repair bool, found func(protocol.Finding)) (protocol.Verified, error) {
	if s.bad != nil {
		return protocol.Verified{}, s.bad
	}
	v := &verifier{store: s, repair: repair, found: found, strays: map[protocol.Partition]*strays{}, marks: map[string][]protocol.Address{}}
	err := v.run(ctx)
	return v.looked, err
}

// A verifier is one reading of a namespace.
type verifier struct {
	store  *store
	repair bool
	found  func(protocol.Finding)
	looked protocol.Verified

	failed []error // partitions that could not be read
	hasty  bool    // for tests: no other process is under way, and nothing is checked twice

	plain    bool // the server rejects this read-only script as a write
	strays   map[protocol.Partition]*strays
	reported map[string]bool               // faults of jobs of this partition
	unnamed  []protocol.Address            // schedules about which the registry or a deletion may require something
	marks    map[string][]protocol.Address // schedule → where marks of its moves are
}

func (v *verifier) run(ctx context.Context) error {
	if wrong, err := v.types(ctx, protocol.Partition{}, v.store.keys.shared()); err != nil || wrong {
		return err // nothing can be found without the registries
	}
	sizes, err := v.queues(ctx)
	if err != nil {
		return err
	}
	if err := v.findStrays(ctx, sizes); err != nil {
		return errors.Join(append(v.failed, err)...)
	}
	for _, size := range sizes {
		v.looked.Queues++
		for index := range size.Partitions {
			p := protocol.Partition{Queue: size.Queue, Index: index}
			if err := v.partition(ctx, p); err != nil {
				v.failed = append(v.failed, err)
			}
			if ctx.Err() != nil {
				return errors.Join(append(v.failed, context.Cause(ctx))...)
			}
			v.looked.Partitions++
		}
	}
	if err := v.registry(ctx); err != nil {
		v.failed = append(v.failed, err)
	}
	return errors.Join(v.failed...)
}

// queues returns all queues, in the order of their names.
func (v *verifier) queues(ctx context.Context) ([]protocol.QueueSize, error) {
	partitions := map[string]int{}
	for cursor, begun := "", false; cursor != "" || !begun; begun = true {
		some, next, err := v.store.Queues(ctx, cursor)
		if err != nil {
			return nil, err
		}
		for _, size := range some {
			partitions[size.Queue] = size.Partitions
		}
		cursor = next
	}
	sizes := make([]protocol.QueueSize, 0, len(partitions))
	for queue, n := range partitions {
		sizes = append(sizes, protocol.QueueSize{Queue: queue, Partitions: n})
	}
	slices.SortFunc(sizes, func(a, b protocol.QueueSize) int { return cmp.Compare(a.Queue, b.Queue) })
	return sizes, nil
}

// partition verifies one partition.
func (v *verifier) partition(ctx context.Context, p protocol.Partition) error {
	wrong, err := v.types(ctx, p, v.store.keys.partition(p).types())
	if err != nil || wrong {
		return err // a script would stop at the key
	}
	for _, look := range []func(context.Context, protocol.Partition) error{v.state, v.schedules, v.opens, v.behind, v.groups, v.jobs, v.groupEntries, v.groupFlights, v.records, v.histories, v.outbox, v.batches} {
		if err := look(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

// types searches for keys with a wrong type. The zero partition means the namespace's own keys.
func (v *verifier) types(ctx context.Context, p protocol.Partition, want map[string]string) (wrong bool, err error) {
	pipe := v.store.client.Pipeline()
	types := map[string]*redis.StatusCmd{}
	for key := range want {
		types[key] = pipe.Type(ctx, key)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return false, failure("verify the types of keys of", cmp.Or(p.Queue, string(v.store.keys)), err)
	}
	for key, is := range types {
		if is.Val() != "none" && is.Val() != want[key] {
			wrong = true
			v.found(protocol.Finding{
				Kind: protocol.FoundForeign, Queue: p.Queue,
				Detail: fmt.Sprintf("key %s is a %s, want a %s: another program wrote it, and nothing works there; what else is there was not looked at", key, is.Val(), want[key]),
			})
		}
	}
	return wrong, nil
}

// script calls a script of one partition. A user who may not write can call those that only read.
func (v *verifier) script(ctx context.Context, p protocol.Partition, s *script.Script, writes bool, keys []string, args ...any) (reply, error) {
	if !writes && !v.plain {
		values, err := v.store.runOne(ctx, "verify", p.Queue, newCall(s, keys, args).readOnly())
		if err == nil || !strings.Contains(err.Error(), timeIsAWrite) {
			return values, err
		}
		v.plain = true
	}
	return v.store.runOne(ctx, "verify", p.Queue, newCall(s, keys, args))
}

// eachKey calls do with all keys of the namespace, some at a time.
func (v *verifier) eachKey(ctx context.Context, do func(keys []string) error) error {
	pattern := v.store.keys.everyPartition().prefix + "*"
	scan := func(ctx context.Context, node redis.Cmdable) error {
		for cursor, begun := uint64(0), false; cursor != 0 || !begun; begun = true {
			keys, next, err := node.Scan(ctx, cursor, pattern, verifyScan).Result()
			if err != nil {
				return failure("find keys like", pattern, err)
			}
			if err := do(keys); err != nil {
				return err
			}
			cursor = next
		}
		return nil
	}
	cluster, ok := v.store.client.(*redis.ClusterClient)
	if !ok {
		return scan(ctx, v.store.client)
	}
	var mu sync.Mutex
	all := do
	do = func(keys []string) error {
		mu.Lock()
		defer mu.Unlock()
		return all(keys)
	}
	return cluster.ForEachMaster(ctx, func(ctx context.Context, node *redis.Client) error { return scan(ctx, node) })
}

// pause waits until other processes, if they live, have completed what they began.
func (v *verifier) pause(ctx context.Context) error {
	if v.hasty {
		return nil
	}
	timer := time.NewTimer(verifyAgain)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

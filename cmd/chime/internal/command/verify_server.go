package command

import (
	"cmp"
	"context"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/format"
	"github.com/chimejobs/chime/internal/rights"
	"github.com/chimejobs/chime/internal/times"
)

// maxClockOff is how much this machine's clock may differ from the server's before verify warns. Only the server's clock is used.
const maxClockOff = 5 * time.Second

// server checks version, eviction policy and clock of the server, or of each master of a cluster.
func (v *verifying) server(ctx context.Context, store chime.Store) error {
	ctx, cancel := v.limited(ctx)
	defer cancel()
	err := store.Protocol().Check(ctx)
	why, bad := unfit(err)
	if err != nil && !bad {
		return err
	}
	if bad {
		v.add("server", checkBad, "%s", why)
	}
	var mu sync.Mutex
	return eachServer(ctx, v.opened.Client, func(ctx context.Context, client redis.Cmdable, where string) error {
		sections, infoErr := client.InfoMap(ctx).Result()
		before := v.Now()
		now, err := client.Time(ctx).Result()
		between := before.Add(v.Now().Sub(before) / 2)
		mu.Lock()
		defer mu.Unlock()
		switch {
		case rights.Missing(infoErr):
			v.add("server", checkWarn, "INFO is denied%s, so version and eviction policy are not checked", where)
		case infoErr != nil:
			return infoErr
		case !bad:
			kind, version := "Redis", sections["Server"]["redis_version"]
			if valkey := sections["Server"]["valkey_version"]; valkey != "" {
				kind, version = "Valkey", valkey
			}
			policy, result, note := sections["Memory"]["maxmemory_policy"], checkGood, ""
			if strings.HasPrefix(policy, "volatile-") {
				result, note = checkWarn, ", which evicts keys with an expiry: no job has one, but noeviction is safer"
			}
			v.add("server", result, "%s %s%s, maxmemory-policy %s%s", kind, cmp.Or(version, "of unknown version"), where, cmp.Or(policy, "not known"), note)
		}
		if err != nil {
			return err
		}
		switch off := between.Sub(now); {
		case off > maxClockOff || off < -maxClockOff:
			v.add("clock", checkWarn, "this machine's clock differs by %s from the server's%s; only the server's clock is used", format.Span(off), where)
		default:
			v.add("clock", checkGood, "%s%s", times.Full(now, v.location), where)
		}
		return nil
	})
}

// eachServer calls look for the server, or for each master of a cluster; where names the master.
func eachServer(ctx context.Context, client redis.UniversalClient, look func(ctx context.Context, client redis.Cmdable, where string) error) error {
	cluster, ok := client.(*redis.ClusterClient)
	if !ok {
		return look(ctx, client, "")
	}
	return cluster.ForEachMaster(ctx, func(ctx context.Context, master *redis.Client) error {
		return look(ctx, master, " of "+master.Options().Addr)
	})
}

// maxChecked limits the queues whose rights are checked.
const maxChecked = 100

// rights checks whether the user may change what chime changes. The other checks show whether it may read.
func (v *verifying) rights(ctx context.Context, store chime.Store, queues []*chime.QueueInfo) error {
	var names []string
	for _, q := range queues[:min(len(queues), maxChecked)] {
		names = append(names, q.Name)
	}
	ctx, cancel := v.limited(ctx)
	defer cancel()
	user := cmp.Or(v.opened.User, "default")
	err := store.Protocol().CheckUse(ctx, "operator", names)
	why, lacks := unfit(err)
	switch _, grant, rights := strings.Cut(why, ": run ACL SETUSER "); {
	case err != nil && !lacks:
		return err
	case lacks && !rights:
		v.add("rights", checkBad, "%s", why) // a key is not chime's
	case lacks:
		v.add("rights", checkGood, "user %s may read; to change everything it needs ACL SETUSER %s", user, grant)
	default:
		v.add("rights", checkGood, "user %s may read, and change everything", user)
	}
	return nil
}

// leader reports who leads. If nobody leads, live workers place what is due.
func (v *verifying) leader(ctx context.Context, store chime.Store, queues []*chime.QueueInfo) error {
	ctx, cancel := v.limited(ctx)
	defer cancel()
	leader, err := chime.NewSchedules(store).Leader(ctx)
	if err != nil {
		return err
	}
	switch {
	case leader.Host != "":
		v.add("leader", checkGood, "%s:%d, term %d", leader.Host, leader.PID, leader.Term)
		return nil
	case leader.Name != "":
		v.add("leader", checkGood, "%s, term %d", leader.Name, leader.Term)
		return nil
	}
	schedules := int64(0)
	for _, q := range queues {
		schedules += q.Schedules
	}
	workers, err := chime.NewWorkers(store).List(ctx)
	if err != nil {
		return err
	}
	switch {
	case schedules == 0:
		v.add("leader", checkGood, "nobody leads, and there is no schedule")
	case len(workers) > 0:
		v.add("leader", checkGood, "nobody leads; %s place what is due", format.Plural(len(workers), "worker", "workers"))
	default:
		v.add("leader", checkWarn, "nobody leads and no worker lives, so nobody places the runs of %s", format.Plural(schedules, "schedule", "schedules"))
	}
	return nil
}

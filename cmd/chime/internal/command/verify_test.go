//go:build real

package command_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/cmd/chime/internal/commandtest"
	"github.com/chimejobs/chime/internal/redistest"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/redisstore"
)

// onServer is a store on a real server of its own, with nothing in it.
func onServer(t *testing.T, options redistest.Options) (*shop, *redistest.Server, *redis.Client) {
	t.Helper()
	server := redistest.Start(t, options)
	client := server.Client(nil)
	store := redisstore.New(client, redisstore.Options{Logger: quiet})
	return &shop{commandtest.Terminal{Env: map[string]string{"REDIS_URL": "redis://" + server.Addr()}}, store}, server, client
}

func TestVerifyFindsWhatIsWrong(t *testing.T) {
	s, _, client := onServer(t, redistest.Options{})
	s.enqueue(t, chime.Item{Name: "report", Options: []chime.EnqueueOption{chime.ID("j1")}}, chime.Item{Name: "report", Options: []chime.EnqueueOption{chime.ID("j2")}})
	for _, args := range []string{"verify", "verify --deep"} {
		wants{out: []string{
			"✓ server    Redis ", ", maxmemory-policy noeviction\n", "✓ clock ", "✓ rights    user default may read, and change everything\n",
			"✓ leader    nobody leads, and there is no schedule\n", "✓ content   1 queue, 0 schedules, 2 jobs: consistent\n",
		}}.check(t, s.Run(t, strings.Fields(args)...), args)
	}
	wants{out: []string{`"ok": true`, `"check": "rights"`, `"total": 0`}}.check(t, s.Run(t, "verify", "--json"), "verify --json")

	if _, err := chime.NewSchedules(s.store).Put(t.Context(), "nightly", recurrence.Recurrence{Cron: "0 3 * * *"}); err != nil {
		t.Fatal(err)
	}
	wants{out: []string{"⚠ leader    nobody leads and no worker lives, so nobody places the runs of 1 schedule\n"}}.check(t, s.Run(t, "verify"), "verify")

	if err := client.HDel(t.Context(), "chime:{default}:jobs", "j1").Err(); err != nil {
		t.Fatal(err)
	}
	wants{code: 7, out: []string{"✕ content   1 queue, 1 schedule, 1 job: 1 finding\n", `empty "j1" on queue default: `, "  repaired by: "}, err: []string{"something is wrong with chime @ "}}.
		check(t, s.Run(t, "verify"), "verify")
	wants{code: 7, out: []string{`"ok": false`, `"kind": "empty"`}}.check(t, s.Run(t, "verify", "--json"), "verify --json")
}

func TestVerifyFindsAServerThatMayEvict(t *testing.T) {
	s, _, _ := onServer(t, redistest.Options{Config: []string{"maxmemory-policy allkeys-lru"}})
	wants{code: 7, out: []string{"✕ server ", "maxmemory-policy allkeys-lru may evict jobs"}}.check(t, s.Run(t, "verify"), "verify")
	s, _, _ = onServer(t, redistest.Options{Config: []string{"maxmemory-policy volatile-lru"}})
	wants{out: []string{"⚠ server ", "maxmemory-policy volatile-lru, which evicts keys with an expiry"}}.check(t, s.Run(t, "verify"), "verify")
}

func TestVerifySaysWhatTheUserMayNotDo(t *testing.T) {
	s, server, _ := onServer(t, redistest.Options{Users: []string{
		"viewer on >secret resetchannels &chime:wake:* %R~chime:* -@all +eval_ro +evalsha_ro +hello +hexists +hget +hgetall +hlen +hmget +hscan +hstrlen +llen +lpos +lrange +ping +scan +subscribe +time +type +unsubscribe +xrange +xrevrange +zcard +zcount +zlexcount +zmscore +zrange +zrangebylex +zrangebyscore +zrevrangebyscore +zscan +zscore",
		"blind on >secret resetchannels -@all +ping +hello +info +time",
	}})
	s.enqueue(t, chime.Item{Name: "report", Options: []chime.EnqueueOption{chime.ID("j1")}})
	s.Env["REDIS_URL"] = "redis://viewer:secret@" + server.Addr()
	wants{out: []string{"⚠ server    INFO is denied", "✓ rights    user viewer may read; to change everything it needs ACL SETUSER viewer +del ", "✓ content   1 queue"}}.check(t, s.Run(t, "verify"), "verify")
	for _, args := range []string{"jobs list", "jobs show j1", "queues list", "queues show default", "workers list", "jobs groups"} {
		wants{}.check(t, s.Run(t, append(strings.Fields(args), "--json")...), args)
	}
	for _, args := range []string{"jobs cancel j1 -y", "jobs delete j1 -y", "queues pause default", "queues purge default --confirm default"} {
		wants{code: 4}.check(t, s.Run(t, strings.Fields(args)...), args)
	}
	s.Env["REDIS_URL"] = "redis://blind:secret@" + server.Addr()
	for _, args := range []string{"verify", "queues list", "jobs list"} {
		wants{code: 4, err: []string{"NOPERM"}}.check(t, s.Run(t, strings.Fields(args)...), args)
	}
}

func TestVerifyOfALeader(t *testing.T) {
	s, _, _ := onServer(t, redistest.Options{})
	led := make(chan struct{})
	var once bool
	scheduler := chime.NewScheduler(s.store, chime.SchedulerOptions{Logger: quiet, Observers: []*chime.Observer{{Elected: func(leading bool, term int64) {
		if leading && !once {
			once = true
			close(led)
		}
	}}}})
	ctx, stop := context.WithCancel(t.Context())
	stopped := make(chan error, 1)
	go func() { stopped <- chime.Run(ctx, scheduler) }()
	<-led
	host, _ := os.Hostname()
	wants{out: []string{fmt.Sprintf("✓ leader    %s:%d, term 1\n", host, os.Getpid())}}.check(t, s.Run(t, "verify"), "verify")
	stop()
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

//go:build real

package command_test

import (
	"strings"
	"testing"

	"github.com/chimejobs/chime/cmd/chime/internal/commandtest"
	"github.com/chimejobs/chime/internal/redistest"
)

func TestTheCommandsWorkOnACluster(t *testing.T) {
	cluster := redistest.StartCluster(t, 3, redistest.Options{})
	s := commandtest.Terminal{Env: map[string]string{"REDIS_URL": "redis://" + cluster.Nodes[0].Addr()}}
	for _, c := range []struct {
		args string
		want wants
	}{
		{"jobs enqueue report --id a1 --queue q1 --in 1h", wants{out: []string{"Enqueued q1/a1."}}},
		{"jobs enqueue report --id a2 --queue q2 --in 1h", wants{out: []string{"Enqueued q2/a2."}}},
		{"jobs enqueue report --id a3 --queue q3 --in 1h", wants{out: []string{"Enqueued q3/a3."}}},
		{"jobs list report -o name", wants{out: []string{"q1/a1\nq2/a2\nq3/a3\n"}}},
		{"jobs requeue --filter state:delayed -y", wants{out: []string{"3 jobs requeued."}}},
		{"queues list -o name", wants{out: []string{"q1\nq2\nq3\n"}}},
		{"queues pause q2", wants{out: []string{"Paused q2."}}},
		{"workers list --json", wants{out: []string{`"items": []`}}},
		{"verify", wants{out: []string{"✓ server    Redis ", " of 127.0.0.1:", "3 queues, 0 schedules, 3 jobs: consistent"}}},
		{"jobs delete --filter queue:q1 -y", wants{out: []string{"1 job deleted."}}},
		{"queues delete q1 -y", wants{out: []string{"Deleted q1."}}},
	} {
		args := append(strings.Fields(c.args), "--cluster")
		c.want.check(t, s.Run(t, args...), args...)
	}
}

//go:build real && unix

package real_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/childproc"
	"github.com/chimejobs/chime/internal/faultproxy"
	"github.com/chimejobs/chime/internal/redistest"
	"github.com/chimejobs/chime/redisstore"
)

// A worker is killed after its handler has succeeded and before the store has received the settlement. The job runs again under the same ID with a
// larger fence, and one completion counts.
func TestAJobWhoseWorkerDiesBeforeSettlingRunsAgain(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	client := server.Client(nil)
	p := program{Addr: server.Addr(), Work: time.Millisecond, Dies: true}
	first := childproc.Start(t, "worker", p)
	first.Await("ready")
	enqueuer := chime.NewEnqueuer(p.store(), chime.EnqueuerOptions{})
	if _, err := enqueuer.Enqueue(t.Context(), "beat", nil, chime.ID("one")); err != nil {
		t.Fatal(err)
	}
	ended := fields(first.Await("ended one"))
	first.Wait()
	p.Dies = false
	second := childproc.Start(t, "worker", p)
	again := fields(second.Await("ended one"))
	if again["fence"] <= ended["fence"] {
		t.Errorf("fences %s and then %s, want the second one to be larger", ended["fence"], again["fence"])
	}
	until(t, "the job is done", func() bool { return countsOf(t, client, "default").Done == 1 })
	if n := client.HLen(t.Context(), "chime:{default}:jobs").Val(); n != 0 {
		t.Errorf("%d jobs are left", n)
	}
}

// A worker is killed after the store has executed its settlement and before the reply arrives. The job does not run again.
func TestAJobWhoseWorkerDiesAfterSettlingRunsOnce(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	client := server.Client(nil)
	proxy := faultproxy.Start(t, server.Addr())
	for _, script := range redisstore.Scripts() {
		proxy.Learn(script)
		if err := client.ScriptLoad(t.Context(), script).Err(); err != nil {
			t.Fatal(err)
		}
	}
	direct := program{Addr: server.Addr(), Work: 50 * time.Millisecond}
	first := childproc.Start(t, "worker", program{Addr: proxy.Addr(), Work: direct.Work, Retries: -1})
	first.Await("ready")
	lost := proxy.LoseReply(faultproxy.All(proxy.Script("work"), faultproxy.Contains("alpha")))
	enqueuer := chime.NewEnqueuer(direct.store(), chime.EnqueuerOptions{})
	if _, err := enqueuer.Enqueue(t.Context(), "beat", nil, chime.ID("alpha")); err != nil {
		t.Fatal(err)
	}
	first.Await("began alpha")
	proxy.Refuse(true) // so that it cannot send the settlement again
	first.Await("ended alpha")
	<-lost
	first.Kill()
	if n := countsOf(t, client, "default").Done; n != 1 {
		t.Fatalf("%d jobs done when the worker was killed, want 1: the settlement was executed", n)
	}
	second := childproc.Start(t, "worker", direct)
	second.Await("ready")
	until(t, "the dead worker's session has been reaped", func() bool {
		return client.ZCard(t.Context(), "chime:{default}:sessions").Val() == 0
	})
	if _, err := enqueuer.Enqueue(t.Context(), "beat", nil, chime.ID("two")); err != nil {
		t.Fatal(err)
	}
	second.Await("ended two")
	if slices.ContainsFunc(second.Events(), func(line string) bool { return strings.Contains(line, " alpha ") }) {
		t.Errorf("the second worker has run it again: %q", second.Events())
	}
}

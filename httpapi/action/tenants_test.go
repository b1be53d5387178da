//go:build long

package action

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/chimetest"
	"github.com/chimejobs/chime/recurrence"
)

// tenants is a process with ten owners, under fake time. Each of nine runs a job each two seconds, on a host of its own and on a host that all use. The
// tenth is hostile: 600 runs of 100 collections on five hosts, one of them the shared one, never get an answer, and their error actions neither.
// It returns the waits of the nine, in order, and the number of the hostile one's requests.
func tenants(t *testing.T, hostile, shares bool) (waits []time.Duration, attacks int) {
	chimetest.Run(t, func(t *testing.T, c *chimetest.Chime) {
		p := &pipedReceiver{answer: func(r *http.Request) string {
			if strings.HasPrefix(r.Header.Get("Chime-Collection"), "evil-") {
				return ""
			}
			return "HTTP/1.1 204 No Content\r\n\r\n"
		}}
		options := SenderOptions{Egress: Egress{AllowInsecure: true}}
		if shares {
			options.Owner = func(_ context.Context, collection string) string {
				owner, _, _ := strings.Cut(collection, "-")
				return owner
			}
		}
		sender := NewSender(options)
		sender.transports.shared.transport.DialContext = p.dial
		t.Cleanup(sender.Close)
		worker := chime.NewWorker(c.Store(), chime.WorkerOptions{Concurrency: defaultSlots})
		worker.Handle(JobName, sender.Handle)
		c.Start(worker)
		schedules := chime.NewSchedules(c.Store())
		put := func(name string, a *Action) {
			t.Helper()
			item, err := a.Item()
			if err != nil {
				t.Fatal(err)
			}
			put := []chime.PutOption{chime.JobName(item.Name), chime.Args(item.Args), chime.NoImmediateRun(), chime.Overlap(chime.OverlapAllow)}
			of, err := a.Options()
			if err != nil {
				t.Fatal(err)
			}
			for _, option := range of {
				put = append(put, option)
			}
			if _, err := schedules.Put(t.Context(), name, recurrence.Recurrence{Cron: "@yearly"}, put...); err != nil {
				t.Fatal(err)
			}
		}
		run := func(name string) string {
			t.Helper()
			receipt, err := schedules.Trigger(t.Context(), name)
			if err != nil {
				t.Fatal(err)
			}
			return receipt.ID
		}
		none := &RetryPolicy{Type: RetryNone}
		var good []string
		for owner := range 9 {
			for i, host := range []string{fmt.Sprintf("own-%d.example", owner), "shared.example"} {
				good = append(good, fmt.Sprintf("good%d-%d:r", owner, i))
				a := to("http://"+host+"/", nil)
				a.RetryPolicy = none
				put(good[len(good)-1], a)
			}
		}
		hosts := []string{"shared.example", "evil-1.example", "evil-2.example", "evil-3.example", "evil-4.example"}
		for i := range 100 * map[bool]int{true: 1}[hostile] {
			a := to("http://"+hosts[i%5]+"/", nil)
			a.RetryPolicy, a.ErrorAction = none, to("http://"+hosts[i%5]+"/", nil)
			name := fmt.Sprintf("evil-%d:r", i)
			put(name, a)
			for range 6 {
				run(name)
			}
		}
		began := map[string]time.Time{}
		for range 15 {
			for _, name := range good {
				began[`"`+run(name)+`"`] = time.Now()
			}
			c.Advance(2 * time.Second)
		}
		c.Advance(2 * time.Minute)
		p.mu.Lock()
		defer p.mu.Unlock()
		for i, r := range p.got {
			if at, known := began[r.Header.Get("Idempotency-Key")]; known {
				waits = append(waits, p.at[i].Sub(at))
			} else {
				attacks++
			}
		}
		for range len(began) - len(waits) { // they wait still
			waits = append(waits, 2*time.Minute)
		}
	})
	slices.Sort(waits)
	return waits, attacks
}

// With shares nobody waits for the hostile one: the waits of the others are about the same as without it, and none of their runs is put off. Without shares
// the test would fail: then they wait for the host that all use.
func TestTenOwnersAndAHostileOne(t *testing.T) {
	at := func(waits []time.Duration, percent int) time.Duration { return waits[(len(waits)-1)*percent/100] }
	alone, _ := tenants(t, false, true)
	beside, attacks := tenants(t, true, true)
	without, _ := tenants(t, true, false)
	t.Logf("fake time, p50 p99 max: alone %v %v %v; beside a hostile one %v %v %v; the same without shares %v %v %v",
		at(alone, 50), at(alone, 99), at(alone, 100), at(beside, 50), at(beside, 99), at(beside, 100), at(without, 50), at(without, 99), at(without, 100))
	if slow := at(beside, 99); slow > 2*max(at(alone, 99), time.Second) || at(beside, 100) >= 5*time.Second {
		t.Errorf("the p99 of the waits is %v, and the longest %v; alone it was %v", slow, at(beside, 100), at(alone, 99))
	}
	if attacks < 25 { // a quarter of twenty to each of five hosts, at once
		t.Errorf("the hostile owner has sent %d requests, want 25 or more", attacks)
	}
	if at(without, 99) < 5*time.Second {
		t.Errorf("without shares the p99 is %v: the attack is too weak to show anything", at(without, 99))
	}
}

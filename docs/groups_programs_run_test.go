package docs_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/redisstore/embedded"
)

func TestThePageOnGroupsShowsProgramsThatRun(t *testing.T) {
	shows(t, "groups.md", "groups_programs_test.go", "groups_test.go", "groups_run_test.go", "groups_programs_run_test.go")
}

// A stage runs one of the programs under fake time and records which jobs started, and how many of each group ran at once.
type stage struct {
	server   *embedded.Server
	enqueuer *chime.Enqueuer
	queues   *chime.Queues

	mu            sync.Mutex
	started       map[string]int
	running, most map[string]int
}

func onStage(t *testing.T, test func(t *testing.T, s *stage)) {
	synctest.Test(t, func(t *testing.T) {
		server := embedded.StartInMemory()
		defer server.Close()
		test(t, &stage{
			server: server, enqueuer: chime.NewEnqueuer(server.Store(), chime.EnqueuerOptions{}), queues: chime.NewQueues(server.Store()),
			started: map[string]int{}, running: map[string]int{}, most: map[string]int{},
		})
	})
}

// take takes as long as a job of a group.
func (s *stage) take(group string, d time.Duration) {
	s.count(group, 1)
	time.Sleep(d) // fake time passes
	s.count(group, -1)
}

func (s *stage) count(group string, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running[group] += n
	s.started[group] += max(n, 0)
	s.most[group] = max(s.most[group], s.running[group])
}

// holds returns how many jobs of each of the groups have started, run, and ran at once.
func (s *stage) holds(groups ...string) (started, running, most []int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, g := range groups {
		started, running, most = append(started, s.started[g]), append(running, s.running[g]), append(most, s.most[g])
	}
	return started, running, most
}

func TestOneTenantsExportsDoNotDelayThoseOfTheNext(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		if status, err := requestExport(t.Context(), s.enqueuer, exportArgs{"big", "0"}); status != http.StatusAccepted || err != nil {
			t.Fatal(status, err)
		}
		if err := boundBacklogs(t.Context(), s.queues); err != nil {
			t.Fatal(err)
		}
		items := make([]chime.Item, 999)
		for i := range items {
			items[i] = groupedExport.Item(exportArgs{"big", strconv.Itoa(i)})
		}
		if _, err := s.enqueuer.EnqueueMany(t.Context(), items); err != nil {
			t.Fatal(err)
		}
		if status, err := requestExport(t.Context(), s.enqueuer, exportArgs{"big", "one too many"}); status != http.StatusTooManyRequests || err != nil {
			t.Errorf("beside 1,000 waiting exports another one gets %d, %v", status, err)
		}
		stop := inBackground(exportWorker(s.server.Store(), func(_ context.Context, args exportArgs) error {
			s.take(args.Tenant, 20*time.Second)
			return nil
		}))
		time.Sleep(10 * time.Second) // fake time passes
		if status, err := requestExport(t.Context(), s.enqueuer, exportArgs{"small", "1"}); status != http.StatusAccepted || err != nil {
			t.Error(status, err)
		}
		time.Sleep(20 * time.Second) // fake time passes
		if _, running, _ := s.holds("big", "small"); !slices.Equal(running, []int{9, 1}) {
			t.Errorf("%v exports run, want 9 of the big tenant and the one of the small tenant", running)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestAThirdPartysLimitHoldsForEachAccount(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		for _, account := range []string{"a", "b"} {
			for range 100 {
				if _, err := syncAccount.Enqueue(t.Context(), s.enqueuer, syncArgs{account}); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := limitAccounts(t.Context(), s.queues); err != nil {
			t.Fatal(err)
		}
		stop := inBackground(crmWorker(s.server.Store(), func(_ context.Context, account string) error {
			s.take(account, 100*time.Millisecond)
			return nil
		}))
		time.Sleep(59 * time.Second) // fake time passes
		if started, _, most := s.holds("a", "b"); !slices.Equal(started, []int{60, 60}) || !slices.Equal(most, []int{2, 2}) {
			t.Errorf("in the first minute %v calls, %v at once, want 60 and 2 for each account", started, most)
		}
		time.Sleep(time.Minute) // fake time passes
		if started, _, _ := s.holds("a", "b"); !slices.Equal(started, []int{100, 100}) {
			t.Errorf("in two minutes %v calls, want 100 for each account", started)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestWebhooksOfAnEndpointKeepTheirOrder(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		for event := 1; event <= 3; event++ {
			for _, endpoint := range []string{"failing", "fine"} {
				if _, err := deliverWebhook.Enqueue(t.Context(), s.enqueuer, webhook{endpoint, event}); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := orderByEndpoint(t.Context(), s.queues); err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		posts := map[string][]int{}
		stop := inBackground(webhookWorker(s.server.Store(), func(_ context.Context, hook webhook) (int, error) {
			mu.Lock()
			defer mu.Unlock()
			posts[hook.Endpoint] = append(posts[hook.Endpoint], hook.Event)
			switch n := len(posts[hook.Endpoint]); {
			case hook.Endpoint == "fine":
				return http.StatusOK, nil
			case n == 1:
				return 0, errors.New("no route to host")
			case n == 2:
				return http.StatusBadGateway, nil
			case hook.Event == 2:
				return http.StatusGone, nil
			}
			return http.StatusNoContent, nil
		}))
		time.Sleep(5 * time.Minute) // fake time passes
		mu.Lock()
		defer mu.Unlock()
		if got := fmt.Sprint(posts["failing"], posts["fine"]); got != "[1 1 1 2 3] [1 2 3]" {
			t.Errorf("the events were posted in the order %s", got)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestATenantThatHasBoughtMoreGetsMore(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		for range 200 {
			for _, tenant := range []string{"heavy", "other"} {
				if _, err := requestExport(t.Context(), s.enqueuer, exportArgs{tenant, "a.csv"}); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := changePlan(t.Context(), s.queues, "heavy", "gold"); err == nil {
			t.Error("a plan that does not exist was sold")
		}
		stop := inBackground(exportWorker(s.server.Store(), func(_ context.Context, args exportArgs) error {
			s.take(args.Tenant, time.Second)
			return nil
		}))
		time.Sleep(time.Second / 2) // jobs start and end at whole seconds
		for _, step := range []struct {
			plan string
			want []int // of ten slots
		}{{"business", []int{8, 2}}, {"enterprise", []int{10, 0}}, {"basic", []int{5, 5}}} {
			if err := changePlan(t.Context(), s.queues, "heavy", step.plan); err != nil {
				t.Fatal(err)
			}
			time.Sleep(3 * time.Second) // fake time passes
			_, running, _ := s.holds("heavy", "other")
			if diff := running[0] - step.want[0]; running[0]+running[1] != 10 || diff < -1 || diff > 1 {
				t.Errorf("with the plan %s the tenants hold %v slots, want %v or one more or less", step.plan, running, step.want)
			}
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// The job that holds up its group is cancelled while it waits for its next attempt; the next one starts at once.
func TestAnOrderedGroupContinuesWhenItsBlockerIsCancelled(t *testing.T) {
	onStage(t, func(t *testing.T, s *stage) {
		for event := 1; event <= 2; event++ {
			if _, err := deliverWebhook.Enqueue(t.Context(), s.enqueuer, webhook{"down", event}); err != nil {
				t.Fatal(err)
			}
		}
		if err := orderByEndpoint(t.Context(), s.queues); err != nil {
			t.Fatal(err)
		}
		stop := inBackground(webhookWorker(s.server.Store(), func(_ context.Context, hook webhook) (int, error) {
			s.take(strconv.Itoa(hook.Event), 0)
			if hook.Event == 1 {
				return http.StatusBadGateway, nil
			}
			return http.StatusOK, nil
		}))
		time.Sleep(10 * time.Minute) // the sixth attempt is about 16 minutes after the first one
		if started, _, _ := s.holds("1", "2"); started[0] < 5 || started[1] != 0 {
			t.Errorf("the events were posted %v times, want the first one only", started)
		}
		if err := skipFailing(t.Context(), s.queues, chime.NewJobs(s.server.Store()), "down"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second) // fake time passes
		if started, _, _ := s.holds("2"); started[0] != 1 {
			t.Errorf("a second after the first event was cancelled the next one was posted %d times, want once", started[0])
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// The table of groups.md has the time for which a job that always fails holds up an ordered group: the sum of the waits, the n-th of about n⁴ seconds.
func TestThePageHasTheTimeThatAFailingJobHoldsUpItsGroup(t *testing.T) {
	rows := regexp.MustCompile(`(?m)^\| (\d+)[^|]*\| about (\d+) (minutes|hours|days) \|$`).FindAllStringSubmatch(readText(t, "groups.md"), -1)
	if len(rows) != 5 {
		t.Fatalf("the table has %d rows, want 5", len(rows))
	}
	unit := map[string]time.Duration{"minutes": time.Minute, "hours": time.Hour, "days": 24 * time.Hour}
	for _, row := range rows {
		attempts, _ := strconv.Atoi(row[1])
		shown, _ := strconv.Atoi(row[2])
		sum := 0.0
		for n := 1; n < attempts; n++ {
			sum += math.Pow(float64(n), 4)
		}
		if want := math.Round(sum * float64(time.Second) / float64(unit[row[3]])); float64(shown) != want {
			t.Errorf("%s: want about %v %s", strings.TrimSpace(row[0]), want, row[3])
		}
	}
	onStage(t, func(t *testing.T, s *stage) {
		for event := 1; event <= 2; event++ {
			if _, err := deliverWebhook.Enqueue(t.Context(), s.enqueuer, webhook{"down", event}); err != nil {
				t.Fatal(err)
			}
		}
		if err := orderByEndpoint(t.Context(), s.queues); err != nil {
			t.Fatal(err)
		}
		began, second := time.Now(), time.Duration(0)
		stop := inBackground(webhookWorker(s.server.Store(), func(_ context.Context, hook webhook) (int, error) {
			if hook.Event == 1 {
				return http.StatusBadGateway, nil
			}
			second = time.Since(began)
			return http.StatusOK, nil
		}))
		time.Sleep(2 * time.Hour)                           // fake time passes
		const waits = 1 + 16 + 81 + 256 + 625 + 1296 + 2401 // seconds: 78 minutes, each times a factor from 0.75 to 1.25
		if second < waits*3/4*time.Second || second > waits*5/4*time.Second+10*time.Second {
			t.Errorf("with 8 attempts the next event was posted after %v, want 78 minutes or a quarter less or more", second)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

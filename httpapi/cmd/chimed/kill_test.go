//go:build real && unix

package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/childproc"
	"github.com/chimejobs/chime/internal/redistest"
	"github.com/chimejobs/chime/redisstore"
)

var (
	killedJobs = flag.Int("killed-jobs", 40, "number of jobs in TestNoJobIsLostWhereChimedIsKilled, at least 6")
	killedSeed = flag.Uint64("killed-seed", 0, "seed of its random numbers; 0: from the clock")
)

// A sending is a request that a receiver of jobs got.
type sending struct {
	Job, Occurrence, Action string
	Fence                   int64
}

// A killing has two chimeds on one Redis that send to one receiver. The receiver selects the chimed to kill while it runs jobs, before or after the answer.
// Of three jobs one is done, one is dead after its first failure, and one after its second; every dead job has an error action.
type killing struct {
	*testing.T
	store    *redistest.Server
	receiver *httptest.Server
	random   *rand.Rand
	doomed   chan chan<- struct{} // requests to kill a chimed: the sent channel is closed when it is dead
	children [2]*childproc.Process
	kills    int

	mu    sync.Mutex
	urls  [2]string
	sent  map[sending]int
	given map[string]bool // jobs that were done, or whose error action was done
}

// The test kills processes at random moments. Each occurrence is done or dead, once. The error action of each dead one is placed once, and ends.
// The history has every request that was sent, also those that a kill cut off. A kill uses up no attempt, and leaves nothing in the store.
// It takes as long as two crashes and a retry, 30 to 90 s, and little processor time.
//
//	go test ./cmd/chimed -run TestNoJobIsLostWhereChimedIsKilled -v -killed-jobs 500
func TestNoJobIsLostWhereChimedIsKilled(t *testing.T) {
	t.Parallel()
	seed := *killedSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	k := &killing{
		T: t, store: redistest.Start(t, redistest.Options{}), random: rand.New(rand.NewPCG(seed, 1)),
		doomed: make(chan chan<- struct{}), sent: map[sending]int{}, given: map[string]bool{},
	}
	k.receiver = httptest.NewServer(http.HandlerFunc(k.receive))
	defer k.receiver.Close()
	for i := range k.children {
		k.start(i)
	}
	jobs := k.run(max(*killedJobs, 6))
	k.mu.Lock() // the receiver has recorded its last request
	sent := k.sent
	k.mu.Unlock()
	for _, url := range k.urls {
		ready(t, url, http.StatusOK)
	}
	var all tally
	for _, job := range jobs {
		k.check(job, sent, &all)
	}
	k.checkStore(&all)
	requests := 0
	for s, n := range sent {
		if requests += n; n > 1 {
			t.Errorf("%+v came %d times, want each fence once", s, n)
		}
	}
	if k.kills == 0 || all.cut == 0 {
		t.Errorf("%d kills have cut off %d attempts, want some", k.kills, all.cut)
	}
	t.Logf("seed %d: %d jobs, %d kills, %d requests, %d attempts cut off, %d occurrences dead, %d error actions done",
		seed, len(jobs), k.kills, requests, all.cut, all.givenUp, all.errorActions)
}

// start starts the chimed number i.
func (k *killing) start(i int) {
	child, url := started(k.T, nil, "-redis", "redis://"+k.store.Addr()+"/0", "-concurrency", "20", "-allow-net", k.receiver.Listener.Addr().String())
	k.mu.Lock()
	defer k.mu.Unlock()
	k.children[i], k.urls[i] = child, url
}

// run creates jobs that run at the same time, kills the chimeds that the receiver selects, and returns when no job is left.
func (k *killing) run(n int) (names []string) {
	created := make(chan struct{})
	go func() {
		defer close(created)
		names = k.create(n)
	}()
	queues := chime.NewQueues(k.openStore())
	for look := time.Tick(100 * time.Millisecond); ; {
		select {
		case done := <-k.doomed:
			first := k.random.IntN(len(k.children))
			both := k.random.IntN(4) == 0
			for i, child := range k.children {
				if both || i == first {
					child.Kill()
					k.kills++
				}
			}
			close(done)
			for i := range k.children {
				if both || i == first {
					k.start(i)
				}
			}
		case <-created:
			created = nil
		case <-look:
			q, err := queues.Get(k.Context(), "default")
			if err != nil && (created == nil || !errors.Is(err, chime.ErrNotFound)) {
				k.Fatal(err)
			}
			if created == nil && q.Waiting+q.Delayed+q.InFlight()+q.Parked == 0 {
				return names
			}
		}
	}
}

func (k *killing) openStore() chime.Store {
	client := redis.NewClient(&redis.Options{Addr: k.store.Addr()})
	k.Cleanup(func() { _ = client.Close() })
	return redisstore.New(client, redisstore.Options{})
}

// create creates jobs, and returns their names.
func (k *killing) create(n int) (names []string) {
	k.ask("PUT", "/jobCollections/kills", `{}`)
	for i := range n {
		kind := []string{"good", "fails", "retries"}[i%3]
		retry := map[string]any{"retryType": "none"}
		if kind == "retries" {
			retry = map[string]any{"retryType": "fixed", "retryInterval": "PT15S", "retryCount": 1}
		}
		request := map[string]any{"uri": k.receiver.URL, "method": "POST"}
		body, err := json.Marshal(map[string]any{"action": map[string]any{
			"type": "http", "request": request, "retryPolicy": retry, "errorAction": map[string]any{"type": "http", "request": request},
		}})
		if err != nil {
			k.Error(err)
		}
		names = append(names, fmt.Sprintf("%s-%d", kind, i))
		k.ask("PUT", "/jobCollections/kills/jobs/"+names[i], string(body))
	}
	return names
}

// ask sends a request to one of the chimeds, and to the other one if the first is killed meanwhile: a PUT may be sent twice.
func (k *killing) ask(method, path, body string) string {
	for i := 0; k.Context().Err() == nil; i++ {
		k.mu.Lock()
		url := k.urls[i%2]
		k.mu.Unlock()
		request, err := http.NewRequestWithContext(k.Context(), method, url+path, strings.NewReader(body))
		if err != nil {
			k.Error(err)
			return ""
		}
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Authorization", "Bearer "+localToken)
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			continue
		}
		text, err := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if err != nil {
			continue
		}
		if answer.StatusCode/100 != 2 {
			k.Errorf("%s %s: got %d %s, want 2xx", method, path, answer.StatusCode, text)
		}
		return string(text)
	}
	return ""
}

// receive records a request, and answers. Until half of the jobs have ended, some requests select their chimed to be killed: every second one of them
// is answered only when that chimed is dead.
func (k *killing) receive(w http.ResponseWriter, r *http.Request) {
	fence, _ := strconv.ParseInt(r.Header.Get("Chime-Fence"), 10, 64)
	s := sending{r.Header.Get("Chime-Job"), strings.Trim(r.Header.Get("Idempotency-Key"), `"`), r.Header.Get("Chime-Action"), fence}
	fails := s.Action == "main" && !strings.HasPrefix(s.Job, "good")
	k.mu.Lock()
	k.sent[s]++
	k.given[s.Job] = k.given[s.Job] || !fails
	done := 0
	for _, given := range k.given {
		if given {
			done++
		}
	}
	number := len(k.sent)
	k.mu.Unlock()
	if done < *killedJobs/2 && number%6 == 5 {
		killed := make(chan struct{})
		go func() { k.doomed <- killed }()
		if number%12 == 5 {
			<-killed
		}
	}
	if fails {
		w.WriteHeader(http.StatusInternalServerError)
	}
}

// A tally counts the results of all jobs.
type tally struct{ cut, givenUp, errorActions, dead int }

// check compares the history of a job with the requests of it that the receiver has got.
func (k *killing) check(job string, sent map[sending]int, all *tally) {
	var page struct {
		Value []struct {
			Properties struct {
				ActionName string
				Chime      struct {
					Occurrence, Outcome string
					Fence               int64
				}
			}
		}
	}
	text := k.ask("GET", "/jobCollections/kills/jobs/"+job+"/history?$top=100", "")
	if err := json.Unmarshal([]byte(text), &page); err != nil {
		k.Fatalf("%s: %v in %s", job, err, text)
	}
	ends, outcomes, known := map[string]int{}, map[string]int{}, map[sending]bool{}
	var main, died string
	for _, e := range page.Value {
		action := map[string]string{"MainAction": "main", "ErrorAction": "error"}[e.Properties.ActionName]
		run := e.Properties.Chime
		known[sending{job, run.Occurrence, action, run.Fence}] = true
		outcomes[action+" "+run.Outcome]++
		if run.Outcome == "done" || run.Outcome == "dead" {
			ends[run.Occurrence]++
		}
		if action == "main" {
			main = run.Occurrence
			if run.Outcome == "dead" {
				died = fmt.Sprintf("%s#dead-%d", run.Occurrence, run.Fence)
			}
		}
	}
	want := map[string]int{main: 1}
	if died != "" {
		want[died] = 1
	}
	retries := 0
	if strings.HasPrefix(job, "retries") {
		retries = 1
	}
	poison := outcomes["main crashed"] >= 3
	switch {
	case !maps.Equal(ends, want):
		k.Errorf("%s: ended %v times, want %v; its history is\n%s", job, ends, want, text)
	case !poison && (outcomes["main dead"] == 0) != strings.HasPrefix(job, "good"), !poison && outcomes["main failed"] != retries,
		outcomes["error crashed"] < 3 && outcomes["error dead"] > 0:
		k.Errorf("%s: outcomes %v; its history is\n%s", job, outcomes, text)
	}
	for s := range sent {
		if s.Job == job && !known[s] {
			k.Errorf("%s: the receiver got %+v, but the history has no such attempt:\n%s", job, s, text)
		}
	}
	all.cut += outcomes["main crashed"] + outcomes["error crashed"]
	all.givenUp += outcomes["main dead"]
	all.errorActions += outcomes["error done"]
	all.dead += outcomes["main dead"] + outcomes["error dead"]
}

// checkStore checks that the store contains the dead jobs and nothing else.
func (k *killing) checkStore(all *tally) {
	store := k.openStore()
	q, err := chime.NewQueues(store).Get(k.Context(), "default")
	if err != nil {
		k.Fatal(err)
	}
	if int(q.Dead) != all.dead || int(q.Died) != all.dead {
		k.Errorf("the queue has %d dead jobs, and %d have died; want %d as in the histories", q.Dead, q.Died, all.dead)
	}
	report, err := chime.Verify(k.Context(), store, chime.VerifyOptions{})
	if err != nil {
		k.Fatal(err)
	}
	if report.Total != 0 || report.Jobs != int64(all.dead) {
		k.Errorf("%d jobs are in the store, want the %d dead ones; findings: %+v", report.Jobs, all.dead, report.Findings)
	}
}

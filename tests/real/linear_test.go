//go:build real && unix

package real_test

import (
	"cmp"
	"context"
	"log/slog"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/faultproxy"
	"github.com/chimejobs/chime/internal/redistest"
	"github.com/chimejobs/chime/internal/simredis"
	"github.com/chimejobs/chime/redisstore"
)

// These tests record what several clients do at once on a server, while replies and calls are lost and connections end, and let a solver judge the
// history: porcupine searches for an order of the operations that explains every result, in which each operation happens at one moment between its call
// and its return. The models know what is promised, and nothing of the scripts.
//
// An operation whose outcome is unknown may happen at any moment after its call, or never: it returns at the end of time.

// A linear is a history of operations.
type linear struct {
	t     *testing.T
	began time.Time

	mu         sync.Mutex
	operations []porcupine.Operation
	unknown    int
}

// epoch returns how many times n operations have been recorded. Names that contain it are used for a short time: then each name has a short history, and the
// few operations with an unknown outcome in it are soon out of the way. Each of them doubles the work of the solver, for it may happen until the end.
func (l *linear) epoch(n int) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.operations) / n
}

// anUnknown is the output of an operation whose outcome is unknown.
type anUnknown struct{}

const endOfTime = int64(1) << 62

// record adds an operation. do returns the output; anUnknown{}: the outcome is unknown.
func (l *linear) record(client int, input any, do func() any) any {
	called := time.Since(l.began).Nanoseconds()
	output := do()
	returned := time.Since(l.began).Nanoseconds()
	l.mu.Lock()
	defer l.mu.Unlock()
	if output == (anUnknown{}) {
		returned = endOfTime
		l.unknown++
	}
	l.operations = append(l.operations, porcupine.Operation{ClientId: client, Input: input, Call: called, Output: output, Return: returned})
	return output
}

// judge fails the test if no order of the operations explains them.
func (l *linear) judge(model porcupine.Model) {
	l.t.Helper()
	began := time.Now()
	result, _ := porcupine.CheckOperationsVerbose(model, l.operations, 2*time.Minute)
	l.t.Logf("%d operations, %d with an unknown outcome, judged in %v", len(l.operations), l.unknown, time.Since(began).Round(time.Millisecond))
	switch result {
	case porcupine.Ok:
	case porcupine.Unknown:
		l.t.Error("the solver has found no answer in time: make the history shorter")
	default:
		l.t.Errorf("no order of the operations explains their results:\n%s", l.shortest(model))
	}
}

// shortest describes the operations up to the first one that cannot be explained any more.
func (l *linear) shortest(model porcupine.Model) (text string) {
	parts := [][]porcupine.Operation{l.operations}
	if model.Partition != nil {
		parts = model.Partition(l.operations)
	}
	for _, part := range parts {
		if porcupine.CheckOperations(model, part) {
			continue
		}
		ends := make([]int64, 0, len(part))
		for _, o := range part {
			ends = append(ends, o.Return)
		}
		most := endOfTime
		for _, end := range ends { // the least end at which the history fails
			if end < most && !porcupine.CheckOperations(model, upTo(part, end)) {
				most = end
			}
		}
		cut := upTo(part, most)
		slices.SortFunc(cut, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
		for _, o := range cut[max(0, len(cut)-40):] {
			text += time.Duration(o.Call).String() + " to " + time.Duration(o.Return).String() + ": " + model.DescribeOperation(o.Input, o.Output) + "\n"
		}
	}
	return text
}

// upTo returns the operations that were called before an instant; one that has not returned until then has an unknown outcome.
func upTo(operations []porcupine.Operation, end int64) (cut []porcupine.Operation) {
	for _, o := range operations {
		if o.Call > end {
			continue
		}
		if o.Return > end {
			o.Output, o.Return = anUnknown{}, endOfTime
		}
		cut = append(cut, o)
	}
	return cut
}

// A linearClient is one client of a history, with its own connections through its own proxy.
type linearClient struct {
	number int
	store  *redisstore.Store
	random *rand.Rand
	dials  *dialHook
}

// A dialHook counts the connections of a client. If their number does not change, the client has sent each call once.
type dialHook struct{ atomic.Int64 }

func (h *dialHook) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		h.Add(1)
		return next(ctx, network, address)
	}
}
func (h *dialHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }
func (h *dialHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// onEachServer runs a test on a real server and on the simulated one.
func onEachServer(t *testing.T, test func(t *testing.T, address string)) {
	t.Run("redis", func(t *testing.T) { test(t, redistest.Start(t, redistest.Options{}).Addr()) })
	t.Run("simulated", func(t *testing.T) {
		server := simredis.New()
		if err := server.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(server.Close)
		test(t, server.Addr())
	})
}

// linearly runs clients on one real server under faults until each has carried out n steps.
func linearly(t *testing.T, clients, n int, step func(ctx context.Context, l *linear, c *linearClient)) *linear {
	t.Helper()
	return linearlyOn(t, redistest.Start(t, redistest.Options{}).Addr(), clients, n, step)
}

// linearlyOn is linearly on the server with an address.
func linearlyOn(t *testing.T, address string, clients, n int, step func(ctx context.Context, l *linear, c *linearClient)) *linear {
	t.Helper()
	connect := func(options redis.Options) *redis.Client {
		client := redis.NewClient(&options)
		t.Cleanup(func() { _ = client.Close() })
		return client
	}
	l := &linear{t: t, began: time.Now()}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	loader := connect(redis.Options{Addr: address})
	for _, script := range redisstore.Scripts() {
		if err := loader.ScriptLoad(t.Context(), script).Err(); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	var faults, all sync.WaitGroup
	for number := range clients {
		proxy := faultproxy.Start(t, address)
		for _, script := range redisstore.Scripts() {
			proxy.Learn(script)
		}
		client := connect(redis.Options{Addr: proxy.Addr(), MaxRetries: []int{3, -1}[number%2], ContextTimeoutEnabled: true})
		dials := &dialHook{}
		client.AddHook(dials)
		c := &linearClient{number: number, dials: dials, store: redisstore.New(client, redisstore.Options{Logger: slog.New(slog.DiscardHandler)}), random: rand.New(rand.NewPCG(seed, uint64(number)))}
		faults.Go(func() { disturb(ctx, proxy, rand.New(rand.NewPCG(seed, uint64(100+number)))) })
		all.Go(func() {
			for range n {
				step(ctx, l, c)
			}
		})
	}
	all.Wait()
	stop()
	faults.Wait()
	return l
}

// disturb loses the reply to a script, or a call, among about every ten calls, until ctx ends. Each of that ends the connection. Faults are counted by calls
// and not by time: on a busy machine calls take long, and nothing would get through.
func disturb(ctx context.Context, proxy *faultproxy.Proxy, random *rand.Rand) {
	scripts := func(c faultproxy.Command) bool { return strings.EqualFold(c.Name(), "evalsha") }
	for ctx.Err() == nil {
		applied := proxy.LoseReply
		if random.IntN(3) == 0 {
			applied = proxy.LoseRequest
		}
		select {
		case <-applied(faultproxy.Nth(3+random.IntN(14), scripts)):
		case <-ctx.Done():
		}
	}
}

// briefly returns a ctx for one operation: it may end while the call is under way.
func (c *linearClient) briefly(ctx context.Context) (context.Context, context.CancelFunc) {
	if c.random.IntN(10) == 0 {
		return context.WithTimeout(ctx, time.Duration(c.random.IntN(3000))*time.Microsecond)
	}
	return context.WithTimeout(ctx, 10*time.Second)
}

// byName partitions a history: operations on different names are independent.
func byName(name func(input any) string) func([]porcupine.Operation) [][]porcupine.Operation {
	return func(history []porcupine.Operation) (parts [][]porcupine.Operation) {
		at := map[string]int{}
		for _, o := range history {
			i, known := at[name(o.Input)]
			if !known {
				i = len(parts)
				at[name(o.Input)], parts = i, append(parts, nil)
			}
			parts[i] = append(parts[i], o)
		}
		return parts
	}
}

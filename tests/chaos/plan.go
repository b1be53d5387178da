//go:build unix

package chaos

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"time"
)

// The test profile: short sessions, so that a run of minutes has many crashes. The durations of all faults derive from these.
const (
	sessionTTL = time.Second // of a worker; its jobs return to the queue a third of it later
	leaderTTL  = 1500 * time.Millisecond
)

// rates are the faults of a plan: in each period one fault of the kind, at a random instant and of random duration.
var rates = []struct {
	kind   Kind
	period time.Duration
	from   time.Duration
	to     time.Duration
}{
	{KillWorker, 8 * time.Second, 0, 0},
	{StopWorker, 15 * time.Second, 2 * sessionTTL, 4 * sessionTTL},
	{EndWorker, 30 * time.Second, 0, 0},
	{CutWorker, 20 * time.Second, sessionTTL / 2, 4 * sessionTTL},
	{KillLeader, 40 * time.Second, 0, 0},
	{StopLeader, 45 * time.Second, 2 * leaderTTL, 3 * leaderTTL},
	{KillEnqueuer, 30 * time.Second, 0, 0},
	{KillChanger, 20 * time.Second, 0, 0},
	{KillRedis, 45 * time.Second, 0, 0},
	{Outage, 25 * time.Second, sessionTTL / 4, 3 * sessionTTL},
	{Flush, 5 * time.Second, 0, 0},
	{GoBack, 6 * time.Second, 100 * time.Millisecond, 1500 * time.Millisecond},
}

// emptyAt is the share of the run after which the server is emptied. It is early, so that most of the run has one history.
const emptyAt = 0.1

// Plan returns the faults of a run, in order. pace multiplies their number. The same arguments return the same plan. Every kind occurs in a run of
// any length.
func Plan(seed uint64, length time.Duration, pace int) []Fault {
	random := rand.New(rand.NewPCG(seed, 1))
	var plan []Fault
	for _, rate := range rates {
		period := min(rate.period/time.Duration(pace), length)
		for begin := time.Duration(0); begin+period <= length; begin += period {
			f := Fault{At: begin + time.Duration(random.Int64N(int64(period))), Kind: rate.kind, Slot: random.IntN(1000)}
			if rate.to > 0 {
				f.For = rate.from + time.Duration(random.Int64N(int64(rate.to-rate.from)))
			}
			plan = append(plan, f)
		}
	}
	plan = append(plan, Fault{At: time.Duration(emptyAt * float64(length)), Kind: EmptyRedis})
	slices.SortStableFunc(plan, func(a, b Fault) int { return cmp.Compare(a.At, b.At) })
	return plan
}

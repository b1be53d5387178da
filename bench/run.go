package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"time"
)

// A run measures the chosen peers, every measure once a round, so that other load on the machine affects all peers equally.
type run struct {
	testbed  *testbed
	measures []measure
	only     string        // names of peers, comma-separated; empty: all
	peers    []peer        // in the order of the first round, unless shuffled
	within   time.Duration // no round begins that would not end within it if it takes as long as the longest so far; 0: no limit
	random   *rand.Rand    // draws a new order of the peers for every round; nil: the order of the list
	seed     uint64        // of random
	progress io.Writer     // gets a line a measurement
	record   func(sample) error
}

// do runs all rounds. It reports and skips failed measures, and returns their errors at the end. It is also an error if nothing was measured.
func (u *run) do(ctx context.Context) error {
	began, recorded := time.Now(), 0
	record := u.record
	u.record = func(s sample) error {
		recorded++
		return record(s)
	}
	peers, failed := u.warmed(ctx)
	took := map[string]time.Duration{} // what a measure took, the longest of all rounds
	for round := 1; round <= u.testbed.sizes.rounds && ctx.Err() == nil; round++ {
		if round > 1 && u.within > 0 && time.Since(began)+u.expected(round, took) > u.within {
			fmt.Fprintf(u.progress, "round %d would not end within %v: left out\n", round, u.within)
			break
		}
		roundBegan := time.Now()
		if u.random != nil {
			u.random.Shuffle(len(peers), func(i, j int) { peers[i], peers[j] = peers[j], peers[i] })
		}
		for _, m := range u.measures {
			if m.concurrent || round > m.rounds(u.testbed.sizes) {
				continue
			}
			if !u.fits(m, round, took, time.Since(began)-time.Since(roundBegan)) {
				fmt.Fprintf(u.progress, "round %d  %s is left out, for all rounds would not end within %v\n", round, m.name, u.within)
				continue
			}
			measureBegan := time.Now()
			taking := u.peersOf(m, peers)
			if len(taking) == 0 {
				continue
			}
			for _, p := range taking {
				if ctx.Err() != nil {
					continue
				}
				if err := u.one(ctx, m, p, round); err != nil {
					fmt.Fprintln(u.progress, "failed:", err)
					failed = append(failed, err)
				}
			}
			took[m.name] = max(took[m.name], time.Since(measureBegan))
		}
		if len(took) > 0 {
			u.reportTime(round, took, time.Since(roundBegan))
		}
		if round == 1 {
			failed = append(failed, u.concurrently(ctx, peers)...)
		}
	}
	if recorded == 0 && len(failed) == 0 && ctx.Err() == nil {
		failed = append(failed, errors.New("nothing was measured: none of the chosen peers takes part in any of the chosen measures"))
	}
	return errors.Join(append(failed, context.Cause(ctx))...)
}

// fits reports whether a measure that need not have all rounds leaves time for all rounds of those that do; elapsed is what the
// run had taken when the round began.
func (u *run) fits(m measure, round int, took map[string]time.Duration, elapsed time.Duration) bool {
	if m.maxRounds == 0 || round == 1 || u.within == 0 {
		return true
	}
	all := elapsed + took[m.name]
	for _, other := range u.measures {
		if other.maxRounds == 0 && !other.concurrent {
			all += time.Duration(max(0, other.rounds(u.testbed.sizes)-round+1)) * took[other.name]
		}
	}
	return all <= u.within
}

// expected is what a round will take without what it may leave out, going by the longest that each of its measures took so far.
func (u *run) expected(round int, took map[string]time.Duration) (all time.Duration) {
	for _, m := range u.measures {
		if round <= m.rounds(u.testbed.sizes) && m.maxRounds == 0 {
			all += took[m.name]
		}
	}
	return all
}

// reportTime reports how long a round took, and an estimate for the remaining rounds.
func (u *run) reportTime(round int, took map[string]time.Duration, whole time.Duration) {
	var rest time.Duration
	for next := round + 1; next <= u.testbed.sizes.rounds; next++ {
		rest += u.expected(next, took)
	}
	fmt.Fprintf(u.progress, "round %d took %v; the others will take %v\n", round, whole.Round(time.Second), rest.Round(time.Second))
}

// peersOf are the chosen ones of those that take part in a measure.
func (u *run) peersOf(m measure, peers []peer) []peer {
	if len(m.peers) > 0 {
		peers = m.peers
	}
	return slices.DeleteFunc(slices.Clone(peers), func(p peer) bool {
		return !chosen(u.only, p.library, p.name()) || len(m.only) > 0 && !slices.Contains(m.only, p.library)
	})
}

// one measures one peer once.
func (u *run) one(ctx context.Context, m measure, p peer, round int) error {
	if err := u.testbed.server(p).empty(ctx); err != nil {
		return err
	}
	runtime.GC() // so that no peer collects the garbage of the previous one
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	figures, err := m.run(ctx, u.testbed, p)
	return u.report(m, p, round, figures, err, time.Since(began))
}

// report records the figures of one round with one peer.
func (u *run) report(m measure, p peer, round int, figures []figure, err error, took time.Duration) error {
	if errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s, %s, round %d: %w", m.name, p.name(), round, err)
	}
	for _, f := range figures {
		if err := u.record(sample{Measure: m.name, Figure: f.name, Unit: f.unit, Less: f.less, Peer: p.name(), Round: round, Value: f.value, Over: f.over}); err != nil {
			return err
		}
	}
	if len(figures) > 0 {
		first := figures[0]
		fmt.Fprintf(u.progress, "round %d  %-16s  %-16s  %s %s %s  (%.1fs)\n",
			round, m.name, p.name(), quantity(first.value), first.unit, first.name, took.Seconds())
		if i := slices.IndexFunc(figures, func(f figure) bool { return f.name == leftAtTheEnd && f.over }); i >= 0 {
			fmt.Fprintf(u.progress, "round %d  %-16s  %-16s  cannot keep up: %s jobs were left at the end\n",
				round, m.name, p.name(), quantity(figures[i].value))
		}
	}
	return nil
}

// warmed takes a thousand jobs through every peer before anything counts: the scripts are loaded then, the tables made and
// the code paged in. It returns the peers that can.
func (u *run) warmed(ctx context.Context) (peers []peer, failed []error) {
	if !slices.ContainsFunc(u.measures, func(m measure) bool { return len(m.only) == 0 && len(m.peers) == 0 }) {
		return u.peers, nil
	}
	for _, p := range u.peers {
		err := u.warm(ctx, p)
		switch {
		case err == nil:
			peers = append(peers, p)
		case errors.Is(err, errors.ErrUnsupported):
			fmt.Fprintf(u.progress, "%s is left out: %s\n", p.name(), noPostgres())
		default:
			err = fmt.Errorf("warm up %s: %w", p.name(), err)
			fmt.Fprintln(u.progress, "failed:", err)
			failed = append(failed, err)
		}
	}
	return peers, failed
}

func (u *run) warm(ctx context.Context, p peer) error {
	lib, err := p.open(ctx, u.testbed)
	if err != nil {
		return err
	}
	defer lib.Close()
	if err := u.testbed.server(p).empty(ctx); err != nil {
		return err
	}
	small := *u.testbed
	small.sizes.backlog = min(small.sizes.backlog, 1000)
	if err := fillBulk(ctx, lib, small.sizes.backlog); err != nil {
		return err
	}
	_, err = workOff(ctx, &small, p, lib, 10, doNothing)
	return err
}

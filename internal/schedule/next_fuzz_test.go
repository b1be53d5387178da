package schedule

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/recurrence"
)

// FuzzNextPlacement takes occurrences at random instants, in time and late, under each policy, with and without a count. It compares every
// placement, and whether each occurrence runs, with a list of all instants. The list does not use Series.
func FuzzNextPlacement(f *testing.F) {
	for seed := range uint64(60) {
		f.Add(seed, uint16(1+seed*37), uint16(seed*13), uint8(seed), uint8(seed%4*9))
	}
	f.Fuzz(func(t *testing.T, seed uint64, period, grace uint16, policy, count uint8) {
		m := newPlacingModel(t, time.Duration(1+period%7200)*time.Second, time.Duration(1+grace%600)*time.Second, policy, int(count))
		random := rand.New(rand.NewPCG(seed, 1))
		for range 40 {
			if !m.step(random) {
				break
			}
		}
		m.check()
	})
}

type placingModel struct {
	t       *testing.T
	p       *Plan
	period  time.Duration
	grace   time.Duration
	policy  string
	count   int
	all     []time.Time // every instant of the rule
	now     time.Time
	cursor  protocol.Cursor
	placed  map[time.Time]int
	run     int
	dropped int
	missed  int
	ended   bool
}

func newPlacingModel(t *testing.T, period, grace time.Duration, policy uint8, count int) *placingModel {
	start := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	m := &placingModel{t: t, period: period, grace: grace, count: count, now: start, placed: map[time.Time]int{}}
	m.policy = []string{MisfireRunOnce, MisfireSkip, MisfireCatchUp}[policy%3]
	rec := recurrence.Recurrence{StartTime: start, Frequency: recurrence.Second, Interval: int(period / time.Second), Count: count}
	if rec.Interval > 1000 { // the limit of an interval
		m.period = period.Truncate(time.Minute)
		rec.Frequency, rec.Interval = recurrence.Minute, int(m.period/time.Minute)
	}
	m.p = planFor(t, start, rec, withMisfire(m.policy), withGrace(grace))
	for at := start; len(m.all) < 400_000 && at.Before(start.AddDate(0, 0, 130)); at = at.Add(m.period) {
		m.all = append(m.all, at)
	}
	return m
}

// after lists the instants in (from, to].
func (m *placingModel) after(from, to time.Time) []time.Time {
	first := func(past time.Time) int {
		i, _ := slices.BinarySearchFunc(m.all, past, func(at, past time.Time) int {
			if at.After(past) {
				return 1
			}
			return -1
		})
		return i
	}
	return m.all[first(from):max(first(from), first(to))]
}

func (m *placingModel) late(at time.Time) bool { return m.now.Sub(at) > min(m.grace, m.period) }

// expect returns what must follow the occurrence at the cursor by the policy, if it is taken now.
func (m *placingModel) expect() (instants []time.Time, missed int) {
	at := m.cursor.At
	if at.IsZero() {
		return m.all[:1], 0
	}
	gap := m.after(at, m.now)
	following := m.all[len(m.all)-len(m.after(m.now, m.all[len(m.all)-1])):][:1]
	switch {
	case !m.late(at):
		return m.after(at, at.Add(m.period)), 0
	case m.policy != MisfireCatchUp:
		return following, len(gap)
	}
	kept := slices.Clone(gap)
	for len(kept) > 0 && (m.now.Sub(kept[0]) > 24*time.Hour || len(kept) > 99) {
		kept = kept[1:]
	}
	if len(kept) == 0 {
		return following, len(gap)
	}
	return kept[:1], len(gap) - len(kept) // one at a time
}

// step places what is owed. Then it takes everything that is placed, each a random duration after its instant.
func (m *placingModel) step(random *rand.Rand) bool {
	if len(m.all) < 2 || m.now.After(m.all[len(m.all)-1].Add(-20*24*time.Hour)) && m.period < time.Hour {
		return false
	}
	want, missed := m.expect()
	if m.count > 0 && m.cursor.Used >= m.count {
		missed = 0
	}
	got := m.p.Next(protocol.Owed{Cursor: m.cursor, Since: m.now})
	if !slices.EqualFunc(got.Instants, want, time.Time.Equal) || got.Missed != missed {
		m.t.Fatalf("%s every %v, grace %v, %+v taken %v:\n got %v, %d missed\nwant %v, %d missed", m.policy, m.period, m.grace, m.cursor, m.now, got.Instants, got.Missed, want, missed)
	}
	m.missed += got.Missed
	instants := got.Instants
	if got.Count > 0 {
		instants = instants[:min(len(instants), max(got.Count-m.cursor.Used, 0))]
	}
	if m.ended = len(instants) == 0; m.ended {
		return false
	}
	m.cursor = protocol.Cursor{At: instants[len(instants)-1], Used: m.cursor.Used + len(instants), Placed: true}
	for _, at := range instants {
		m.placed[at.UTC()]++
		if at.After(m.now) {
			m.now = at
		}
		m.now = m.now.Add(delay(random))
		m.take(at)
	}
	return true
}

func (m *placingModel) take(at time.Time) {
	drop := m.late(at) && (m.policy == MisfireSkip || m.policy == MisfireCatchUp && m.now.Sub(at) > 24*time.Hour)
	if m.p.Runs(at, m.now) == drop {
		m.t.Fatalf("%s every %v, grace %v: %v taken %v is run: %v, want %v", m.policy, m.period, m.grace, at, m.now, drop, !drop)
	}
	if drop {
		m.dropped++
		m.cursor.Used-- // given back
	} else {
		m.run++
	}
}

// delay returns usually less than a second, sometimes minutes, hours or days.
func delay(random *rand.Rand) time.Duration {
	longest := []time.Duration{time.Second, time.Second, time.Second, time.Minute, time.Hour, 60 * time.Hour}[random.IntN(6)]
	return time.Duration(random.Int64N(int64(longest)))
}

// check verifies what every policy promises: each instant up to the cursor was placed once or missed, and exactly as many ran as the count
// allows.
func (m *placingModel) check() {
	for at, n := range m.placed {
		if n != 1 {
			m.t.Errorf("%v was placed %d times", at, n)
		}
	}
	past := len(m.after(m.all[0].Add(-1), m.cursor.At))
	if m.count == 0 && len(m.placed)+m.missed != past {
		m.t.Errorf("%s every %v: %d placed and %d missed of %d instants", m.policy, m.period, len(m.placed), m.missed, past)
	}
	if m.count > 0 && (m.run > m.count || m.ended && m.run != m.count) {
		m.t.Errorf("%s every %v: %d ran, ended %v; want %d", m.policy, m.period, m.run, m.ended, m.count)
	}
}

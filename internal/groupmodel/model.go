// Package groupmodel is a model of a queue with groups in plain Go values, for tests: each group's line, flights, starts, rule and blocker, and the
// order between groups. Run drives any Queue beside it and compares all answers. Where the specification leaves a choice, as between two groups of
// equal right, the model follows the answer of the Queue and only checks that it is allowed.
//
// The model decides these points, which the specification leaves open:
//   - A take is a start: nothing is taken ahead. Not modelled are limits and pauses of the whole queue, a take that is cut because its jobs are
//     large, and the 500 groups at most whose starts a take finds free again.
//   - The blocker of an ordered group is the job of it that was taken last under the rule and has not ended. Back in the line, by its retry, after a
//     crash, from the parked ones or given back unbegun, it is the only job of its group that may start, also if others are before it.
//   - A job that was taken before its group became ordered blocks the group while it is in flight, and not after. A group that is no longer ordered
//     forgets its blocker.
//   - An ordered group has at most one flight, also if the queue's rule has a higher Running.
//   - Starts that were counted under a rule are forgotten when the group no longer has a rule with Starts.
//   - A requeued job comes before all jobs that ever had a place in its group, also before those in flight that are given back later, but not before
//     the blocker of an ordered group.
//   - A suspect, held back after its second crash, keeps its place. A take that gets one gets nothing else, in the turn of its group or not, and it may put
//     off others: they are due again within a few milliseconds. Beside suspects a take may get fewer jobs than could start.
//   - A job that is given back unbegun returns a start if one counts that began at the same instant or earlier: a flight does not record whether its take
//     counted one. A take before the group had a limit is older than each start that counts, unless the clock stands still.
//   - A cancel lifts the bar of Once, also that of a job in flight.
package groupmodel

import (
	"cmp"
	"maps"
	"slices"
)

// An Item is a job to enqueue. Body stands for its arguments: the model checks that a take returns the newest.
type Item struct {
	ID, Group string // without a group the job is a plain one
	Delay     int64  // milliseconds
	Once      int64  // milliseconds: no other job with Once and this ID is accepted within them
	Body      int
}

type state string

const (
	waiting  state = "waiting"
	delayed  state = "delayed"
	retrying state = "retrying" // after a failure, or snoozed
	flying   state = "running"
	parked   state = "parked"
	held     state = "held" // after two crashes
	dead     state = "dead"
)

type job struct {
	Item
	state     state
	place     int64 // 0: none yet
	due       int64
	session   string
	number    int  // of its flight
	turn      span // what its take cost its group
	began     int64
	since     int64 // when it was parked
	crashes   int
	cancelled bool
	next      *Item // replaces it when the flight ends
}

// isDue reports whether a job waits for an instant that has come.
func (j *job) isDue(now int64) bool {
	return (j.state == delayed || j.state == retrying || j.state == held) && j.due <= now
}

// A debt is what a group's tag is worth when the group enters next.
type debt int

const (
	none    debt = iota // nothing: the record of the group is gone
	perhaps             // the record may be gone
	kept
)

type group struct {
	key     string
	line    []*job // in the order of places
	flights int
	starts  starts
	blocker string // ID
	weight  int    // as of the last tuning

	in      bool // it may start a job
	tag     span
	arrival int64
	debt    debt
}

// A Model is a queue. Its methods are the calls of a Queue. Instants are milliseconds of the queue's clock.
type Model struct {
	broken    Promise
	jobs      map[string]*job
	groups    map[string]*group
	sorted    []*group // by key
	plain     []*job   // plain jobs that wait, in order
	rules     map[string]Rule
	queueRule Rule
	paused    map[string]bool
	once      map[string]int64 // job ID → until when Once bars it
	void      map[string]bool  // IDs of plain jobs that were cancelled in line: a store may answer the next cancel as it answered that one
	over      map[string]bool  // job IDs whose bar was over at some call: a store may have removed it, and the clock may step back
	gone      map[string]bool  // vanished sessions
	sleepers  map[string]bool  // sessions whose last take got fewer jobs than it asked for
	left      map[string]int   // how many full takes in a row left out plain jobs, or jobs of groups
	touched   map[string]bool  // groups that the call changes
	virtual   span             // the virtual time, a tag
	drawn     int64            // the last place or arrival
	front     int64            // the last place of a requeued job
	callers   []string         // by number of a flight: the session that made it
	flights   int              // how many takes there were
	latest    int64            // the latest instant of a take
	woken     int
	again     bool             // the session of the call takes again at once
	last      map[string]Taken // session → answer of its last take
	source    int              // where a take of the Model's own looks first
	decide    func(span) span  // a tag that a Model decides as a store does; nil in one that checks
}

// New returns an empty queue.
func New() *Model { return Broken("") }

// Broken returns an empty queue that breaks one promise.
func Broken(p Promise) *Model {
	return &Model{
		broken: p, jobs: map[string]*job{}, groups: map[string]*group{}, rules: map[string]Rule{}, paused: map[string]bool{}, gone: map[string]bool{},
		once: map[string]int64{}, over: map[string]bool{}, void: map[string]bool{},
		sleepers: map[string]bool{}, left: map[string]int{}, touched: map[string]bool{}, last: map[string]Taken{},
	}
}

func (m *Model) keeps(p Promise) bool { return m.broken != p }

// call begins a call. What it returns ends the call: each group that was touched joins or leaves those that may start a job, and a sleeper is woken
// if a job may start now and none could before.
func (m *Model) call(now int64) func() {
	m.drawn++
	m.again = false
	for id, until := range m.once {
		m.over[id] = m.over[id] || until <= now
	}
	could := len(m.sleepers) == 0 || m.canStart(now)
	return func() {
		for _, key := range slices.Sorted(maps.Keys(m.touched)) {
			m.tune(m.group(key), now)
		}
		clear(m.touched)
		if !could && !m.again && m.canStart(now) && m.keeps(SleepersWoken) {
			m.woken++
		}
	}
}

// Woken returns the number of sleepers woken since it was called last.
func (m *Model) Woken() int {
	n := m.woken
	m.woken = 0
	return n
}

func (m *Model) touch(key string) {
	if key != "" {
		m.touched[key] = true
	}
}

// touchAll touches the groups with jobs in line: the others are tuned when something of theirs changes.
func (m *Model) touchAll() {
	for _, g := range m.sorted {
		if len(g.line) > 0 {
			m.touch(g.key)
		}
	}
}

func (m *Model) group(key string) *group {
	g := m.groups[key]
	if g == nil {
		g = &group{key: key, weight: 1}
		m.groups[key] = g
		at, _ := slices.BinarySearchFunc(m.sorted, key, func(g *group, key string) int { return cmp.Compare(g.key, key) })
		m.sorted = slices.Insert(m.sorted, at, g)
	}
	return g
}

// tune decides whether a group is among those that may start a job.
func (m *Model) tune(g *group, now int64) {
	rule := m.rule(g.key)
	g.weight = rule.Weight
	if rule.Ordered != On {
		g.blocker = ""
	}
	if rule.Starts <= 0 {
		g.starts = nil
	}
	may := len(g.line) > 0 && len(m.reasons(g, now)) == 0
	switch {
	case may && !g.in:
		m.enter(g)
	case !may:
		g.in = false
	}
	switch {
	case g.in || g.flights > 0:
	case len(g.line) == 0 && len(g.starts) == 0 && g.blocker == "":
		g.debt = none
	case g.debt == kept:
		g.debt = perhaps
	}
}

// A Why is a reason that a group starts nothing.
type Why string

// The reasons that a group starts nothing.
const (
	ByPause   Why = "paused"
	ByRunning Why = "running"
	ByStarts  Why = "starts"
	ByOrder   Why = "ordered"
)

// reasons are why a group may start nothing, if it may not.
func (m *Model) reasons(g *group, now int64) (why []Why) {
	rule := m.rule(g.key)
	if m.paused[g.key] && m.keeps(Paused) {
		why = append(why, ByPause)
	}
	if rule.Running > 0 && g.flights >= rule.Running && m.keeps(Running) {
		why = append(why, ByRunning)
	}
	if rule.Starts > 0 && m.keeps(Starts) {
		before := len(g.starts)
		if g.starts.passed(now, rule.Per); !m.keeps(LaterStartsCount) && 2*len(g.starts)-1 <= before && before > len(g.starts) && len(g.starts) > 1 {
			g.starts = g.starts[len(g.starts)-1:]
		}
		if g.starts.count() >= rule.Starts {
			why = append(why, ByStarts)
		}
	}
	waits := false // for a blocker that is neither in line nor in flight
	if g.blocker != "" {
		b := m.jobs[g.blocker]
		waits = b == nil || b.state != waiting && b.state != flying
	}
	if rule.Ordered == On && (g.flights > 0 && m.keeps(OrderedFlight) || waits) {
		why = append(why, ByOrder)
	}
	return why
}

// first is the job of a group that starts next: its blocker, or the first of its line.
func (m *Model) first(g *group) *job {
	if b := m.jobs[g.blocker]; b != nil && b.state == waiting && m.keeps(OrderedResumes) {
		return b
	}
	if !m.keeps(FirstPlaceFirst) {
		return g.line[len(g.line)-1]
	}
	return g.line[0]
}

// canStart reports whether a take would get a job.
func (m *Model) canStart(now int64) bool {
	for _, g := range m.sorted {
		if len(g.line) > 0 && len(m.reasons(g, now)) == 0 {
			return true
		}
	}
	for _, j := range m.jobs {
		switch {
		case j.Group == "" && j.state == waiting:
			return true
		case j.isDue(now):
			if j.Group == "" || len(m.dueReasons(j, now)) == 0 {
				return true
			}
		}
	}
	return false
}

// dueReasons are why a job that is due may not start when a take has moved it into the line.
func (m *Model) dueReasons(j *job, now int64) (why []Why) {
	g := m.group(j.Group)
	why = m.reasons(g, now)
	if g.blocker == j.ID && g.flights == 0 {
		why = slices.DeleteFunc(why, func(w Why) bool { return w == ByOrder })
	}
	return why
}

// horizon is the instant after now at which a job may start without another call, or 0.
func (m *Model) horizon(now int64) (at int64) {
	earliest := func(t int64) {
		if t > now && (at == 0 || t < at) {
			at = t
		}
	}
	for _, j := range m.jobs {
		if j.isDue(j.due) {
			earliest(j.due)
		}
	}
	for _, g := range m.sorted {
		if why := m.reasons(g, now); len(g.line) > 0 && len(why) == 1 && why[0] == ByStarts && m.keeps(StartsAreHorizon) {
			rule := m.rule(g.key)
			earliest(g.starts.opens(rule.Starts, rule.Per))
		}
	}
	return at
}

// A GroupInfo is what lists show of a group.
type GroupInfo struct {
	Waiting, Running int
	Paused           bool
	Blocked          Why    // empty if it may start a job; if there are several reasons, one of them. Compared only while jobs wait.
	By               string // the ID of the blocker, if Blocked is ByOrder; empty if that was taken before the group was ordered
	Until            int64  // the instant of the next start, if Blocked is ByStarts
	Oldest           string
}

// Group returns what lists show of a group.
func (m *Model) Group(key string, now int64) GroupInfo {
	g := m.group(key)
	info := GroupInfo{Waiting: len(g.line), Running: g.flights, Paused: m.paused[key]}
	if len(g.line) > 0 {
		info.Oldest = g.line[0].ID
		if why := m.reasons(g, now); len(why) > 0 {
			info.block(m, g, why[0])
		}
	}
	return info
}

// block sets the reason that a group starts nothing.
func (i *GroupInfo) block(m *Model, g *group, why Why) {
	i.Blocked, i.By, i.Until = why, "", 0
	switch {
	case why == ByOrder && m.keeps(BlockerNamed):
		i.By = g.blocker
	case why == ByStarts && m.keeps(NextStartNamed):
		rule := m.rule(g.key)
		i.Until = g.starts.opens(rule.Starts, rule.Per)
	}
}

// Advance is called when the clock has gone forward to now.
func (m *Model) Advance(int64) {}

// StepBack is called when the clock has stepped back to now. A store reads its groups once before it returns: from then on a start that is later than
// the clock counts as one of now.
func (m *Model) StepBack(now int64) {
	defer m.call(now)()
	if m.keeps(LaterIsNow) {
		for _, g := range m.sorted {
			g.starts.stepBack(now)
		}
	}
}

package sim

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"time"
)

// A Plan is what happens in a simulation, as plain data. The same plan has the same acts and faults at the same times; which calls a fault hits also
// depends on random numbers of chime itself.
type Plan struct {
	Seed   uint64
	Rests  []time.Duration // when everything rests, in order; the last one ends the plan
	Nights []Night         `json:",omitempty"` // in order
	Actors []Actor
	Acts   []Act
	Faults []Fault
}

// A Role is what a process does.
type Role string

const (
	Worker    Role = "worker"
	Scheduler Role = "scheduler"
	Client    Role = "client" // it enqueues jobs, and calls what operators call
)

// An Actor is a process. If it is killed, another one replaces it.
type Actor struct {
	Name    string
	Role    Role
	Begin   time.Duration
	Version int64 // of a scheduler's declarations
}

// A Night is a quiet time after a rest. All processes are asked to end, but for those that stay, and start again when the next round begins. Schedules have
// some instants in it.
type Night struct {
	From, To time.Duration
	Stay     []string `json:",omitempty"`
}

// A Verb is what an act does.
type Verb string

const (
	Enqueue      Verb = "enqueue"       // N jobs on a queue
	EnqueueLater Verb = "enqueue later" // N jobs that are due within seconds
	EnqueueOnce  Verb = "enqueue once"  // a job with an ID that the same act of another process may have enqueued
	EnqueueGroup Verb = "enqueue group" // N jobs of a group; Name is the group
	Follow       Verb = "follow"        // N jobs with OnDone
	AddBatch     Verb = "batch"         // a batch of N members; Name is its shape
	CancelBatch  Verb = "cancel batch"  // the N-th batch before the last one
	Cancel       Verb = "cancel"        // a job that was enqueued
	DeleteJobs   Verb = "delete jobs"   // the N jobs that were enqueued last
	Requeue      Verb = "requeue"       // the dead jobs of a queue
	Purge        Verb = "purge"         // a queue
	Limit        Verb = "limit"         // N running jobs on a queue
	PauseQueue   Verb = "pause queue"
	ResumeQueue  Verb = "resume queue"
	RuleGroup    Verb = "rule group" // N is the weight
	PauseGroup   Verb = "pause group"
	ResumeGroup  Verb = "resume group"
	Put          Verb = "put"  // a schedule; N is the interval in seconds
	Move         Verb = "move" // a schedule to the N-th queue
	Pause        Verb = "pause"
	Resume       Verb = "resume"
	Delete       Verb = "delete" // a schedule
	Trigger      Verb = "trigger"
	Backfill     Verb = "backfill" // the last N seconds of a schedule
	Repair       Verb = "repair"   // Verify with Repair
	Read         Verb = "read"     // the pages of the dashboard
)

// An Act is one thing that a client does.
type Act struct {
	At   time.Duration
	By   string // the client
	Do   Verb
	Name string // of a queue, a group or a schedule; see Verb
	N    int
}

// A Kind is a kind of fault.
type Kind string

const (
	Kill       Kind = "kill"        // the process vanishes, and another one replaces it after For
	Terminate  Kind = "terminate"   // the process is asked to end, and another one replaces it at once
	Stall      Kind = "stall"       // nothing that the process sends arrives for a time, then all of it
	Cut        Kind = "cut"         // its connections end, and it gets no new ones for a time
	LoseCall   Kind = "lose calls"  // the connection ends before the call arrives
	LoseReply  Kind = "lose reply"  // the connection ends after the call was executed
	Slow       Kind = "slow"        // calls arrive up to By later
	Late       Kind = "late"        // calls arrive By later; the client may no longer wait
	Copy       Kind = "copy"        // calls arrive again, up to By later
	OOM        Kind = "OOM"         // the server refuses calls with an error
	ReadOnly   Kind = "READONLY"    //
	Loading    Kind = "LOADING"     //
	Busy       Kind = "BUSY"        //
	Moved      Kind = "MOVED"       //
	NoScript   Kind = "NOSCRIPT"    //
	Down       Kind = "CLUSTERDOWN" //
	GoBack     Kind = "go back"     // after For, a slot returns to its state of this instant
	ClockStep  Kind = "clock"       // the server's clock is By ahead for a time
	ScriptsOff Kind = "forget"      // the server forgets its scripts
)

// A Fault is something that fails for a time.
type Fault struct {
	At, For time.Duration
	Kind    Kind
	On      string // the process, or a slot that goes back; empty: every process
	Percent int    // of the calls
	By      time.Duration
}

// End returns when the fault is over.
func (f Fault) End() time.Duration { return f.At + f.For }

// The queues, and what is in them.
const (
	queueA       = "a"
	queueB       = "b"
	queueLimited = "limited" // a limit of running jobs
	queueGroups  = "groups"  // jobs of groups only
)

var queues = []string{queueA, queueB, queueLimited, queueGroups}

// maxLimit is the highest limit of running jobs that an act sets.
const maxLimit = 3

// A group of queueGroups.
type group struct {
	name    string
	ordered bool
	running int
}

var groups = []group{{"ordered", true, 1}, {"narrow", false, 2}, {"plain", false, 0}}

// The schedules that acts change.
var changed = []string{"x-skip", "x-wait", "x-cancel", "x-allow"}

const (
	round = 6 * time.Minute // acts and faults
	pause = 3 * time.Minute // until the next round; the rest itself takes as long as it needs
)

// wholeRounds are the rounds of a plan, but for tests that must be short.
const wholeRounds = 3

// NewPlan returns the plan of a seed.
func NewPlan(seed uint64, rounds int) Plan {
	r, ofBatches, ofNights := rand.New(rand.NewPCG(seed, 35)), rand.New(rand.NewPCG(seed, 36)), rand.New(rand.NewPCG(seed, 37))
	p := Plan{Seed: seed}
	workers, schedulers, clients := 2+r.IntN(2), 1+r.IntN(2), 1+r.IntN(2)
	add := func(role Role, n int, names ...string) {
		for i := range n {
			p.Actors = append(p.Actors, Actor{Name: names[i], Role: role, Version: 1})
		}
	}
	add(Worker, workers, "worker-1", "worker-2", "worker-3")
	add(Scheduler, schedulers, "scheduler-1", "scheduler-2")
	add(Client, clients, "client-1", "client-2")
	begin := time.Duration(0)
	for i := range rounds {
		if i > 0 {
			begin = p.addNight(ofNights)
		}
		p.Rests = append(p.Rests, begin+round+pause)
		p.addActs(r, begin)
		p.addFaults(r, begin, kinds[(seed*uint64(rounds)+uint64(i))%uint64(len(kinds))])
		p.addBatches(ofBatches, begin)
	}
	if r.IntN(2) == 0 && rounds > 1 { // a new deployment prunes
		p.Actors = append(p.Actors, Actor{Name: "scheduler-new", Role: Scheduler, Begin: at(r, p.Nights[0].To), Version: 2})
	}
	p.sort()
	return p
}

// at returns an instant of a round, in whole tenths of a second.
func at(r *rand.Rand, begin time.Duration) time.Duration {
	return begin + time.Duration(r.Int64N(int64(round/(100*time.Millisecond))))*100*time.Millisecond
}

// pick returns one of some values.
func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

// day is how far apart rounds begin, or a multiple of it: schedules have the same times every day.
const day = 24 * time.Hour

// addNight adds a night after the last rest, and returns when it is over. In most nights no process runs, so that such hours cost nothing. All nights
// together are shorter than the time for which a batch with dead members is kept.
func (p *Plan) addNight(r *rand.Rand) time.Duration {
	n := Night{From: p.Rests[len(p.Rests)-1]}
	days := 3
	if r.IntN(8) == 0 {
		days, n.Stay = 1, []string{pick(r, "worker-1", "scheduler-1")}
	}
	n.To = n.From.Truncate(day) + time.Duration(days)*day
	p.Nights = append(p.Nights, n)
	return n.To
}

func (p *Plan) names(role Role) (names []string) {
	for _, a := range p.Actors {
		if a.Role == role && a.Begin == 0 {
			names = append(names, a.Name)
		}
	}
	return names
}

// addActs adds the acts of a round.
func (p *Plan) addActs(r *rand.Rand, begin time.Duration) {
	clients := p.names(Client)
	add := func(do Verb, name string, n int) {
		p.Acts = append(p.Acts, Act{At: at(r, begin), By: pick(r, clients...), Do: do, Name: name, N: n})
	}
	for range 20 + r.IntN(40) {
		switch r.IntN(8) {
		case 0, 1:
			add(Enqueue, pick(r, queueA, queueB, queueLimited), 1+r.IntN(20))
		case 2:
			add(EnqueueLater, pick(r, queueA, queueB), 1+r.IntN(10))
		case 3:
			add(EnqueueOnce, pick(r, queueA, queueB), r.IntN(8))
		case 4, 5:
			add(EnqueueGroup, pick(r, groups...).name, 1+r.IntN(6))
		case 6:
			add(Follow, pick(r, queueA, queueB), 1+r.IntN(5))
		case 7:
			add(Enqueue, queueLimited, 1+r.IntN(8))
		}
	}
	for range 10 + r.IntN(30) {
		switch do := pick(r, Cancel, Cancel, DeleteJobs, Requeue, Purge, Limit, PauseQueue, ResumeQueue, ResumeQueue, RuleGroup, PauseGroup, ResumeGroup, ResumeGroup,
			Put, Put, Move, Move, Move, Pause, Resume, Resume, Delete, Trigger, Backfill, Repair, Read, Read); do {
		case Cancel, DeleteJobs:
			add(do, "", r.IntN(12))
		case Requeue, Purge, PauseQueue, ResumeQueue:
			add(do, pick(r, queueA, queueB, queueLimited), 0)
		case Limit:
			add(do, queueLimited, 1+r.IntN(maxLimit))
		case RuleGroup, PauseGroup, ResumeGroup:
			add(do, pick(r, groups...).name, 1+r.IntN(5))
		case Put:
			add(do, pick(r, changed...), pick(r, 5, 10, 20, 60))
		case Move:
			add(do, pick(r, changed...), r.IntN(2))
		case Backfill:
			add(do, pick(r, changed...), 10+r.IntN(120))
		case Pause, Resume, Delete, Trigger:
			add(do, pick(r, changed...), 0)
		default:
			add(do, "", 0)
		}
	}
}

// addBatches adds the batches of a round: by chance, and while faults are active. Dead members are requeued before the round ends. In some rounds the homes of
// batches go back.
func (p *Plan) addBatches(r *rand.Rand, begin time.Duration) {
	clients := p.names(Client)
	add := func(at time.Duration) {
		act := Act{At: at, By: pick(r, clients...), Do: AddBatch, N: 1 + r.IntN(12)}
		if r.IntN(3) == 0 {
			act.Name, act.N = shapeChains, 1+r.IntN(3)
		}
		p.Acts = append(p.Acts, act)
	}
	for range r.IntN(5) {
		add(at(r, begin))
	}
	for _, f := range p.Faults {
		if f.At >= begin && f.For > 0 && r.IntN(3) == 0 {
			add(f.At + time.Duration(r.Int64N(int64(f.For))).Truncate(100*time.Millisecond))
		}
	}
	for _, queue := range []string{queueA, queueB, queueLimited} {
		if r.IntN(2) == 0 {
			p.Acts = append(p.Acts, Act{At: begin + round + time.Minute, By: pick(r, clients...), Do: Requeue, Name: queue})
		}
	}
	for range r.IntN(2) {
		p.Acts = append(p.Acts, Act{At: at(r, begin), By: pick(r, clients...), Do: CancelBatch, N: r.IntN(2)})
	}
	if r.IntN(8) == 0 {
		f := Fault{At: at(r, begin), For: time.Duration(1+r.IntN(20)) * time.Second, Kind: GoBack, On: slotBatches}
		f.For = min(f.For, begin+round+time.Minute-f.At)
		p.Faults = append(p.Faults, f)
	}
}

// slots are what may go back: the keys of a queue, or one of the keys that all queues share.
var slots = []string{queueA, queueB, queueLimited, slotRegistry, slotDeleted, slotLeader}

// kinds are the kinds of faults. A kind that is there twice is more frequent.
var kinds = []Kind{
	Kill, Terminate, Stall, Cut, LoseCall, LoseReply, LoseReply, Slow, Late, Copy, OOM, ReadOnly, Loading, Busy, Moved, NoScript, Down, GoBack, GoBack, ClockStep, ScriptsOff,
}

// addFaults adds the faults of a round: of one kind, and of others by chance. Most rounds have faults of few kinds: too many at once hide each other.
func (p *Plan) addFaults(r *rand.Rand, begin time.Duration, one Kind) {
	var all []string
	for _, a := range p.Actors {
		all = append(all, a.Name)
	}
	workers := p.names(Worker)
	seconds := func(most int) time.Duration { return time.Duration(1+r.IntN(most)) * time.Second }
	add := func(f Fault) {
		f.At = at(r, begin)
		f.For = min(f.For, begin+round+time.Minute-f.At)
		p.Faults = append(p.Faults, f)
	}
	kinds := slices.Clone(kinds)
	r.Shuffle(len(kinds), func(i, j int) { kinds[i], kinds[j] = kinds[j], kinds[i] })
	first := slices.Index(kinds, one)
	kinds[0], kinds[first] = kinds[first], kinds[0]
	for _, kind := range kinds[:1+r.IntN(5)] {
		for range 1 + r.IntN(4) {
			f := Fault{Kind: kind, On: pick(r, all...), Percent: pick(r, 5, 20, 50, 100)}
			switch kind {
			case Kill:
				f.On, f.Percent, f.For = pick(r, append(workers, all...)...), 0, seconds(30)
			case Terminate:
				f.Percent = 0
			case Stall, Cut:
				f.Percent, f.For = 0, seconds(40)
			case LoseCall, LoseReply:
				f.On, f.For = pick(r, "", f.On), seconds(60)
			case Slow:
				f.For, f.By = seconds(60), pick(r, 20*time.Millisecond, 300*time.Millisecond, 2*time.Second)
			case Late:
				f.For, f.By = seconds(60), 4*time.Second+seconds(20)
			case Copy:
				f.For, f.By = seconds(60), seconds(60)
			case GoBack:
				f.On, f.Percent, f.For = pick(r, slots...), 0, seconds(20)
			case ClockStep:
				f.On, f.Percent, f.For, f.By = "", 0, seconds(120), pick(r, time.Second, 30*time.Second, 4*time.Minute)
			case ScriptsOff:
				f.On, f.Percent = "", 0
			default:
				f.On, f.For = "", seconds(30)
			}
			add(f)
		}
	}
}

func (p *Plan) sort() {
	slices.SortStableFunc(p.Acts, func(a, b Act) int { return cmp.Compare(a.At, b.At) })
	slices.SortStableFunc(p.Faults, func(a, b Fault) int { return cmp.Compare(a.At, b.At) })
}

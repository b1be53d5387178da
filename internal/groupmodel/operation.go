package groupmodel

import (
	"fmt"
	"math/rand/v2"
)

// A Queue is what a walk drives: calls of a store, or a Model. Instants are milliseconds of the queue's clock. A Queue numbers the flights of all
// takes in their order, and finds the fence of a flight by its number. A session that took nothing sleeps until Next, or until Woken counts a call.
// Before the clock steps back and after StepBack a store writes each of its groups once, so that it is known which starts count.
type Queue interface {
	Enqueue(i Item, now int64) Receipt
	EnqueueMany(items []Item, now int64) []Receipt
	Replace(i Item, now int64) Receipt
	Take(session string, n int, now int64) Taken
	TakeServing(session string, n int, now int64) Taken
	TakeAgain(session string, now int64) []Flight // sends the last call of the session again, because its answer was lost
	Done(f Flight, now int64) bool
	Fail(f Flight, after, now int64) bool
	Snooze(f Flight, after, now int64) bool
	Dead(f Flight, now int64) bool
	Park(f Flight, now int64) bool
	Back(f Flight, now int64) bool
	Serve(now int64) int
	Crash(session string, now int64)
	Reap(session string, most int, now int64) []Reaped
	Cancel(id string, now int64) Change
	Delete(id string, now int64) Change
	Requeue(id string, now int64) Change
	SetGroup(key string, r Rule, now int64) error // errors are compared with ErrInvalid
	SetGroups(r Rule, now int64) error
	ResetGroup(key string, now int64)
	PauseGroup(key string, now int64) error
	ResumeGroup(key string, now int64)
	Purge(now int64) int
	PurgeGroup(key string, now int64) int
	Sweep(now int64)
	Verify(now int64) string // with repair: what it found, and what has changed
	DeleteQueue(now int64) bool
	Advance(now int64)
	Rewrite(now int64) // writes all groups
	StepBack(now int64)
	Group(key string, now int64) GroupInfo
	Woken() int
}

// A Kind names a call of a Queue.
type Kind string

// The calls of a Queue.
const (
	enqueue     Kind = "Enqueue"
	enqueueMany Kind = "EnqueueMany"
	replace     Kind = "Replace"
	take        Kind = "Take"
	takeServing Kind = "TakeServing"
	takeAgain   Kind = "TakeAgain"
	done        Kind = "Done"
	fail        Kind = "Fail"
	snooze      Kind = "Snooze"
	die         Kind = "Dead"
	park        Kind = "Park"
	back        Kind = "Back"
	late        Kind = "Late" // Done of a random flight of the past
	serve       Kind = "Serve"
	crash       Kind = "Crash"
	reap        Kind = "Reap"
	cancel      Kind = "Cancel"
	remove      Kind = "Delete"
	requeue     Kind = "Requeue"
	setGroup    Kind = "SetGroup"
	setGroups   Kind = "SetGroups"
	resetGroup  Kind = "ResetGroup"
	pauseGroup  Kind = "PauseGroup"
	resumeGroup Kind = "ResumeGroup"
	purge       Kind = "Purge"
	purgeGroup  Kind = "PurgeGroup"
	sweep       Kind = "Sweep"
	verify      Kind = "Verify"
	deleteQueue Kind = "DeleteQueue"
	advance     Kind = "Advance"
	stepBack    Kind = "StepBack"
)

// An Operation is one step of a walk. It depends on no other one, so that any of them can be left out: what a settlement settles is decided by Pick
// when it is its turn, and a step that makes no sense then is passed over.
type Operation struct {
	Kind    Kind
	ID      string
	Group   string
	Session string
	N       int   // jobs to take, reap or enqueue
	After   int64 // milliseconds: a delay, or how far the clock goes
	Once    int64 // milliseconds
	Pick    int   // which of the flights is settled, from the oldest; below 0 from the newest
	Rule    Rule
}

func (o Operation) String() string {
	text := string(o.Kind)
	for _, field := range []string{o.ID, o.Group, o.Session} {
		if field != "" {
			text += " " + field
		}
	}
	if o.N != 0 {
		text += fmt.Sprintf(" n=%d", o.N)
	}
	if o.After != 0 {
		text += fmt.Sprintf(" after=%d ms", o.After)
	}
	if o.Once != 0 {
		text += fmt.Sprintf(" once=%d ms", o.Once)
	}
	if o.Pick != 0 {
		text += fmt.Sprintf(" pick=%d", o.Pick)
	}
	if o.Rule != (Rule{}) {
		text += fmt.Sprintf(" %+v", o.Rule)
	}
	return text
}

// per is the Per of all rules: a shorter or longer one makes starts count that a queue may have dropped already.
const per = 60_013

// A profile is how often a walk makes each call, and with what.
type profile struct {
	often    map[Kind]int
	ids      int
	groups   int
	sessions int
	rules    []Rule
	newest   bool // of the flights the newest ones end, so that the others are slow
	paced    bool // most calls are those of paced
}

// profiles are walks of all calls, of shares, of ordered groups, of a queue with few jobs, which is deleted again and again, and of groups with several
// starts within one Per, of which some have ended while others count.
var profiles = []profile{
	{map[Kind]int{
		enqueue: 20, enqueueMany: 6, replace: 6, take: 22, takeServing: 4, takeAgain: 3, done: 10, fail: 6, snooze: 3, die: 3, park: 2, back: 5, late: 2,
		serve: 1, crash: 1, reap: 4, sweep: 2, verify: 1, deleteQueue: 1,
		cancel: 3, remove: 2, requeue: 4, setGroup: 4, setGroups: 1, resetGroup: 2, pauseGroup: 2, resumeGroup: 4, purge: 1, purgeGroup: 1,
		advance: 12, stepBack: 1,
	}, 30, 4, 3, []Rule{
		{Weight: 3}, {Weight: 1000}, {Weight: 2, Running: 2}, {Running: 1}, {Running: 3}, {Running: NoLimit}, {Starts: 3, Per: per}, {Starts: NoLimit},
		{Starts: 1, Per: per, Running: 2}, {Ordered: On}, {Ordered: Off}, {Waiting: 3}, {Waiting: NoLimit}, {},
		{Weight: -1}, {Running: 2, Ordered: On}, {Per: per},
	}, false, false},
	{map[Kind]int{enqueue: 10, enqueueMany: 25, take: 25, done: 35, back: 2, setGroup: 1, pauseGroup: 1, resumeGroup: 3, purgeGroup: 1},
		80, 3, 1, []Rule{{Weight: 1}, {Weight: 2}, {Weight: 5}, {Weight: 3}, {Running: 2}}, true, false},
	{map[Kind]int{
		enqueue: 10, enqueueMany: 10, replace: 6, take: 25, takeServing: 5, done: 6, fail: 6, snooze: 5, die: 3, park: 4, back: 3, serve: 3, crash: 8, reap: 14,
		cancel: 4, remove: 3, requeue: 6, setGroups: 1, advance: 14, stepBack: 1, setGroup: 1, sweep: 2, verify: 1,
	}, 14, 2, 2, []Rule{{Ordered: On}, {Ordered: On}, {Ordered: On, Starts: 4, Per: per}, {Starts: 2, Per: per}, {Running: 2}}, false, false},
	{map[Kind]int{
		enqueue: 12, replace: 3, take: 12, takeServing: 3, takeAgain: 2, done: 8, fail: 3, die: 1, park: 2, back: 2, late: 1, crash: 5, reap: 9, cancel: 4, remove: 9,
		requeue: 3, setGroup: 3, setGroups: 1, resetGroup: 1, pauseGroup: 1, resumeGroup: 2, purge: 3, purgeGroup: 1, sweep: 2, verify: 1, deleteQueue: 12,
		advance: 12, stepBack: 1,
	}, 1, 2, 2, []Rule{{Weight: 3}, {Running: 1}, {Starts: 1, Per: per}, {Ordered: On}, {}}, false, false},
	{map[Kind]int{
		enqueueMany: 10, take: 10, takeAgain: 4, done: 30, fail: 4, back: 4, setGroups: 4, sweep: 4, verify: 4, advance: 10, stepBack: 2,
	}, 60, 1, 2, []Rule{{Starts: 4, Per: per}, {Starts: 8, Per: per}, {Starts: 40, Per: per}}, false, true},
}

// manyDue is a walk with more jobs that are due at once than a take moves into line.
var manyDue = profile{map[Kind]int{enqueueMany: 1, take: 4, done: 2, advance: 2}, 2, 2, 1, nil, false, false}

// Operations returns n random operations. Every sixteenth seed has many jobs that are due at once.
func Operations(seed uint64, n int) []Operation {
	random := rand.New(rand.NewPCG(seed, 31))
	p := profiles[seed%uint64(len(profiles))]
	if seed%16 == 15 {
		p = manyDue
	}
	var bag []Kind
	for _, kind := range kinds {
		for range p.often[kind] {
			bag = append(bag, kind)
		}
	}
	ops := make([]Operation, n)
	for i := range ops {
		switch {
		case p.paced && i == 0:
			ops[i] = p.operation(random, setGroups)
		case p.paced && random.IntN(4) > 0:
			ops[i] = p.pacedOperation(random, i)
		default:
			ops[i] = p.operation(random, bag[random.IntN(len(bag))])
		}
	}
	return ops
}

// kinds are all calls, in an order that does not change.
var kinds = []Kind{
	enqueue, enqueueMany, replace, take, takeServing, takeAgain, done, fail, snooze, die, park, back, late, serve, crash, reap, cancel, remove, requeue,
	setGroup, setGroups, resetGroup, pauseGroup, resumeGroup, purge, purgeGroup, sweep, verify, deleteQueue, advance, stepBack,
}

// pacedOperation returns calls that start jobs one by one, and then as many as the rule allows when the first of these starts have ended.
func (p profile) pacedOperation(random *rand.Rand, i int) Operation {
	switch i %= 12; {
	case i == 0:
		o := p.operation(random, enqueueMany)
		o.N = 10
		return o
	case i == 10:
		return Operation{Kind: advance, After: per/2 + random.Int64N(per/2)}
	case i == 11:
		return Operation{Kind: take, Session: "s0", N: 10}
	case i%2 == 1:
		return Operation{Kind: take, Session: "s0", N: 1}
	}
	return Operation{Kind: advance, After: 1 + random.Int64N(per/6)}
}

func (p profile) operation(random *rand.Rand, kind Kind) (o Operation) {
	o.Kind = kind
	id := fmt.Sprintf("j%02d", random.IntN(p.ids))
	either := id // one of Enqueue, or one of EnqueueMany
	if random.IntN(2) == 0 {
		either += fmt.Sprintf(".%d", random.IntN(4))
	}
	group := fmt.Sprintf("g%d", random.IntN(p.groups))
	session := fmt.Sprintf("s%d", random.IntN(p.sessions))
	soon := 1 + random.Int64N(8_000)
	switch kind {
	case enqueue, replace:
		if o.ID, o.Group = either, group; random.IntN(8) == 0 {
			o.Group = ""
		}
		if random.IntN(4) == 0 {
			o.After = soon
		}
		if random.IntN(5) == 0 {
			o.Once = 1 + random.Int64N(30_000)
		}
	case enqueueMany:
		o.ID, o.Group, o.N = id, group, 2+random.IntN(5)
		if p.rules == nil {
			o.N, o.After = dueStep+10, soon
		}
	case take, takeServing:
		o.Session, o.N = session, 1+random.IntN(4)
	case takeAgain:
		o.Session = session
	case done, die, park, back, late:
		if o.Pick = random.IntN(1_000); p.newest {
			o.Pick = -1 - random.IntN(2)
		}
	case fail, snooze:
		o.Pick, o.After = random.IntN(1_000), soon
	case crash:
		o.Session = session
	case reap:
		o.Session, o.N = session, 1+random.IntN(3)
	case cancel, remove, requeue:
		o.ID = either
	case setGroup, setGroups:
		if kind == setGroup {
			o.Group = group
		}
		o.Rule = p.rules[random.IntN(len(p.rules))]
	case resetGroup, pauseGroup, resumeGroup, purgeGroup:
		o.Group = group
	case advance:
		if o.After = 1 + random.Int64N(3_000); random.IntN(5) == 0 {
			o.After = random.Int64N(per + 5_000)
		}
	case stepBack:
		o.After = random.Int64N(600_000)
	}
	return o
}

package redisstore

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/chimejobs/chime/internal/protocol"
)

// keys.go is the only place that builds the name of a key or a channel. All keys of a partition share one hash tag, so that they
// are in one slot of a cluster; the keys of the collections share another one. The namespace's other keys have no tag. A call has one of
// these, or keys of one slot.

// keyspace builds the names under one namespace.
type keyspace string

// shared returns the namespace's own keys, with the type that TYPE returns for each.
func (k keyspace) shared() map[string]string {
	c := k.collections()
	return map[string]string{
		k.leader(): "hash", k.queues(): "hash", k.registry(): "zset", k.deleted(): "zset", k.served(): "zset",
		k.pruned(): "hash", k.acknowledged(): "hash",
		k.workers(): "hash", k.beats(): "zset", k.versions(): "zset",
		c.records: "hash", c.index: "zset", c.unfinished: "zset", c.swept: "zset", c.owned: "zset",
	}
}

// leader is a hash: id of the leader, its term, until (Unix ms, when the lease lapses), epoch (the first leader's id and when).
func (k keyspace) leader() string { return string(k) + ":leader" }

// queues is a hash: queue → number of its partitions, fixed when the queue is first used; a deleted queue's number is under / and its name.
func (k keyspace) queues() string { return string(k) + ":queues" }

// registry is a sorted set: "<schedule>\t<queue>\t<generation>" → 0, one member a schedule; it decides where a schedule lives.
func (k keyspace) registry() string { return string(k) + ":schedules" }

// deleted is a sorted set: schedule → when it was deleted, Unix ms; kept for 7 days.
func (k keyspace) deleted() string { return string(k) + ":deleted" }

// served is a sorted set: queue → instant a live worker last announced that it serves it, Unix ms.
func (k keyspace) served() string { return string(k) + ":served" }

// pruned is a hash: owner → "<version> <Unix ms>": the highest version whose pruning is done (0: none), and when, later than the creation of what was pruned.
func (k keyspace) pruned() string { return string(k) + ":pruned" }

// acknowledged is a hash: "schedule\t<name>" or "failures\t<job name>\t<hash of the error>" → "<Unix ms> <call> <JSON>", what people have acknowledged (see scripts/acknowledgements/acknowledge.lua).
func (k keyspace) acknowledged() string { return string(k) + ":acknowledged" }

// workers is a hash: worker → its description, its start and its last announcement, JSON (see scripts/workers/announce_worker.lua).
func (k keyspace) workers() string { return string(k) + ":workers" }

// beats is a sorted set: worker → its last sign of life, Unix ms; removed after WorkerRetention.
func (k keyspace) beats() string { return string(k) + ":beats" }

// versions is a sorted set: version of a program → when its first worker started, Unix ms; the newest 1,000.
func (k keyspace) versions() string { return string(k) + ":versions" }

// collections builds the keys of the collections, which share the hash tag /collections: no queue has a / in its name.
func (k keyspace) collections() collectionKeys {
	tag := string(k) + ":{/collections}:"
	return collectionKeys{prefix: tag, records: tag + "records", index: tag + "index", unfinished: tag + "unfinished", swept: tag + "swept", owned: tag + "owned"}
}

// collectionKeys are the keys of the collections. None has the name of a key that a producer may use in a partition.
type collectionKeys struct {
	prefix string

	records    string // hash: collection → what it is, JSON (see scripts/lib/collection.lua); #drawn: the last number drawn
	index      string // sorted set: collection → 0
	unfinished string // sorted set: collection with a change of its state that is not complete → number of that
	swept      string // sorted set: collection → when it was swept last, Unix µs
	owned      string // sorted set: "<owner>\t<collection>" → 0
}

// names is a sorted set: name that is reserved in the collection → 0.
func (c collectionKeys) names(collection string) string { return c.prefix + "names:" + collection }

// wake is the prefix of all channels; the name of a listener follows. Scripts get the prefix and find the workers in idle.
func (k keyspace) wake() string { return string(k) + ":wake:" }

// channel returns the channel on which a listener receives its signals.
func (k keyspace) channel(listener string) string { return k.wake() + listener }

// everyChannel is the pattern of all channels, and all the pattern of all keys; everyPartition has the patterns of the keys of all
// partitions. They are in the form of an ACL.
func (k keyspace) everyChannel() string          { return k.wake() + "*" }
func (k keyspace) all() string                   { return string(k) + ":*" }
func (k keyspace) everyPartition() partitionKeys { return k.partition(protocol.Partition{Queue: "*"}) }

// elections is the name of the channel that every listener is subscribed to in addition to its own: the leader has resigned.
const elections = "leader"

// partition builds the keys of one partition: `<namespace>:{<queue>}:…`, further partitions `<namespace>:{<queue>/1}:…`.
func (k keyspace) partition(of protocol.Partition) partitionKeys {
	tag := string(k) + ":{" + of.Queue
	if of.Index > 0 || of.IsHome() {
		tag += "/" + strconv.Itoa(of.Index)
	}
	tag += "}:"
	// All keys are parts of one text: a leader with many partitions builds them again and again.
	p := partitionKeys{prefix: tag}
	keys := namedKeys(&p)
	var all strings.Builder
	all.Grow(len(keys)*len(tag) + lengthOfNames)
	for _, key := range keys {
		all.WriteString(tag)
		all.WriteString(key.name)
	}
	text := all.String()
	for _, key := range keys {
		*key.to, text = text[:len(tag)+len(key.name)], text[len(tag)+len(key.name):]
	}
	return p
}

// A namedKey is the end of a key and the field for it.
type namedKey struct {
	name string
	to   *string
}

// lengthOfNames is the length of the ends of all keys of a partition.
var lengthOfNames = func() (length int) {
	for _, key := range namedKeys(new(partitionKeys)) {
		length += len(key.name)
	}
	return length
}()

func namedKeys(p *partitionKeys) [53]namedKey {
	return [...]namedKey{
		{"due", &p.due}, {"ready", &p.ready}, {"jobs", &p.jobs}, {"dead", &p.dead}, {"line", &p.line}, {"places", &p.places}, {"purgedline", &p.purgedline},
		{"turns", &p.turns}, {"groups", &p.groups}, {"grules", &p.grules}, {"opens", &p.opens},
		{"sessions", &p.sessions}, {"callers", &p.callers}, {"crashes", &p.crashes}, {"idle", &p.idle}, {"state", &p.state}, {"stale", &p.stale},
		{"purged", &p.purged}, {"spared", &p.spared},
		{"schedules", &p.schedules}, {"cursors", &p.cursors}, {"owed", &p.owed}, {"open", &p.open}, {"behind", &p.behind}, {"gone", &p.gone},
		{"origins", &p.origins}, {"notes", &p.notes}, {"ends", &p.ends}, {"owners", &p.owners},
		{"last", &p.last}, {"history", &p.history}, {"zones", &p.zones},
		{"runs", &p.runs}, {"results", &p.results}, {"kept", &p.kept}, {"once", &p.once}, {"after", &p.after}, {"progress", &p.progress},
		{"counters", &p.counters}, {"sampled", &p.sampled}, {"measured", &p.measured}, {"shapes", &p.shapes}, {"minutes", &p.minutes}, {"hours", &p.hours},
		{"outbox", &p.outbox}, {"delivered", &p.delivered}, {"outgoing", &p.outgoing}, {"carried", &p.carried}, {"inbox", &p.inbox},
		{"batches", &p.batches}, {"reports", &p.reports},
		{"unhandled", &p.unhandled}, {"handlers", &p.handlers},
	}
}

// partitionOfTag returns the partition whose keys have this text between their braces. The zero Partition: it is no partition of a queue.
func partitionOfTag(tag string) protocol.Partition {
	queue, number, further := strings.Cut(tag, "/")
	p := protocol.Partition{Queue: queue}
	if further {
		var err error
		if p.Index, err = strconv.Atoi(number); err != nil {
			return protocol.Partition{}
		}
	}
	if queue == "" {
		return protocol.Partition{}
	}
	return p
}

// partitionKeys are the keys of one partition.
type partitionKeys struct {
	prefix string

	due   string // sorted set: job ID → instant it is due, Unix ms: delayed jobs, retries, the next occurrence of every schedule
	ready string // list: IDs of jobs to run now, each at most once
	jobs  string // hash: job ID → envelope; an occurrence has one only from its first retry on
	dead  string // sorted set: ID of a dead job → instant of its death, Unix ms; its envelope remains in jobs

	line       string // sorted set: "<group>\t<place>\t<job ID>" → 0: jobs of groups to run now (see scripts/lib/line.lua)
	places     string // hash: job ID → "<place> <group>": every job that belongs to a group
	turns      string // sorted set: "<tag>\t<group>" → flights / weight: the groups that have a job in line and may start one (see scripts/lib/groups.lua)
	groups     string // hash: group → "<where><flights> <weight> <tag>", its starts and its blocker, while one of these is not as at rest
	grules     string // hash: group → its rule and pause; \x01* → the rule of the queue
	opens      string // sorted set: group whose jobs in line wait for its next start only → instant of that start, Unix ms
	purgedline string // sorted set: the former line of a purge that has not ended (see scripts/queues/purge_begin.lua)

	sessions string // sorted set: session → instant it lapses, Unix ms
	callers  string // sorted set: enqueuer → number of its last call, with the time (see scripts/lib/callers.lua); "measured <session>" → its last measurements; sessions that have ended; #enqueued: jobs since the start, without those counted in state
	crashes  string // hash: job ID → how often its holder vanished, see scripts/lib/suspects.lua
	idle     string // sorted set: sleeping worker → instant it went to sleep, Unix ms; #closed while the queue is paused or has a limit (see scripts/lib/gate.lua)
	stale    string // sorted set: ID in ready that is void, because its job was cancelled or deleted → since when, Unix ms (see scripts/lib/stale.lua)
	purged   string // list: the former ready of a purge that has not ended (see scripts/queues/purge_begin.lua)
	spared   string // sorted set: the stale of that time: IDs in purged that are void → since when, Unix ms
	// The fields of state: fence (the last drawn), done (jobs since the start), enqueued (jobs since the start, one at a time), paused (since when, with
	// a note), limit (see scripts/lib/queuelimit.lua), parked (changes when a list of parked jobs begins; absent: no job is parked), layout, large,
	// crashed (there may be …:crashes), turn, swept and tended (see scripts/queues/sweep.lua), stale (there is …:stale), purge (start of one that has
	// not ended, Unix ms), asked (jobs in flight that were cancelled), groups (there is …:places or …:groups), grules (there is …:grules),
	// batches (when the next report of …:reports is due, Unix ms; 0: none is; absent: there is no …:batches).
	state string // hash: field → its value

	schedules string // hash: schedule → definition, JSON
	cursors   string // hash: schedule → "<planned instant> <runs used> p", the occurrence placed last; c in place of p: it is a caught-up one; s: a change or pause, or the cursor was lost
	owed      string // sorted set: schedule → instant since which its next occurrence is to be placed, Unix ms (see scripts/lib/owed.lua)
	open      string // hash: schedule → the occurrence that holds it, its fence, worker, session, … (see scripts/lib/open.lua)
	behind    string // sorted set: "<schedule>\t<planned instant>" → 0: occurrences that wait for the one in open; "~" before the instant: backfilled ones, which come last

	gone    string // sorted set: schedule that lived here → when it moved away or was deleted, Unix µs; its mark is removed after 7 days
	origins string // hash: schedule → queues that it has left, where its runs that have not ended are counted
	notes   string // hash: schedule → "<Unix ms> <JSON>", the note of its pause
	ends    string // sorted set: queue, "schedule\t<name>" or "group\t<key>" → end of its pause, Unix ms (see scripts/lib/ends.lua)
	owners  string // hash: schedule → "<owner> <version>" that declared it; for a deleted schedule as long as gone has it
	zones   string // hash: schedule → "<planned instant> <offset, s> <local time> <zone>", the local time for which its last occurrence was planned, and the one that was taken before (see scripts/lib/zones.lua)

	// In last, the field of a schedule has its last outcome, and how many attempts its history keeps (see scripts/lib/history.lua). A tab and the ID of
	// a manual run, or of a job that follows another one of its schedule, is a field while that job has not ended; its value has the schedule (see scripts/lib/manual.lua).
	last string // hash: schedule → last outcome; tab and ID → its schedule
	// In history, the field of a schedule is the head of its last attempts that have ended, and has the outcomes of its occurrences on its last days.
	// The fields "<short>\t<n>" have some of these attempts each (see scripts/lib/history.lua).
	history string // hash: schedule → head; "<short>\t<n>" → attempts

	runs     string // stream: past runs: schedule, planned, started, ended (Unix ms), outcome; the newest 10,000
	counters string // hash: /failed, … of the partition, and <schedule>/started, … of each schedule

	sampled  string // hash: the minute that was sampled last, the totals and depths then, the current hour (see scripts/samples/sample.lua)
	measured string // hash: measurements of workers since then (see scripts/samples/measure.lua)
	shapes   string // hash: "<job name>\t<hash>" → what its last failed attempts have in common (see scripts/lib/shapes.lua)
	minutes  string // stream: minute → its sample, if something changed; 25 hours
	hours    string // stream: hour → its sample, likewise; 92 days

	results  string // hash: job ID → result of a job that has ended: its outcome and what it returned
	kept     string // sorted set: job ID → instant until which its result is kept, Unix ms
	once     string // sorted set: job ID → instant until which a job of that ID is not added again, Unix ms
	after    string // hash: job ID → "<Unix ms> <envelope>": what replaced it while it was held, and when that is due (see scripts/lib/after.lua)
	progress string // hash: job ID → progress of the handler of a job in flight

	// What leaves the partition for other ones, and what has come from other ones (see scripts/lib/outbox.lua).
	outbox    string // sorted set: "<line>\t<number>\t<ended, Unix ms> <bytes>\t<job ID>" → 0: jobs that wait to be carried to other partitions
	delivered string // sorted set: likewise, those that were carried, until that is confirmed
	outgoing  string // hash: "<queue>\t<job ID>" → the job, of both
	carried   string // hash: target partition → "<high> <gone> <number> <Unix ms>\t<mark>": what it has taken
	inbox     string // hash: source partition → "<mark>\t<written, Unix µs>"; the mark is "<number> <job ID>" of what was carried last, or "@<Unix µs>" without a job

	batches string // hash: batch → "<version> <added> <done> <dead> <cancelled> <away> <existing> <position> <flags> <Unix ms> <to>": its members here (see scripts/lib/members.lua)
	reports string // sorted set: batch → instant from which these counts are to be reported to its home, Unix ms

	unhandled string // sorted set: job name with parked jobs → instant since which its oldest one is parked, or later; * for the names beyond the first thousand
	handlers  string // hash: job name → "<worker> <Unix s> " for each of the last 32 workers that have announced a handler for it
}

// inflight is a hash: job ID → fence ("-" before it: taken ahead, not begun; "!": cancelled; "+": replaced); \x01 → "<number of the last call> <first fence it drew> <when it was renewed, Unix s> <host> <pid> <worker>…".
func (p partitionKeys) inflight(session string) string { return p.prefix + "inflight:" + session }

// parked is a sorted set: ID of a job whose worker had no handler for it → instant parked, Unix ms.
func (p partitionKeys) parked(name string) string { return p.prefix + "parked:" + name }

// parse splits the name of a key of a partition: what it holds, and the session of a hash of jobs in flight or the name of a list of parked
// jobs. ok is false for every other key.
func (k keyspace) parse(key string) (p protocol.Partition, kind, name string, ok bool) {
	rest, ok := strings.CutPrefix(key, string(k)+":{")
	tag, kind, found := strings.Cut(rest, "}:")
	if !ok || !found {
		return p, "", "", false
	}
	queue, index, numbered := strings.Cut(tag, "/")
	if numbered {
		n, err := strconv.Atoi(index)
		if err != nil || n < 1 || strconv.Itoa(n) != index {
			return p, "", "", false
		}
		p.Index = n
	}
	p.Queue = queue
	kind, name, _ = strings.Cut(kind, ":")
	return p, kind, name, protocol.CheckName("queue", queue) == nil
}

// enqueueing are the keys that enqueue.lua uses, in the order of its title page. enqueue_one.lua uses some of them.
func (p partitionKeys) enqueueing() []string {
	return append([]string{p.ready, p.due, p.jobs, p.callers, p.state, p.idle, p.stale, p.once}, p.grouping()...)
}

// producing are the keys of a partition that a producer uses.
func (p partitionKeys) producing() []string { return append(p.enqueueing(), p.batches, p.reports) }

// grouping are the keys of groups, in the order in which scripts that use all of them have them.
func (p partitionKeys) grouping() []string {
	return []string{p.line, p.places, p.turns, p.groups, p.grules, p.opens}
}

// deleting are the keys that delete_queue.lua uses, in the order of its title page: all but those of a session and of a job name, which exist
// only while there are jobs.
func (p partitionKeys) deleting() []string {
	return []string{
		p.state, p.ready, p.stale, p.purged, p.spared, p.due, p.behind, p.sessions, p.unhandled, p.dead, p.kept, p.schedules,
		p.owed, p.gone, p.owners, p.callers, p.idle,
		p.jobs, p.crashes, p.once, p.results, p.after, p.progress, p.cursors, p.open, p.origins, p.notes, p.last, p.history, p.runs, p.counters, p.handlers,
		p.sampled, p.measured, p.minutes, p.hours, p.zones, p.line, p.places, p.purgedline,
		p.turns, p.groups, p.grules, p.opens,
		p.outbox, p.outgoing, p.delivered, p.carried, p.inbox, p.shapes, p.batches, p.reports, p.ends,
	}
}

// every returns all keys of a partition, with * in place of a session and of a job name.
func (p partitionKeys) every() []string {
	return append(slices.Sorted(maps.Keys(p.types())), p.inflight("*"), p.parked("*"))
}

// types returns the keys of a partition, except those of a session and of a job name, with the type that TYPE returns for each.
func (p partitionKeys) types() map[string]string {
	types := map[string]string{p.ready: "list", p.purged: "list", p.runs: "stream", p.minutes: "stream", p.hours: "stream"}
	for _, key := range []string{p.due, p.dead, p.sessions, p.callers, p.idle, p.owed, p.behind, p.gone, p.kept, p.unhandled, p.stale, p.once, p.spared, p.line, p.purgedline, p.turns, p.opens, p.outbox, p.delivered, p.reports, p.ends} {
		types[key] = "zset"
	}
	for _, key := range []string{p.jobs, p.crashes, p.state, p.schedules, p.cursors, p.open, p.counters, p.origins, p.notes, p.owners, p.zones, p.last, p.history, p.results, p.after, p.progress, p.handlers, p.sampled, p.measured, p.shapes, p.places, p.groups, p.grules, p.outgoing, p.carried, p.inbox, p.batches} {
		types[key] = "hash"
	}
	return types
}

// homeKeys are the keys of a home of batches: those of a partition without jobs, `<namespace>:{/0}:…` to `{/15}`, and its own. None of its own has the
// name of a key that a producer may use in a partition.
type homeKeys struct {
	partitionKeys

	made   string // sorted set: batch → when it was created, Unix ms
	tended string // sorted set: batch → instant from which somebody must look after it, Unix ms
}

// home builds the keys of a home of batches, and everyHome the patterns of the keys of all homes.
func (k keyspace) home(index int) homeKeys { return k.partition(protocol.Home(index)).home() }
func (k keyspace) everyHome() homeKeys     { return k.partition(protocol.Partition{Queue: "/*"}).home() }

// home adds the keys that only a home has.
func (p partitionKeys) home() homeKeys {
	return homeKeys{partitionKeys: p, made: p.prefix + "made", tended: p.prefix + "tended"}
}

// batch is a hash: field of the record of a batch → its value (see scripts/lib/batch.lua).
func (h homeKeys) batch(id string) string { return h.prefix + "batch:" + id }

// producing are the keys of a home that a producer uses for a batch, without …:state: the patterns of the keys of partitions cover that.
func (h homeKeys) producing(batch string) []string { return []string{h.made, h.tended, h.batch(batch)} }

// hotKeys are the keys of the calls that carry jobs, as they are sent. They are built once for each partition.
type hotKeys struct {
	partitionKeys
	enqueue    []any // those of a call without jobs of groups
	grouping   []any // behind them
	enqueueOne []any
	work       []any // after that of the session
	workFew    []any // likewise
	few        fewPace
	revoked    atomic.Bool // a call of work.lua needs keys of batches
	wake       any
}

func (k keyspace) hot(p protocol.Partition) *hotKeys {
	keys := k.partition(p)
	return &hotKeys{
		partitionKeys: keys,
		enqueueOne:    []any{keys.ready, keys.jobs, keys.callers, keys.idle, keys.state},
		grouping:      []any{keys.line, keys.places, keys.turns, keys.groups, keys.grules, keys.opens},
		enqueue:       []any{keys.ready, keys.due, keys.jobs, keys.callers, keys.state, keys.idle, keys.stale, keys.once},
		work: []any{
			keys.sessions, keys.state, keys.jobs, keys.due, keys.ready, keys.crashes, keys.idle, keys.counters,
			keys.schedules, keys.cursors, keys.owed, keys.open, keys.dead, keys.runs, keys.behind, keys.callers, keys.unhandled, keys.handlers, keys.stale,
			keys.results, keys.kept, keys.progress, keys.last, keys.history, keys.after, keys.notes, keys.zones,
			keys.line, keys.places, keys.turns, keys.groups, keys.grules, keys.opens,
		},
		workFew: []any{keys.state, keys.jobs, keys.due, keys.ready, keys.idle},
		wake:    k.wake(),
	}
}

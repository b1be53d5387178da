package redisstore

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/redisstore/internal/script"
)

// What each use of a namespace needs on a server with access control lists (ACL). docs/access.md shows a user with exactly these rights for
// each use. Tests check that document, and run the store's suite as these users.

// A grant is what one use needs.
type grant struct {
	scripts []*script.Script
	plain   []string                  // commands outside scripts
	records func(k keyspace) string   // pattern of the only keys that it may read as a whole, with HGETALL; nil: every key that it may read
	keys    func(k keyspace) []string // as patterns; %R~ before a pattern: to read only, ~: to read and write
	wakes   bool                      // whether it publishes wake-ups
	listens bool                      // whether it subscribes to them
}

// useView is the use of a dashboard, which only reads. useOperate is the use of an operator: everything that a scheduler and a viewer do, and
// the repair of what Verify finds.
const (
	useView    protocol.Use = "viewer"
	useOperate protocol.Use = "operator"
)

var grants = map[protocol.Use]grant{
	protocol.UseEnqueue: {
		scripts: append([]*script.Script{&enqueueScript, &enqueueOneScript, &sealScript}, fillScripts...),
		plain:   strings.Fields("eval evalsha eval_ro hello hget hmget hsetnx info ping time type"),
		keys: func(k keyspace) []string {
			patterns := append([]string{k.queues()}, k.everyPartition().producing()...)
			return readAndWrite(append(patterns, k.everyHome().producing("*")...)...)
		},
		records: func(k keyspace) string { return k.everyHome().batch("*") }, // with HGETALL on other keys it could list jobs
		wakes:   true,
	},
	protocol.UseWork: {
		scripts: append([]*script.Script{
			&workScript, &workFewScript, &reportScript, &pollScript, &leaveScript, &measureScript, &closeSessionScript, &extendScript, &announceScript, &announceWorkerScript, &serveScript, &enqueueScript, &enqueueOneScript, &sealScript, &replaceScript,
		}, slices.Concat(tickScripts, batchScripts)...),
		plain: strings.Fields("eval evalsha eval_ro evalsha_ro exists hdel hello hget hmget hscan hsetnx hstrlen info llen lrange ping subscribe time type zadd zmscore zrandmember zrange zrangebylex zrangebyscore zrem zremrangebyscore zrevrangebyscore"),
		keys:  everyKey, wakes: true, listens: true,
	},
	protocol.UseSchedule: {
		scripts: slices.Concat(scheduleScripts, tickScripts),
		plain:   scheduleCommands,
		keys:    everyKey, wakes: true, listens: true,
	},
	useView: {
		plain: viewCommands,
		keys:  func(k keyspace) []string { return []string{rule("%R~", k.all())} }, listens: true,
	},
	useOperate: {
		scripts: slices.Concat(scheduleScripts, tickScripts, []*script.Script{
			&verifyStateScript, &verifyStraysScript, &verifyBodiesScript, &verifyPlaceScript, &verifyJobScript, &verifySchedulesScript, &verifyOpensScript,
			&verifyBehindScript, &verifyRecordsScript, &verifyHistoriesScript, &verifyGroupsScript, &verifyFlightsScript, &verifyOutboxScript, &countMembersScript, &recountBatchScript, &listGroupsScript, &countGroupsScript, &countFlightsScript, &countQueueScript, &readSchedulesScript, &soonestScript, &inTurnScript,
		}),
		plain: slices.Concat(scheduleCommands, viewCommands),
		keys:  everyKey, wakes: true, listens: true,
	},
}

// viewCommands are the commands that only read, sent alone or from scripts that write nothing.
var viewCommands = strings.Fields("eval_ro evalsha_ro hello hexists hget hgetall hlen hmget hscan hstrlen llen lpos lrange ping scan subscribe time type unsubscribe xrange xrevrange zcard zcount zlexcount zmscore zrange zrangebylex zrangebyscore zrevrangebyscore zscan zscore")

// Commands of a scheduler.
var (
	scheduleScripts = append([]*script.Script{
		&declareScript, &acknowledgeScript, &deleteWaitingScript, &discardScript, &requeueScript, &backfillScript, &replaceScript, &purgeBeginScript, &purgeGroupScript, &deleteQueueScript,
		&pollScript, &leadScript, &resignScript,
		&enqueueScript, &enqueueOneScript, &sealScript,
		&putCollectionScript, &deleteCollectionScript, &reserveScript, &releaseScript, &finishTransitionScript, &moveSweptScript, &raiseSecretsScript,
	}, batchScripts...)
	scheduleCommands = strings.Fields("eval evalsha eval_ro evalsha_ro exists hdel hello hexists hget hgetall hlen hmget hscan hset hsetnx hstrlen info llen lrange ping subscribe time type zadd zcard zmscore zrange zrangebylex zrangebyscore zremrangebyscore zrevrangebyscore zscan")
)

// tickScripts are the scripts of a scheduler that places, reaps and sweeps what other processes have left.
var tickScripts = []*script.Script{
	&placeScript, &pauseScheduleScript, &pauseQueueScript, &correctEndScript, &owedScript, &postponeScript, &reapScript, &sweepScript, &buryScript, &freeOpensScript, &repairOrphansScript, &moveBeginScript, &moveArriveScript, &moveEndScript, &changeRegistryScript, &homesScript,
	&limitQueueScript, &limitGroupScript, &purgeScript, &unlistQueueScript, &noteDeletedScript, &removeScript, &residentsScript, &standingsScript, &copiesScript, &barScript, &raiseScript, &replanScript, &notePrunedScript, &registerSchedulesScript, &sampleScript,
	&readOutboxScript, &addressOutboxScript, &advanceOutboxScript, &carryScript, &blockOutboxScript,
	&discardScript,
}

// fillScripts are the scripts that create, fill and seal batches, and let them grow. batchScripts also count and end them.
var (
	fillScripts  = []*script.Script{&openBatchScript, &noteFillScript, &sealBatchScript, &growBatchScript, &reportBatchScript, &countBatchScript}
	batchScripts = append([]*script.Script{&endBatchScript, &readReportsScript, &ackReportsScript, &tendBatchesScript, &cancelBatchScript, &deleteBatchScript}, fillScripts...)
)

func everyKey(k keyspace) []string { return readAndWrite(k.all()) }

func readAndWrite(patterns ...string) []string {
	rules := make([]string, len(patterns))
	for i, pattern := range patterns {
		rules[i] = rule("~", pattern)
	}
	return rules
}

// rule is one rule of an ACL: ~ and a key pattern, & and a channel pattern, or + and a command.
func rule(kind, what string) string { return kind + what }

var commandPattern = regexp.MustCompile(`redis\.p?call\('([A-Z]+)'`)

// commands returns the commands of a grant, sorted and in lower case.
func (g *grant) commands() []string {
	all := slices.Clone(g.plain)
	for _, s := range g.scripts {
		for _, call := range commandPattern.FindAllStringSubmatch(s.Text, -1) {
			all = append(all, strings.ToLower(call[1]))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// commandsOf has the commands of each grant, which are read from the scripts once: every start of a process tries them.
var commandsOf = func() map[protocol.Use]func() []string {
	all := map[protocol.Use]func() []string{}
	for use, g := range grants {
		all[use] = sync.OnceValue(g.commands)
	}
	return all
}()

// rules returns the grant in a namespace as rules of an ACL.
func (g *grant) rules(k keyspace) string { return strings.Join(g.list(k), " ") }

// list returns the rules one by one.
func (g *grant) list(k keyspace) []string {
	rules := []string{"resetchannels"}
	if g.wakes || g.listens {
		rules = append(rules, rule("&", k.everyChannel()))
	}
	rules = append(append(rules, g.keys(k)...), "-@all")
	for _, command := range g.commands() {
		if !g.selects(command) {
			rules = append(rules, g.permit(command, k))
		}
	}
	if g.records != nil {
		rules = append(rules, g.permit(readsWhole, k))
	}
	return rules
}

// readsWhole is the command that returns everything that a hash holds.
const readsWhole = "hgetall"

// selects reports whether a command is granted for some of the keys only.
func (g *grant) selects(command string) bool { return g.records != nil && command == readsWhole }

// permit returns the rule that grants a command. For some of the keys only it is a selector, which other rules do not change.
func (g *grant) permit(command string, k keyspace) string {
	if g.selects(command) {
		return "(" + rule("~", g.records(k)) + " " + rule("+", command) + ")"
	}
	return rule("+", command)
}

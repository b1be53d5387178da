package redisstore

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
)

// wantSoundLine checks what scripts/lib/line.lua and scripts/lib/groups.lua promise, from the raw keys.
func (b *bench) wantSoundLine(when string) {
	b.Helper()
	for _, fault := range b.groupFaults() {
		b.Errorf("%s: %s", when, fault)
	}
}

// A groupAudit has the raw keys of a partition with groups.
type groupAudit struct {
	*bench
	k              partitionKeys
	places, bodies map[string]string
	records, rules map[string]string
	line           map[string][]string // group → its members, in order
	waits          map[string]bool     // IDs in line
	turns          map[string]string   // group → member
	scores         map[string]float64  // member of turns → score
	opens          map[string]float64
	flights        map[string]int
	state          map[string]string
	now            int64 // Unix us
	faults         []string
}

func (b *bench) groupFaults() []string {
	b.Helper()
	ctx, k := b.Context(), b.keys()
	p := b.client.Pipeline() // a walk audits often
	hashes, sets := map[string]*redis.MapStringStringCmd{}, map[string]*redis.ZSliceCmd{}
	for _, key := range []string{k.places, k.jobs, k.groups, k.grules, k.state} {
		hashes[key] = p.HGetAll(ctx, key)
	}
	for _, key := range []string{k.line, k.stale, k.due, k.dead, k.parked("mail"), k.turns, k.opens, k.sessions} {
		sets[key] = p.ZRangeWithScores(ctx, key, 0, -1)
	}
	ready, clock := p.LRange(ctx, k.ready, 0, -1), p.Time(ctx)
	if _, err := p.Exec(ctx); err != nil {
		b.Fatal(err)
	}
	a := &groupAudit{
		bench: b, k: k, places: hashes[k.places].Val(), bodies: hashes[k.jobs].Val(),
		records: hashes[k.groups].Val(), rules: hashes[k.grules].Val(), state: hashes[k.state].Val(), now: clock.Val().UnixMicro(),
		line: map[string][]string{}, waits: map[string]bool{}, turns: map[string]string{}, scores: map[string]float64{}, opens: map[string]float64{}, flights: map[string]int{},
	}
	a.readLine(ready.Val(), sets)
	a.readTurns(sets)
	a.readFlights(sets[k.sessions].Val())
	groups := map[string]bool{}
	for _, keys := range []map[string]string{a.records, a.turns} {
		for group := range keys {
			groups[group] = true
		}
	}
	for group := range a.line {
		groups[group] = true
	}
	for group := range a.flights {
		groups[group] = true
	}
	weights, flights := 0, 0
	for _, group := range slices.Sorted(maps.Keys(groups)) {
		w, f := a.group(group)
		weights, flights = weights+w, flights+f
	}
	a.flag(weights, flights)
	return a.faults
}

func (a *groupAudit) wrong(format string, values ...any) {
	a.faults = append(a.faults, fmt.Sprintf(format, values...))
}

func isOccurrence(id string) bool {
	_, _, is := protocol.CutOccurrence(id)
	return is
}

// readLine reads line: G1.
func (a *groupAudit) readLine(ready []string, sets map[string]*redis.ZSliceCmd) {
	in := map[string]map[string]bool{}
	for key, set := range sets {
		in[key] = map[string]bool{}
		for _, z := range set.Val() {
			in[key][z.Member.(string)] = true
		}
	}
	waitsPlain := map[string]bool{}
	for _, id := range ready {
		waitsPlain[id] = !in[a.k.stale][id]
	}
	for _, z := range sets[a.k.line].Val() {
		member := z.Member.(string)
		parts := strings.Split(member, "\t")
		id := parts[len(parts)-1]
		if len(parts) != 3 || len(parts[1]) != 16 || a.places[id] != parts[1]+" "+parts[0] {
			a.wrong("%q is in line, and places has %q", member, a.places[id])
			continue
		}
		a.line[parts[0]] = append(a.line[parts[0]], member)
		a.waits[id] = true
		if a.bodies[id] == "" && !isOccurrence(id) {
			a.wrong("%q is in line without an envelope", member)
		}
		for place, key := range map[string]string{"due": a.k.due, "dead": a.k.dead, "a list of parked jobs": a.k.parked("mail")} {
			if in[key][id] {
				a.wrong("%q is in line and in %s", id, place)
			}
		}
	}
	for id, entry := range a.places {
		if waitsPlain[id] && !isOccurrence(id) { // an occurrence that came back joins line with the next take
			a.wrong("%q belongs to a group and is in ready", id)
		}
		if a.bodies[id] == "" && !isOccurrence(id) {
			a.wrong("%q has a group and no envelope", id)
		}
		if place, _, _ := strings.Cut(entry, " "); len(place) != 16 {
			a.wrong("%q has the entry %q", id, entry)
		}
	}
}

func (a *groupAudit) readTurns(sets map[string]*redis.ZSliceCmd) {
	for _, z := range sets[a.k.turns].Val() {
		member := z.Member.(string)
		tag, group, _ := strings.Cut(member, "\t")
		if len(tag) != 38 || a.turns[group] != "" {
			a.wrong("%q is in turns, and %q", member, a.turns[group])
		}
		a.turns[group], a.scores[member] = member, z.Score
	}
	for _, z := range sets[a.k.opens].Val() {
		a.opens[z.Member.(string)] = z.Score
	}
}

// readFlights counts the flights of groups: G2.
func (a *groupAudit) readFlights(sessions []redis.Z) {
	p, held := a.client.Pipeline(), []*redis.StringSliceCmd{}
	for _, z := range sessions {
		held = append(held, p.HKeys(a.Context(), a.k.inflight(z.Member.(string))))
	}
	if _, err := p.Exec(a.Context()); err != nil {
		a.Fatal(err)
	}
	for _, ids := range held {
		for _, id := range ids.Val() {
			if id == self || a.places[id] == "" {
				continue
			}
			_, group, _ := strings.Cut(a.places[id], " ")
			a.flights[group]++
			if a.waits[id] {
				a.wrong("%q is in flight and in line", id)
			}
		}
	}
}

// numbers reads the rule that is in effect for a group.
func (a *groupAudit) numbers(group string) (n [7]int) {
	read := func(text string) (n [7]int) {
		text, _, _ = strings.Cut(text, "\t")
		for i, field := range strings.Fields(text) {
			n[i], _ = strconv.Atoi(field)
		}
		return n
	}
	own, queue := read(a.rules[group]), read(a.rules["\x01*"])
	for i := range n {
		if n[i] = own[i]; n[i] == 0 && i != 3 && i != 6 {
			n[i] = queue[i]
		}
	}
	if own[2] == 0 {
		n[3] = queue[3]
	}
	n[0] = max(n[0], 1)
	return n
}

// group checks one group: G3, G4 and G6. It returns what the group adds to the sums.
func (a *groupAudit) group(group string) (weight, flights int) {
	record := a.records[group]
	head, blocker, _ := strings.Cut(record, "\t")
	fields := append(strings.Fields(head), "-0", "1", "-")
	if record == "" {
		fields = []string{"-0", "1", "-"}
	}
	where, tag := fields[0][:1], fields[2]
	counted, _ := strconv.Atoi(fields[0][1:])
	recorded, _ := strconv.Atoi(fields[1])
	if record != "" && record == "-0 1 -" {
		a.wrong("group %q has a record at rest", group)
	}
	if counted != a.flights[group] {
		a.wrong("group %q has %d flights, and %d are counted: %q", group, a.flights[group], counted, record)
	}
	rule := a.numbers(group)
	used := 0
	if record != "" {
		var before int64
		newest, sum := int64(0), 0 // of the older pairs
		for i, pair := range strings.Fields(head)[3:] {
			pair, counted, has := strings.Cut(pair, ";")
			var last, first int64
			var n int
			if read, err := fmt.Sscanf(pair, "%16d:%16d:%d", &last, &first, &n); read != 3 || err != nil || len(pair) < 35 || first > last || n < 1 || has && i > 0 {
				a.wrong("group %q has the pair %q: %q", group, pair, record)
			}
			if a.now-last <= int64(rule[3])*1000 {
				used += n
			}
			if i == 0 {
				newest = last
				sum, _ = strconv.Atoi(counted)
				continue
			}
			if sum -= n; last < before || last > newest {
				a.wrong("group %q has pairs that are not in order: %q", group, record)
			}
			before = last
		}
		if sum != 0 {
			a.wrong("group %q has a wrong sum of older starts: %q", group, record)
		}
	}
	ordered := rule[4] == 1
	if blocker != "" { // a change of the queue's rule tunes only groups with jobs in line: the others forget their blockers when something of theirs changes
		if _, of, _ := strings.Cut(a.places[blocker], " "); of != group || !ordered && len(a.line[group]) > 0 {
			a.wrong("group %q, ordered %v, has the blocker %q, whose entry is %q", group, ordered, blocker, a.places[blocker])
		}
	}
	want := "-"
	if len(a.line[group]) > 0 && rule[6] == 0 && (rule[1] <= 0 || counted < rule[1]) && !(ordered && (counted > 0 || blocker != "" && !a.waits[blocker])) {
		want = "t"
		if rule[2] > 0 && used >= rule[2] {
			want = "o"
		}
	}
	if where != want && !(where == "o" && want == "t" && rule[2] > 0) {
		a.wrong("group %q is in %q, want %q: record %q, rule %v, %d in line, %d starts count", group, where, want, record, rule, len(a.line[group]), used)
	}
	if (where == "o") != (a.opens[group] != 0) {
		a.wrong("group %q has the record %q, and opens has %v", group, record, a.opens[group])
	}
	member := a.turns[group]
	if where != "t" {
		if member != "" {
			a.wrong("group %q has the record %q, and turns has %q", group, record, member)
		}
		if counted == 0 && tag != "-" {
			a.wrong("group %q is not in turns, has no flights, and has the tag %q", group, tag)
		}
		return 0, 0
	}
	if member != tag+"\t"+group || recorded != rule[0] || a.scores[member] != float64(counted)/float64(recorded) {
		a.wrong("group %q has the record %q and the weight %d, and turns has %q with score %v", group, record, rule[0], member, a.scores[member])
	}
	return recorded, counted
}

// flag checks the field groups of state: G5 and G7.
func (a *groupAudit) flag(weights, flights int) {
	flag := a.state["groups"]
	if (flag != "") != (len(a.places)+len(a.records) > 0) {
		a.wrong("%d jobs have a group, %d groups have records, and the field groups is %q", len(a.places), len(a.records), flag)
	}
	if flag == "" {
		if len(a.turns)+len(a.opens) > 0 {
			a.wrong("without the field groups, turns has %v and opens %v", a.turns, a.opens)
		}
		return
	}
	fields := strings.Fields(flag)
	if len(fields) != 5 || len(fields[0]) != 22 || fields[1] != strconv.Itoa(weights) || fields[2] != strconv.Itoa(flights) {
		a.wrong("the field groups is %q, and the groups in turns have the weight %d and %d flights", flag, weights, flights)
	}
}

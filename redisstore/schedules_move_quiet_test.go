package redisstore

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

// quiet lets every process end its operation, and tickers place owed occurrences. Then it compares the store with the model.
func (w *moveWalk) quiet() {
	w.Helper()
	w.ops = 0
	for _, p := range slices.Clone(w.processes) {
		w.finish(p)
	}
	w.settle()
	w.note("quiet")
	for _, name := range moveNames {
		w.compare(name)
	}
}

// finish lets a process end its operation.
func (w *moveWalk) finish(p *process) {
	w.Helper()
	for n := 0; p.waits != nil; n++ {
		if n == 400 {
			w.fatal("%v does not end", p.op)
		}
		w.grant(p, goOn)
	}
}

// settle lets a ticker place owed occurrences until none is left.
func (w *moveWalk) settle() {
	w.Helper()
	p := w.processes[0]
	for round := 0; w.owedLongAgo() > 0; round++ {
		if round == 10 {
			w.fatal("owed occurrences that no ticker places:\n%s", strings.Join(w.everything(), "\n"))
		}
		p.start(&moveOp{kind: places}, func() { p.placeOwed() })
		w.ended(p)
		w.finish(p)
	}
}

// owedLongAgo makes owed occurrences old enough for a ticker, and returns the number of their schedules.
func (w *moveWalk) owedLongAgo() (n int) {
	w.Helper()
	ctx := w.Context()
	for _, p := range w.partitions() {
		key := w.store.keys.partition(p).owed
		for _, z := range w.client.ZRangeWithScores(ctx, key, 0, -1).Val() {
			n++
			if z.Score < passedOver {
				w.client.ZAdd(ctx, key, redis.Z{Score: min(z.Score, float64(w.serverTime().Add(-5*time.Second).UnixMilli())), Member: z.Member})
			}
		}
	}
	return n
}

func (w *moveWalk) serverTime() time.Time {
	w.Helper()
	now, err := w.client.Time(w.Context()).Result()
	if err != nil {
		w.Fatal(err)
	}
	return now
}

// compare compares the stored data of a name with the model.
func (w *moveWalk) compare(name string) {
	w.Helper()
	at := w.registered(name)
	entries := w.client.ZRangeByLex(w.Context(), w.store.keys.registry(), &redis.ZRangeBy{Min: "[" + name + "\t", Max: "(" + name + "\n"}).Val()
	if len(entries) > 1 {
		w.fatal("%s has the entries %q in the registry", name, entries)
	}
	var home protocol.Partition
	var found head
	for partition, texts := range w.hashes(func(k *partitionKeys) string { return k.schedules }) {
		text := texts[name]
		h, ok := parseHead(text)
		switch {
		case text == "":
		case !ok:
			w.fatal("%s is stored as %q", name, text)
		case h.movedTo == "":
			home, found = partition, h
		}
	}
	exists := found.state != ""
	seen := moveState{exists: exists}
	if exists {
		seen.queue, seen.paused = home.Queue, found.state == protocol.StatePaused
		seen.version = found.version(w.T)
		if want, _ := w.store.partitionOf(w.Context(), at.queue, name); at.generation != found.generation || want != home {
			w.fatal("%s lives in %+v with the generation %d, and the registry has %+v", name, home, found.generation, at)
		}
	}
	creation, note := found.created.Format(time.RFC3339Nano), ""
	if text := w.client.HGet(w.Context(), w.store.keys.partition(home).notes, name).Val(); exists && text != "" {
		note = parseNote(text).Text
	}
	if wrong := w.models[name].quiet(seen, found.revision, creation, note); wrong != "" {
		w.fatal("%s: %s", name, wrong)
	}
	if !exists {
		w.compareDeleted(name, len(entries) == 1)
		return
	}
	w.unwritten[name] = false
	stored, err := w.store.Find(w.Context(), []string{name})
	if err != nil || stored[0].Partition != home || stored[0].Name != name {
		w.fatal("%s is in %+v, and found %+v, %v", name, home, stored, err)
	}
	waiting := slices.DeleteFunc(w.waiting(name), func(id string) bool { return w.placed[id] != creation })
	if got, want := stored[0].Started, int64(w.counted[name+" "+creation]); got != want {
		w.fatal("%s has counted %d started, want %d", name, got, want)
	}
	if got, want := stored[0].Cursor.Used, w.counted[name+" "+creation]+len(waiting); got != want {
		w.fatal("%s has used %d runs, want %d taken and in due %v", name, got, w.counted[name+" "+creation], waiting)
	}
	if stored[0].Waiting == seen.paused && seen.paused != slices.Contains(waiting, storesuite.OccurrenceID(name, stored[0].Cursor.At)) {
		w.fatal("%s: %+v, in due %v, paused %v", name, stored[0], waiting, seen.paused)
	}
}

// version returns the version in a definition of moveBody.
func (h head) version(t testing.TB) (version int) {
	t.Helper()
	if _, err := fmt.Sscanf(h.rest[strings.Index(h.rest, `"args"`):], `"args":%d`, &version); err != nil {
		t.Fatal(err)
	}
	return version
}

// compareDeleted checks that nothing is left of a schedule.
func (w *moveWalk) compareDeleted(name string, registered bool) {
	w.Helper()
	stored, err := w.store.Find(w.Context(), []string{name})
	names, _, namesErr := w.store.Names(w.Context(), protocol.NameRange{})
	if err != nil || namesErr != nil || stored[0].Name != "" || !w.unwritten[name] && (registered || slices.Contains(names, name)) {
		w.fatal("%s was deleted; found %+v, %v; in the registry: %v, %v, %v", name, stored, err, registered, names, namesErr)
	}
	if marks := w.marks(name); len(marks) > 0 && !w.halfGone[name] {
		w.fatal("%s was deleted, and its marks are in %v", name, marks)
	}
	for _, id := range w.waiting(name) { // due occurrences remain until they are taken, and are dropped then
		_, planned, _ := strings.Cut(id, "@")
		if at, err := time.Parse(time.RFC3339, planned); (err != nil || at.After(w.serverTime())) && !w.halfGone[name] {
			w.fatal("%s was deleted, and in due there is %s", name, id)
		}
	}
}

// marks returns the partitions that have a mark of a schedule, or other data under its name.
func (w *moveWalk) marks(name string) (found []string) {
	for _, key := range []func(*partitionKeys) string{
		func(k *partitionKeys) string { return k.schedules }, func(k *partitionKeys) string { return k.cursors },
		func(k *partitionKeys) string { return k.origins }, func(k *partitionKeys) string { return k.open },
	} {
		for partition, fields := range w.hashes(key) {
			k := w.store.keys.partition(partition)
			if text, ok := fields[name]; ok {
				found = append(found, key(&k)+" "+text)
			}
		}
	}
	return found
}

// waiting returns the occurrences of a schedule that are in due or in line, in every queue.
func (w *moveWalk) waiting(name string) (ids []string) {
	for _, p := range w.partitions() {
		k := w.store.keys.partition(p)
		members := append(w.client.ZRange(w.Context(), k.due, 0, -1).Val(), w.client.ZRange(w.Context(), k.line, 0, -1).Val()...)
		for _, member := range members {
			id := lineID(member)
			if schedule, _, _ := strings.Cut(id, "@"); schedule == name {
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// end declares each name in each queue, in one call and by a process without a cache. Then it deletes it with its waiting jobs in all of them,
// and checks that after 7 days nothing is left.
func (w *moveWalk) end() {
	w.Helper()
	fresh := newStore(w.client, Options{Namespace: string(w.store.keys), Partitions: moveQueues})
	for _, name := range moveNames {
		for _, queue := range []string{"default", "mail", "wide"} {
			declared := protocol.Declaration{Name: name, Queue: queue, Overlap: "skip", Body: []byte(`{"job":"j"}`)}
			answer := fresh.Declare(w.Context(), []protocol.Declaration{declared})[0]
			if at := w.registered(name); answer.Err != nil || at.queue != queue {
				w.fatal("%s cannot be declared in %s: %+v, it is in %+v", name, queue, answer, at)
			}
		}
		retry := storesuite.OccurrenceID(name, time.Date(2090, 1, 1, 0, 0, 0, 0, time.UTC)) // an attempt that waits in each queue
		for partition, texts := range w.hashes(func(k *partitionKeys) string { return k.schedules }) {
			if k := w.store.keys.partition(partition); texts[name] != "" {
				w.client.ZAdd(w.Context(), k.due, redisZ(9e12, retry))
				w.client.HSet(w.Context(), k.jobs, retry, "\x01again")
			}
		}
		if found, err := fresh.Remove(w.Context(), protocol.Removal{Name: name, Waiting: true}); !found || err != nil || slices.Contains(w.waiting(name), retry) {
			w.fatal("%s cannot be deleted with its waiting jobs: %v, %v, left are %v", name, found, err, w.waiting(name))
		}
		if marks := w.marks(name); len(marks) > 0 || w.registered(name) != (home{}) {
			w.fatal("%s was deleted, and there is %v, in the registry %+v", name, marks, w.registered(name))
		}
	}
	w.sweep()
}

// sweep checks that nothing is remembered for longer than 7 days.
func (w *moveWalk) sweep() {
	w.Helper()
	for _, p := range w.partitions() {
		k := w.store.keys.partition(p)
		for _, z := range w.client.ZRangeWithScores(w.Context(), k.gone, 0, -1).Val() {
			w.client.ZAdd(w.Context(), k.gone, redis.Z{Score: z.Score - 8*24*3600*1e6, Member: z.Member})
		}
		for more := true; more; {
			swept := w.store.Sweep(w.Context(), []protocol.Partition{p}, 0)[0]
			if more = swept.More; swept.Err != nil {
				w.Fatal(swept.Err)
			}
		}
		if left := w.client.ZRange(w.Context(), k.gone, 0, -1).Val(); len(left) > 0 {
			w.fatal("after 8 days %s has %v", k.gone, left)
		}
	}
	for _, name := range moveNames {
		if marks := w.marks(name); len(marks) > 0 {
			w.fatal("%s was deleted 8 days ago, and there is %v", name, marks)
		}
	}
}

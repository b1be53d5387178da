package redisstore

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/storesuite"
)

// A jobPlaces is where each ID is in the store.
type jobPlaces struct {
	where map[string]string // waiting, due, dead, parked, or a session
	void  map[string]bool   // IDs in ready that are void
	held  map[string]string
}

// look reads all places. An ID that is in two places, or twice in ready, ends the test.
func (w *cancelWalk) look() jobPlaces {
	w.Helper()
	ctx, k := w.Context(), w.keys()
	p := jobPlaces{where: map[string]string{}, void: map[string]bool{}, held: map[string]string{}}
	put := func(id, where string) {
		if before := p.where[id]; before != "" {
			w.fatal("%s is in %s and in %s", id, before, where)
		}
		p.where[id] = where
	}
	stale := w.client.ZRange(ctx, k.stale, 0, -1).Val()
	for _, id := range w.client.LRange(ctx, k.ready, 0, -1).Val() {
		switch {
		case p.void[id]:
			w.fatal("%s is in ready twice", id)
		case slices.Contains(stale, id):
			p.void[id] = true
		default:
			put(id, "waiting")
		}
	}
	for _, id := range stale {
		if !p.void[id] {
			w.fatal("%s is in stale and not in ready", id)
		}
	}
	if w.stateField("stale") == "" && len(stale) > 0 { // the flag may be left over: the next take removes it
		w.fatal("stale has %v, but state has no flag for it", stale)
	}
	for _, id := range w.client.ZRange(ctx, k.due, 0, -1).Val() {
		put(id, "due")
	}
	for _, id := range w.client.ZRange(ctx, k.dead, 0, -1).Val() {
		put(id, "dead")
	}
	for _, name := range storesuite.WalkParks {
		for _, id := range w.client.ZRange(ctx, k.parked(name), 0, -1).Val() {
			put(id, "parked")
		}
	}
	spared := w.client.ZRange(ctx, k.spared, 0, -1).Val()
	for _, id := range w.client.LRange(ctx, k.purged, 0, -1).Val() {
		if !slices.Contains(spared, id) {
			put(id, "purged")
		}
	}
	asked := 0
	for session := range w.held {
		for id, fence := range w.client.HGetAll(ctx, k.inflight(session)).Val() {
			if id == self {
				continue
			}
			put(id, session)
			p.held[id] = fence
			if fence[0] == '!' {
				asked++
			}
		}
	}
	if text := w.stateField("asked"); text != map[bool]string{true: fmt.Sprint(asked)}[asked > 0] {
		w.fatal("%d in flight were cancelled, and state has %q", asked, text)
	}
	return p
}

// check compares the store with the model between two calls.
func (w *cancelWalk) check() {
	w.Helper()
	p := w.look()
	bodies := w.client.HGetAll(w.Context(), w.keys().jobs).Val()
	for id, life := range w.lives {
		switch where := p.where[id]; {
		case where == "":
			w.fatal("%s is in no place", id)
		case life.session != "" && where != life.session, life.session == "" && p.held[id] != "":
			w.fatal("%s is held by %q and in %s", id, life.session, where)
		case life.session != "" && life.cancelled != strings.HasPrefix(p.held[id], "!"):
			w.fatal("%s, cancelled %v, has the fence %s", id, life.cancelled, p.held[id])
		case life.purged != (where == "purged"):
			w.fatal("%s, to be purged %v, is in %s", id, life.purged, where)
		case life.session != "" && (life.follows != "") != strings.HasPrefix(p.held[id], "+"):
			w.fatal("%s, followed by %q, has the fence %s", id, life.follows, p.held[id])
		case life.goes != "" && where != life.goes:
			w.fatal("%s is in %s, want it in %s", id, where, life.goes)
		case p.void[id] && where != "due":
			w.fatal("%s is void in ready and in %s", id, where)
		case bodies[id] != life.body:
			w.fatal("%s has the body %q, want %q", id, bodies[id], life.body)
		}
		life.goes = ""
		if got := w.client.HGet(w.Context(), w.keys().after, id).Val(); life.follows == "" && got != "" || !strings.HasSuffix(got, life.follows) {
			w.fatal("%s is followed by %q, want %q", id, got, life.follows)
		}
	}
	for id, where := range p.where {
		if w.lives[id] == nil {
			w.fatal("%s has ended and is in %s", id, where)
		}
	}
	if len(bodies) != len(w.lives) {
		w.fatal("bodies of %v, want those of %d jobs", slices.Collect(maps.Keys(bodies)), len(w.lives))
	}
	now := fmt.Sprint(w.serverTime().UnixMilli())
	barred := w.client.ZRangeByScore(w.Context(), w.keys().once, &redis.ZRangeBy{Min: now, Max: "+inf"}).Val()
	if slices.Sort(barred); !slices.Equal(barred, slices.Sorted(maps.Keys(w.barred))) {
		w.fatal("not to be added again: %v, want %v", barred, slices.Sorted(maps.Keys(w.barred)))
	}
	if w.manual != nil {
		w.manual.check(w, p)
	}
	if s := w.Stats(); s.Cancelled != int64(w.cancelled) || s.Done != int64(w.done) {
		w.fatal("%d cancelled, %d done; want %d and %d", s.Cancelled, s.Done, w.cancelled, w.done)
	}
}

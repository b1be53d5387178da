package redisstore

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

// A collectionWalk makes random calls and computes each answer with plain maps. Some calls are sent twice, as after a lost reply.
type collectionWalk struct {
	*bench
	seed    uint64
	random  *rand.Rand
	calls   int
	acts    []string
	drawn   int64 // the highest number so far
	old     []protocol.Collection
	there   map[string]*walkedCollection
	twice   bool   // whether the next script is
	sending *store // with that hook
}

// A walkedCollection is the expected state of a collection.
type walkedCollection struct {
	protocol.Collection
	names map[string]bool
}

// For all calls in any order, answered or repeated: collections and names match the accepted calls, and only calls are accepted that
// the states allow.
func TestRandomCallsKeepCollections(t *testing.T) {
	seeds, steps := storesuite.WalkSize(2, 1500)
	for _, seed := range seeds {
		onServersWith(t, randomCalls, func(b *bench) {
			w := &collectionWalk{bench: b, seed: seed, random: rand.New(rand.NewPCG(seed, 11)), there: map[string]*walkedCollection{}}
			w.sending = b.hooked(func(cmd redis.Cmder) error {
				if w.twice && cmd != nil && (cmd.Name() == "evalsha" || cmd.Name() == "eval") {
					_ = b.client.Do(b.Context(), cmd.Args()...).Err()
				}
				return nil
			})
			for w.calls < steps {
				w.step()
				w.check()
			}
			w.Verified()
			t.Logf("seed %d: %d calls", seed, w.calls)
		})
	}
}

func (w *collectionWalk) fatal(format string, arguments ...any) {
	w.Helper()
	w.Fatalf("seed %d, call %d: %s\nbefore: %q", w.seed, w.calls, fmt.Sprintf(format, arguments...), w.acts[max(0, len(w.acts)-12):])
}

// begin records a call.
func (w *collectionWalk) begin(format string, arguments ...any) {
	w.calls++
	w.twice = w.random.IntN(4) == 0
	w.acts = append(w.acts, fmt.Sprintf(format, arguments...))
	w.acts = w.acts[max(0, len(w.acts)-50):]
}

func (w *collectionWalk) step() {
	if w.SetClock != nil && w.random.IntN(50) == 0 { // sets the clock, at most an hour back
		w.SetClock(time.Date(2026, 3, 8, 9, w.random.IntN(60), 0, 0, time.UTC))
	}
	name := fmt.Sprint("c", w.random.IntN(4))
	switch n := w.random.IntN(20); {
	case n < 6:
		w.put(name)
	case n < 8:
		w.delete(name)
	case n < 13:
		w.reserve(name)
	case n < 16:
		w.release(name)
	case n < 18:
		w.finish(name)
	case n < 19:
		w.sweep(name)
	default:
		w.names(name)
	}
}

// seen returns a collection as some caller may have read it: its present state, an old one, or none.
func (w *collectionWalk) seen(name string) protocol.Collection {
	now := w.there[name]
	switch n := w.random.IntN(8); {
	case n == 0 && len(w.old) > 0:
		c := w.old[w.random.IntN(len(w.old))]
		c.Name = name
		return c
	case n == 1 || now == nil:
		return protocol.Collection{Name: name}
	}
	return now.Collection
}

// remember keeps the stored state, for callers that read it late.
func (w *collectionWalk) remember(c protocol.Collection) {
	w.old = append(w.old, c)
	w.old = w.old[max(0, len(w.old)-20):]
}

func (w *collectionWalk) expect(err, want error) bool {
	w.Helper()
	if !errors.Is(err, want) || (err == nil) != (want == nil) {
		w.fatal("%v, want %v", err, want)
	}
	return err == nil
}

func (w *collectionWalk) put(name string) {
	states := []string{protocol.CollectionEnabled, protocol.CollectionDisabled, protocol.CollectionDeleted}
	put := protocol.CollectionPut{Name: name, Revision: w.seen(name).Revision, State: states[w.random.IntN(3)], MaxNames: w.random.IntN(6), Data: []byte(fmt.Sprintf(`{"}\"n":%d}`, w.random.IntN(2)))}
	put.Owner, put.MaxOwned = []string{"", "ann", "ben"}[w.random.IntN(3)], w.random.IntN(3)
	now := w.there[name]
	if now == nil && put.State == protocol.CollectionDeleted {
		put.State = protocol.CollectionEnabled // a caller that creates one does not delete it
	}
	w.begin("put %+v", put)
	got, err := w.sending.PutCollection(w.Context(), put)
	var want error
	same := now != nil && now.State == put.State && now.MaxNames == put.MaxNames && string(now.Data) == string(put.Data) && now.Owner == put.Owner
	owned := 0
	for _, other := range w.there {
		if other.Owner == put.Owner {
			owned++
		}
	}
	switch {
	case now == nil && put.Revision != 0:
		want = protocol.ErrNotFound
	case now == nil && put.Owner != "" && put.MaxOwned > 0 && owned >= put.MaxOwned:
		want = protocol.ErrOwnerQuota
	case now == nil:
	case now.State == protocol.CollectionDeleted && !(same && now.Revision == put.Revision):
		want = protocol.ErrDeleting
	case now.Revision != put.Revision:
		want = protocol.ErrConflict
	}
	if !w.expect(err, want) {
		return
	}
	if same {
		if fmt.Sprint(got) != fmt.Sprint(now.Collection) {
			w.fatal("repeated, it is %+v, want %+v", got, now.Collection)
		}
		return
	}
	if got.Revision <= w.drawn {
		w.fatal("revision %d, and %d was drawn before", got.Revision, w.drawn)
	}
	w.drawn = got.Revision
	is := protocol.Collection{Name: name, Creation: got.Revision, Revision: got.Revision, State: put.State, MaxNames: put.MaxNames, Data: put.Data, Owner: put.Owner, Created: got.Created, Changed: got.Changed, Swept: got.Swept}
	if now == nil {
		now = &walkedCollection{names: map[string]bool{}}
		w.there[name] = now
	} else {
		w.remember(now.Collection)
		is.Creation, is.Created, is.Swept, is.Transition = now.Creation, now.Created, now.Swept, now.Transition
		if now.State != put.State {
			is.Transition = got.Revision
		}
	}
	now.Collection = is
	if fmt.Sprint(got) != fmt.Sprint(is) {
		w.fatal("stored %+v, want %+v", got, is)
	}
}

func (w *collectionWalk) delete(name string) {
	c, now := w.seen(name), w.there[name]
	w.begin("delete %s %d %d", name, c.Creation, c.Revision)
	err := w.sending.DeleteCollection(w.Context(), name, c.Creation, c.Revision)
	if now == nil || now.Creation != c.Creation {
		w.expect(err, nil)
		return
	}
	if now.Revision != c.Revision || now.State != protocol.CollectionDeleted || len(now.names) > 0 {
		w.expect(err, protocol.ErrConflict)
		return
	}
	w.expect(err, nil)
	w.remember(now.Collection)
	delete(w.there, name)
}

func (w *collectionWalk) reserve(name string) {
	now, item := w.there[name], fmt.Sprint("n", w.random.IntN(8))
	w.begin("reserve %s %s", name, item)
	answer, err := w.sending.ReserveName(w.Context(), name, item)
	switch {
	case now == nil:
		w.expect(err, protocol.ErrNotFound)
	case now.State == protocol.CollectionDeleted:
		w.expect(err, protocol.ErrDeleting)
	case !now.names[item] && len(now.names) >= now.MaxNames:
		w.expect(err, protocol.ErrQuota)
	default:
		w.expect(err, nil)
		if answer.Known != (now.names[item] || w.twice) || fmt.Sprint(answer.Collection) != fmt.Sprint(now.Collection) {
			w.fatal("answered %+v, sent twice: %v; want %+v", answer, w.twice, now)
		}
		now.names[item] = true
	}
}

func (w *collectionWalk) release(name string) {
	c, now, item := w.seen(name), w.there[name], fmt.Sprint("n", w.random.IntN(8))
	w.begin("release %s %d %s", name, c.Creation, item)
	w.expect(w.sending.ReleaseNames(w.Context(), name, c.Creation, []string{item, "n7"}), nil)
	if now != nil && now.Creation == c.Creation {
		delete(now.names, item)
		delete(now.names, "n7")
	}
}

func (w *collectionWalk) finish(name string) {
	c, now := w.seen(name), w.there[name]
	w.begin("finish %s %d", name, c.Transition)
	w.expect(w.sending.FinishTransition(w.Context(), name, c.Transition), nil)
	if now != nil && now.Transition == c.Transition && now.State != protocol.CollectionDeleted {
		now.Transition = 0
	}
}

func (w *collectionWalk) sweep(name string) {
	c, now := w.seen(name), w.there[name]
	w.begin("sweep %s %d", name, c.Swept.UnixMicro())
	moved, err := w.sending.MoveSwept(w.Context(), name, c.Swept)
	if now == nil {
		w.expect(err, protocol.ErrNotFound)
		return
	}
	w.expect(err, nil)
	found, err := w.store.FindCollection(w.Context(), name)
	if err != nil {
		w.fatal("%v", err)
	}
	same := c.Swept.Equal(now.Swept)
	if same && !moved || found.Swept.Equal(now.Swept) == same {
		w.fatal("moved %v from %d, which is %d now; seen %d", moved, now.Swept.UnixMicro(), found.Swept.UnixMicro(), c.Swept.UnixMicro())
	}
	now.Swept = found.Swept
}

func (w *collectionWalk) names(name string) {
	now := w.there[name]
	call := protocol.CollectionNamesCall{Collection: name, Offset: w.random.IntN(3), Count: 1 + w.random.IntN(8)}
	if w.random.IntN(2) == 0 {
		call.After = fmt.Sprint("n", w.random.IntN(8))
	}
	w.begin("names %+v", call)
	got, total, err := w.sending.CollectionNames(w.Context(), call)
	if now == nil {
		w.expect(err, protocol.ErrNotFound)
		return
	}
	w.expect(err, nil)
	want := slices.Sorted(maps.Keys(now.names))
	want = slices.DeleteFunc(want, func(item string) bool { return item <= call.After })
	want = want[min(call.Offset, len(want)):]
	want = want[:min(call.Count, len(want))]
	if !slices.Equal(got, want) || total != len(now.names) {
		w.fatal("%v of %d, want %v of %d", got, total, want, len(now.names))
	}
}

// check verifies the stored state, in every order.
func (w *collectionWalk) check() {
	if w.calls%7 != 0 {
		return
	}
	w.twice = false
	compare := func(order protocol.CollectionOrder, want []protocol.Collection, owner ...string) {
		w.Helper()
		w.calls++
		got, next, err := w.store.PageCollections(w.Context(), protocol.CollectionPage{Order: order, Age: -10_000 * time.Hour, Owner: strings.Join(owner, "")})
		if err != nil || next != nil || fmt.Sprint(got) != fmt.Sprint(want) && len(got)+len(want) > 0 {
			w.fatal("order %d: %+v, %v, %v; want %+v", order, got, next, err, want)
		}
	}
	var all, unfinished []protocol.Collection
	for _, name := range slices.Sorted(maps.Keys(w.there)) {
		c := w.there[name]
		if all = append(all, c.Collection); c.Transition != 0 {
			unfinished = append(unfinished, c.Collection)
		}
		w.calls++
		if n := w.client.ZCard(w.Context(), w.store.keys.collections().names(name)).Val(); int(n) != len(c.names) {
			w.fatal("%s has %d names, want %d", name, n, len(c.names))
		}
	}
	compare(protocol.ByName, all)
	for _, owner := range []string{"ann", "ben"} {
		compare(protocol.ByOwner, slices.DeleteFunc(slices.Clone(all), func(c protocol.Collection) bool { return c.Owner != owner }), owner)
	}
	slices.SortFunc(unfinished, func(a, b protocol.Collection) int { return int(a.Transition - b.Transition) })
	compare(protocol.ByTransition, unfinished)
	slices.SortFunc(all, func(a, b protocol.Collection) int { return a.Swept.Compare(b.Swept) })
	compare(protocol.BySweep, all)
}

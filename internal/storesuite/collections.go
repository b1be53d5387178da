package storesuite

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/long"
	"github.com/chimejobs/chime/internal/protocol"
)

// PutCollection puts a collection that must be accepted.
func (b *Bench) PutCollection(put protocol.CollectionPut) protocol.Collection {
	b.Helper()
	c, err := b.Store.PutCollection(b.Context(), put)
	if err != nil {
		b.Fatalf("put %+v: %v", put, err)
	}
	return c
}

// NewCollection creates an enabled one.
func (b *Bench) NewCollection(name string, maxNames int) protocol.Collection {
	b.Helper()
	return b.PutCollection(protocol.CollectionPut{Name: name, State: protocol.CollectionEnabled, MaxNames: maxNames, Data: []byte(`{"a":1}`)})
}

// With returns a put of a collection as it was read, in a state.
func With(c protocol.Collection, state string) protocol.CollectionPut {
	data := c.Data
	if data == nil {
		data = []byte("null")
	}
	return protocol.CollectionPut{Name: c.Name, Revision: c.Revision, State: state, MaxNames: c.MaxNames, Data: data, Owner: c.Owner}
}

func (s *Suite) TestAReservationNeedsRoomInACollectionThatIsNotDeleted(t *testing.T) {
	s.onEveryServer(t, func(b *Bench) {
		reserve := func(name string, want error, known bool) protocol.ReserveAnswer {
			b.Helper()
			answer, err := b.Store.ReserveName(b.Context(), "c", name)
			if !errors.Is(err, want) || (err == nil) != (want == nil) || answer.Known != known {
				b.Fatalf("reserve %s: %+v, %v; want %v, known %v", name, answer, err, want, known)
			}
			return answer
		}
		reserve("a", protocol.ErrNotFound, false)
		c := b.NewCollection("c", 2)
		before := b.Now()
		if answer := reserve("a", nil, false); fmt.Sprint(answer.Collection) != fmt.Sprint(c) || answer.Now.Before(before.Truncate(time.Microsecond)) || answer.Now.After(b.Now()) {
			b.Errorf("answered %+v, want %+v and the time", answer, c)
		}
		reserve("b", nil, false)
		reserve("a", nil, true)
		if answer := reserve("c", protocol.ErrQuota, false); answer.Collection.Creation != c.Creation {
			b.Errorf("refused with %+v, want the collection", answer)
		}
		c = b.PutCollection(protocol.CollectionPut{Name: "c", Revision: c.Revision, State: protocol.CollectionDisabled, MaxNames: 1, Data: []byte("null")})
		if c.Data != nil {
			b.Errorf("data null is read as %q, want none", c.Data)
		}
		reserve("b", nil, true) // a lowered quota only limits new names
		reserve("c", protocol.ErrQuota, false)
		if err := b.Store.ReleaseNames(b.Context(), "c", c.Creation+1, []string{"a", "b"}); err != nil {
			b.Error(err)
		}
		reserve("c", protocol.ErrQuota, false) // those of another creation remain
		for range 2 {
			if err := b.Store.ReleaseNames(b.Context(), "c", c.Creation, []string{"a", "b", "never"}); err != nil {
				b.Error(err)
			}
		}
		reserve("c", nil, false)
		c = b.PutCollection(With(c, protocol.CollectionDeleted))
		reserve("c", protocol.ErrDeleting, false)
		reserve("d", protocol.ErrDeleting, false)
	})
}

// A late release by a caller that knows an earlier collection of the name removes nothing.
func (s *Suite) TestALateReleaseLeavesALaterCollection(t *testing.T) {
	s.onEveryServer(t, func(b *Bench) {
		first := b.PutCollection(With(b.NewCollection("c", 2), protocol.CollectionDeleted))
		if err := b.Store.DeleteCollection(b.Context(), "c", first.Creation, first.Revision); err != nil {
			b.Fatal(err)
		}
		b.NewCollection("c", 2)
		if _, err := b.Store.ReserveName(b.Context(), "c", "a"); err != nil {
			b.Fatal(err)
		}
		if err := b.Store.ReleaseNames(b.Context(), "c", first.Creation, []string{"a"}); err != nil {
			b.Fatal(err)
		}
		if names, _, err := b.Store.CollectionNames(b.Context(), protocol.CollectionNamesCall{Collection: "c", Count: 9}); err != nil || fmt.Sprint(names) != "[a]" {
			b.Errorf("names %v, %v; want [a]", names, err)
		}
	})
}

// No number is drawn twice, at any setting of the clock.
func (s *Suite) TestNumbersOfCollectionsGrowWhenTheClockStepsBack(t *testing.T) {
	s.onServersWith(t, SettableClock, func(b *Bench) {
		b.SetClock(time.Date(2026, 3, 8, 9, 0, 0, 0, time.UTC))
		c := b.NewCollection("c", 2)
		b.SetClock(time.Date(2026, 3, 8, 8, 0, 0, 0, time.UTC))
		c = b.PutCollection(With(c, protocol.CollectionDeleted))
		if c.Revision <= c.Creation {
			b.Errorf("revision %d after creation %d", c.Revision, c.Creation)
		}
		if err := b.Store.DeleteCollection(b.Context(), "c", c.Creation, c.Revision); err != nil {
			b.Fatal(err)
		}
		if again := b.NewCollection("c", 2); again.Creation <= c.Revision {
			b.Errorf("created again as %d, want more than %d", again.Creation, c.Revision)
		}
	})
}

// A change of state during a transition begins another transition.
func (s *Suite) TestATransitionIsFinishedByItsNumber(t *testing.T) {
	s.onEveryServer(t, func(b *Bench) {
		unfinished := func() string {
			b.Helper()
			var all []string
			found, next, err := b.Store.PageCollections(b.Context(), protocol.CollectionPage{Order: protocol.ByTransition})
			if err != nil || next != nil {
				b.Fatal(next, err)
			}
			for _, c := range found {
				all = append(all, c.Name+" "+c.State)
			}
			return fmt.Sprint(all)
		}
		c := b.NewCollection("c", 2)
		b.NewCollection("d", 2)
		b.Want("of new ones", unfinished(), "[]")
		first := b.PutCollection(With(c, protocol.CollectionDisabled))
		second := b.PutCollection(With(first, protocol.CollectionEnabled))
		for range 2 {
			if err := b.Store.FinishTransition(b.Context(), "c", first.Transition); err != nil {
				b.Fatal(err)
			}
		}
		b.Want("after the first was finished", unfinished(), "[c enabled]")
		put := With(second, protocol.CollectionEnabled)
		put.MaxNames = 7
		third := b.PutCollection(put)
		if third.Transition != second.Transition {
			b.Errorf("transition %d after another change, want %d", third.Transition, second.Transition)
		}
		for range 2 {
			if err := b.Store.FinishTransition(b.Context(), "c", second.Transition); err != nil {
				b.Fatal(err)
			}
		}
		b.Want("after the second was finished", unfinished(), "[]")
		if found, err := b.Store.FindCollection(b.Context(), "c"); err != nil || found.Transition != 0 || found.Revision != third.Revision || found.MaxNames != 7 {
			b.Errorf("%+v, %v; want revision %d without a transition", found, err, third.Revision)
		}
	})
}

// Fifty writers reserve a hundred names each; fifty are free.
func (s *Suite) TestAQuotaIsExactUnderManyWriters(t *testing.T) {
	s.onEveryServer(t, func(b *Bench) {
		const writers, quota = 50, 50
		each := long.Seeds(20, 100)
		c := b.NewCollection("c", quota)
		var mu sync.Mutex
		var got []string
		var group sync.WaitGroup
		for w := range writers {
			group.Go(func() {
				for i := range each {
					name := fmt.Sprintf("w%02d-%02d", w, i)
					answer, err := b.Store.ReserveName(b.Context(), "c", name)
					if err != nil && !errors.Is(err, protocol.ErrQuota) || answer.Known {
						b.Errorf("%s: %+v, %v", name, answer, err)
					}
					if err == nil {
						mu.Lock()
						got = append(got, name)
						mu.Unlock()
					}
				}
			})
		}
		group.Wait()
		slices.Sort(got)
		names, total, err := b.Store.CollectionNames(b.Context(), protocol.CollectionNamesCall{Collection: "c", Count: 100})
		if err != nil || total != quota || len(got) != quota || !slices.Equal(names, got) {
			b.Errorf("%d calls reported a reservation, %d are there, %v: %v, want %d: %v", len(got), total, err, names, quota, got)
		}
		if now, err := b.Store.FindCollection(b.Context(), "c"); err != nil || now.Revision != c.Revision {
			b.Errorf("revision %d, %v; want %d: a name is no change", now.Revision, err, c.Revision)
		}
	})
}

// Pages by name and by rank continue where the last one ended, while names come and go: a name that remains is listed once.
func (s *Suite) TestNamesAreListedWhileOthersComeAndGo(t *testing.T) {
	s.onEveryServer(t, func(b *Bench) {
		c := b.NewCollection("c", 1000)
		reserve := func(name string) {
			if _, err := b.Store.ReserveName(b.Context(), "c", name); err != nil {
				b.Fatal(err)
			}
		}
		var stay []string
		for i := range 120 {
			stay = append(stay, fmt.Sprintf("s%03d", i))
			reserve(stay[i])
			reserve(stay[i] + " goes")
		}
		var listed []string
		for after := ""; ; {
			names, _, err := b.Store.CollectionNames(b.Context(), protocol.CollectionNamesCall{Collection: "c", After: after, Count: 7})
			if err != nil {
				b.Fatal(err)
			}
			if len(names) == 0 {
				break
			}
			listed, after = append(listed, names...), names[len(names)-1]
			if !strings.HasSuffix(after, "comes") {
				reserve(after + " comes")
			}
			if strings.HasSuffix(after, "goes") {
				if err := b.Store.ReleaseNames(b.Context(), "c", c.Creation, []string{after}); err != nil {
					b.Fatal(err)
				}
			}
			reserve("a" + after) // before all later ones
		}
		if left := slices.DeleteFunc(listed, func(name string) bool { return !slices.Contains(stay, name) }); !slices.Equal(left, stay) {
			b.Errorf("listed %v, want each name that remained, once", left)
		}
		all, total, err := b.Store.CollectionNames(b.Context(), protocol.CollectionNamesCall{Collection: "c", Count: 1000})
		if err != nil || len(all) != total {
			b.Fatal(len(all), total, err)
		}
		for _, call := range []struct {
			after         string
			offset, count int
			want          []string
		}{
			{"", 100, 3, all[100:103]}, {"", total - 1, 10, all[total-1:]}, {"", total, 10, nil}, {all[9], 2, 2, all[12:14]}, {"s", 0, 1, []string{"s000"}},
		} {
			got, _, err := b.Store.CollectionNames(b.Context(), protocol.CollectionNamesCall{Collection: "c", After: call.after, Offset: call.offset, Count: call.count})
			if err != nil || !slices.Equal(got, call.want) {
				b.Errorf("%+v: %v, %v", call, got, err)
			}
		}
		if _, _, err := b.Store.CollectionNames(b.Context(), protocol.CollectionNamesCall{Collection: "none", Count: 1}); !errors.Is(err, protocol.ErrNotFound) {
			b.Errorf("a missing one: %v, want ErrNotFound", err)
		}
	})
}

// The version of secrets only grows, and is no collection.
func (s *Suite) TestTheVersionOfSecretsNeverGoesBack(t *testing.T) {
	s.onEveryServer(t, func(b *Bench) {
		if version, err := b.Store.SecretsVersion(b.Context()); err != nil || version != 0 {
			b.Errorf("at first %d, %v; want 0", version, err)
		}
		for i, step := range []struct{ raise, want int }{{1, 1}, {3, 3}, {2, 3}, {3, 3}} {
			stored, err := b.Store.RaiseSecretsVersion(b.Context(), step.raise)
			if err != nil || stored != step.want {
				b.Errorf("step %d, to %d: %d, %v; want %d", i, step.raise, stored, err, step.want)
			}
			if version, err := b.Store.SecretsVersion(b.Context()); err != nil || version != step.want {
				b.Errorf("after step %d: %d, %v; want %d", i, version, err, step.want)
			}
		}
		b.NewCollection("c", 1)
		page, next, err := b.Store.PageCollections(b.Context(), protocol.CollectionPage{Order: protocol.ByName})
		if err != nil || next != nil || len(page) != 1 {
			b.Errorf("the collections are %v, %v; want c alone", page, err)
		}
	})
}

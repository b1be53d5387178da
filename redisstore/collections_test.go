package redisstore

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

// repeating is the bench's store with a client that executes each script twice: as if the first reply had been lost.
func (b *bench) repeating() *store {
	return b.hooked(func(cmd redis.Cmder) error {
		if cmd != nil && strings.HasPrefix(cmd.Name(), "eval") {
			_ = b.client.Do(b.Context(), cmd.Args()...).Err() // a script that is not loaded yet is sent again with its text
		}
		return nil
	})
}

// collectionKeysNow returns the existing keys of the collections.
func (b *bench) collectionKeysNow() string {
	k := b.store.keys.collections()
	var there []string
	for _, key := range []string{k.records, k.index, k.unfinished, k.swept, k.owned, k.names("c")} {
		if n, _ := b.client.Exists(b.Context(), key).Result(); n == 1 {
			there = append(there, strings.TrimPrefix(key, k.prefix))
		}
	}
	return fmt.Sprint(there)
}

// Each row is a put of a collection in some state, and its answer.
func TestAPutNeedsTheRevisionThatIsStored(t *testing.T) {
	const enabled, disabled, deleted = protocol.CollectionEnabled, protocol.CollectionDisabled, protocol.CollectionDeleted
	for _, c := range []struct {
		stored string // the state; empty: none
		seen   string // none, same, old
		state  string
		data   string
		want   error
		is     string // the effect
	}{
		{"", "none", enabled, `{}`, nil, "created"},
		{"", "old", enabled, `{}`, protocol.ErrNotFound, ""},
		{enabled, "none", enabled, `{"a":1}`, protocol.ErrConflict, ""},
		{enabled, "old", enabled, `{"a":1}`, protocol.ErrConflict, ""},
		{enabled, "same", enabled, `{"a":1}`, nil, "unchanged"},
		{enabled, "same", enabled, `{"a":2}`, nil, "changed"},
		{enabled, "same", disabled, `{"a":1}`, nil, "begun"},
		{enabled, "same", deleted, `{"a":1}`, nil, "begun"},
		{disabled, "same", enabled, `{"a":1}`, nil, "begun"},
		{disabled, "same", disabled, `{"a":2}`, nil, "changed"},
		{disabled, "same", deleted, `{"a":1}`, nil, "begun"},
		{deleted, "same", deleted, `{"a":1}`, nil, "unchanged"},
		{deleted, "same", deleted, `{"a":2}`, protocol.ErrDeleting, ""},
		{deleted, "same", enabled, `{"a":1}`, protocol.ErrDeleting, ""},
		{deleted, "old", disabled, `{"a":1}`, protocol.ErrDeleting, ""},
		{deleted, "none", enabled, `{"a":1}`, protocol.ErrDeleting, ""},
	} {
		for _, twice := range []bool{false, true} {
			onEveryServer(t, func(b *bench) {
				what := fmt.Sprintf("%+v, sent twice: %v", c, twice)
				var before protocol.Collection
				if c.stored != "" {
					before = b.NewCollection("c", 5)
					before = b.PutCollection(storesuite.With(before, c.stored))
				}
				seen := map[string]int64{"none": 0, "same": before.Revision, "old": before.Revision + 7}[c.seen]
				store := b.store
				if twice {
					store = b.repeating()
				}
				after, err := store.PutCollection(b.Context(), protocol.CollectionPut{Name: "c", Revision: seen, State: c.state, MaxNames: 5, Data: []byte(c.data)})
				if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
					b.Fatalf("%s: %v, want %v", what, err, c.want)
				}
				found, err := b.store.FindCollection(b.Context(), "c")
				if c.want != nil {
					if fmt.Sprint(found) != fmt.Sprint(before) || (err != nil) != (c.stored == "") {
						b.Errorf("%s: refused, and is %+v, %v; want %+v", what, found, err, before)
					}
					return
				}
				if fmt.Sprint(found) != fmt.Sprint(after) || err != nil || string(after.Data) != c.data || after.State != c.state || after.MaxNames != 5 {
					b.Errorf("%s: answered %+v, stored %+v, %v", what, after, found, err)
				}
				is := "changed"
				switch {
				case c.stored == "":
					is = "created"
				case after.Revision == before.Revision:
					is = "unchanged"
				case after.Transition == after.Revision:
					is = "begun"
				}
				if is != c.is || c.stored != "" && (after.Creation != before.Creation || after.Created != before.Created || after.Swept != before.Swept) {
					b.Errorf("%s: it is %s, want %s: %+v before, %+v after", what, is, c.is, before, after)
				}
				if c.stored == "" && (after.Creation != after.Revision || after.Transition != 0 || after.Created != after.Changed) {
					b.Errorf("%s: %+v", what, after)
				}
			})
		}
	}
}

// A call that the client has repeated after a lost reply has the same effect and answer as a single one, except that it does not know
// whether a name was new.
func TestACallOfCollectionsMayBeSentTwice(t *testing.T) {
	changing := regexp.MustCompile(`\d{10,}|\d{4}-\d\d-\d\d[ T][0-9:.]+|[A-Z2-7]{26}`) // instants, drawn numbers, names of calls
	for name, does := range map[string]func(s *store, c, deleted protocol.Collection) (any, error){
		"create": func(s *store, _, _ protocol.Collection) (any, error) {
			return s.PutCollection(t.Context(), protocol.CollectionPut{Name: "new", State: protocol.CollectionEnabled, MaxNames: 2, Data: []byte("null")})
		},
		"disable": func(s *store, c, _ protocol.Collection) (any, error) {
			return s.PutCollection(t.Context(), storesuite.With(c, protocol.CollectionDisabled))
		},
		"delete": func(s *store, _, d protocol.Collection) (any, error) {
			return nil, s.DeleteCollection(t.Context(), d.Name, d.Creation, d.Revision)
		},
		"reserve": func(s *store, _, _ protocol.Collection) (any, error) {
			answer, err := s.ReserveName(t.Context(), "c", "b")
			return answer.Collection, err
		},
		"release": func(s *store, c, _ protocol.Collection) (any, error) {
			return nil, s.ReleaseNames(t.Context(), "c", c.Creation, []string{"a"})
		},
		"finish": func(s *store, c, _ protocol.Collection) (any, error) {
			return nil, s.FinishTransition(t.Context(), "c", c.Transition)
		},
		"raise secrets": func(s *store, _, _ protocol.Collection) (any, error) {
			return s.RaiseSecretsVersion(t.Context(), 2)
		},
		"sweep": func(s *store, c, _ protocol.Collection) (any, error) { return s.MoveSwept(t.Context(), "c", c.Swept) },
	} {
		onEveryServer(t, func(b *bench) {
			var once string
			for _, twice := range []bool{false, true} {
				k := b.store.keys.collections()
				b.client.Del(b.Context(), k.records, k.index, k.unfinished, k.swept, k.names("c"))
				c := b.NewCollection("c", 2)
				c = b.PutCollection(storesuite.With(c, protocol.CollectionDisabled))
				c = b.PutCollection(storesuite.With(c, protocol.CollectionEnabled))
				if _, err := b.store.ReserveName(b.Context(), "c", "a"); err != nil {
					b.Fatal(err)
				}
				deleted := b.PutCollection(storesuite.With(b.NewCollection("deleted", 1), protocol.CollectionDeleted))
				store := b.store
				if twice {
					store = b.repeating()
				}
				answer, err := does(store, c, deleted)
				all := fmt.Sprint(answer, err, b.client.HGetAll(b.Context(), k.records).Val())
				for _, key := range []string{k.index, k.unfinished, k.swept, k.names("c")} {
					members := b.client.ZRange(b.Context(), key, 0, -1).Val()
					slices.Sort(members)
					all += fmt.Sprint(members)
				}
				if all = changing.ReplaceAllString(all, "#"); twice && all != once || err != nil {
					b.Errorf("%s, sent twice: %v\n%s\nwant the same as after one call:\n%s", name, err, all, once)
				}
				once = all
			}
		})
	}
}

// The last step of a deletion needs the earlier ones, and may be repeated: a collection created since remains.
func TestACollectionIsRemovedLast(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		remove := func(c protocol.Collection, want error, text string) {
			b.Helper()
			if err := b.store.DeleteCollection(b.Context(), c.Name, c.Creation, c.Revision); !errors.Is(err, want) || (err == nil) != (want == nil) || err != nil && !strings.Contains(err.Error(), text) {
				b.Errorf("delete %+v: %v, want %v and %q", c, err, want, text)
			}
		}
		first := b.NewCollection("c", 2)
		if _, err := b.store.ReserveName(b.Context(), "c", "a"); err != nil {
			b.Fatal(err)
		}
		remove(first, protocol.ErrConflict, "not deleted")
		deleted := b.PutCollection(storesuite.With(first, protocol.CollectionDeleted))
		remove(first, protocol.ErrConflict, "revision")
		remove(deleted, protocol.ErrConflict, "has names")
		if err := b.store.FinishTransition(b.Context(), "c", deleted.Transition); err != nil {
			b.Error(err)
		}
		if left, _, err := b.store.PageCollections(b.Context(), protocol.CollectionPage{Order: protocol.ByTransition}); len(left) != 1 || err != nil {
			b.Errorf("unfinished: %+v, %v; want the one that is being deleted", left, err)
		}
		if err := b.store.ReleaseNames(b.Context(), "c", first.Creation, []string{"a"}); err != nil {
			b.Error(err)
		}
		remove(deleted, nil, "")
		remove(deleted, nil, "") // a repeated call
		b.Want("keys", b.collectionKeysNow(), "[records]")
		if _, err := b.store.FindCollection(b.Context(), "c"); !errors.Is(err, protocol.ErrNotFound) {
			b.Errorf("found: %v, want ErrNotFound", err)
		}
		again := b.NewCollection("c", 2)
		if again.Creation <= deleted.Revision {
			b.Errorf("created again as %d, want more than %d", again.Creation, deleted.Revision)
		}
		remove(deleted, nil, "")
		if found, err := b.store.FindCollection(b.Context(), "c"); err != nil || found.Creation != again.Creation {
			b.Errorf("the copy of a deletion removed a collection created since: %+v, %v", found, err)
		}
		if err := b.store.ReleaseNames(b.Context(), "c", first.Creation, []string{"a"}); err != nil {
			b.Error(err)
		}
	})
}

// If many callers find that a collection must be swept, one of them sweeps, and it knows this even after a lost reply.
func TestOneOfManySweeps(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		c := b.NewCollection("c", 2)
		d := b.NewCollection("d", 2)
		longAgo := b.serverTime().Add(-26 * time.Hour).Truncate(time.Microsecond)
		b.client.ZAdd(b.Context(), b.store.keys.collections().swept, redisZ(float64(longAgo.UnixMicro()), "d"))
		var mu sync.Mutex
		moved := 0
		var group sync.WaitGroup
		for range 5 {
			group.Go(func() {
				did, err := b.repeating().MoveSwept(b.Context(), "d", longAgo)
				if err != nil {
					b.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				if did {
					moved++
				}
			})
		}
		group.Wait()
		if moved < 1 || moved > 2 { // two: one time in a hundred
			b.Errorf("%d of 5 moved it, want one", moved)
		}
		if found, err := b.store.FindCollection(b.Context(), "d"); err != nil || found.Revision != d.Revision || b.serverTime().Sub(found.Swept).Abs() > time.Minute {
			b.Errorf("%+v, %v; want it swept now, at revision %d", found, err, d.Revision)
		}
		if _, err := b.store.MoveSwept(b.Context(), "none", longAgo); !errors.Is(err, protocol.ErrNotFound) {
			b.Errorf("a missing one: %v, want ErrNotFound", err)
		}
		b.client.ZAdd(b.Context(), b.store.keys.collections().swept, redisZ(float64(longAgo.UnixMicro()), "c"))
		found, next, err := b.store.PageCollections(b.Context(), protocol.CollectionPage{Order: protocol.BySweep, Age: 24 * time.Hour})
		if err != nil || next != nil || len(found) != 1 || found[0].Name != "c" || !found[0].Swept.Equal(longAgo) || found[0].Creation != c.Creation {
			b.Errorf("not swept for a day: %+v, %v, %v; want c", found, next, err)
		}
	})
}

// There are at most ten thousand collections, created by any number of callers.
func TestThereIsABoundOfCollections(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		c := b.NewCollection("c", 1)
		k := b.store.keys.collections()
		for from := 1; from < protocol.MaxCollections; from += 1000 {
			var some []redis.Z
			for i := from; i < min(from+1000, protocol.MaxCollections); i++ {
				some = append(some, redisZ(0, fmt.Sprintf("x%05d", i)))
			}
			b.client.ZAdd(b.Context(), k.index, some...)
		}
		put := protocol.CollectionPut{Name: "one-more", State: protocol.CollectionEnabled, MaxNames: 1, Data: []byte("null")}
		if _, err := b.store.PutCollection(b.Context(), put); !errors.Is(err, protocol.ErrQuota) {
			b.Errorf("one more: %v, want ErrQuota", err)
		}
		b.PutCollection(storesuite.With(c, protocol.CollectionDisabled))
	})
}

// Collections are listed by name, and those with an unfinished change by transition, a page at a time, while some are removed.
func TestCollectionsAreListedByPages(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		var want []string
		for i := range 2*protocol.MaxCollectionPage + 1 {
			c := b.NewCollection(fmt.Sprintf("c%03d", i), 1)
			b.PutCollection(storesuite.With(c, protocol.CollectionDisabled))
			want = append(want, c.Name)
		}
		k := b.store.keys.collections()
		for _, order := range []protocol.CollectionOrder{protocol.ByName, protocol.ByTransition} {
			var got []string
			for next := (&protocol.CollectionPage{Order: order}); next != nil; {
				var some []protocol.Collection
				var err error
				if some, next, err = b.store.PageCollections(b.Context(), *next); err != nil {
					b.Fatal(err)
				}
				for _, c := range some {
					got = append(got, c.Name)
				}
			}
			if !slices.Equal(got, want) {
				b.Errorf("order %d: listed %v, want %v", order, got, want)
			}
			for _, name := range want[:protocol.MaxCollectionPage] { // the records of a whole page vanish after it was looked up
				b.client.HDel(b.Context(), k.records, name)
			}
			want = want[protocol.MaxCollectionPage:]
			some, next, err := b.store.PageCollections(b.Context(), protocol.CollectionPage{Order: order})
			if len(some) != 0 || next == nil || err != nil {
				b.Fatalf("a page without records: %v, %v, %v; want none and another page", some, next, err)
			}
		}
	})
}

// Another program's key under the name of a collections' key is refused before the first write, and Verify reports it; Verify does not report
// the keys of collections.
func TestAnotherProgramsKeyInPlaceOfACollectionsIsRefused(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		c := b.NewCollection("c", 2)
		if _, err := b.store.ReserveName(b.Context(), "c", "a"); err != nil {
			b.Fatal(err)
		}
		b.Verified()
		k := b.store.keys.collections()
		b.client.Del(b.Context(), k.unfinished)
		b.client.Set(b.Context(), k.unfinished, "theirs", 0)
		_, err := b.store.PutCollection(b.Context(), storesuite.With(c, protocol.CollectionDisabled))
		if found, _ := b.store.FindCollection(b.Context(), "c"); err == nil || found.Revision != c.Revision {
			b.Errorf("put: %v; it is %+v, want an error and %+v", err, found, c)
		}
		if found := b.Verify(false); len(found) != 1 || found[0].Kind != protocol.FoundForeign || !strings.Contains(found[0].Detail, k.unfinished) {
			b.Errorf("found %+v, want the key", found)
		}
	})
}

// No call changes a record that a newer program wrote or that was edited by hand, and a list continues after it.
func TestACollectionThatCannotBeReadIsNotChanged(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		c := b.NewCollection("c", 2)
		b.NewCollection("d", 2)
		for _, text := range []string{`{"version":2,"creation":1}`, "", `{"version":1`, strings.TrimSuffix(b.client.HGet(b.Context(), b.store.keys.collections().records, "d").Val(), "}}")} {
			b.client.HSet(b.Context(), b.store.keys.collections().records, "c", text)
			_, put := b.store.PutCollection(b.Context(), storesuite.With(c, protocol.CollectionDisabled))
			_, found := b.store.FindCollection(b.Context(), "c")
			_, reserved := b.store.ReserveName(b.Context(), "c", "a")
			for act, err := range map[string]error{
				"put": put, "find": found, "reserve": reserved, "release": b.store.ReleaseNames(b.Context(), "c", c.Creation, []string{"a"}),
				"delete": b.store.DeleteCollection(b.Context(), "c", c.Creation, c.Revision), "finish": b.store.FinishTransition(b.Context(), "c", 7),
			} {
				if !errors.Is(err, protocol.ErrUnfit) {
					b.Errorf("%s of a record %q: %v, want ErrUnfit", act, text, err)
				}
			}
			if is := b.client.HGet(b.Context(), b.store.keys.collections().records, "c").Val(); is != text {
				b.Errorf("it is %q, want %q", is, text)
			}
			if list, _, err := b.store.PageCollections(b.Context(), protocol.CollectionPage{}); err != nil || len(list) != 2 || list[0].Err == nil || list[1].Err != nil {
				b.Errorf("list: %+v, %v; want both, the first with an error", list, err)
			}
		}
	})
}

// The members of …:owned are those of the records, after each change, and after a call that was sent twice.
func TestAnOwnerIsKnownByTheRecordsOfItsCollections(t *testing.T) {
	for _, twice := range []bool{false, true} {
		onEveryServer(t, func(b *bench) {
			store := b.store
			if twice {
				store = b.repeating()
			}
			put := func(c protocol.Collection, state, owner string, most int) (protocol.Collection, error) {
				return store.PutCollection(b.Context(), protocol.CollectionPut{
					Name: c.Name, Revision: c.Revision, State: state, MaxNames: 5, Data: []byte(`{"token":"x","owner":"no","data":1}`), Owner: owner, MaxOwned: most,
				})
			}
			owned := func(owner string) string {
				b.Helper()
				var names []string
				page := &protocol.CollectionPage{Order: protocol.ByOwner, Owner: owner}
				for page != nil {
					found, next, err := store.PageCollections(b.Context(), *page)
					if err != nil {
						b.Fatal(err)
					}
					for _, c := range found {
						if c.Owner != owner || string(c.Data) != `{"token":"x","owner":"no","data":1}` {
							b.Errorf("%+v is listed for %q", c, owner)
						}
						names = append(names, c.Name)
					}
					page = next
				}
				return strings.Join(names, " ")
			}
			const ann, enabled = "ann müller", protocol.CollectionEnabled
			a, err := put(protocol.Collection{Name: "a"}, enabled, ann, 2)
			b.Want("created", fmt.Sprint(a.Owner, err), ann+"<nil>")
			c, err := put(protocol.Collection{Name: "c"}, enabled, ann, 2)
			b.Want("a second one", fmt.Sprint(c.Owner, err), ann+"<nil>")
			_, err = put(protocol.Collection{Name: "d"}, enabled, ann, 2)
			b.Want("a third one", fmt.Sprint(errors.Is(err, protocol.ErrOwnerQuota)), "true")
			_, err = put(protocol.Collection{Name: "d"}, enabled, "ann", 1) // the name of one owner may begin that of another
			b.Want("another owner", fmt.Sprint(err), "<nil>")
			_, err = put(protocol.Collection{Name: "e"}, enabled, "", 1)
			b.Want("without an owner", fmt.Sprint(err), "<nil>")
			b.Want("owned by ann müller", owned(ann), "a c")
			b.Want("owned by ann", owned("ann"), "d")
			a, err = put(a, enabled, "ben", 1)
			b.Want("moved", fmt.Sprint(a.Owner, err), "ben<nil>")
			a, err = put(a, protocol.CollectionDisabled, "ben", 1)
			b.Want("changed", fmt.Sprint(a.Owner, a.State, err), "bendisabled<nil>")
			b.Want("owned by ann müller after the move", owned(ann), "c")
			b.Want("owned by ben", owned("ben"), "a")
			c, err = put(c, protocol.CollectionDeleted, ann, 1)
			b.Want("begun to be deleted", fmt.Sprint(err), "<nil>")
			b.Want("owned until it is gone", owned(ann), "c")
			if err := store.DeleteCollection(b.Context(), c.Name, c.Creation, c.Revision); err != nil {
				b.Fatal(err)
			}
			b.Want("owned when it is gone", owned(ann), "")
			for i := range 120 {
				if _, err := put(protocol.Collection{Name: fmt.Sprintf("n%03d", i)}, enabled, ann, 0); err != nil {
					b.Fatal(err)
				}
			}
			if n := len(strings.Fields(owned(ann))); n != 120 {
				b.Errorf("%d of 120 are listed", n)
			}
		})
	}
}

package collection_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/httpapi/internal/collection"
	"github.com/chimejobs/chime/redisstore/embedded"
)

// onEmbedded runs a test under fake time on a store in the process.
func onEmbedded(t *testing.T, test func(t *testing.T, server *embedded.Server)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		server := embedded.StartInMemory()
		test(t, server)
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		synctest.Wait()
	})
}

// A collection lives from its creation to its deletion, and the test checks its content after each step.
func TestTheLifeOfACollection(t *testing.T) {
	onEmbedded(t, func(t *testing.T, server *embedded.Server) {
		collections, ctx := collection.New(server.Store()), t.Context()
		put := func(c collection.Record) *collection.Record {
			t.Helper()
			stored, err := collections.Put(ctx, c)
			if err != nil {
				t.Error(err)
				return &collection.Record{}
			}
			return stored
		}
		if _, err := collections.Get(ctx, "demo"); !errors.Is(err, chime.ErrNotFound) {
			t.Errorf("before: %v, want ErrNotFound", err)
		}
		c := put(collection.Record{Name: "demo", Data: json.RawMessage(` {"a": [1, 2]} `)})
		if c.State != collection.Enabled || c.MaxNames != 100_000 || string(c.Data) != `{"a":[1,2]}` || c.Creation != c.Revision || c.Transition != 0 || !c.Created.Equal(c.Changed) {
			t.Errorf("created: %+v", c)
		}
		if again := put(collection.Record{Name: "demo", Revision: c.Revision, Data: json.RawMessage(`{"a":[1,2]}`)}); again.Revision != c.Revision {
			t.Errorf("the same record again has revision %d, want %d", again.Revision, c.Revision)
		}
		if _, err := collections.Put(ctx, collection.Record{Name: "demo"}); !errors.Is(err, chime.ErrConflict) {
			t.Errorf("created twice: %v, want ErrConflict", err)
		}
		c.MaxNames = 2
		c = put(*c)
		for name, want := range map[string]error{"": &chime.InvalidError{Field: "name"}, "demo:a": nil, "demo:b": nil} {
			if _, err := collections.Reserve(ctx, "demo", name); !errors.Is(err, want) {
				t.Errorf("reserve %q: %v, want %v", name, err, want)
			}
		}
		if r, err := collections.Reserve(ctx, "demo", "demo:c"); !errors.Is(err, collection.ErrQuota) || !strings.Contains(err.Error(), "2 names") || r == nil || r.Collection.Swept != c.Swept {
			t.Errorf("reserve a third name: %+v, %v, want ErrQuota", r, err)
		}
		if r, err := collections.Reserve(ctx, "none", "demo:c"); !errors.Is(err, chime.ErrNotFound) || r != nil {
			t.Errorf("reserve in none: %+v, %v, want ErrNotFound", r, err)
		}
		if r, err := collections.Reserve(ctx, "demo", "demo:a"); err != nil || !r.Known || r.Collection.Revision != c.Revision || !r.Now.Equal(time.Now().UTC().Truncate(time.Microsecond)) {
			t.Errorf("reserve the first again: %+v, %v", r, err)
		}
		c.State = collection.Disabled
		c = put(*c)
		for unfinished, err := range collections.Unfinished(ctx) {
			if err != nil || unfinished.Name != "demo" || unfinished.Transition != c.Transition || c.Transition != c.Revision {
				t.Errorf("unfinished: %+v, %v", unfinished, err)
			}
			if err := collections.Finish(ctx, unfinished); err != nil {
				t.Error(err)
			}
		}
		for unfinished, err := range collections.Unfinished(ctx) {
			t.Errorf("finished, but got %+v, %v", unfinished, err)
		}
		time.Sleep(25 * time.Hour) // fake time
		due, err := collections.Unswept(ctx, 24*time.Hour)
		if err != nil || len(due) != 1 || due[0].Name != "demo" {
			t.Errorf("to sweep: %v, %v", due, err)
			return
		}
		first, err := collections.Swept(ctx, due[0])
		if err != nil || !first {
			t.Errorf("swept: %v, %v", first, err)
		}
		if due, err = collections.Unswept(ctx, 24*time.Hour); err != nil || len(due) != 0 {
			t.Errorf("due for a sweep: %v, %v", due, err)
		}
		names, total, err := collections.Names(ctx, "demo", collection.NameFilter{Offset: 1})
		if err != nil || total != 2 || fmt.Sprint(names) != "[demo:b]" {
			t.Errorf("names: %v of %d, %v", names, total, err)
		}
		c.State = collection.Deleted
		c = put(*c)
		if _, err := collections.Reserve(ctx, "demo", "demo:a"); !errors.Is(err, collection.ErrDeleting) {
			t.Errorf("reserve in a deleted one: %v, want ErrDeleting", err)
		}
		if err := collections.Delete(ctx, c); !errors.Is(err, chime.ErrConflict) {
			t.Errorf("deleted with names: %v, want ErrConflict", err)
		}
		if err := collections.Release(ctx, c, "demo:a", "demo:b"); err != nil {
			t.Error(err)
		}
		for range 2 {
			if err := collections.Delete(ctx, c); err != nil {
				t.Error(err)
			}
		}
		if later := put(collection.Record{Name: "demo"}); later.Creation <= c.Revision {
			t.Errorf("created again as %d, want more than %d", later.Creation, c.Revision)
		}
	})
}

func TestCollectionsAreListedBehindAName(t *testing.T) {
	onEmbedded(t, func(t *testing.T, server *embedded.Server) {
		collections := collection.New(server.Store())
		var want []string
		for i := range 120 {
			want = append(want, fmt.Sprintf("c%03d", i))
			if _, err := collections.Put(t.Context(), collection.Record{Name: want[i]}); err != nil {
				t.Error(err)
			}
		}
		server.Client().HSet(t.Context(), "chime:{/collections}:records", "c060", `{"version":9}`)
		list := collections.List(t.Context(), "c009")
		for range 2 { // the list can be read twice
			var got []string
			for c, err := range list {
				if (err != nil) != (c.Name == "c060") {
					t.Errorf("%+v, %v", c, err)
				}
				got = append(got, c.Name)
			}
			if !slices.Equal(got, want[10:]) {
				t.Errorf("listed %v, want %v", got, want[10:])
			}
		}
		for c := range list {
			if c.Name != "c010" {
				t.Errorf("the first is %s", c.Name)
			}
			break
		}
	})
}

// Every mistake is reported with field, value and limit, all together, before anything is sent.
func TestBadCollectionsAreRefused(t *testing.T) {
	onEmbedded(t, func(t *testing.T, server *embedded.Server) {
		collections, ctx := collection.New(server.Store()), t.Context()
		put := func(c collection.Record) error {
			_, err := collections.Put(ctx, c)
			return err
		}
		reserve := func(of, name string) error {
			_, err := collections.Reserve(ctx, of, name)
			return err
		}
		names := func(filter collection.NameFilter) error {
			_, _, err := collections.Names(ctx, "c", filter)
			return err
		}
		list := func(after string) (failed error) {
			for _, failed = range collections.List(ctx, after) {
			}
			return failed
		}
		_, swept := collections.Swept(ctx, nil)
		_, tooOld := collections.Unswept(ctx, -1)
		_, noStore := (&collection.Records{}).Get(ctx, "c")
		//lint:ignore SA1012 the test needs a nil ctx
		_, noContext := collections.Get(nil, "c")
		for _, c := range []struct {
			err   error
			field string
		}{
			{put(collection.Record{}), "collection"},
			{put(collection.Record{Name: "a b"}), "collection"},
			{put(collection.Record{Name: "c", State: "gone"}), "Collection.State"},
			{put(collection.Record{Name: "c", State: collection.Deleted}), "Collection.State"},
			{put(collection.Record{Name: "c", MaxNames: -1}), "Collection.MaxNames"},
			{put(collection.Record{Name: "c", MaxNames: 100_001}), "Collection.MaxNames"},
			{put(collection.Record{Name: "c", Revision: -1}), "Collection.Revision"},
			{put(collection.Record{Name: "c", Data: json.RawMessage(`{`)}), "Collection.Data"},
			{put(collection.Record{Name: "c", Data: json.RawMessage(`"` + strings.Repeat("x", 16<<10) + `"`)}), "Collection.Data"},
			{put(collection.Record{Name: "c", MaxNames: -1, State: "gone"}), "Collection.MaxNames"},
			{reserve("a b", "x"), "collection"},
			{reserve("c", " x"), "name"},
			{names(collection.NameFilter{Limit: 1001}), "NameFilter.Limit"},
			{names(collection.NameFilter{Offset: -1}), "NameFilter.Offset"},
			{names(collection.NameFilter{After: "\n"}), "NameFilter.After"},
			{list("a b"), "collection"},
			{collections.Release(ctx, &collection.Record{Name: "c"}, "x", "\n"), "name"},
			{collections.Delete(ctx, &collection.Record{}), "collection"},
			{collections.Finish(ctx, &collection.Record{}), "collection"},
			{collections.Delete(ctx, nil), "collection"},
			{collections.Finish(ctx, nil), "collection"},
			{collections.Release(ctx, nil, "x"), "collection"},
			{swept, "collection"},
			{tooOld, "age"},
			{noStore, "store"},
			{noContext, "ctx"},
		} {
			if !errors.Is(c.err, &chime.InvalidError{Field: c.field}) {
				t.Errorf("%v, want an InvalidError of %s", c.err, c.field)
			}
		}
		if keys := server.Client().Keys(context.Background(), "chime:{/collections}:*").Val(); len(keys) > 0 {
			t.Errorf("written: %v", keys)
		}
	})
}

// Records are readable as JSON: names in small letters, instants in UTC.
func TestWhatIsShownHasAJSONForm(t *testing.T) {
	at := time.Date(2026, 3, 8, 9, 0, 0, 0, time.UTC)
	acme := collection.Record{Name: "acme", State: collection.Disabled, MaxNames: 5, Data: json.RawMessage(`{"sku":"free"}`), Revision: 8, Creation: 7, Transition: 8, Created: at, Changed: at, Swept: at}
	want := `{"name":"acme","state":"disabled","max_names":5,"data":{"sku":"free"},"revision":8,"creation":7,"transition":8,"created":"2026-03-08T09:00:00Z","changed":"2026-03-08T09:00:00Z","swept":"2026-03-08T09:00:00Z"}`
	if got, err := json.Marshal(acme); err != nil || string(got) != want {
		t.Errorf("%v\n got %s\nwant %s", err, got, want)
	}
}

package service

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chimejobs/chime/httpapi/internal/problem"
	"github.com/chimejobs/chime/httpapi/internal/resource"
)

// of is a collection of an owner.
func of(owner string) *resource.Collection {
	return &resource.Collection{Owner: owner, Quota: resource.Quota{MaxJobCount: 1000, MaxFrequency: "Minute", MaxInterval: 1}}
}

// tryCollect puts a collection.
func (f *fixture) tryCollect(name string, c *resource.Collection) error {
	_, _, err := f.PutCollection(f.t.Context(), name, Condition{}, func(*Collection) (*resource.Collection, error) { return c, nil })
	return err
}

// However many processes create collections at the same time, an owner gets as many as its quota.
func TestAnOwnerHasAQuotaOfCollections(t *testing.T) {
	quota := func(owner string) Quota {
		if owner == "ben" {
			return Quota{Collections: 3}
		}
		return Quota{}
	}
	onService(t, Options{Quota: quota}, func(t *testing.T, f *fixture) {
		var mu sync.Mutex
		var all sync.WaitGroup
		created := map[string]int{}
		for i := range 8 { // no more than a client of Redis has connections: its waiters cannot be in a bubble
			all.Go(func() {
				other := New(Options{Store: f.options.Store, Quota: quota})
				_, _, err := other.PutCollection(t.Context(), fmt.Sprint("b", i), Condition{}, func(*Collection) (*resource.Collection, error) { return of("ben"), nil })
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					wantCode(t, "one more", err, problem.QuotaCollections)
					return
				}
				created[fmt.Sprint("b", i)]++
			})
		}
		all.Wait()
		if len(created) != 3 {
			t.Errorf("%d collections were created, want 3", len(created))
		}
		for i := range defaultOwned {
			f.collect(fmt.Sprint("a", i), of("ann"))
		}
		wantCode(t, "one more than the default", f.tryCollect("a-more", of("ann")), problem.QuotaCollections)
		f.collect("none-1", of(""))
		f.collect("a0", with2(of(""), func(c *resource.Collection) { c.Description = "changed" })) // it stays hers, and a change needs no room
		if c, err := f.GetCollection(t.Context(), "a0"); err != nil || c.Owner != "ann" || c.Description != "changed" {
			t.Errorf("a changed collection: %+v, %v", c, err)
		}
		f.collect("a0", of("ben")) // an administrator moves it, whatever he has
		f.collect("a-more", of("ann"))
		if _, _, err := f.DeleteCollection(t.Context(), "a1", Condition{}); err != nil {
			t.Fatal(err)
		}
		f.collect("a-again", of("ann"))
		wantCode(t, "full again", f.tryCollect("a-last", of("ann")), problem.QuotaCollections)
	})
}

func with2(c *resource.Collection, change func(*resource.Collection)) *resource.Collection {
	change(c)
	return c
}

func TestAShareIsThatOfTheOwnerWhoWasReadLast(t *testing.T) {
	onService(t, Options{Quota: func(owner string) Quota { return Quota{Alone: owner == "only"} }}, func(t *testing.T, f *fixture) {
		f.collect("a", of("ann"))
		f.collect("a-2", of("ann"))
		f.collect("old", of(""))
		f.collect("single", of("only"))
		want := func(what string, shares map[string]string) {
			t.Helper()
			for name, share := range shares {
				if got := f.ShareOf(t.Context(), name); got != share {
					t.Errorf("%s: the share of %s is %q, want %q", what, name, got, share)
				}
			}
		}
		want("at first", map[string]string{"a": "owner ann", "a-2": "owner ann", "old": "collection old", "none": "collection none", "single": ""})
		f.collect("a", of("ben"))
		want("at once", map[string]string{"a": "owner ann"})
		time.Sleep(ownerAge) // fake time
		want("later", map[string]string{"a": "owner ben", "a-2": "owner ann"})
		time.Sleep(ownerAge) // fake time
		down, cancel := context.WithCancel(t.Context())
		cancel()
		if got := f.ShareOf(down, "a"); got != "owner ben" {
			t.Errorf("while the store does not answer: %q", got)
		}
	})
}

// One read serves all jobs that begin at the same time.
func TestAnOwnerIsReadByOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var o owners
		reads := 0
		read := func(context.Context) (string, error) {
			reads++
			time.Sleep(time.Second) // fake time
			return fmt.Sprint("owner-", reads), nil
		}
		if got := o.of(t.Context(), "c", read); got != "owner-1" {
			t.Errorf("first: %s", got)
		}
		time.Sleep(ownerAge) // fake time
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() { o.of(t.Context(), "c", read) })
		}
		all.Wait()
		if got := o.of(t.Context(), "c", read); got != "owner-2" || reads != 2 {
			t.Errorf("afterwards: %s after %d reads, want 2", got, reads)
		}
		time.Sleep(ownerAge) // fake time
		failing := func(context.Context) (string, error) { return "", errors.New("down") }
		if got := o.of(t.Context(), "c", failing); got != "owner-2" {
			t.Errorf("after an error: %s", got)
		}
	})
}

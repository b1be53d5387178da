package pages

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/redisstore/embedded"
)

// A fakeList is a store with n schedules. Reading a slice of them takes the time slow.
type fakeList struct {
	n     int
	slow  time.Duration
	fails error
	read  int // number of begun readings
}

func (f *fakeList) all(ctx context.Context) iter.Seq2[*chime.Schedule, error] {
	return func(yield func(*chime.Schedule, error) bool) {
		f.read++
		for i := range f.n {
			if i%slice == 0 {
				time.Sleep(f.slow) // fake time: the duration of reading a slice
			}
			if !yield(&chime.Schedule{Name: fmt.Sprintf("s%06d", i)}, nil) {
				return
			}
		}
		if f.fails != nil {
			yield(nil, f.fails)
		}
	}
}

func TestAFewSchedulesAreReadWhenSomebodyAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &fakeList{n: 3, slow: time.Millisecond}
		d := newDirectory(store.all)
		for range 3 { // they do not change within a second
			if got, err := d.get(t.Context(), false); err != nil || len(got.Schedules) != 3 || !got.Whole || got.Reading {
				t.Fatalf("got %d, %+v, %v", len(got.Schedules), got, err)
			}
		}
		synctest.Wait()
		if store.read != 1 {
			t.Errorf("they were read %d times, want once", store.read)
		}
		synctest.Wait()
		store.n = 4
		time.Sleep(minAge) // fake time: the list is old enough to be read again
		if got, _ := d.get(t.Context(), false); len(got.Schedules) != 4 {
			t.Errorf("a second later there are %d, want 4", len(got.Schedules))
		}
		time.Sleep(time.Hour) // fake time passes without requests
		synctest.Wait()
		if store.read != 2 {
			t.Errorf("they were read %d times without a request", store.read-2)
		}
	})
}

// A viewer who has paused a schedule does not see it live in a list that was read before. A reading that was running at that time does not count as
// newer.
func TestAfterAChangeSchedulesAreReadAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, n := range []int{3, 5 * slice} {
			store := &fakeList{n: n, slow: time.Second}
			d := newDirectory(store.all)
			if _, err := d.get(t.Context(), false); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			time.Sleep(time.Minute) // fake time: the current reading ends
			for _, get := range []func() (Listing, error){
				func() (Listing, error) { return d.get(t.Context(), false) },
				func() (Listing, error) { return d.get(t.Context(), true) },
				func() (Listing, error) { return d.lately(t.Context(), false) },
			} {
				time.Sleep(time.Hour)            // fake time: the list is old enough to be read again
				_, _ = d.get(t.Context(), false) // for a large store, a reading begins
				time.Sleep(time.Millisecond)     // fake time: the reading has begun
				began := time.Now()
				d.forget()
				if got, err := get(); err != nil || got.At.Before(began) || !got.Whole || len(got.Schedules) != n {
					t.Errorf("of %d: got %d, read %v before the change, %v", n, len(got.Schedules), began.Sub(got.At), err)
				}
			}
			store.fails = errors.New("down")
			d.forget()
			if _, err := d.get(t.Context(), false); err == nil {
				t.Errorf("of %d: after a change that could not be read, the previous reading is returned", n)
			}
			synctest.Wait()
		}
	})
}

func TestForASumSchedulesAreReadMoreRarely(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &fakeList{n: 300, slow: time.Millisecond}
		d := newDirectory(store.all)
		for began := time.Now(); time.Since(began) < time.Minute; time.Sleep(2 * time.Second) { // fake time: a request every two seconds
			got, err := d.lately(t.Context(), false)
			if age := time.Since(got.At); err != nil || len(got.Schedules) != 300 || age > 6*time.Second {
				t.Fatalf("got %d, %v old, %v", len(got.Schedules), age, err)
			}
		}
		if store.read != 10 {
			t.Errorf("in a minute they were read %d times, want 10", store.read)
		}
		if got, _ := d.get(t.Context(), false); time.Since(got.At) > minAge {
			t.Errorf("a request for the current schedules gets a reading that is %v old", time.Since(got.At))
		}
	})
}

func TestOfManySchedulesTheFirstSliceIsThereAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &fakeList{n: 2000, slow: 16 * time.Millisecond}
		d := newDirectory(store.all)
		began := time.Now()
		got, err := d.get(t.Context(), false)
		if err != nil || len(got.Schedules) != slice+1 || got.Whole || !got.Reading {
			t.Fatalf("got %d, whole %v, reading %v, %v", len(got.Schedules), got.Whole, got.Reading, err)
		}
		if took := time.Since(began); took > 2*store.slow {
			t.Errorf("it took %v, want two slices' time", took)
		}
		time.Sleep(time.Second) // fake time: the reading ends
		if got, _ := d.get(t.Context(), false); len(got.Schedules) != 2000 || !got.Whole || got.Reading {
			t.Errorf("a second later there are %d, whole %v", len(got.Schedules), got.Whole)
		}
	})
}

// Reading takes at most a hundredth of the time, and requests do not wait for it.
func TestALargeDirectoryIsReadRarely(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &fakeList{n: 10_000, slow: 16 * time.Millisecond} // 0.32 s
		d := newDirectory(store.all)
		for began := time.Now(); time.Since(began) < 10*time.Minute; time.Sleep(2 * time.Second) { // fake time: a request every two seconds
			asked := time.Now()
			got, err := d.get(t.Context(), false)
			if err != nil {
				t.Fatal(err)
			}
			if waited := time.Since(asked); waited > 0 && got.Whole {
				t.Fatalf("a viewer has waited %v", waited)
			}
			if age := time.Since(got.At); age > 40*time.Second {
				t.Fatalf("what is shown is %v old", age)
			}
		}
		synctest.Wait()
		if share := time.Duration(store.read) * 320 * time.Millisecond; share > 7*time.Second {
			t.Errorf("in 10 minutes it was read %d times, for %v", store.read, share)
		}
	})
}

// Open pages show an older list, so that all of them together cost the server a thousandth of its time.
func TestForOpenPagesALargeDirectoryIsReadMoreRarely(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &fakeList{n: 10_000, slow: 16 * time.Millisecond}
		d := newDirectory(store.all)
		for began := time.Now(); time.Since(began) < 20*time.Minute; time.Sleep(2 * time.Second) { // fake time: a request every two seconds
			if _, err := d.get(t.Context(), true); err != nil {
				t.Fatal(err)
			}
			if _, err := d.lately(t.Context(), true); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if store.read < 7 || store.read > 9 {
			t.Errorf("in 20 minutes 10,000 schedules were read %d times for open pages, want 8: every 150 s", store.read)
		}
		time.Sleep(time.Minute) // fake time: the current reading ends
		synctest.Wait()
		before := store.read
		_, _ = d.get(t.Context(), false)
		time.Sleep(time.Minute) // fake time: the new reading ends
		synctest.Wait()
		if store.read != before+1 {
			t.Error("a request gets a reading that is more than 32 s old")
		}
	})
}

func TestADirectoryIsLimitedAndReportsThatThereAreMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDirectory((&fakeList{n: maxDirectory + 1}).all)
		_, _ = d.get(t.Context(), false)
		synctest.Wait()
		if got, _ := d.get(t.Context(), false); len(got.Schedules) != maxDirectory || got.Whole || got.Reading {
			t.Errorf("got %d, whole %v, reading %v", len(got.Schedules), got.Whole, got.Reading)
		}
	})
}

func TestADirectoryThatCannotBeReadKeepsItsLastReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &fakeList{fails: errors.New("no answer")}
		d := newDirectory(store.all)
		for range 2 {
			if _, err := d.get(t.Context(), false); !errors.Is(err, store.fails) {
				t.Fatalf("got %v, want its error", err)
			}
		}
		synctest.Wait()
		if store.read != 2 {
			t.Errorf("an error was kept: it was read %d times, want 2", store.read)
		}
		synctest.Wait()
		store.n, store.fails = 800, nil
		_, _ = d.get(t.Context(), false)
		time.Sleep(minAge) // fake time: the list is old enough to be read again
		synctest.Wait()
		store.fails = errors.New("no answer")
		for range 3 {
			if got, err := d.get(t.Context(), false); err != nil || len(got.Schedules) != 800 {
				t.Errorf("got %d, %v; want the 800 of before", len(got.Schedules), err)
			}
			synctest.Wait()
		}
	})
}

func TestAViewerWhoGoesEndsNobodysReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &fakeList{n: 3, slow: time.Second}
		d := newDirectory(store.all)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Millisecond, cancel)
		if _, err := d.get(ctx, false); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		got, err := d.get(t.Context(), false)
		synctest.Wait()
		if err != nil || len(got.Schedules) != 3 || store.read != 1 {
			t.Errorf("got %d, %v, in %d readings; want those of the first", len(got.Schedules), err, store.read)
		}
	})
}

// A change of a queue or a job keeps the reading of all schedules. A change of a schedule removes it.
func TestTheListOfSchedulesIsReadAnewAfterAChangeOfSchedulesOnly(t *testing.T) {
	onShop(t, func(t *testing.T, server *embedded.Server) {
		site := NewSite(server.Store(), Hooks{})
		read := func() time.Time {
			listing, err := site.directory.get(t.Context(), false)
			if err != nil {
				t.Fatal(err)
			}
			return listing.At
		}
		before := read()
		time.Sleep(time.Millisecond) // fake time passes
		if site.Forget(false); !read().Equal(before) {
			t.Error("after a change of something else it was read again")
		}
		if site.Forget(true); !read().After(before) {
			t.Error("after a change of a schedule it was not read again")
		}
	})
}

// After a change of one schedule, only this one is read again: the list has its new state, the new schedule, and not the deleted one. Later all of them
// are read again.
func TestAfterAChangeOfOneScheduleOnlyThisOneIsRead(t *testing.T) {
	onShop(t, func(t *testing.T, server *embedded.Server) {
		site, schedules := NewSite(server.Store(), Hooks{}), chime.NewSchedules(server.Store())
		list := func() (all map[string]chime.ScheduleState, commands, arguments int64) {
			t.Helper()
			var c counter
			server.Client().AddHook(&c)
			listing, err := site.directory.get(t.Context(), false)
			if err != nil {
				t.Fatal(err)
			}
			all = map[string]chime.ScheduleState{}
			last := ""
			for _, s := range listing.Schedules {
				if all[s.Name] = s.State; s.Name <= last {
					t.Errorf("%s follows %s", s.Name, last)
				}
				last = s.Name
			}
			return all, c.commands.Load(), c.arguments.Load()
		}
		put := func(name string) {
			t.Helper()
			if _, err := schedules.Put(t.Context(), name, recurrence.Recurrence{Cron: "0 3 * * *"}, chime.JobName("j")); err != nil {
				t.Fatal(err)
			}
		}
		for _, name := range []string{"b", "c", "d"} {
			put(name)
		}
		all, _, _ := list()
		time.Sleep(5 * time.Second) // fake time: the list is older than a request without a change would get
		for _, c := range []struct {
			name string
			do   func() error
			want chime.ScheduleState
		}{
			{"c", func() error { return schedules.Pause(t.Context(), "c") }, chime.StatePaused},
			{"b", func() error { return schedules.Delete(t.Context(), "b") }, ""},
			{"a", func() error { put("a"); return nil }, chime.StateLive},
		} {
			put("unseen " + c.name) // by another process
			if err := c.do(); err != nil {
				t.Fatal(err)
			}
			site.Forget(true, c.name)
			now, commands, arguments := list()
			if all[c.name] = c.want; c.want == "" {
				delete(all, c.name)
			}
			if !maps.Equal(now, all) || commands > 12 || arguments > 47 {
				t.Errorf("after a change of %s: %v in %d commands with %d arguments, want %v in 12 with 47", c.name, now, commands, arguments, all)
			}
		}
		time.Sleep(changedAge) // fake time: the other schedules may be shown no longer
		site.Forget(true, "a")
		if now, _, _ := list(); now["unseen a"] == "" {
			t.Errorf("after %v there is still only %v", changedAge, now)
		}
	})
}

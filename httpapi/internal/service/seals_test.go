package service

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/httpapi/action"
	"github.com/chimejobs/chime/httpapi/internal/resource"
	"github.com/chimejobs/chime/redisstore/embedded"
)

func secretJob(text string) *resource.Job {
	return with(job(hourly), func(j *resource.Job) {
		j.Action.Request.SecretHeaders = map[string]action.Secret{"X-Api": action.Plain(text)}
	})
}

// sealOf is the beginning of the sealed secret of a job: 1 or 2 for the version, and the key.
func (f *fixture) sealOf(n resource.JobName) string {
	f.t.Helper()
	s, err := f.schedules.Get(f.t.Context(), n.Schedule())
	if err != nil {
		f.t.Fatal(err)
	}
	_, sealed, _ := strings.Cut(string(s.Payload), `"$secret":"`)
	parts := strings.Split(sealed, ".")
	if parts[0] == "2" {
		return "2 " + parts[1]
	}
	return "1 " + parts[0]
}

// The states of package service's table: a release before cannot open version 2, so nothing is sealed in it until Rekey was called.
func TestVersion2IsSealedAfterRekey(t *testing.T) {
	ring := ringOf(t, oldKey)
	onService(t, Options{Secrets: ring}, func(t *testing.T, f *fixture) {
		wants2 := New(Options{Store: f.server.Store(), Secrets: ring, Sealed: 2})
		put := func(s *Service, n resource.JobName, text string) error {
			_, _, err := s.PutJob(t.Context(), n, Condition{}, false, func(*Job) (*resource.Job, error) { return secretJob(text), nil })
			return err
		}
		check := func(when string, n resource.JobName, want string) {
			t.Helper()
			if got := f.sealOf(n); got != want {
				t.Errorf("%s: job %s is sealed with %q, want %q", when, n.Job, got, want)
			}
		}
		first, second, third := jobIn("demo", 1), jobIn("demo", 2), jobIn("demo", 3)
		for n, s := range map[resource.JobName]*Service{first: f.Service, second: wants2} {
			if err := put(s, n, "canary"); err != nil {
				t.Fatal(err)
			}
		}
		check("before rekey", first, "1 k1")
		check("before rekey, written with Sealed 2", second, "2 k1")
		if done, err := f.Rekey(t.Context()); err != nil || done != (Rekeyed{Changed: 1}) {
			t.Errorf("rekey: %+v, %v; want one job changed, under the same key", done, err)
		}
		check("after rekey", first, "2 k1")
		if err := put(New(Options{Store: f.server.Store(), Secrets: ring}), third, "canary"); err != nil {
			t.Fatal(err)
		}
		check("written after rekey", third, "2 k1")
		revision := f.get(first).Revision
		if err := put(f.Service, first, "canary"); err != nil || f.get(first).Revision != revision {
			t.Errorf("an equal PUT: %v, revision %d, want %d", err, f.get(first).Revision, revision)
		}
	})
}

// With Sealed 2 a secret of version 1 is refused everywhere: somebody may have copied it.
func TestAVersionThatIsNotAllowedIsNotKept(t *testing.T) {
	ring := ringOf(t, oldKey)
	onService(t, Options{Secrets: ring}, func(t *testing.T, f *fixture) {
		f.put(report, secretJob("canary"))
		wants2 := New(Options{Store: f.server.Store(), Secrets: ring, Sealed: 2})
		_, _, err := wants2.PutJob(t.Context(), report, Condition{}, false, func(stored *Job) (*resource.Job, error) {
			return with(stored.Job, func(j *resource.Job) { j.Action.Request.Body = "another"; j.Action = j.Action.Public() }), nil
		})
		wantCode(t, "a changed action with a secret of version 1", err, "secret_required")
		if done, err := wants2.Rekey(t.Context()); done.Changed != 0 || !errors.As(err, new(*action.SealedError)) {
			t.Errorf("rekey: %+v, %v; want it to refuse the secret", done, err)
		}
	})
}

// Rekey runs between any two calls of a writer, who began before it. Afterwards nothing has the old version.
func TestRekeyMissesNoWriter(t *testing.T) {
	ring := ringOf(t, oldKey)
	for _, exists := range []bool{false, true} {
		for at, ran := 0, true; ran; at++ { // until the writer has no call left
			ran = false
			t.Run(fmt.Sprintf("exists %v, before call %d", exists, at), func(t *testing.T) {
				onService(t, Options{Secrets: ring}, func(t *testing.T, f *fixture) {
					if exists {
						f.put(report, secretJob("before"))
					}
					done := 0
					c := &cut{calls: 1 << 20}
					c.wait = func() time.Duration {
						if done++; done == at+1 {
							ran = true
							if _, err := f.Rekey(t.Context()); err != nil {
								t.Error(err)
							}
						}
						return 0
					}
					writer := New(Options{Store: f.cutStore(), Secrets: ring})
					_, _, err := writer.PutJob(context.WithValue(t.Context(), cutKey{}, c), report, Condition{}, false, func(*Job) (*resource.Job, error) { return secretJob("after"), nil })
					if err != nil {
						t.Fatal(err)
					}
					if got := f.sealOf(report); ran && got != "2 k1" {
						t.Errorf("the secret is sealed with %q", got)
					}
				})
			})
		}
	}
}

// Runs that have failed once keep the definition of their first attempt, and its secrets. Rekey counts them until they have ended.
func TestRekeyCountsTheRunsThatWaitWithAnOldSeal(t *testing.T) {
	onService(t, Options{Secrets: ringOf(t, oldKey)}, func(t *testing.T, f *fixture) {
		f.work()
		f.fail = func(*chime.Job) error { return errors.New("no") }
		retries := func(a *action.Action) *action.Action {
			count := 1
			a.RetryPolicy = &action.RetryPolicy{Type: action.RetryFixed, Interval: action.Interval(time.Minute), Count: &count}
			return a
		}
		once := `{"startTime": "2000-01-01T00:05:00Z"}`
		f.put(jobIn("demo", 1), with(secretJob("canary"), func(j *resource.Job) { j.Rule = parsed(once); retries(j.Action) }))
		f.put(jobIn("demo", 2), with(job(once), func(j *resource.Job) { // only its error action has a secret
			retries(j.Action).ErrorAction = post()
			j.Action.ErrorAction.Request.SecretHeaders = map[string]action.Secret{"X-Api": action.Plain("canary")}
		}))
		f.put(jobIn("demo", 3), with(job(once), func(j *resource.Job) { retries(j.Action) })) // without secrets
		f.put(jobIn("demo", 4), secretJob("canary"))                                          // its runs have not begun
		time.Sleep(5*time.Minute + 20*time.Second)                                            // fake time
		both := New(Options{Store: f.server.Store(), Secrets: ringOf(t, newKey+" ,"+oldKey)})
		for i, want := range []Rekeyed{{Changed: 3, Waiting: 2}, {Waiting: 2}} {
			if done, err := both.Rekey(t.Context()); err != nil || done != want {
				t.Errorf("call %d: %+v, %v; want %+v", i, done, err, want)
			}
		}
		time.Sleep(10 * time.Minute) // fake time: the runs and the error actions are dead
		if done, err := both.Rekey(t.Context()); err != nil || done.Waiting != 0 || done.Dead != 3 {
			t.Errorf("after the retries: %+v, %v; want no run that waits, and three that are dead", done, err)
		}
	})
}

// The first attempt of a run has the definition from its beginning. If it fails, the run keeps the old seals.
func TestRekeyCountsTheRunsInTheirFirstAttempt(t *testing.T) {
	onService(t, Options{Secrets: ringOf(t, oldKey)}, func(t *testing.T, f *fixture) {
		f.work()
		first, second, plain := jobIn("demo", 1), jobIn("demo", 2), jobIn("demo", 3)
		ends := make(chan struct{})
		f.set(func() {
			f.hang[first.Schedule()], f.hang[second.Schedule()], f.hang[plain.Schedule()] = ends, ends, ends
		})
		once := func(j *resource.Job) { j.Rule = parsed(`{"startTime": "2000-01-01T00:05:00Z"}`) }
		f.put(first, with(secretJob("canary"), once))
		f.put(plain, with(job(hourly), once))
		time.Sleep(5*time.Minute + 10*time.Second) // fake time
		both := New(Options{Store: f.server.Store(), Secrets: ringOf(t, newKey+" ,"+oldKey)})
		for i, want := range []Rekeyed{{Changed: 1, Waiting: 1}, {Waiting: 1}} {
			if done, err := both.Rekey(t.Context()); err != nil || done != want {
				t.Errorf("call %d: %+v, %v; want %+v", i, done, err, want)
			}
		}
		_, _, err := both.PutJob(t.Context(), second, Condition{}, false, func(*Job) (*resource.Job, error) {
			return with(secretJob("canary"), func(j *resource.Job) { j.Rule = parsed(`{"startTime": "2000-01-01T00:05:30Z"}`) }), nil
		})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(30 * time.Second) // fake time: the second one runs too
		if ran := f.runs(second); len(ran) != 1 {
			t.Fatalf("the job that was sealed with the new key has the runs %q", ran)
		}
		if done, err := both.Rekey(t.Context()); err != nil || done != (Rekeyed{Waiting: 1}) {
			t.Errorf("beside a run that began afterwards: %+v, %v; want one that waits", done, err)
		}
		close(ends)
		time.Sleep(time.Minute) // fake time
		if done, err := both.Rekey(t.Context()); err != nil || done != (Rekeyed{}) {
			t.Errorf("after their end: %+v, %v", done, err)
		}
	})
}

// The definition with the old seals is stored nowhere: its schedule was deleted, or has no secret any more.
func TestRekeyCountsFirstAttemptsWhoseScheduleHasLostItsSecret(t *testing.T) {
	onService(t, Options{Secrets: ringOf(t, oldKey)}, func(t *testing.T, f *fixture) {
		f.work()
		deleted, replaced, plain := jobIn("demo", 1), jobIn("demo", 2), jobIn("demo", 3)
		ends := make(chan struct{})
		f.set(func() {
			f.hang[deleted.Schedule()], f.hang[replaced.Schedule()], f.hang[plain.Schedule()] = ends, ends, ends
		})
		once := func(j *resource.Job) { j.Rule = parsed(`{"startTime": "2000-01-01T00:05:00Z"}`) }
		f.put(deleted, with(secretJob("canary"), once))
		f.put(replaced, with(secretJob("canary"), once))
		f.put(plain, with(job(hourly), once))
		time.Sleep(5*time.Minute + 10*time.Second)                                  // fake time
		if err := f.schedules.Delete(t.Context(), deleted.Schedule()); err != nil { // as the command does: a retry remains
			t.Fatal(err)
		}
		f.put(replaced, job(hourly))
		both := New(Options{Store: f.server.Store(), Secrets: ringOf(t, newKey+" ,"+oldKey)})
		if done, err := both.Rekey(t.Context()); err != nil || done != (Rekeyed{Waiting: 2}) {
			t.Errorf("while they run: %+v, %v; want two that wait", done, err)
		}
		close(ends)
		time.Sleep(time.Minute) // fake time
		if done, err := both.Rekey(t.Context()); err != nil || done != (Rekeyed{}) {
			t.Errorf("after their end: %+v, %v", done, err)
		}
	})
}

// A new store needs no rekey. One with a collection may have secrets, and workers of a release before.
func TestANewStoreIsSealedInTheNewestVersion(t *testing.T) {
	onService(t, Options{}, func(t *testing.T, f *fixture) { // it has collection demo
		fresh := embedded.StartInMemory()
		defer fresh.Close()
		for _, c := range []struct {
			store chime.Store
			want  int
		}{{f.server.Store(), 0}, {fresh.Store(), 2}} {
			ctx, stop := context.WithCancel(t.Context())
			s := New(Options{Store: c.store})
			ended := make(chan error)
			go func() { ended <- s.Run(ctx) }()
			time.Sleep(time.Minute) // fake time
			if version, err := s.collections.SecretsVersion(t.Context()); err != nil || version != c.want {
				t.Errorf("version %d, %v; want %d", version, err, c.want)
			}
			stop()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	})
}

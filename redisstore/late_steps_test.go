package redisstore

import (
	"context"
	"errors"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
	"github.com/chimejobs/chime/redisstore/internal/script"
)

// A hook calls before ahead of every command; if that returns an error, the command is not sent. The commands of a pipeline are sent one by
// one, the last first, except those of one key: on a cluster they arrive in any order.
type hook struct {
	before func(cmd redis.Cmder) error
}

func (h hook) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (h hook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if err := h.before(cmd); err != nil {
			return err
		}
		return next(ctx, cmd)
	}
}

func (h hook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) (err error) {
		for _, cmd := range reordered(cmds, func(n int) int { return n - 1 }) {
			if refused := h.before(cmd); refused != nil {
				cmd.SetErr(refused)
				err = refused
			} else if failed := next(ctx, []redis.Cmder{cmd}); failed != nil {
				err = failed
			}
		}
		return err
	}
}

// hooked returns a store of another process on the same keys.
func (b *bench) hooked(before func(cmd redis.Cmder) error) *store {
	client := newClient(b.client)
	b.Cleanup(func() { client.Close() })
	if _, err := client.Time(b.Context()).Result(); err != nil { // it is connected
		b.Fatal(err)
	}
	client.AddHook(hook{before})
	return newStore(client, Options{Namespace: string(b.store.keys)})
}

// serverTime returns the time of the server's clock.
func (b *bench) serverTime() time.Time {
	b.Helper()
	now, err := b.client.Time(b.Context()).Result()
	if err != nil {
		b.Fatal(err)
	}
	return now
}

// serverSecond returns the second of the server's clock.
func (b *bench) serverSecond() time.Time { b.Helper(); return b.serverTime().Truncate(time.Second) }

// A deletion whose process was stopped after any command is finished by the next declaration, in any queue: the deleted schedule leaves
// no mark, no count and no occurrence, and the new one begins in a later second.
func TestADeletionInterruptedAfterAnyCommandIsFinishedByADeclaration(t *testing.T) {
	for _, queue := range []string{"default", "mail", "other"} {
		onEveryServer(t, func(b *bench) {
			deleted := 0
			for commands := range 14 {
				name := fmt.Sprintf("s%d", commands)
				b.Scheduled(name, "allow", storesuite.Ago(time.Minute))
				b.client.HSet(b.Context(), b.keys().counters, name+"/skipped", 7)
				b.DeclareOn("mail", name, "allow", `{"job":"j"}`) // due occurrences remain in the old queue
				b.client.HSet(b.Context(), b.keys().counters, name+"/skipped", 5)
				second, left := b.serverSecond(), commands
				stopped := b.hooked(func(redis.Cmder) error {
					if left--; left < 0 {
						return errStopped
					}
					return nil
				})
				if _, err := stopped.Remove(b.Context(), protocol.Removal{Name: name}); err != nil && !errors.Is(err, errStopped) {
					b.Fatal(err)
				}
				again := b.DeclareOn(queue, name, "allow", `{"job":"j"}`)
				if !again.New { // it was not deleted
					continue
				}
				deleted++
				if !again.Created.Truncate(time.Second).After(second) {
					b.Errorf("after %d commands: deleted in the second %v and created at %v, want a later second", commands, second, again.Created)
				}
				found, err := b.store.Find(b.Context(), []string{name})
				if err != nil || found[0].Skipped != 0 {
					b.Errorf("after %d commands: found %+v, %v; want nothing counted", commands, found, err)
				}
				for _, job := range b.Take(fmt.Sprintf("w%d", commands), 9) {
					if schedule, _, _ := protocol.CutOccurrence(job.ID); schedule == name {
						b.Errorf("after %d commands: taken %s, whose schedule was deleted", commands, job.ID)
					}
				}
			}
			if deleted < 3 {
				b.Errorf("%d deletions were begun, want some that were interrupted", deleted)
			}
		})
	}
}

// A second may begin between the record of a deletion and the deletion. If the process is stopped after that, the process that
// finishes the deletion records it again.
func TestADeletionThatWasNotedInAnEarlierSecondIsNotedAgain(t *testing.T) {
	onServersWith(t, settableClock, func(b *bench) {
		b.Declare("s", "allow", `{"job":"j"}`)
		second, removed := b.serverSecond().Add(10*time.Second), false
		b.SetClock(second.Add(-50 * time.Millisecond))
		stopped := b.hooked(func(cmd redis.Cmder) error {
			if removed {
				return errStopped
			}
			if removed = isCallOf(cmd, &removeScript) && cmd.Name() == "evalsha"; removed {
				b.SetClock(second.Add(50 * time.Millisecond))
			}
			return nil
		})
		b.client.ScriptLoad(b.Context(), removeScript.Text)
		if _, err := stopped.Remove(b.Context(), protocol.Removal{Name: "s"}); !errors.Is(err, errStopped) {
			b.Fatalf("removed: %v, want it stopped", err)
		}
		again := b.DeclareOn("mail", "s", "allow", `{"job":"j"}`)
		if !again.New || !again.Created.Truncate(time.Second).After(second) {
			b.Errorf("deleted in the second %v and created at %v, want a later second", second, again.Created)
		}
	})
}

// The instant of a deletion is read after the new schedule is in the registry. On a cluster two commands of one pipeline arrive in any order.
func TestADeletionBesideADeclarationIsKnownToIt(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.Declare("s", "skip", `{"job":"j"}`)
		second, done := b.serverSecond(), false
		beside := b.hooked(func(cmd redis.Cmder) error {
			if isCallOf(cmd, &registerSchedulesScript) && !done {
				done = true
				if _, err := b.store.Remove(b.Context(), protocol.Removal{Name: "s"}); err != nil {
					b.Error(err)
				}
			}
			return nil
		})
		answer := beside.Declare(b.Context(), []protocol.Declaration{{Name: "s", Queue: "mail", Overlap: "skip", Body: []byte(`{"job":"j"}`)}})[0]
		if answer.Err != nil || !done || !answer.New || !answer.Created.Truncate(time.Second).After(second) {
			b.Errorf("deleted in the second %v, and declared meanwhile: %+v, want a creation in a later second", second, answer)
		}
	})
}

// sentBy returns the calls of a script that a process sends during do.
func (b *bench) sentBy(s *script.Script, does func(other *store)) (sent []*redis.Cmd) {
	does(b.hooked(func(cmd redis.Cmder) error {
		if isCallOf(cmd, s) {
			again := redis.NewCmd(b.Context(), append([]any(nil), cmd.Args()...)...)
			again.SetFirstKeyPos(3)
			sent = append(sent, again)
		}
		return nil
	}))
	return sent
}

// A change that is repeated after others have changed the schedule does not restore its old definition.
func TestAChangeSentAgainLateChangesNothing(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.Declare("s", "skip", `{"job":"j"}`)
		sent := b.sentBy(&declareScript, func(other *store) {
			answer := other.Declare(b.Context(), []protocol.Declaration{{Name: "s", Queue: "default", Overlap: "skip", Body: []byte(`{"job":"early"}`)}})[0]
			if answer.Err != nil || !answer.Changed {
				b.Fatalf("answer %+v, want changed", answer)
			}
		})
		late := b.Declare("s", "skip", `{"job":"late"}`)
		for _, cmd := range sent {
			if err := b.client.Process(b.Context(), cmd); err != nil {
				b.Fatal(err)
			}
		}
		b.Want("the definition", b.client.HGet(b.Context(), b.keys().schedules, "s").Val(), string(late.Stored))
	})
}

// A declaration whose answer is lost, and which the client sends again after others have changed or deleted the schedule, is not carried out twice.
func TestADeclarationWithALostAnswerIsCarriedOutOnce(t *testing.T) {
	for name, others := range map[string]func(b *bench) string{
		"changed": func(b *bench) string { return string(b.Declare("s", "skip", `{"job":"late"}`).Stored) },
		"deleted": func(b *bench) string {
			if _, err := b.store.Remove(b.Context(), protocol.Removal{Name: "s"}); err != nil {
				b.Fatal(err)
			}
			return ""
		},
		"deleted and created again": func(b *bench) string {
			if _, err := b.store.Remove(b.Context(), protocol.Removal{Name: "s"}); err != nil {
				b.Fatal(err)
			}
			return string(b.Declare("s", "skip", `{"job":"late"}`).Stored)
		},
	} {
		for _, exists := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, existed %v", name, exists), func(t *testing.T) {
				onEveryServer(t, func(b *bench) {
					b.Declare("other", "skip", `{"job":"j"}`)
					if exists {
						b.Declare("s", "skip", `{"job":"j"}`)
					}
					want, sent := "", false
					other := b.hooked(func(cmd redis.Cmder) error {
						data := cmd.Args()[min(len(cmd.Args()), 3):]
						if !isCallOf(cmd, &declareScript) || sent || exists && fmt.Sprint(data[len(data)-14]) == "0" {
							return nil // the first call of a change reads the revision
						}
						sent = true
						lost := redis.NewCmd(b.Context(), cmd.Args()...)
						lost.SetFirstKeyPos(3)
						if err := b.client.Process(b.Context(), lost); err != nil {
							b.Fatal(err)
						}
						want = others(b)
						return nil
					})
					other.Declare(b.Context(), []protocol.Declaration{{Name: "s", Queue: "default", Overlap: "skip", Body: []byte(`{"job":"early"}`)}})
					if !sent {
						b.Fatal("no call was sent")
					}
					b.Want("the definition", b.client.HGet(b.Context(), b.keys().schedules, "s").Val(), want)
				})
			})
		}
	}
}

// A pause that is repeated after others have resumed the schedule does not pause it again.
func TestAPauseSentAgainAfterAResumptionChangesNothing(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.Declare("s", "skip", `{"job":"j"}`)
		for _, paused := range []bool{true, false} {
			sent := b.sentBy(&pauseScheduleScript, func(other *store) {
				if _, err := storesuite.PauseSchedule(b.Context(), other, "s", paused); err != nil {
					b.Fatal(err)
				}
			})
			if _, err := storesuite.PauseSchedule(b.Context(), b.store, "s", !paused); err != nil {
				b.Fatal(err)
			}
			before := b.client.HGet(b.Context(), b.keys().schedules, "s").Val()
			for _, cmd := range sent {
				if err := b.client.Process(b.Context(), cmd); err != nil {
					b.Fatal(err)
				}
			}
			b.Want("the definition", b.client.HGet(b.Context(), b.keys().schedules, "s").Val(), before)
			if _, err := storesuite.PauseSchedule(b.Context(), b.store, "s", paused); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// A pause that is repeated after the schedule was deleted and created again does not pause the new one.
func TestAPauseSentAgainLateLeavesALaterScheduleAlone(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		b.Declare("s", "skip", `{"job":"j"}`)
		sent := b.sentBy(&pauseScheduleScript, func(other *store) {
			if _, err := storesuite.PauseSchedule(b.Context(), other, "s", true); err != nil {
				b.Fatal(err)
			}
		})
		if _, err := b.store.Remove(b.Context(), protocol.Removal{Name: "s"}); err != nil {
			b.Fatal(err)
		}
		again := b.Declare("s", "skip", `{"job":"j"}`)
		for _, cmd := range sent {
			if err := b.client.Process(b.Context(), cmd); err != nil {
				b.Fatal(err)
			}
		}
		b.Want("the definition", b.client.HGet(b.Context(), b.keys().schedules, "s").Val(), string(again.Stored))
		if _, err := storesuite.PauseSchedule(b.Context(), b.store, "s", true); err != nil {
			b.Fatal(err)
		}
		b.Want("owed once it is paused", b.owedNames(), "[]")
	})
}

package redisstore

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/protocol"
)

func (b *bench) acknowledgements() []protocol.Acknowledgement {
	b.Helper()
	all, err := b.store.Acknowledgements(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	return all
}

// An acknowledgement is stored as it was made, replaced by the next one of its subject, and removed.
func TestAnAcknowledgementIsStoredUntilItIsRemoved(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		until := b.serverSecond().Add(time.Hour)
		of := protocol.Acknowledgement{Schedule: "café", Revision: 7, Done: 3, Note: protocol.Note{Text: `"until":5,`, By: "anna", Until: until}}
		failures := protocol.Acknowledgement{Job: "resize", Shape: "ff", Queues: []string{"media", "mail"}}
		for range 2 {
			for _, a := range []protocol.Acknowledgement{failures, of} {
				if err := b.store.Acknowledge(b.Context(), a); err != nil {
					b.Fatal(err)
				}
			}
		}
		all := b.acknowledgements()
		if len(all) != 2 || fmt.Sprint(all[0].Queues) != "[media mail]" || all[0].Job != "resize" || all[0].Shape != "ff" || !all[0].Note.Until.IsZero() {
			b.Fatalf("got %+v", all)
		}
		if got := all[1]; got.Schedule != "café" || got.Revision != 7 || got.Done != 3 || got.Note.Text != of.Note.Text || got.Note.By != "anna" || !got.Note.Until.Equal(until) || got.Note.At.IsZero() {
			b.Errorf("got %+v, want %+v", got, of)
		}
		for i, want := range []bool{true, false} {
			if was, err := b.store.Unacknowledge(b.Context(), failures); err != nil || was != want {
				b.Errorf("removal %d: %v, %v; want %v", i+1, was, err, want)
			}
		}
		if all := b.acknowledgements(); len(all) != 1 {
			b.Errorf("%d remain, want one: %+v", len(all), all)
		}
	})
}

// A late copy of a call changes nothing, also if the acknowledgement was removed, or replaced, since.
func TestALateCopyOfAnAcknowledgementChangesNothing(t *testing.T) {
	onServersWith(t, hookedCalls, func(b *bench) {
		of := protocol.Acknowledgement{Schedule: "s", Note: protocol.Note{Text: "first"}}
		sent := b.sentBy(&acknowledgeScript, func(other *store) {
			if err := other.Acknowledge(b.Context(), of); err != nil {
				b.Fatal(err)
			}
		})
		late := func(want string) {
			b.Helper()
			for _, cmd := range sent {
				copied := redis.NewCmd(b.Context(), cmd.Args()...)
				if err := b.client.Process(b.Context(), copied); err != nil {
					b.Fatal(err)
				}
			}
			got := ""
			for _, a := range b.acknowledgements() {
				got = a.Note.Text
			}
			b.Want("after a late copy", got, want)
		}
		late("first")
		if _, err := b.store.Unacknowledge(b.Context(), of); err != nil {
			b.Fatal(err)
		}
		late("")
		of.Note.Text = "second"
		if err := b.store.Acknowledge(b.Context(), of); err != nil {
			b.Fatal(err)
		}
		late("second")
	})
}

// The number of acknowledgements is bounded: a new one removes those that are over and those that were removed an hour ago.
func TestAcknowledgementsAreBounded(t *testing.T) {
	onServersWith(t, settableClock, func(b *bench) {
		now := b.serverSecond()
		acknowledge := func(name string, until time.Time) error {
			return b.store.Acknowledge(b.Context(), protocol.Acknowledgement{Schedule: name, Note: protocol.Note{Until: until}})
		}
		for i := range protocol.MaxAcknowledgements {
			until := time.Time{}
			if i == 0 {
				until = now.Add(time.Minute)
			}
			if err := acknowledge(fmt.Sprint("s", i), until); err != nil {
				b.Fatal(err)
			}
		}
		if err := acknowledge("more", time.Time{}); !errors.Is(err, protocol.ErrTooMany) {
			b.Errorf("one more: %v, want %v", err, protocol.ErrTooMany)
		}
		if err := acknowledge("s1", time.Time{}); err != nil {
			b.Errorf("one that is there is not replaced: %v", err)
		}
		b.SetClock(now.Add(time.Hour))
		if err := acknowledge("more", time.Time{}); err != nil {
			b.Errorf("when one is over: %v", err)
		}
		if _, err := b.store.Unacknowledge(b.Context(), protocol.Acknowledgement{Schedule: "s2"}); err != nil {
			b.Fatal(err)
		}
		b.SetClock(now.Add(3 * time.Hour))
		if err := acknowledge("again", time.Time{}); err != nil {
			b.Errorf("an hour after a removal: %v", err)
		}
		if n := b.client.HLen(b.Context(), b.store.keys.acknowledged()).Val(); n > protocol.MaxAcknowledgements {
			b.Errorf("%d entries", n)
		}
	})
}

//go:build real

package redisstore

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/storesuite"
)

// A server without memory refuses a carry as a whole, and lets an outbox drain: what was carried is noted.
func TestAtMaxmemoryACarryWritesNothingAndAnOutboxDrains(t *testing.T) {
	b, client := onRedis(t), redisAdmin()
	defer client.ConfigSet(context.WithoutCancel(b.Context()), "maxmemory", "0")
	source := storesuite.DefaultPartition
	b.departs(source, "mail", "a", 0)
	b.carryAll(source, mail)
	b.departs(source, "mail", "b", 0)
	batch := b.next(source, mail)
	mark := b.carry(source, mail, batch.After, batch.Entries).Mark
	b.departs(source, "mail", "c", 0)
	b.departs(source, "other", "d", 0)
	if _, err := b.store.Partitions(b.Context(), "other"); err != nil {
		b.Fatal(err)
	}
	client.ConfigSet(b.Context(), "maxmemory", "1")
	b.address(source)
	next := b.advance(source, mail, mark, time.Time{})
	if len(next.Entries) != 1 {
		b.Errorf("%+v, want the third entry", next)
	}
	if _, err := b.store.Carry(b.Context(), source, mail, next.After, next.Entries); !errors.Is(err, protocol.ErrStoreFull) {
		b.Errorf("%v, want ErrStoreFull", err)
	}
	client.ConfigSet(b.Context(), "maxmemory", "0")
	b.Want("mail", b.has(mail), "b a |")
	b.carryAll(source, mail)
	b.Want("mail", b.has(mail), "c b a |")
	b.Want("the outbox", b.outboxOf(source), "1 wait, 3 delivered, 4 values")
}

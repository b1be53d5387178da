package redisstore

import (
	"fmt"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

// A version has the start of the first worker that announced it, whatever later workers announce.
func TestAVersionIsRecordedWhenItIsFirstSeen(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		announce := func(name, version string, age time.Duration) {
			if err := b.store.AnnounceWorker(b.Context(), protocol.WorkerEntry{Name: name, Version: version, Age: age}); err != nil {
				b.Fatal(err)
			}
		}
		before := b.serverTime()
		announce("w1", "v1", time.Hour)
		announce("w2", "v2", time.Minute)
		announce("w3", "v1", 0)
		announce("w1", "v1", 2*time.Hour)
		announce("w4", "", 0)
		versions, err := b.store.Versions(b.Context())
		if err != nil || len(versions) != 2 || versions[0].Version != "v2" || versions[1].Version != "v1" {
			b.Fatalf("got %v, %v; want v2 and v1", versions, err)
		}
		if age := before.Sub(versions[1].First); age < 59*time.Minute || age > 61*time.Minute {
			b.Errorf("v1 was first seen %v before its first announcement, want an hour", age)
		}
	})
}

func TestTheVersionsAreBounded(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		for i := range maxVersions + 2 {
			b.client.ZAdd(b.Context(), b.store.keys.versions(), redisZ(float64(i), fmt.Sprint("v", i)))
		}
		if err := b.store.AnnounceWorker(b.Context(), protocol.WorkerEntry{Name: "w", Version: "new"}); err != nil {
			b.Fatal(err)
		}
		versions, err := b.store.Versions(b.Context())
		if err != nil || len(versions) != maxVersions || versions[0].Version != "new" || versions[maxVersions-1].Version != "v3" {
			b.Fatalf("%d versions, %v; want %d, from new to v3", len(versions), err, maxVersions)
		}
	})
}

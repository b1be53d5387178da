package redisstore_test

import (
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/redisstore"
)

// A nil pointer in an interface is not nil, but it is not a client or a store either.
func TestANilClientOrStoreIsAnError(t *testing.T) {
	var client *redis.Client
	if _, err := chime.NewEnqueuer(redisstore.New(client, redisstore.Options{}), chime.EnqueuerOptions{}).Enqueue(t.Context(), "report", nil); err == nil || !strings.Contains(err.Error(), "client is nil") {
		t.Errorf("a nil client: %v, want that it is nil", err)
	}
	for _, store := range []*redisstore.Store{nil, {}} {
		if _, err := chime.NewEnqueuer(store, chime.EnqueuerOptions{}).Enqueue(t.Context(), "report", nil); err == nil || !strings.Contains(err.Error(), "store is nil") {
			t.Errorf("a nil store: %v, want that it is nil", err)
		}
		if err := chime.Run(t.Context(), chime.NewWorker(store, chime.WorkerOptions{})); err == nil || !strings.Contains(err.Error(), "store is nil") {
			t.Errorf("a worker on a nil store: %v, want that it is nil", err)
		}
	}
}

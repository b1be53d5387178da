//go:build real

package redisstore

import "testing"

// onRedis returns a bench on a redis-server, on any server of the run.
func onRedis(t *testing.T) *bench {
	t.Helper()
	client, setClock := openRedis(t, 0)
	return newBench(t, client, setClock)
}

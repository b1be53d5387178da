//go:build real

package redisstore

import "testing"

// onRedis returns a bench on a redis-server, whatever server the run has.
func onRedis(t *testing.T) *bench {
	t.Helper()
	client, setClock := openRedis(t)
	return newBench(t, client, setClock)
}

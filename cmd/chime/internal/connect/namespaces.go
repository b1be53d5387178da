package connect

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	queuesKey    = ":queues" // the end of the key of a namespace's registry of queues
	scanTogether = 1000      // keys that one call reads
	scanFor      = time.Second
)

var namespacePattern = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,100}$`)

// Namespaces returns the namespaces that have a queue in the database of this connection, in order. It reads the names of all keys, for a second at
// most: all is false if there are more keys than that, and then namespaces may be missing.
func (c *Connection) Namespaces(ctx context.Context) (found []string, all bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, scanFor+scanFor) // the loop ends earlier, unless the server is slow
	defer cancel()
	began := time.Now()
	var mu sync.Mutex
	all = true
	scan := func(ctx context.Context, client redis.Cmdable) error {
		for cursor := uint64(0); ; {
			keys, next, err := client.ScanType(ctx, cursor, "*"+queuesKey, scanTogether, "hash").Result()
			if err != nil {
				return err
			}
			mu.Lock()
			for _, key := range keys {
				if namespace := strings.TrimSuffix(key, queuesKey); namespacePattern.MatchString(namespace) {
					found = append(found, namespace)
				}
			}
			late := next != 0 && time.Since(began) > scanFor
			all = all && !late
			mu.Unlock()
			if cursor = next; cursor == 0 || late {
				return nil
			}
		}
	}
	if cluster, ok := c.Client.(*redis.ClusterClient); ok {
		err = cluster.ForEachMaster(ctx, func(ctx context.Context, master *redis.Client) error { return scan(ctx, master) })
	} else {
		err = scan(ctx, c.Client)
	}
	slices.Sort(found)
	return slices.Compact(found), all, err
}

//go:build unix

package chaos

import (
	"context"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Homes are the schedules on the server, and the queues in which each of them lives.
type Homes map[string][]string

// moved matches the definition of a schedule that has left the queue.
var moved = regexp.MustCompile(`^\{"revision":\d+,"generation":\d+,"state":"moved to `)

// TakeHomes reads the homes of all schedules.
func TakeHomes(ctx context.Context, client redis.UniversalClient) (Homes, error) {
	homes := Homes{}
	keys, err := client.Keys(ctx, namespace+":{*}:schedules").Result()
	if err != nil {
		return nil, err
	}
	for _, key := range keys {
		definitions, err := client.HGetAll(ctx, key).Result()
		if err != nil {
			return nil, err
		}
		queue := strings.TrimSuffix(strings.TrimPrefix(key, namespace+":{"), "}:schedules")
		for name, definition := range definitions {
			if !moved.MatchString(definition) {
				homes[name] = append(homes[name], queue)
			}
		}
	}
	return homes, nil
}

// CheckHomes returns the schedules that do not live in exactly one queue, when all processes have ended and sweeps and a repair have run. declared
// are the schedules that programs declare again whenever they are lost.
func CheckHomes(h *History, homes Homes, declared []string) Findings {
	var found Findings
	names := maps.Clone(homes)
	for _, name := range declared {
		names[name] = nil
	}
	for name := range h.Puts {
		names[name] = nil
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		in, put := homes[name], h.Puts[name]
		switch {
		case len(in) > 1:
			found.add(Homeless, "schedule %s lives in %q", name, in)
		case len(in) == 1 && put != nil && put.Deleted:
			found.add(Homeless, "schedule %s was deleted and lives in %q", name, in)
		case len(in) == 0 && (slices.Contains(declared, name) || put != nil && put.mustLive(h)):
			found.add(Homeless, "schedule %s lives nowhere", name)
		}
	}
	return found
}

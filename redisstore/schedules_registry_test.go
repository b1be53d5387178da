package redisstore

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

// A look-up of many names has the same result as a look-up of each: if they are adjacent in it, have others or none between them, are names of
// no schedule, are prefixes of each other, or have an entry that cannot be read.
func TestManyNamesAreLookedUpAsOneIs(t *testing.T) {
	onEveryServer(t, func(b *bench) {
		random := rand.New(rand.NewPCG(14, 1))
		var names []string
		for i := range 700 {
			name := fmt.Sprintf("s%03d", i)
			if i%5 == 0 {
				name += strings.Repeat("!", i%4) + "x"
			}
			names = append(names, name)
			if i%7 == 0 {
				continue // no schedule has this name
			}
			member := home{queue: fmt.Sprint("q", i%3), generation: int64(i + 1)}.member(name)
			if i%41 == 0 {
				member = name + "\tq\tnever"
			}
			if err := b.client.ZAdd(b.Context(), b.store.keys.registry(), redis.Z{Member: member}).Err(); err != nil {
				b.Fatal(err)
			}
		}
		if err := b.client.ZAdd(b.Context(), b.store.keys.registry(), redis.Z{Member: "s300"}, redis.Z{Member: "s300!"}).Err(); err != nil {
			b.Fatal(err)
		}
		slices.Sort(names)
		one := map[string]foundHome{}
		for _, name := range names {
			found, err := b.store.lookUpHomes(b.Context(), name)
			if err != nil {
				b.Fatal(err)
			}
			one[name] = found[0]
		}
		for range 60 {
			from := random.IntN(len(names))
			some := slices.Clone(names[from : from+random.IntN(len(names)-from)+1])
			if every := random.IntN(6); every > 1 { // there are others in between
				some = slices.DeleteFunc(some, func(string) bool { return random.IntN(every) > 0 })
			}
			if random.IntN(4) == 0 {
				random.Shuffle(len(some), func(i, j int) { some[i], some[j] = some[j], some[i] })
			}
			if len(some) > 0 && random.IntN(4) == 0 {
				some = slices.Insert(some, 0, some[0]) // twice
			}
			if len(some) == 0 {
				continue
			}
			found, err := b.store.lookUpHomes(b.Context(), some...)
			if err != nil {
				b.Fatal(err)
			}
			for i, name := range some {
				if !reflect.DeepEqual(found[i], one[name]) {
					b.Fatalf("of %d names from %s to %s, %q is %+v, want %+v", len(some), some[0], some[len(some)-1], name, found[i], one[name])
				}
			}
		}

		sent := 0
		counting := b.hooked(func(redis.Cmder) error { sent++; return nil })
		if _, err := counting.lookUpHomes(b.Context(), names[100:300]...); err != nil {
			b.Fatal(err)
		}
		if sent > 1 {
			b.Errorf("200 names that follow each other cost %d commands, want one", sent)
		}
	})
}

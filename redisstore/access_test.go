package redisstore

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/chimejobs/chime/internal/protocol"
	"github.com/chimejobs/chime/internal/redistest"
	"github.com/chimejobs/chime/internal/storesuite"
)

func TestTheUsersOfTheDocsHaveExactlyTheRightsThatAreNeeded(t *testing.T) {
	lines := redistest.DocumentedUsers(t)
	if len(lines) != len(grants) {
		t.Errorf("docs/access.md has %d users, want %d", len(lines), len(grants))
	}
	for use, g := range grants {
		if want := fmt.Sprintf("chime-%s on >SECRET %s", use, g.rules("chime")); lines[string(use)] != want {
			t.Errorf("docs/access.md has another line for a %s than it needs, which is:\nuser %s", use, want)
		}
	}
}

// A producer of one queue needs the same rights, on the keys of the queue's partitions and of the homes of batches only.
func TestTheLineOfOneQueueIsTheProducersLine(t *testing.T) {
	var want []string
	producer := grants[protocol.UseEnqueue]
	for _, rule := range append([]string{"mail-producer on >SECRET"}, producer.list("chime")...) {
		if of, key, every := strings.Cut(rule, "{*}"); every {
			want = append(want, of+"{mail}"+key, of+"{mail/*}"+key)
			if key == ":state" {
				want = append(want, of+"{/*}"+key) // {*} covers the homes of batches too
			}
			continue
		}
		want = append(want, rule)
	}
	if got := redistest.ProducerOfOneQueue(t); got != strings.Join(want, " ") {
		t.Errorf("docs/access.md has another line for one queue than\nuser %s", strings.Join(want, " "))
	}
}

// A script that is in no grant would be refused to every user, and a command without arguments would not be tried at the start.
func TestEveryScriptAndCommandIsGrantedAndTried(t *testing.T) {
	granted := map[string]bool{}
	for use, g := range grants {
		for _, script := range g.scripts {
			granted[script.Name] = true
		}
		for _, command := range g.commands() {
			_, tried := arguments[command]
			if elsewhere := strings.Fields("eval eval_ro evalsha evalsha_ro hello info publish subscribe unsubscribe"); !tried && !slices.Contains(elsewhere, command) {
				t.Errorf("%s, which a %s needs, has no arguments with which it is tried", command, use)
			}
		}
	}
	for _, name := range scripts.Names() {
		if !granted[name] {
			t.Errorf("no user may run %s.lua: add it to a grant", name)
		}
	}
	titled, _ := readTitle("enqueue", enqueueScript.Text)
	for i, key := range keyspace("n").partition(storesuite.DefaultPartition).enqueueing() {
		if !fits(key, titled.keys[i+1].name) {
			t.Errorf("enqueueing() has %s, KEYS[%d] of enqueue.lua is …:%s", key, i+1, titled.keys[i+1].name)
		}
	}
}

// A key without a type would not be checked for a foreign type, and no rule would be tried for it.
func TestEveryKeyOfAPartitionHasItsType(t *testing.T) {
	p := keyspace("chime").partition(storesuite.DefaultPartition)
	types := p.types()
	for field, value := range reflect.ValueOf(p).Fields() {
		if field.Name != "prefix" && types[value.String()] == "" {
			t.Errorf("types() does not have the key %s", field.Name)
		}
	}
}

package redisstore

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/chimejobs/chime/internal/protocol"
)

// keyTable returns the keys of a document's table with their types, and the number of its rows.
func keyTable(t *testing.T, document string) (got map[string]string, rows int) {
	t.Helper()
	text, err := os.ReadFile("../" + document)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), "| key | type | holds |")
	table, _, _ := strings.Cut(rest, "\n\n")
	if !found {
		t.Fatalf("%s has no table of keys", document)
	}
	got = map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| (`[^|]+`) \\| ([a-z, ]+) \\|").FindAllStringSubmatch(table, -1) {
		rows++
		keys, types := strings.Split(row[1], ", "), strings.Split(row[2], ", ") // a row may have several keys
		for i, key := range keys {
			got[strings.Trim(key, "`")] = types[min(i, len(types)-1)]
		}
	}
	return got, rows
}

// boundedKeys returns how often the table of bounds in docs/keys.md has each key.
func boundedKeys(t *testing.T) map[string]int {
	t.Helper()
	text, err := os.ReadFile("../docs/keys.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "| key | grows with | bound | test |")
	table, _, _ := strings.Cut(rest, "\n\n")
	got := map[string]int{}
	for _, row := range regexp.MustCompile("(?m)^\\| (`[^|]+`) \\| [^|]+ \\| [^|]+ \\| (`Test[^|]+`) \\|$").FindAllStringSubmatch(table, -1) {
		for _, key := range strings.Split(row[1], ", ") {
			got[strings.Trim(key, "`")]++
		}
	}
	return got
}

// The tables of keys, of docs/keys.md and of the HTTP API's guide, together have every key of keys.go and no other, with the type that keys.go
// gives it. The README has ten rows of them. Each key is in the table of bounds once, with a test.
func TestTheTablesOfKeys(t *testing.T) {
	source, err := os.ReadFile("keys.go")
	if err != nil {
		t.Fatal(err)
	}
	types := map[string]string{} // field → type, from its comment
	for _, m := range regexp.MustCompile(`(?m)^\t(\w+) +string // ([a-z ]+):`).FindAllStringSubmatch(string(source), -1) {
		types[m[1]] = m[2]
	}
	for _, m := range regexp.MustCompile(`(?m)^// (\w+) is a ([a-z ]+?):`).FindAllStringSubmatch(string(source), -1) {
		types[m[1]] = m[2]
	}
	k := keyspace("chime")
	p := k.partition(protocol.Partition{Queue: "q"})
	want := map[string]string{
		k.leader(): types["leader"], k.queues(): types["queues"], k.registry(): types["registry"], k.deleted(): types["deleted"],
		k.served(): types["served"], k.workers(): types["workers"], k.beats(): types["beats"], k.pruned(): types["pruned"], k.versions(): types["versions"], k.acknowledged(): types["acknowledged"],
		"…:inflight:<session>": types["inflight"],
		"…:parked:<job name>":  types["parked"],
	}
	if !strings.HasSuffix(p.inflight("S"), ":inflight:S") || !strings.HasSuffix(p.parked("N"), ":parked:N") {
		t.Errorf("keys %s and %s differ from the table", p.inflight("S"), p.parked("N"))
	}
	fields := reflect.ValueOf(p)
	for i := range fields.NumField() {
		name := fields.Type().Field(i).Name
		if name == "prefix" {
			continue
		}
		key := strings.TrimPrefix(fields.Field(i).String(), p.prefix)
		want["…:"+key] = types[name]
	}
	home := k.home(3)
	for name, key := range map[string]string{"made": home.made, "tended": home.tended, "batch": home.batch("<batch>")} {
		want["…:"+strings.TrimPrefix(key, "chime:{/3}:")] = types[name]
	}
	bounded := boundedKeys(t)
	c := k.collections()
	ofCollections := map[string]string{
		c.records: types["records"], c.index: types["index"], c.unfinished: types["unfinished"], c.swept: types["swept"], c.owned: types["owned"],
		c.names("<collection>"): types["names"],
	}
	for document, want := range map[string]map[string]string{"docs/keys.md": want, "docs/http-api.md": ofCollections} {
		got, _ := keyTable(t, document)
		for key, kind := range want {
			if got[key] != kind || kind == "" {
				t.Errorf("key %s is a %q in %s, a %q in keys.go", key, got[key], document, kind)
			}
		}
		for key := range got {
			if _, known := want[key]; !known {
				t.Errorf("%s has a key %s that keys.go does not build, or that belongs elsewhere", document, key)
			}
			if bounded[key] != 1 {
				t.Errorf("the table of bounds in docs/keys.md has key %s %d times, want once", key, bounded[key])
			}
			delete(bounded, key)
		}
	}
	for key := range bounded {
		t.Errorf("the table of bounds in docs/keys.md has a key %s that does not exist", key)
	}
	front, rows := keyTable(t, "README.md")
	for key, kind := range front {
		if want[key] != kind {
			t.Errorf("key %s is a %q in README.md, a %q in keys.go", key, kind, want[key])
		}
	}
	if rows != 10 {
		t.Errorf("README.md has %d rows of keys, want 10: docs/keys.md has all", rows)
	}
}

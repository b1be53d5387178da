package redisstore

import (
	"go/ast"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/chimejobs/chime/internal/protocol"
)

// separators are in no name that becomes part of a key: keys, hash tags, members and fields are cut at them.
const separators = "{}/|#@ \t\r\n\x00"

// A keyOwner is the owner of a key.
type keyOwner struct {
	namespace string
	partition protocol.Partition // the zero value: the namespace itself
	holds     string             // such as "due", or "parked" and a job name

	collections bool // it belongs to the collections, not to a partition
}

// namespaceKeys are the keys of a namespace itself, by the method that builds each.
func namespaceKeys(k keyspace) map[string]string {
	return map[string]string{"leader": k.leader(), "queues": k.queues(), "registry": k.registry(), "deleted": k.deleted(), "served": k.served(), "workers": k.workers(), "beats": k.beats(), "pruned": k.pruned(), "versions": k.versions(), "acknowledged": k.acknowledged()}
}

// collectionTag is the hash tag of the keys of the collections.
const collectionTag = "/collections"

// collectionKeysOf returns the keys of the collections by their content, with the names of one.
func collectionKeysOf(k keyspace, collection string) map[string]string {
	keys := k.collections()
	all := map[string]string{"names " + collection: keys.names(collection)}
	for field, value := range reflect.ValueOf(keys).Fields() {
		if field.Name != "prefix" {
			all[field.Name] = value.String()
		}
	}
	return all
}

// partitionKeysOf returns the keys of a partition by their content, with those of one session and of one job name.
func partitionKeysOf(k keyspace, p protocol.Partition, session, name string) map[string]string {
	keys := k.partition(p)
	all := map[string]string{"inflight " + session: keys.inflight(session), "parked " + name: keys.parked(name)}
	for field, value := range reflect.ValueOf(keys).Fields() {
		if field.Name != "prefix" {
			all[field.Name] = value.String()
		}
	}
	return all
}

// readKey finds namespace and partition in the name of a key, only by its form.
func readKey(key string) (owner keyOwner, ok bool) {
	rest := ""
	owner.namespace, rest, ok = strings.Cut(key, ":")
	tag, tagged := strings.CutPrefix(rest, "{")
	if !ok || !tagged {
		return owner, ok
	}
	tag, _, ok = strings.Cut(tag, "}:")
	if tag == collectionTag {
		owner.collections = true
		return owner, ok
	}
	queue, index, further := strings.Cut(tag, "/")
	owner.partition.Queue = queue
	if further {
		owner.partition.Index, _ = strconv.Atoi(index)
		ok = ok && owner.partition.Index > 0 && strconv.Itoa(owner.partition.Index) == index
	}
	return owner, ok
}

// A keyOwners maps each key to its owner.
type keyOwners map[string]keyOwner

// add fails if the key has another owner, or does not lead back to its namespace and partition.
func (owners keyOwners) add(t *testing.T, key string, owner keyOwner) {
	t.Helper()
	if read, ok := readKey(key); !ok || read.namespace != owner.namespace || read.partition != owner.partition || read.collections != owner.collections {
		t.Errorf("%q is read as a key of %+v, want %+v", key, read, owner)
	}
	if other, known := owners[key]; known && other != owner {
		t.Errorf("%q is a key of %+v and of %+v", key, other, owner)
	}
	owners[key] = owner
}

// accepted turns any text into one that the checks of names accept, and keeps as many of its characters as they allow.
func accepted(text string) string {
	const allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"
	fit := []byte(text[:min(len(text), protocol.MaxName)])
	for i, c := range fit {
		if c != ':' && strings.IndexByte(allowed, c) < 0 {
			fit[i] = allowed[int(c)%len(allowed)]
		}
	}
	if len(fit) == 0 {
		return "x"
	}
	return string(fit)
}

// FuzzKeys goes from names to keys and back. Names that pass the checks give keys that lead back to those names. So no key
// belongs to another namespace, queue, partition, session or job name, and all keys of a partition are in one slot of a cluster.
// A schedule's name may have any character but control characters: it is in members and fields, which also lead back to it.
func FuzzKeys(f *testing.F) {
	for _, name := range []string{"default", "a{b}", "{}", "a}:due", "a/1", "a#b", "report@2026-03-08T09:00:00Z", "a|b", "due", "parked:x", "leader", "a b", "é", ""} {
		f.Add("chime", "default", uint8(0), "report", name, "mail", uint8(1), "report")
		f.Add("chime", name, uint8(0), "report", "chime", "default", uint8(0), name)
		f.Add("chime", "a", uint8(1), name, "chime", name, uint8(1), "due")
	}
	f.Fuzz(func(t *testing.T, namespace, queue string, index uint8, name, namespace2, queue2 string, index2 uint8, name2 string) {
		for _, text := range []string{queue, name, queue2, name2} {
			if protocol.CheckName("name", text) == nil && strings.ContainsAny(text, separators) {
				t.Fatalf("the check of names accepts %q", text)
			}
		}
		for _, text := range []string{namespace, namespace2} {
			if namespacePattern.MatchString(text) && strings.ContainsAny(text, separators+":") {
				t.Fatalf("the check of namespaces accepts %q", text)
			}
		}
		checkMember(t, withoutControls(name), withoutControls(name2), accepted(queue))
		owners := keyOwners{}
		addKeys(t, owners, accepted(namespace), protocol.Partition{Queue: accepted(queue), Index: int(index)}, accepted(name))
		addKeys(t, owners, accepted(namespace2), protocol.Partition{Queue: accepted(queue2), Index: int(index2)}, accepted(name2))
	})
}

func addKeys(t *testing.T, owners keyOwners, namespace string, p protocol.Partition, name string) {
	namespace = strings.ReplaceAll(namespace, ":", "-")
	if err := protocol.CheckName("name", name); err != nil || !namespacePattern.MatchString(namespace) {
		t.Fatalf("%q, %q: %v", namespace, name, err)
	}
	k := keyspace(namespace)
	for holds, key := range namespaceKeys(k) {
		owners.add(t, key, keyOwner{namespace: namespace, holds: holds})
	}
	for holds, key := range partitionKeysOf(k, p, name, name) {
		owners.add(t, key, keyOwner{namespace: namespace, partition: p, holds: holds})
	}
	for holds, key := range collectionKeysOf(k, name) {
		owners.add(t, key, keyOwner{namespace: namespace, holds: holds, collections: true})
		if _, _, _, ok := k.parse(key); ok {
			t.Errorf("%q is mistaken for a key of a partition", key)
		}
	}
	member := name + "\t" + name // of the shared list of parked jobs
	if protocol.ParkedName(member) != name || !isShared(member) || isShared(name) {
		t.Errorf("%q is parked as %q", name, member)
	}
}

// withoutControls removes the characters that no name of a schedule may have.
func withoutControls(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, text)
}

// checkMember fails if a schedule's registry entry does not lead back to it, or is found under another name.
func checkMember(t *testing.T, name, other, queue string) {
	want := home{queue: queue, generation: 1<<53 - 1}
	member := want.member(name)
	if read, h, err := parseMember(member); err != nil || read != name || h != want {
		t.Errorf("the entry %q is read as %q, %+v, %v", member, read, h, err)
	}
	if other != name && other+"\t" <= member && member < other+"\n" { // as homes looks it up
		t.Errorf("the entry %q is found under the name %q", member, other)
	}
}

func TestFuzzKeysTriesEveryKey(t *testing.T) {
	fuzzed := namespaceKeys("chime")
	channels := []string{"wake", "channel", "everyChannel", "all"} // and the patterns of an ACL
	for _, declaration := range goFiles(t)["keys.go"].Decls {
		method, ok := declaration.(*ast.FuncDecl)
		if !ok || method.Recv == nil || method.Recv.List[0].Type.(*ast.Ident).Name != "keyspace" {
			continue
		}
		name := method.Name.Name
		if result, ok := method.Type.Results.List[0].Type.(*ast.Ident); ok && result.Name == "string" && !slices.Contains(channels, name) && fuzzed[name] == "" {
			t.Errorf("keyspace.%s is not in namespaceKeys, so FuzzKeys does not try it", name)
		}
	}
	if fields := reflect.TypeFor[collectionKeys]().NumField(); len(collectionKeysOf("chime", "x")) != fields {
		t.Errorf("FuzzKeys tries %d keys of collections, which have %d", len(collectionKeysOf("chime", "x")), fields)
	}
	all := partitionKeysOf("chime", protocol.Partition{Queue: "default"}, "x", "x")
	if fields := reflect.TypeFor[partitionKeys]().NumField(); len(all) != fields+1 {
		t.Errorf("FuzzKeys tries %d keys of a partition, which has %d without those of sessions and job names", len(all), fields-1)
	}
}

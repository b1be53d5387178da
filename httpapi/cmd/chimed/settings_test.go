package main

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
)

// Settings that contradict each other, let strangers in or show a secret are refused before anything is opened.
func TestAStartIsRefusedByItsFlags(t *testing.T) {
	const key = "k1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
	tokens := written(t, "tokens", "")
	for _, c := range []struct {
		args string
		env  []string
		want string // part of the error
	}{
		{"-listen 0.0.0.0:0 -plaintext", nil, "-listen 0.0.0.0:0: others can reach it, so it needs -tokens FILE"},
		{"-listen :0 -plaintext", nil, "so it needs -tokens FILE"},
		{"-listen [::]:0 -plaintext", nil, "so it needs -tokens FILE"},
		{"-listen example.com:0 -plaintext", nil, "so it needs -tokens FILE"},
		{"-listen 192.0.2.1:0 -tokens " + tokens, nil, "so it needs -tls-cert and -tls-key, or -plaintext"},
		{"", []string{"CHIMED_LISTEN", "0.0.0.0:0"}, "so it needs -tokens FILE"},
		{"-listen 127.0.0.1", nil, "want host:port"},
		{"-tls-cert a", nil, "-tls-cert and -tls-key: want both or none"},
		{"-tls-cert /missing/a -tls-key /missing/b", nil, "-tls-cert and -tls-key: open /missing/a"},
		{"-tokens " + tokens, nil, "-tokens: httpapi: tokens: no tokens found"},
		{"-tokens /missing/tokens", nil, "-tokens: open /missing/tokens"},
		{"-roles api", nil, "-roles: without -redis no other process can have the other roles"},
		{"-listen 192.0.2.1:0 -plaintext -roles dashboard -redis redis://127.0.0.1", nil, "so it needs -tokens FILE"},
		{"-dashboard-write", nil, "-dashboard-write: there is no dashboard: want it among -roles"},
		{"-roles api,boss -redis redis://127.0.0.1", nil, `-roles: there is no role "boss"`},
		{"-roles , -redis redis://127.0.0.1", nil, "-roles: want one or more of api,scheduler,worker,dashboard"},
		{"-redis redis://:canary@127.0.0.1", nil, "-redis: it contains a password, and every user of this machine can read a flag: use CHIMED_REDIS instead"},
		{"-redis rediss://redis.internal?skip_verify=true", nil, "-redis: skip_verify is not supported"},
		{"", []string{"CHIMED_REDIS", "rediss://:canary@redis.internal?skip_verify=1"}, "-redis: skip_verify is not supported"},
		{"rekey -redis rediss://redis.internal?skip_verify=true", nil, "-redis: skip_verify is not supported"},
		{"-redis canary://127.0.0.1", nil, "-redis: want a URL such as redis://localhost:6379/0"},
		{"", []string{"CHIMED_REDIS", "redis://:canary@[127.0.0.1"}, "-redis: want a URL such as redis://localhost:6379/0"},
		{"-proxy http://u:canary@proxy:1", nil, "-proxy: it contains a password, and every user of this machine can read a flag: use CHIMED_PROXY instead"},
		{"-proxy socks5://canary", nil, "-proxy: want a URL such as http://proxy:3128"},
		{"-secret-keys " + key, nil, "-secret-keys: these are keys, and every user of this machine can read a flag"},
		{"-secret-keys /missing/canary", nil, "-secret-keys: the file cannot be read"},
		{"", []string{"CHIMED_SECRET_KEYS", "k1:canary"}, "-secret-keys: action:"},
		{"-queues default=0", nil, `-queues: "default=0": want name=weight`},
		{"-queues default=x", nil, `-queues: "default=x": want name=weight`},
		{"-queues a=1:0", nil, `-queues: "a=1:0": want name=weight, such as default=1, or name=weight:slots with 1 to 10000 slots`},
		{"-queues a=1:x", nil, `-queues: "a=1:x": want name=weight`},
		{"-queues a=1:10001", nil, `-queues: "a=1:10001": want name=weight`},
		{"-queues a=1:2,a=2", nil, "-queues: a is given twice"},
		{"-queues a=1,a=2", nil, "-queues: a is given twice"},
		{"-queues a{b=1", nil, `-queues: "a{b": want 1 to 100 of A-Z a-z 0-9 _ . : -`},
		{"-public-url jobs.example.com", nil, "-public-url: want an absolute http or https URL"},
		{"-public-url https://u:canary@jobs.example.com", nil, "-public-url: want an absolute http or https URL"},
		{"-namespace a{b}", nil, `-namespace: "a{b}": want 1 to 100 of A-Z a-z 0-9 _ . -`},
		{"rekey -redis redis://127.0.0.1 -namespace a{b}", nil, `-namespace: "a{b}": want`},
		{"-queues ,", nil, "-queues: want at least one"},
		{"-concurrency -1", nil, "-concurrency: want a positive number"},
		{"", []string{"CHIMED_CONCURRENCY", "many"}, "CHIMED_CONCURRENCY: "},
		{"-allow-net 10.0.0.0/99", nil, "-allow-net: "},
		{"-deny-net here", nil, "-deny-net: "},
		{"-log xml", nil, `-log: "xml": want text or json`},
		{"-sealed 3", nil, `-sealed: got 3, want 1 or 2`},
		{"-nothing", nil, "flag provided but not defined: -nothing; chimed serve -h lists the flags"},
		{"serve more", nil, `serve accepts flags only, got "more"`},
		{"dance", nil, `there is no command "dance"`},
		{"token", nil, "token needs one name"},
		{"token a b", nil, "token needs one name"},
		{"token a -collections ,", nil, "-collections: want names"},
		{"token a -collections=", nil, "-collections: want names"},
		{"token a -permission all", nil, "-permission: "},
		{"rekey", nil, "rekey needs -redis"},
		{"rekey -redis redis://127.0.0.1", nil, "rekey needs -secret-keys"},
		{"health more", nil, `health accepts flags only, got "more"`},
		{"health -listen 8080", nil, `-listen: "8080": want host:port`},
		{"health -tokens x", nil, "flag provided but not defined: -tokens; chimed health -h lists the flags"},
		{"import", nil, "import needs a file"},
		{"import -url ftp://x f", nil, "-url: want an absolute http or https URL"},
		{"import /missing/export.json", nil, "/missing/export.json: open /missing/export.json"},
		{"import -collection a f", nil, "want old=new"},
	} {
		got := command(t, strings.Fields(c.args), c.env...)
		if got.code != exitUsage || !strings.Contains(got.err, c.want) || got.out != "" {
			t.Errorf("chimed %s %q: got exit %d, %q, output %q; want %d and %q", c.args, c.env, got.code, got.err, got.out, exitUsage, c.want)
		}
		if strings.Contains(got.err, "canary") && !strings.Contains(c.args, "/missing/canary") || strings.Contains(got.err, "AAECAw") {
			t.Errorf("chimed %s %q: its output contains a secret: %s", c.args, c.env, got.err)
		}
	}
}

func TestAllMistakesArePrintedAtOnce(t *testing.T) {
	got := command(t, strings.Fields("-listen :0 -queues =1 -log xml"))
	if lines := strings.Count(got.err, "\n"); got.code != exitUsage || lines != 4 {
		t.Errorf("got exit %d and %d lines, want %d and 4: queues, tokens, TLS, log:\n%s", got.code, lines, exitUsage, got.err)
	}
}

func TestAFlagGoesBeforeItsVariable(t *testing.T) {
	env := map[string]string{"CHIMED_QUEUES": "slow=2,fast=3", "CHIMED_NAMESPACE": "from-variable", "CHIMED_PLAINTEXT": "true", "CHIMED_REDIS": "redis://:secret@127.0.0.1:7/3"}
	p := process{args: strings.Fields("serve -namespace from-flag"), env: func(name string) string { return env[name] }}
	p.args = p.args[1:]
	s, err := p.serveSettings()
	if err != nil {
		t.Fatal(err)
	}
	if s.namespace != "from-flag" || !s.plaintext || s.client.Password != "secret" || s.client.DB != 3 {
		t.Errorf("got namespace %q, plaintext %v, database %d", s.namespace, s.plaintext, s.client.DB)
	}
	if strings.Join(s.names, " ") != "slow fast" || s.weights["slow"] != 2 || s.weights["fast"] != 3 {
		t.Errorf("queues: got %q with %v, want slow before fast, 2 and 3", s.names, s.weights)
	}
}

// A queue with slots of its own has a worker of its own in the same process, so no other queue can take its slots.
func TestAQueueMayHaveSlotsOfItsOwn(t *testing.T) {
	for _, c := range []struct {
		args    string
		workers int
		slots   int
		names   string // of the queues of the API, in order
	}{
		{"", 1, 256, "default"},
		{"-concurrency 0", 1, 256, "default"},
		{"-concurrency 8 -queues a=2,b", 1, 8, "a b"},
		{"-queues a=1:10", 1, 10, "a"},
		{"-queues qa=1:10 -queues default=1,c:d=2:5", 3, 271, "qa default c:d"},
	} {
		s, err := process{args: strings.Fields(c.args), env: func(string) string { return "" }}.serveSettings()
		if err != nil {
			t.Errorf("%s: %v", c.args, err)
			continue
		}
		workers := newWorkers(s, nil, nil, slog.New(slog.DiscardHandler))
		if len(workers) != c.workers || s.slots() != c.slots || strings.Join(s.names, " ") != c.names {
			t.Errorf("%s: %d workers, %d slots, queues %v; want %d, %d, %s", c.args, len(workers), s.slots(), s.names, c.workers, c.slots, c.names)
		}
	}
}

// The list of flags is in the usage text, in serveFlags and in declare.
func TestEveryFlagIsInItsUsage(t *testing.T) {
	for _, c := range []struct {
		usage string
		want  []string
	}{
		{serveUsage, serveFlags},
		{rekeyUsage, []string{"redis", "namespace", "secret-keys", "sealed", "log"}},
		{tokenUsage, []string{"permission", "collections"}},
		{healthUsage, []string{"listen", "tls-cert", "ready"}},
		{importUsage, []string{"url", "token-file", "collection", "secrets", "parameters", "enable", "dry-run", "json"}},
	} {
		for _, name := range c.want {
			if !strings.Contains(c.usage, "\n  -"+name+" ") {
				t.Errorf("flag -%s is not in its usage text", name)
			}
		}
		for line := range strings.Lines(c.usage) {
			if len([]rune(line)) > 130 {
				t.Errorf("a line of the usage has %d characters: %s", len([]rune(line)), line)
			}
		}
	}
	var s settings
	f := newFlags("serve")
	s.declare(f)
	for _, name := range serveFlags {
		if f.Lookup(name) == nil {
			t.Errorf("flag -%s is not declared", name)
		}
	}
}

func TestHelpIsNoError(t *testing.T) {
	for _, args := range []string{"-h", "serve -h", "import -h", "token --help", "rekey -h", "health -h", "help", "version"} {
		if got := command(t, strings.Fields(args)); got.code != 0 || got.out == "" || got.err != "" {
			t.Errorf("chimed %s: got exit %d, %q, %q", args, got.code, got.out, got.err)
		}
	}
}

// A second -allow-net does not drop the first one, and a flag still replaces its default and its variable.
func TestListsThatAreGivenTwiceAddUp(t *testing.T) {
	env := map[string]string{"CHIMED_ALLOW_NET": "10.9.9.9", "CHIMED_DENY_NET": "10.8.0.0/16,10.7.0.0/16"}
	p := process{args: strings.Fields("-allow-net 10.1.1.1 -allow-net 10.2.2.2,10.3.3.3 -queues a=2 -queues b"), env: func(name string) string { return env[name] }}
	s, err := p.serveSettings()
	if err != nil {
		t.Fatal(err)
	}
	if s.allowNet != "10.1.1.1,10.2.2.2,10.3.3.3" || len(s.egress.AllowNets) != 3 || len(s.egress.DenyNets) != 2 || strings.Join(s.names, " ") != "a b" {
		t.Errorf("got -allow-net %q, %d and %d nets, queues %q", s.allowNet, len(s.egress.AllowNets), len(s.egress.DenyNets), s.names)
	}
}

// A port would let every user of the machine in, past -tokens and past the checks of Loopback.
func TestAStoreInThisProcessHasNoPort(t *testing.T) {
	var log bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	defer slog.SetDefault(before)
	for _, tokens := range []string{"", "tokens"} {
		_, closeStore, err := (&settings{tokens: tokens}).open(slog.Default())
		if err != nil {
			t.Fatal(err)
		}
		defer closeStore()
	}
	if text := log.String(); strings.Contains(text, "host=") || strings.Count(text, "store.unfit") != 2 {
		t.Errorf("want two warnings, and no address of a port; logged:\n%s", text)
	}
}

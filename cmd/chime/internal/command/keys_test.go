package command_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/chimeseal"
	"github.com/chimejobs/chime/cmd/chime/internal/commandtest"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/redisstore/embedded"
)

func TestAFileOfKeysIsMadeAndRotated(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys")
	run := func(want string, code int, args ...string) {
		t.Helper()
		got := commandtest.Terminal{}.Run(t, append([]string{"keys"}, args...)...)
		if got.Code != code || strings.Join(strings.Fields(got.Out), " ") != want || code == 0 && got.Err != "" {
			t.Errorf("%q: code %d, %q, %q; want %d, %q", args, got.Code, got.Out, got.Err, code, want)
		}
	}
	run("", 2, "list")
	run("", 1, "list", file)
	run("KEY DOES k1 seals and opens", 0, "make", file)
	if info, err := os.Stat(file); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v, %v; want mode 0600", info, err)
	}
	first, _ := os.ReadFile(file)
	run("", 4, "rotate", file)
	run("KEY DOES k1 seals and opens @ids makes the IDs of ArgsID", 0, "make", file, "--ids")
	if err := os.Chmod(file, 0o640); err != nil {
		t.Fatal(err)
	}
	run("KEY DOES k1 seals and opens k2 opens @ids makes the IDs of ArgsID", 0, "make", file)
	run("KEY DOES k1 seals and opens k2 opens next opens @ids makes the IDs of ArgsID", 0, "make", file, "--name", "next")
	run("", 2, "make", file, "--name", "k1")
	run("KEY DOES next seals and opens k1 opens k2 opens @ids makes the IDs of ArgsID", 0, "rotate", file)
	run("KEY DOES k1 seals and opens next opens k2 opens @ids makes the IDs of ArgsID", 0, "rotate", file, "k1")
	run("", 3, "rotate", file, "k9")
	run("", 4, "--read-only", "rotate", file)
	run("k1 next k2 @ids", 0, "list", file, "-o", "name")
	text, _ := os.ReadFile(file)
	if key := strings.TrimSpace(string(first)); !strings.Contains(string(text), strings.TrimSuffix(key, ",")) {
		t.Error("the first key has changed")
	}
	if info, err := os.Stat(file); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o640 {
		t.Errorf("the file is %v, %v; want its mode kept", info, err)
	}
	if all := (commandtest.Terminal{}).Run(t, "keys", "list", file, "--json").Out; strings.Contains(all, string(text[3:20])) {
		t.Errorf("the list shows a key: %s", all)
	}
	if entries, _ := os.ReadDir(filepath.Dir(file)); len(entries) != 1 {
		t.Errorf("%d files are left, want 1", len(entries))
	}
	if runtime.GOOS != "windows" {
		if err := os.Chmod(file, 0o644); err != nil {
			t.Fatal(err)
		}
		run("", 1, "list", file)
	}
}

func TestTheCommandOpensWithKeysAndSealsAgain(t *testing.T) {
	server, err := embedded.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	file := filepath.Join(t.TempDir(), "keys")
	terminal := commandtest.Terminal{Env: map[string]string{"REDIS_URL": server.URL()}}
	run := func(args ...string) commandtest.Result {
		t.Helper()
		got := terminal.Run(t, args...)
		if got.Code != 0 {
			t.Errorf("%q: code %d, %s", args, got.Code, got.Err)
		}
		return got
	}
	run("keys", "make", file)
	ring, err := chimeseal.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	store, ctx := chime.WithCodec(server.Store(), ring, chime.CodecOptions{}), context.Background()
	if _, err := chime.NewEnqueuer(store, chime.EnqueuerOptions{}).Enqueue(ctx, "report", "canary", chime.ID("j"), chime.In(time.Hour)); err != nil {
		t.Fatal(err)
	}
	put, err := chime.NewSchedules(store).Put(ctx, "s", recurrence.Recurrence{Frequency: recurrence.Day, Interval: 1}, chime.JobName("report"), chime.Args("canary"), chime.Meta([]byte(`{"a":1}`)))
	if err != nil {
		t.Fatal(err)
	}
	if out := run("jobs", "show", "j", "--payload").Out; strings.Contains(out, "canary") || !strings.Contains(out, "with key k1") {
		t.Errorf("without the keys the job is shown as\n%s", out)
	}
	if out := run("schedules", "show", "s").Out; !strings.Contains(out, "with key k1") {
		t.Errorf("without the keys the schedule is shown as\n%s", out)
	}
	terminal.Env["CHIME_KEYS"] = file
	if out := run("jobs", "show", "j", "--payload").Out; !strings.Contains(out, "canary") {
		t.Errorf("with the keys the job is shown as\n%s", out)
	}
	fields := func(text string) string { return strings.Join(strings.Fields(text), " ") }
	if out := fields(run("keys", "uses").Out); out != "KEY SCHEDULES JOBS k1 1 2" {
		t.Errorf("the uses are %q", out)
	}
	if out := run("keys", "reseal").Out; out != "sealed with key k1: 0 schedules\n" {
		t.Errorf("before the rotation %q", out)
	}
	run("keys", "make", file)
	run("keys", "rotate", file)
	if out := run("keys", "reseal").Out; out != "sealed with key k2: 1 schedule\n" {
		t.Errorf("after the rotation %q", out)
	}
	if out := fields(run("keys", "uses").Out); out != "KEY SCHEDULES JOBS k1 0 1 k2 1 1" {
		t.Errorf("after the rotation the uses are %q", out)
	}
	ring, err = chimeseal.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	again, err := chime.NewSchedules(chime.WithCodec(server.Store(), ring, chime.CodecOptions{})).Get(ctx, "s")
	if err != nil || again.Revision == put.Revision || !again.Next.Equal(put.Next) || string(again.Payload) != string(put.Payload) || string(again.Meta) != string(put.Meta) {
		t.Errorf("sealed again: %+v, %v; want only another revision than %+v", again, err, put)
	}
	for _, args := range [][]string{{"keys", "reseal"}, {"keys", "uses"}} {
		if got := terminal.Run(t, append([]string{"--keys", file + ".not"}, args...)...); got.Code != 2 || !strings.Contains(got.Err, "--keys") {
			t.Errorf("%q with a file that does not exist: code %d, %s", args, got.Code, got.Err)
		}
	}
	delete(terminal.Env, "CHIME_KEYS")
	if got := terminal.Run(t, "keys", "reseal"); got.Code != 2 {
		t.Errorf("reseal without keys: code %d, %s", got.Code, got.Err)
	}
}

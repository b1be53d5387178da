//go:build real

package top_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/redistest"
	"github.com/chimejobs/chime/redisstore"
)

// terminalWait limits how long a test waits for a screen.
const terminalWait = 30 * time.Second

// A terminal is a real one, of tmux, in which the command runs.
type terminal struct {
	t      *testing.T
	socket string
}

// openTerminal runs the command in a terminal with a number of columns and lines.
func openTerminal(t *testing.T, width, height int, env string, arguments ...string) *terminal {
	t.Helper()
	return inTerminal(t, width, height, func(binary, _ string) string {
		// tmux itself sometimes misses the exit code of a command
		return fmt.Sprintf("env TERM=xterm-256color %s=1 TZ=UTC %s '%s' %s 2>errors; echo $? >status", asCommand, env, binary, strings.Join(arguments, " "))
	})
}

// openShell runs a shell in a terminal. The shell finds the command by its name, chime.
func openShell(t *testing.T, width, height int, env string) *terminal {
	t.Helper()
	return inTerminal(t, width, height, func(binary, folder string) string {
		script := fmt.Sprintf("#!/bin/sh\nexec env %s=1 '%s' \"$@\"\n", asCommand, binary)
		if err := os.WriteFile(filepath.Join(folder, "chime"), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("env -u ENV TERM=xterm-256color TZ=UTC PS1='$ ' PATH='%s':$PATH %s sh -i", folder, env)
	})
}

// inTerminal runs a command in a terminal. The function command builds it from the test's own binary and a folder.
func inTerminal(t *testing.T, width, height int, command func(binary, folder string) string) *terminal {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Fatal("tmux is not installed: test.sh installs it")
	}
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	folder, err := os.MkdirTemp("", "chime-top") // t.TempDir is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	term := &terminal{t: t, socket: filepath.Join(folder, "tmux")}
	run := fmt.Sprintf("cd '%s'; %s", folder, command(binary, folder))
	term.tmux("-f", "/dev/null", "new-session", "-d", "-x", fmt.Sprint(width), "-y", fmt.Sprint(height), run, ";", "set-option", "-g", "remain-on-exit", "on", ";", "set-option", "-g", "status", "off")
	t.Cleanup(func() {
		_ = exec.Command("tmux", "-S", term.socket, "kill-server").Run()
		if said, err := os.ReadFile(filepath.Join(folder, "errors")); err == nil && t.Failed() {
			t.Logf("the command says: %s", said)
		}
		_ = os.RemoveAll(folder)
	})
	return term
}

func (term *terminal) tmux(arguments ...string) string {
	term.t.Helper()
	out, err := exec.Command("tmux", append([]string{"-S", term.socket}, arguments...)...).CombinedOutput()
	if err != nil {
		term.t.Fatalf("tmux %q: %v: %s", arguments, err, out)
	}
	return string(out)
}

// press presses keys, by the names that tmux has for them.
func (term *terminal) press(keys ...string) *terminal {
	term.t.Helper()
	for _, key := range keys {
		term.tmux("send-keys", key)
	}
	return term
}

// until waits for a screen that has all these texts, and none of those that begin with !.
func (term *terminal) until(texts ...string) *terminal {
	term.t.Helper()
	deadline, screen := time.Now().Add(terminalWait), ""
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for ; time.Now().Before(deadline); <-look.C {
		screen = term.tmux("capture-pane", "-p")
		all := true
		for _, text := range texts {
			all = all && strings.Contains(screen, strings.TrimPrefix(text, "!")) != strings.HasPrefix(text, "!")
		}
		if all {
			return term
		}
	}
	term.t.Fatalf("the screen does not show %q; it shows\n%s", texts, screen)
	return term
}

// ended waits until the command has ended, and returns its exit code.
func (term *terminal) ended() string {
	term.t.Helper()
	deadline := time.Now().Add(terminalWait)
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for ; time.Now().Before(deadline); <-look.C {
		if status, err := os.ReadFile(filepath.Join(filepath.Dir(term.socket), "status")); err == nil && len(status) > 0 {
			return strings.TrimSpace(string(status))
		}
	}
	term.t.Fatalf("the command does not end; the screen shows\n%s", term.tmux("capture-pane", "-p"))
	return ""
}

// aRealStore is a store on a server with a schedule, jobs that wait, that failed and that run.
func aRealStore(t *testing.T) (*redistest.Server, chime.Store, string) {
	t.Helper()
	server := redistest.Start(t, redistest.Options{})
	store := redisstore.New(server.Client(&redis.Options{ContextTimeoutEnabled: true}), redisstore.Options{})
	enqueuer := chime.NewEnqueuer(store, chime.EnqueuerOptions{})
	must(chime.NewSchedules(store).Put(t.Context(), "nightly", everyMinutes(t)))(t)
	must(enqueuer.Enqueue(t.Context(), "send", nil, chime.ID("mail-1"), chime.Queue("mail"), chime.MaxAttempts(1)))(t)
	must(enqueuer.Enqueue(t.Context(), "resize", nil, chime.ID("picture-1"), chime.Queue("media")))(t)
	must(enqueuer.Enqueue(t.Context(), "later", nil, chime.Queue("idle")))(t)
	worker := chime.NewWorker(store, chime.WorkerOptions{Queues: map[string]int{"mail": 1, "media": 1}, DrainTimeout: time.Millisecond})
	worker.Handle("send", func(context.Context, *chime.Job) error { return fmt.Errorf("\x1b[2J\x1b[Hgone\x07 550: no mailbox") })
	began, cancelled := make(chan bool, 1), make(chan bool, 1)
	worker.Handle("resize", func(ctx context.Context, _ *chime.Job) error {
		began <- true
		<-ctx.Done()
		cancelled <- true
		return ctx.Err()
	})
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- chime.Run(ctx, worker) }()
	t.Cleanup(func() {
		stop()
		<-ended
	})
	<-began
	return server, store, "REDIS_URL=redis://" + server.Addr()
}

func TestTopOnARealTerminal(t *testing.T) {
	server, store, env := aRealStore(t)
	term := openTerminal(t, 80, 24, env, "top", "--every", "1s")
	term.until("[1 Queues (4)]", "live 1s", "UTC", "▸ idle", "default", "mail", "media", "tab panel")

	term.press("Tab").until("[2 Next (1)]", "nightly").press("t").until("Trigger schedule nightly? y/N").press("Enter").until("nothing was done")
	term.press("t", "y").until("✓ nightly triggered")
	term.press("3").until("─ 3 Running (1)", "▸ resize", "picture-1", "media").press("Enter").until("id              picture-1").press("Escape").until("▸ resize")
	term.press("4").until(`\x#b[#J\x#b[Hgone\a #: no mailbox`, "─ 4 Failures, last hour (1)").press("r", "y").until("✓ 1 job retried")
	term.press("5").until("─ 5 Workers (1)", "1/").press("5").until("[5 Workers (1)]")
	term.press("1", "s").until("by name").press("End").until("▸ media").press("p").until("Pause queue media? y/N").press("y").until("media    ‖ paused")
	term.press("/").press("i", "d").until("/id█", "!media").press("Enter").until("▸ idle").press("Escape").until("mail", "media  ")
	term.press("s").until("by most waiting").press("z").press("?").until("Keys: any key goes back").press("x").until("!Keys:")
	term.press("Space").until("✓media").press("Escape").until("!✓media")
	term.press("1", "Home", "d").until("Delete queue").press("Escape").until("nothing was done")

	term.tmux("resize-window", "-x", "120", "-y", "40")
	term.until("─ 1 Queues", "─ 2 Next", "┬─ 3 Running", "─ 4 Failures", "┼─ 5 Workers")

	server.Freeze()
	term.until("stale 3s", "media")
	server.Thaw()
	term.until("live 1s", "!stale")
	term.press("f").until("frozen").press("f").until("live 1s")

	term.press("3", "c", "y").until("✓ picture-1 cancelled").until("no job is running")
	if queue := must(chime.NewQueues(store).Get(t.Context(), "media"))(t); !queue.Paused {
		t.Error("media is not paused")
	}
	if status := term.press("q").ended(); status != "0" {
		t.Errorf("the exit code of q is %s, want 0", status)
	}
}

func TestTopUnderReadOnlyOnARealTerminal(t *testing.T) {
	_, store, env := aRealStore(t)
	term := openTerminal(t, 100, 30, env+" NO_COLOR=1", "top", "--read-only", "--utc")
	term.until("READ-ONLY", "─ 5 Workers (1)", "▸ idle").press("p", "y", "d", "Tab", "t", "y", "3").until("─ 3 Running", "!2 Next", "!y/N")
	if coloured := term.tmux("capture-pane", "-p", "-e"); strings.Contains(coloured, "\x1b[32m") || strings.Contains(coloured, "\x1b[34m") {
		t.Errorf("there are colours although NO_COLOR is set: %q", coloured)
	}
	if queue := must(chime.NewQueues(store).Get(t.Context(), "idle"))(t); queue.Paused || queue.Waiting != 1 {
		t.Error("something was changed")
	}
	if status := term.press("C-c").ended(); status != "0" {
		t.Errorf("ctrl-c exits with %s, want 0", status)
	}
}

func TestTopHasColoursOnATerminalThatHasThem(t *testing.T) {
	_, _, env := aRealStore(t)
	term := openTerminal(t, 100, 30, env, "top").until("● live")
	if coloured := term.tmux("capture-pane", "-p", "-e"); !strings.Contains(coloured, "\x1b[32m● live") {
		t.Errorf("there are no colours: %q", coloured)
	}
}

// If a window grows while the screen is shown, it has the shell's lines again afterwards, and nothing else.
func TestTheShellsScreenIsAsBeforeAfterTheWindowGrew(t *testing.T) {
	_, _, env := aRealStore(t)
	for _, size := range [][2]string{{"120", "40"}, {"60", "15"}} {
		term := openShell(t, 80, 24, env).until("$")
		term.enter("echo before").until("before\n$").enter("chime top").until("[1 Queues (4)]", "live 2s")
		term.tmux("resize-window", "-x", size[0], "-y", size[1])
		term.until("live 2s", "1 Queues (4)").until("mail")
		term.press("q").until("!Queues", "!live 2s", "chime top").enter("echo after").until("\nafter\n$")
		lines := strings.Fields(strings.ReplaceAll(term.read(), "\n", " "))
		if got, want := strings.Join(lines, " "), "$ echo before before $ chime top $ echo after after $"; got != want {
			t.Errorf("%s×%s: the shell's screen is %q, want %q", size[0], size[1], got, want)
		}
	}
}

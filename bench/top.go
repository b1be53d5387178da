package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

const (
	topJobs      = 1_000_000 // that wait, or ten backlogs in the short form
	topSchedules = 10_000
	topPatience  = 30 * time.Second // until the first screen
)

// topMeasure measures a large idle server with and without chime top.
var topMeasure = measure{
	name: "chime top", group: "watched", only: []string{"chime"}, slow: true,
	about: fmt.Sprintf("a server with 1,000,000 jobs that wait (200,000 in the short form) and %d yearly schedules, which no process uses, while the built command "+
		"chime top is open in a terminal of tmux, 200 × 50, with its default of a poll every 2 s, from %v after its first screen; and as long without it. Left "+
		"out: its start, and what it costs the machine that it runs on", topSchedules, idleSettle),
	run: func(ctx context.Context, r *testbed, p peer) ([]figure, error) {
		if err := fillForTop(ctx, r, p); err != nil {
			return nil, err
		}
		without, err := r.idleFor(ctx, r.sizes.idle)
		if err != nil {
			return nil, err
		}
		top, err := openTop(ctx, r.redis.addr)
		if err != nil {
			return nil, err
		}
		defer top.close()
		if err := pause(ctx, idleSettle); err != nil {
			return nil, err
		}
		with, err := r.idleFor(ctx, r.sizes.idle)
		if err != nil {
			return nil, err
		}
		perSecond := func(u usage) (commands, cpu float64) {
			return float64(u.commands) / r.sizes.idle.Seconds(), micros(u.cpu) / 1e3 / r.sizes.idle.Seconds()
		}
		commands, cpu := perSecond(with)
		commandsWithout, cpuWithout := perSecond(without)
		return []figure{
			{name: "commands/s", unit: "1/s", value: commands, less: true},
			{name: "commands/s without", unit: "1/s", value: commandsWithout, less: true},
			{name: "server CPU", unit: "ms/s", value: cpu, less: true},
			{name: "server CPU without", unit: "ms/s", value: cpuWithout, less: true},
		}, nil
	},
}

// fillForTop leaves jobs and schedules in the store.
func fillForTop(ctx context.Context, r *testbed, p peer) error {
	s := openNamespace(r, chimeNamespace)
	defer s.close()
	s.n = topSchedules
	if err := s.declareAll(ctx, r); err != nil {
		return err
	}
	lib, err := p.open(ctx, r)
	if err != nil {
		return err
	}
	return errors.Join(fillBulk(ctx, lib, min(topJobs, r.sizes.backlog*10)), lib.Close())
}

// idleFor returns what the server uses while this program waits.
func (r *testbed) idleFor(ctx context.Context, d time.Duration) (usage, error) {
	before, err := r.redis.usage(ctx)
	if err == nil {
		err = pause(ctx, d)
	}
	if err != nil {
		return usage{}, err
	}
	after, err := r.redis.usage(ctx)
	return after.since(before), err
}

// A top is the command chime top in a terminal of its own.
type top struct{ folder string }

// openTop builds the command and returns when its first screen is there.
func openTop(ctx context.Context, redis string) (*top, error) {
	if _, err := exec.LookPath("tmux"); err != nil {
		return nil, errors.New("tmux is not installed or not in PATH; on Debian and Ubuntu: apt install tmux")
	}
	folder, err := os.MkdirTemp("", "chime-bench-")
	if err != nil {
		return nil, err
	}
	t := &top{folder}
	program := filepath.Join(folder, "chime")
	build := exec.CommandContext(ctx, "go", "build", "-o", program, "github.com/chimejobs/chime/cmd/chime")
	if printed, err := build.CombinedOutput(); err != nil {
		t.close()
		return nil, fmt.Errorf("build of cmd/chime, which needs the folder of this clone: %w: %s", err, bytes.TrimSpace(printed))
	}
	command := fmt.Sprintf("env TERM=xterm-256color REDIS_URL=redis://%s '%s' top", redis, program)
	if _, err := t.tmux(ctx, "-f", "/dev/null", "new-session", "-d", "-x", "200", "-y", "50", command); err != nil {
		t.close()
		return nil, err
	}
	for deadline := time.Now().Add(topPatience); ; {
		screen, err := t.tmux(ctx, "capture-pane", "-p")
		if err == nil && strings.Contains(screen, "live") && strings.Contains(screen, "default") {
			return t, nil
		}
		if err == nil && time.Now().After(deadline) {
			err = fmt.Errorf("chime top shows nothing within %v:\n%s", topPatience, screen)
		}
		if err == nil {
			err = pause(ctx, 50*time.Millisecond)
		}
		if err != nil {
			t.close()
			return nil, err
		}
	}
}

func (t *top) tmux(ctx context.Context, arguments ...string) (string, error) {
	printed, err := exec.CommandContext(ctx, "tmux", append([]string{"-S", filepath.Join(t.folder, "tmux")}, arguments...)...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("tmux %s: %w: %s", arguments[0], err, bytes.TrimSpace(printed))
	}
	return string(printed), nil
}

// close ends the terminal and the command in it.
func (t *top) close() {
	_, _ = t.tmux(context.Background(), "kill-server")
	_ = os.RemoveAll(t.folder)
}

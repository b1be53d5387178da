package work

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"os"
	"runtime/debug"
	"slices"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

const (
	// announceEvery is how often a worker announces itself and which jobs it handles.
	announceEvery = protocol.WorkerRetention / 3
	// retireTimeout is how long a worker that ends may take to announce its end.
	retireTimeout = 500 * time.Millisecond
)

// An announcer is the loop that announces which jobs a worker handles, what the worker is, and that it lives. This information has three uses: a
// program that parks a job wakes a sleeping worker that handles it, a scheduler warns of schedules whose jobs no worker handles, and people see
// which workers live.
type announcer struct {
	store interface {
		protocol.JobStore
		protocol.WorkerStore
	}
	log     *slog.Logger
	self    protocol.WorkerEntry
	started time.Time
	handled []protocol.Handled
	astray  map[string]string // see Config.Astray

	clock time.Time // the store's clock at the last beat; zero: not known
	local time.Time // when that was here

	beaten bool // the store has recorded a beat
}

func newAnnouncer(store protocol.Store, config *Config) *announcer {
	host, _ := os.Hostname() // empty: unknown
	a := &announcer{store: store, log: config.Log, started: time.Now(), self: protocol.WorkerEntry{
		Name: config.worker, Host: host, PID: os.Getpid(), Version: buildVersion(), Queues: config.Queues, Slots: config.Concurrency, Many: config.gathers() != nil,
		Lives: config.SessionTTL,
	}, astray: config.Astray}
	for queue := range config.Queues {
		for name := range config.Handlers {
			a.handled = append(a.handled, protocol.Handled{Queue: queue, Name: name})
		}
	}
	return a
}

// maxVersion is how many bytes of a program's version are announced.
const maxVersion = 100

// buildVersion is the version of this program from its build information: the version of its module, or else the revision of its source. Empty:
// unknown.
func buildVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	version, revision := info.Main.Version, ""
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" {
			revision = setting.Value
		}
	}
	if version == "(devel)" {
		version = ""
	}
	version = cmp.Or(version, revision)
	return version[:min(len(version), maxVersion)]
}

// run announces until ctx ends, and then announces the end: otherwise the worker would be shown until its session has lapsed. Between two
// announcements it sends beats, two in each SessionTTL, and a failed one again soon: the worker counts as live for a SessionTTL after each.
func (a *announcer) run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for due := time.Now(); ; {
		select {
		case <-ctx.Done():
			a.retire(context.WithoutCancel(ctx))
			return
		case <-timer.C:
		}
		wait := a.self.Lives / 2
		if !time.Now().Before(due) {
			due = time.Now().Add(announceEvery)
			if a.announce(ctx) {
				a.warnAstray(ctx)
			}
		}
		lost, err := a.beat(ctx)
		if err != nil {
			wait = a.self.Lives / 8
		}
		if lost { // and what this worker has announced
			due, wait = time.Now(), a.self.Lives/8
		}
		timer.Reset(min(wait, announceEvery))
	}
}

// beat records that this worker lives. An error is not logged: during an outage the worker's calls fail too.
func (a *announcer) beat(ctx context.Context) (lost bool, err error) {
	call, cancel := context.WithTimeout(ctx, min(a.self.Lives/4, callTimeout))
	defer cancel()
	at := a.clock
	if !at.IsZero() {
		at = at.Add(time.Since(a.local))
	}
	now, lost, err := a.store.Beat(call, a.self.Name, at)
	if err != nil {
		a.clock = time.Time{} // the clock of another server may differ
		return false, err
	}
	a.clock, a.local = now, time.Now()
	lost, a.beaten = lost && a.beaten, true
	return lost, nil
}

// warnAstray logs, once, the kinds of jobs that this worker handles although no live worker serves their queue.
func (a *announcer) warnAstray(ctx context.Context) {
	if len(a.astray) == 0 {
		return
	}
	call, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	workers, err := a.store.Workers(call)
	if ctx.Err() != nil {
		return
	}
	served := map[string]bool{} // if the workers cannot be read, the warning is better than silence
	for _, w := range workers {
		for queue := range w.Queues {
			served[queue] = err == nil
		}
	}
	for _, job := range slices.Sorted(maps.Keys(a.astray)) {
		if queue := a.astray[job]; !served[queue] {
			a.log.Warn("chime: this worker handles jobs of a kind, but no live worker serves the queue of the kind: add the queue to WorkerOptions.Queues",
				"event", "worker.unserved", "job", job, "queue", queue, "worker", a.self.Name)
		}
	}
	a.astray = nil
}

// announce reports whether the store has taken the announcement.
func (a *announcer) announce(ctx context.Context) bool {
	call, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	a.self.Age = time.Since(a.started)
	err := errors.Join(a.store.Announce(call, a.self.Name, a.handled), a.store.AnnounceWorker(call, a.self))
	if err == nil || ctx.Err() != nil {
		return err == nil
	}
	level := slog.LevelDebug // an outage: the worker's calls fail too and log it
	if errors.Is(err, protocol.ErrUnfit) {
		level = slog.LevelWarn // such as a number of partitions that differs from the one this worker serves; no other call reports that
	}
	a.log.Log(call, level, "chime: cannot announce what this worker handles", "event", "store.trouble", "action", "announce", "error", err)
	return false
}

func (a *announcer) retire(ctx context.Context) {
	call, cancel := context.WithTimeout(ctx, retireTimeout)
	defer cancel()
	if err := a.store.RetireWorker(call, a.self.Name); err != nil {
		a.log.Log(call, slog.LevelDebug, "chime: cannot announce that this worker has ended", "event", "store.trouble", "action", "retire", "error", err)
	}
}

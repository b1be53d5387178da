package work

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"os"
	"runtime/debug"
	"time"

	"github.com/chimejobs/chime/internal/protocol"
)

const (
	// announceEvery is how often a worker announces itself and which jobs it handles.
	announceEvery = protocol.WorkerRetention / 3
	// retireTimeout is how long a worker that ends may take to announce its end.
	retireTimeout = 500 * time.Millisecond
)

// An announcer is the loop that announces which jobs a worker handles, and what the worker is. With this information a program that parks a job
// wakes a sleeping worker that handles it, a scheduler warns of schedules whose jobs no worker handles, and people see which workers live.
type announcer struct {
	store interface {
		protocol.JobStore
		protocol.WorkerStore
	}
	log     *slog.Logger
	self    protocol.WorkerEntry
	started time.Time
	handled []protocol.Handled
}

func newAnnouncer(store protocol.Store, config *Config) *announcer {
	host, _ := os.Hostname() // empty: unknown
	a := &announcer{store: store, log: config.Log, started: time.Now(), self: protocol.WorkerEntry{
		Name: config.worker, Host: host, PID: os.Getpid(), Version: buildVersion(), Queues: config.Queues, Slots: config.Concurrency,
	}}
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

// run announces until ctx ends, and then announces the end: otherwise the worker would be shown for some minutes more.
func (a *announcer) run(ctx context.Context) {
	ticker := time.NewTicker(announceEvery)
	defer ticker.Stop()
	for {
		a.announce(ctx)
		select {
		case <-ctx.Done():
			a.retire(context.WithoutCancel(ctx))
			return
		case <-ticker.C:
		}
	}
}

func (a *announcer) announce(ctx context.Context) {
	call, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	a.self.Age = time.Since(a.started)
	err := errors.Join(a.store.Announce(call, a.self.Name, a.handled), a.store.AnnounceWorker(call, a.self))
	if err == nil || ctx.Err() != nil {
		return
	}
	level := slog.LevelDebug // an outage: the worker's calls fail too and log it
	if errors.Is(err, protocol.ErrUnfit) {
		level = slog.LevelWarn // such as a number of partitions that differs from the one this worker serves; no other call reports that
	}
	a.log.Log(call, level, "chime: cannot announce what this worker handles", "event", "store.trouble", "action", "announce", "error", err)
}

func (a *announcer) retire(ctx context.Context) {
	call, cancel := context.WithTimeout(ctx, retireTimeout)
	defer cancel()
	if err := a.store.RetireWorker(call, a.self.Name); err != nil {
		a.log.Log(call, slog.LevelDebug, "chime: cannot announce that this worker has ended", "event", "store.trouble", "action", "retire", "error", err)
	}
}

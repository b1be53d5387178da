//go:build unix

package redistest

import (
	"context"
	"fmt"
	"os"
	"testing"
)

// A Process is the testing.TB of servers that all tests of a process share. TestMain makes one and closes it after the tests:
//
//	process := redistest.NewProcess()
//	code := m.Run()
//	process.Close()
//	os.Exit(code)
//
// A server that cannot be started panics. Only the methods below may be called.
type Process struct {
	testing.TB // nil: with it Process implements testing.TB
	ctx        context.Context
	cancel     context.CancelFunc
	cleanups   []func()
}

// NewProcess returns a Process, which the caller closes.
func NewProcess() *Process {
	ctx, cancel := context.WithCancel(context.Background())
	return &Process{ctx: ctx, cancel: cancel}
}

// Close stops the servers and removes their files.
func (p *Process) Close() {
	p.cancel()
	for i := len(p.cleanups) - 1; i >= 0; i-- {
		p.cleanups[i]()
	}
	p.cleanups = nil
}

// Helper does nothing.
func (p *Process) Helper() {}

// Cleanup registers f for Close. Close calls the last one first.
func (p *Process) Cleanup(f func()) { p.cleanups = append(p.cleanups, f) }

// Context returns a context that Close cancels.
func (p *Process) Context() context.Context { return p.ctx }

// TempDir returns a new folder, which Close removes.
func (p *Process) TempDir() string {
	dir, err := os.MkdirTemp("", "redistest")
	if err != nil {
		panic(err)
	}
	p.Cleanup(func() { _ = os.RemoveAll(dir) }) // it is in the folder of temporary files
	return dir
}

// Fatal panics.
func (p *Process) Fatal(args ...any) { panic(fmt.Sprint(args...)) }

// Fatalf panics.
func (p *Process) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

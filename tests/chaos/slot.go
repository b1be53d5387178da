//go:build unix

package chaos

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/chimejobs/chime/internal/childproc"
	"github.com/chimejobs/chime/internal/faultproxy"
)

// A slot is a place in the fleet: a proxy and the process behind it. When the process is killed, another one replaces it.
type slot struct {
	t       testing.TB
	history *History
	role    string
	name    string
	proxy   *faultproxy.Proxy
	config  config

	number  int // number of the process, from 1
	process *childproc.Process
	record  *Process
	stopped bool
	cut     bool
}

// start starts the next process.
func (s *slot) start() {
	s.number++
	s.config.Name = fmt.Sprintf("%s-%d", s.name, s.number)
	record := s.history.Add(s.config.Name)
	if s.cut {
		record.Cuts = []Window{{From: time.Now()}}
	}
	s.record, s.stopped = record, false
	s.process = childproc.Follow(s.t, s.role, s.config, func(line string) { s.history.AddLine(record, line) })
}

// kill kills the process and starts the next one.
func (s *slot) kill() {
	s.history.Note(func() { s.record.Killed = time.Now() })
	s.process.Kill()
	s.start()
}

// end drains the process, and starts the next one at the same time. It returns the process that leaves.
func (s *slot) end() *childproc.Process {
	s.thaw(s.record)
	leaving := s.process
	leaving.Signal(syscall.SIGTERM)
	s.start()
	return leaving
}

// stop freezes the process.
func (s *slot) stop() {
	if s.stopped {
		return
	}
	s.history.Note(func() { s.record.Stops = append(s.record.Stops, Window{From: time.Now()}) })
	s.process.Freeze()
	s.stopped = true
}

// thaw continues the process if it is still the one that was stopped.
func (s *slot) thaw(record *Process) {
	if s.record != record || !s.stopped {
		return
	}
	s.process.Thaw()
	s.stopped = false
	s.history.Note(func() { record.Stops[len(record.Stops)-1].To = time.Now() })
}

// hold makes the proxy delay every byte, or ends the delay.
func (s *slot) hold(cut bool) {
	if s.cut == cut {
		return
	}
	s.cut = cut
	if cut {
		s.history.Note(func() { s.record.Cuts = append(s.record.Cuts, Window{From: time.Now()}) })
		s.proxy.Stall()
		return
	}
	s.proxy.Resume()
	s.history.Note(func() { s.record.Cuts[len(s.record.Cuts)-1].To = time.Now() })
}

// check replaces a process that ended by itself, and records a problem.
func (s *slot) check() {
	select {
	case <-s.process.Ended():
		s.history.Problem("%s ended by itself, %v: %s", s.config.Name, s.process.Wait(), s.process.Stderr())
		s.start()
	default:
	}
}

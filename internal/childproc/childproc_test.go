//go:build real && unix

package childproc

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	Main(m, map[string]Role{
		"counter": counter, "waiter": waiter, "ticker": ticker,
		"failing": func(*Child) error { return errors.New("no luck") },
		"orphan": func(c *Child) error {
			c.Say("pid %d", os.Getpid())
			select {}
		},
	})
}

// counter sends the numbers up to the one in its configuration, and ends.
func counter(c *Child) error {
	var config struct{ To int }
	if err := c.Config(&config); err != nil {
		return err
	}
	for i := 1; i <= config.To; i++ {
		c.Say("number %d", i)
	}
	return nil
}

// waiter waits for a signal and ends without an error.
func waiter(c *Child) error {
	c.Say("ready")
	c.Say("got %v", <-c.Signals)
	return nil
}

// ticker sends a line every millisecond until it is killed.
func ticker(c *Child) error {
	for range time.Tick(time.Millisecond) {
		c.Say("tick")
	}
	return nil
}

func TestAChildGetsItsConfigurationAndItsEventsArriveInOrder(t *testing.T) {
	p := Start(t, "counter", map[string]int{"To": 3})
	for _, want := range []string{"number 1", "number 2", "number 3"} {
		if got := p.Await("number"); got != want {
			t.Fatalf("received %q, want %q", got, want)
		}
	}
	if state := p.Wait(); !state.Success() {
		t.Fatalf("it ended with %v, want success", state)
	}
	if got := strings.Join(p.Events(), ","); got != "number 1,number 2,number 3" {
		t.Fatalf("events %q", got)
	}
}

func TestFollowHearsEveryLineInOrder(t *testing.T) {
	var heard []string
	p := Follow(t, "counter", map[string]int{"To": 1000}, func(line string) { heard = append(heard, line) })
	if state := p.Wait(); !state.Success() {
		t.Fatalf("it ended with %v, want success", state)
	}
	for i, line := range heard {
		if want := fmt.Sprint("number ", i+1); line != want {
			t.Fatalf("line %d is %q, want %q", i, line, want)
		}
	}
	if len(heard) != 1000 || len(p.Events()) != 0 {
		t.Fatalf("%d lines received and %d kept, want 1000 and none", len(heard), len(p.Events()))
	}
}

func TestSIGTERMRightAfterTheStartIsDeliveredToTheRole(t *testing.T) {
	for range 20 {
		p := Start(t, "waiter", nil)
		p.Signal(syscall.SIGTERM)
		if state := p.Wait(); !state.Success() {
			t.Fatalf("it ended with %v, want success", state)
		}
	}
}

func TestSIGTERMIsDeliveredToTheRole(t *testing.T) {
	p := Start(t, "waiter", nil)
	p.Await("ready")
	p.Signal(syscall.SIGTERM)
	p.Await("got terminated")
	if state := p.Wait(); !state.Success() {
		t.Fatalf("it ended with %v, want success", state)
	}
}

func TestAKilledChildLeavesNoZombie(t *testing.T) {
	p := Start(t, "ticker", nil)
	p.Await("tick")
	p.Kill()
	status, ok := p.Wait().Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() || status.Signal() != syscall.SIGKILL {
		t.Fatalf("it ended with %v, want killed", p.Wait())
	}
	if err := syscall.Kill(p.PID(), 0); !errors.Is(err, syscall.ESRCH) {
		t.Fatalf("process %d still exists: %v", p.PID(), err)
	}
}

func TestAFrozenChildContinuesAfterThaw(t *testing.T) {
	p := Start(t, "ticker", nil)
	p.Await("tick")
	p.Freeze()
	// Lines that it sent before the signal may still arrive. It is frozen when no line arrives for 50 ms.
	quiet := time.NewTimer(50 * time.Millisecond)
	for received := -1; received != len(p.Events()); quiet.Reset(50 * time.Millisecond) {
		received = len(p.Events())
		<-quiet.C
	}
	before := len(p.Events())
	p.Thaw()
	for range before + 3 {
		p.Await("tick")
	}
}

func TestAFailingRoleEndsWithItsErrorOnStandardError(t *testing.T) {
	p := Start(t, "failing", nil)
	if state := p.Wait(); state.ExitCode() != 1 || !strings.Contains(p.Stderr(), "no luck") {
		t.Fatalf("it ended with %v and %q, want exit code 1 and its error", state, p.Stderr())
	}
}

func TestAnUnknownRoleEndsTheChildWithAnError(t *testing.T) {
	p := Start(t, "no such role", nil)
	if state := p.Wait(); state.ExitCode() != 2 || !strings.Contains(p.Stderr(), `no role "no such role"`) {
		t.Fatalf("it ended with %v and %q, want exit code 2", state, p.Stderr())
	}
}

func TestAChildEndsWhenItsTestProcessDies(t *testing.T) {
	p := Start(t, "orphan", nil)
	p.Await("pid")
	p.stdin.Close() // as when the test's process dies
	if state := p.Wait(); state.ExitCode() != 3 {
		t.Fatalf("it ended with %v, want exit code 3", state)
	}
}

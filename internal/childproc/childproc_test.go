//go:build unix

package childproc

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	Main(m, map[string]Role{
		"count": count, "patient": patient, "deaf": deaf,
		"failing": func(*Child) error { return errors.New("no luck") },
		"orphan": func(c *Child) error {
			c.Say("mine %d", os.Getpid())
			select {}
		},
	})
}

// count says numbers, up to the one in its configuration, and ends.
func count(c *Child) error {
	var config struct{ To int }
	if err := c.Config(&config); err != nil {
		return err
	}
	for i := 1; i <= config.To; i++ {
		c.Say("number %d", i)
	}
	return nil
}

// patient waits for a signal, and ends in good order.
func patient(c *Child) error {
	c.Say("ready")
	c.Say("got %v", <-c.Signals)
	return nil
}

// deaf answers each tick until it is killed.
func deaf(c *Child) error {
	for range time.Tick(time.Millisecond) {
		c.Say("tick")
	}
	return nil
}

func TestAChildGetsItsConfigurationAndIsHeardInOrder(t *testing.T) {
	p := Start(t, "count", map[string]int{"To": 3})
	for _, want := range []string{"number 1", "number 2", "number 3"} {
		if got := p.Await("number"); got != want {
			t.Fatalf("heard %q, want %q", got, want)
		}
	}
	if state := p.Wait(); !state.Success() {
		t.Fatalf("it ended with %v, want success", state)
	}
	if got := strings.Join(p.Events(), ","); got != "number 1,number 2,number 3" {
		t.Fatalf("events %q", got)
	}
}

func TestSigtermIsTheRolesToAnswer(t *testing.T) {
	p := Start(t, "patient", nil)
	p.Await("ready")
	p.Signal(syscall.SIGTERM)
	p.Await("got terminated")
	if state := p.Wait(); !state.Success() {
		t.Fatalf("it ended with %v, want success", state)
	}
}

func TestAKilledChildIsReaped(t *testing.T) {
	p := Start(t, "deaf", nil)
	p.Await("tick")
	p.Kill()
	status, ok := p.Wait().Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() || status.Signal() != syscall.SIGKILL {
		t.Fatalf("it ended with %v, want killed", p.Wait())
	}
	if err := syscall.Kill(p.PID(), 0); !errors.Is(err, syscall.ESRCH) {
		t.Fatalf("process %d is still known: %v", p.PID(), err)
	}
}

func TestAFrozenChildGoesOnWhereItWas(t *testing.T) {
	p := Start(t, "deaf", nil)
	p.Await("tick")
	p.Freeze()
	// What it said before the signal may still be on its way; then it is silent for as long as we care to listen.
	silent := time.NewTimer(50 * time.Millisecond)
	for said := -1; said != len(p.Events()); silent.Reset(50 * time.Millisecond) {
		said = len(p.Events())
		<-silent.C
	}
	before := len(p.Events())
	p.Thaw()
	for range before + 3 {
		p.Await("tick")
	}
}

func TestAFailingRoleSaysWhy(t *testing.T) {
	p := Start(t, "failing", nil)
	if state := p.Wait(); state.ExitCode() != 1 || !strings.Contains(p.Stderr(), "no luck") {
		t.Fatalf("it ended with %v and %q, want exit code 1 and its error", state, p.Stderr())
	}
}

func TestAnUnknownRoleIsAMistake(t *testing.T) {
	p := Start(t, "no such role", nil)
	if state := p.Wait(); state.ExitCode() != 2 || !strings.Contains(p.Stderr(), `no role "no such role"`) {
		t.Fatalf("it ended with %v and %q, want exit code 2", state, p.Stderr())
	}
}

func TestAChildDoesNotOutliveItsTest(t *testing.T) {
	p := Start(t, "orphan", nil)
	p.Await("mine")
	p.stdin.Close() // what happens when the test's process dies
	if state := p.Wait(); state.ExitCode() != 3 {
		t.Fatalf("it ended with %v, want exit code 3", state)
	}
}

package main

import (
	"fmt"
	"os"
	"testing"
	"time"
)

// benchVariable makes the test's own program run as the bench.
const benchVariable = "CHIME_BENCH_PROGRAM"

// TestMain lets the test's own program also run as a child and as the bench.
func TestMain(m *testing.M) {
	if os.Getenv(benchVariable) != "" {
		main()
		os.Exit(0)
	}
	if text := os.Getenv(roleVariable); text != "" {
		if err := runChild(text); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// newTestbed is a testbed with a Redis, and with PostgreSQL if it is wanted and installed.
func newTestbed(t *testing.T, postgres bool) *testbed {
	t.Helper()
	r, err := startTestbed(t.Context(), shortForm, false, postgres)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.stop)
	return r
}

func TestAKilledChildLeavesTheJobThatItHeld(t *testing.T) {
	r := newTestbed(t, false)
	lib, err := chimePeer.open(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	defer lib.Close()
	holder, err := startChild(t.Context(), r.roleOf(holdRole, chimePeer, 1))
	if err != nil {
		t.Fatal(err)
	}
	defer holder.kill()
	if err := lib.Enqueue(t.Context(), payloadOf(7)); err != nil {
		t.Fatal(err)
	}
	select {
	case n := <-holder.begun:
		if n != 7 {
			t.Fatalf("job %d began, want 7", n)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("the job did not begin")
	}
	holder.kill()
	if held, err := lib.Held(t.Context()); err != nil || held != 1 {
		t.Fatalf("the store holds %d jobs, %v, after its holder was killed, want 1", held, err)
	}
}

func TestAChildEndsAtASignal(t *testing.T) {
	r := newTestbed(t, false)
	for _, role := range []role{
		r.roleOf(idleRole, chimePeer, 1),
		{Kind: queuesRole, Peer: chimePeer.name(), Redis: r.redis.addr, Concurrency: 1, Queues: 4},
		r.roleOf(scheduleRole, chimePeer, 0),
	} {
		c, err := startChild(t.Context(), role)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.stop(); err != nil {
			t.Errorf("%s ended with %v, want a clean end", role.Kind, err)
		}
	}
}

func TestAChildEndsWithItsParent(t *testing.T) {
	r := newTestbed(t, false)
	c, err := startChild(t.Context(), r.roleOf(idleRole, chimePeer, 1))
	if err != nil {
		t.Fatal(err)
	}
	defer c.kill()
	c.stdin.Close() // the end of the parent has the same effect
	select {
	case <-c.ended:
	case <-time.After(30 * time.Second):
		t.Fatal("the child keeps running without its parent")
	}
}

func TestAChildThatCannotBeginSaysWhy(t *testing.T) {
	_, err := startChild(t.Context(), role{Kind: idleRole, Peer: "nobody"})
	if err == nil {
		t.Fatal("a child of an unknown peer is ready")
	}
	t.Log(err)
}

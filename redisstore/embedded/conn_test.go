package embedded

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/recurrence"
)

// Commands sent at once may be larger than any buffer, and so may their answers.
func TestALargePipelineDoesNotDeadlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := StartInMemory()
		defer server.Close()
		pipe := server.Client().Pipeline()
		text := strings.Repeat("x", 64<<10)
		for range 100 {
			pipe.Echo(t.Context(), text)
		}
		answers, err := pipe.Exec(t.Context())
		if err != nil || len(answers) != 100 {
			t.Fatalf("%d answers, %v, want 100", len(answers), err)
		}
	})
}

func TestAReadDeadlineIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := dialed(t)
		_ = c.SetDeadline(time.Now().Add(time.Second))
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("reading: %v, want os.ErrDeadlineExceeded", err)
		}
		if _, err := c.Write([]byte("PING\r\n")); err != nil {
			t.Errorf("writing after the deadline: %v", err)
		}
	})
}

// The test also ends only when the goroutine of the connection has ended: synctest waits for it.
func TestWritingToAClosedConnectionFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := dialed(t)
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Write([]byte("PING\r\n")); !errors.Is(err, net.ErrClosed) {
			t.Errorf("writing: %v, want net.ErrClosed", err)
		}
		_ = c.Close()
	})
}

func dialed(t *testing.T) net.Conn {
	server := StartInMemory()
	t.Cleanup(func() { server.Close() })
	c, err := server.Dial()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func TestManySchedulesOnManyQueuesAreDeclaredInMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := StartInMemory()
		defer server.Close()
		schedules := chime.NewSchedules(server.Store())
		scheduler := chime.NewScheduler(server.Store(), chime.SchedulerOptions{})
		const queues, each = 20, 100
		for i := range queues * each {
			err := scheduler.Schedule(fmt.Sprintf("schedule%04d", i), recurrence.Recurrence{Frequency: recurrence.Hour, Interval: 1},
				chime.Queue(fmt.Sprintf("queue%02d", i%queues)), chime.Args(strings.Repeat("x", 1000)))
			if err != nil {
				t.Fatal(err)
			}
		}
		ran := make(chan error, 1)
		ctx, stop := context.WithCancel(t.Context())
		go func() { ran <- chime.Run(ctx, scheduler) }()
		time.Sleep(10 * time.Second) // fake time: the work itself takes none
		stop()
		if err := <-ran; err != nil {
			t.Fatal(err)
		}
		stored := 0
		for _, err := range schedules.List(t.Context(), chime.ScheduleFilter{}) {
			if err != nil {
				t.Fatal(err)
			}
			stored++
		}
		if stored != queues*each {
			t.Errorf("%d schedules stored, want %d", stored, queues*each)
		}
	})
}

package embedded

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/recurrence"
)

// What is sent at once may be larger than any buffer, and so may its answers.
func TestALargePipelineDoesNotWaitForItself(t *testing.T) {
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

func TestManySchedulesOnManyQueuesAreDeclaredInMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := StartInMemory()
		defer server.Close()
		schedules := chime.NewSchedules(server.Store())
		scheduler := chime.NewScheduler(server.Store(), chime.SchedulerOptions{})
		const queues, each = 20, 50
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
		time.Sleep(10 * time.Second) // fake time: nothing of this takes any
		stop()
		if err := <-ran; err != nil {
			t.Fatal(err)
		}
		stored := 0
		for _, err := range schedules.List(t.Context()) {
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

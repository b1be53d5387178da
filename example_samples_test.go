package chime_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/redisstore/embedded"
)

// How much a queue did in the last hour, and how late the slowest hundredth of its occurrences began.
func ExampleQueues_Samples() {
	server := embedded.StartInMemory()
	defer server.Close()
	ctx := context.Background()
	if _, err := chime.NewEnqueuer(server.Store(), chime.EnqueuerOptions{}).Enqueue(ctx, "resize", nil); err != nil {
		log.Fatal(err)
	}

	now := time.Now()
	samples, err := chime.NewQueues(server.Store()).Samples(ctx, "default", now.Add(-time.Hour), now, time.Minute)
	if err != nil {
		log.Fatal(err)
	}
	var done int64
	var late chime.Histogram
	for _, s := range samples {
		done += s.Done
		late = late.Add(s.Lateness)
	}
	fmt.Printf("%d done, late p99 %v\n", done, late.Quantile(0.99))
	// Output: 0 done, late p99 0s
}

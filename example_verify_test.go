package chime_test

import (
	"context"
	"fmt"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/redisstore/embedded"
)

// A program that an operator runs, or a timer every night: it prints what is wrong, and ends with an error if anything is.
func ExampleVerify() {
	server := embedded.StartInMemory()
	defer server.Close()
	ctx := context.Background()
	enqueuer := chime.NewEnqueuer(server.Store(), chime.EnqueuerOptions{})
	if _, err := enqueuer.Enqueue(ctx, "mail", nil, chime.ID("welcome/7")); err != nil {
		fmt.Println(err)
	}

	report, err := chime.Verify(ctx, server.Store(), chime.VerifyOptions{}) // Repair: true mends
	if err != nil {
		fmt.Println(err)
	}
	for _, finding := range report.Findings {
		fmt.Println(finding)
	}
	fmt.Println(report.Jobs, "job looked at,", report.Total, "found")
	if report.Total > report.Repaired {
		return // os.Exit(1)
	}
	// Output:
	// 1 job looked at, 0 found
}

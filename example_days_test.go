package chime_test

import (
	"context"
	"fmt"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/redisstore/embedded"
)

// A calendar of the last five weeks, as far as they are known: a square a day, the darker the more attempts failed.
func ExampleSchedules_Days() {
	server := embedded.StartInMemory()
	defer server.Close()
	ctx := context.Background()
	schedules := chime.NewSchedules(server.Store())
	if _, err := schedules.Put(ctx, "report", recurrence.Recurrence{Cron: "0 3 * * *"}); err != nil {
		fmt.Println(err)
	}
	days, err := schedules.Days(ctx, "report")
	if err != nil {
		fmt.Println(err)
	}
	for _, day := range days {
		fmt.Printf("%s: %d done, %d failed, %d skipped, %d missed\n", day.Day.Format("2 Jan"), day.Done, day.Failed, day.Skipped, day.Missed)
	}
	fmt.Println(len(days), "days are known of one that has not run yet")
	// Output: 0 days are known of one that has not run yet
}

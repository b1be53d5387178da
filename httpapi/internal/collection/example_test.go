package collection_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/httpapi/internal/collection"
	"github.com/chimejobs/chime/recurrence"
	"github.com/chimejobs/chime/redisstore/embedded"
)

// A tenant may have two schedules. The name of each is reserved before it is created.
func ExampleRecords_Reserve() {
	server := embedded.StartInMemory()
	defer server.Close()
	ctx, collections, schedules := context.Background(), collection.New(server.Store()), chime.NewSchedules(server.Store())
	if _, err := collections.Put(ctx, collection.Record{Name: "acme", MaxNames: 2}); err != nil {
		fmt.Println(err)
	}

	for _, name := range []string{"acme:invoices", "acme:backup", "acme:report"} {
		reserved, err := collections.Reserve(ctx, "acme", name)
		if errors.Is(err, collection.ErrQuota) {
			fmt.Println(name, "is one too many")
			continue
		}
		if err != nil {
			fmt.Println(err)
			continue
		}
		if _, err := schedules.Put(ctx, name, recurrence.Recurrence{Cron: "@daily"}); err != nil {
			fmt.Println(err)
		}
		now, err := collections.Get(ctx, "acme")
		if err != nil || now.Creation != reserved.Collection.Creation || now.State != reserved.Collection.State {
			fmt.Println("align the schedule with the current collection") // somebody has changed or deleted it meanwhile
		}
	}
	names, total, err := collections.Names(ctx, "acme", collection.NameFilter{})
	fmt.Println(names, total, err)
	// Output:
	// acme:report is one too many
	// [acme:backup acme:invoices] 2 <nil>
}

// A collection is disabled: its state is stored first, then its schedules are paused. A process that finds the change unfinished, for example after a
// crash, does the same.
func ExampleRecords_Finish() {
	server := embedded.StartInMemory()
	defer server.Close()
	ctx, collections, schedules := context.Background(), collection.New(server.Store()), chime.NewSchedules(server.Store())
	acme, err := collections.Put(ctx, collection.Record{Name: "acme"})
	if err != nil {
		fmt.Println(err)
		return
	}
	acme.State = collection.Disabled
	if _, err := collections.Put(ctx, *acme); err != nil {
		fmt.Println(err)
	}

	for changed, err := range collections.Unfinished(ctx) {
		if err != nil {
			fmt.Println(err)
			break
		}
		for after := ""; ; {
			names, _, err := collections.Names(ctx, changed.Name, collection.NameFilter{After: after})
			if err != nil {
				fmt.Println(err)
				return
			}
			if len(names) == 0 {
				break
			}
			for _, name := range names {
				if err := schedules.Pause(ctx, name); err != nil && !errors.Is(err, chime.ErrNotFound) {
					fmt.Println(err)
					return // it remains unfinished
				}
			}
			after = names[len(names)-1]
		}
		fmt.Println(changed.Name, "is", changed.State)
		if err := collections.Finish(ctx, changed); err != nil {
			fmt.Println(err)
		}
	}
	// Output: acme is disabled
}

package main

import (
	"fmt"

	"github.com/chimejobs/chime/internal/browser"
)

// A scene describes a picture.
type scene struct {
	name  string
	path  string                    // path of the page, relative to where the dashboard is mounted
	first string                    // the shown page is the first linked page whose address begins with this; empty: the page of path itself
	of    string                    // the store; empty: the story
	do    func(*browser.Page) error // the viewer's actions before the picture; nil: none
	shown int                       // the height that the docs show, in pixels from the top; 0: they do not show it
}

// The stores other than the story.
const (
	empty     = "empty"     // it is unused
	gone      = "gone"      // it does not answer
	importing = "importing" // it has a batch of which some members have not ended
)

// scenes are all pictures: each page, its dialogs, and its state in an empty store. TestEveryPageHasAPicture fails for a link to a page that is not
// here.
var scenes = []scene{
	{name: "overview", path: "", shown: 1000},
	{name: "overview-25h", path: "?window=25h"},
	{name: "overview-empty", path: "", of: empty},
	{name: "overview-gone", path: "", of: gone},
	{name: "schedules", path: "schedules"},
	{name: "schedules-failing", path: "schedules?state=failing"},
	{name: "schedules-empty", path: "schedules", of: empty},
	{name: "schedules-bulk", path: "schedules", do: steps(tick("tbody tr:nth-child(2)"), tick("tbody tr:nth-child(3)"), ask(`[data-bulk] button[value="delete"]`))},
	{name: "schedule", path: "schedules/invoices?day=2026-10-31", shown: 1000},
	{name: "schedule-hourly", path: "schedules/sync-crm"},
	{name: "schedule-paused", path: "schedules/cleanup"},
	{name: "schedule-completed", path: "schedules/migrate%20accounts"},
	{name: "schedule-often", path: "schedules/report"},
	{name: "schedule-pause", path: "schedules/report", do: ask(`main form[action$="/pause"] button`)},
	{name: "new", path: "schedules/new"},
	{name: "edit", path: "schedules/report/edit"},
	{name: "edit-json", path: "schedules/report/edit?tab=json"},
	{name: "edit-cron", path: "schedules/sync-crm/edit?tab=cron"},
	{name: "calendar", path: "calendar"},
	{name: "problems", path: "problems"},
	{name: "find", path: "find?error=mailbox&state=dead"},
	{name: "kind", path: "queues/default", first: "kinds/"},
	{name: "queues", path: "queues"},
	{name: "queue", path: "queues/default"},
	{name: "queue-paused", path: "queues/media"},
	{name: "jobs", path: "jobs"},
	{name: "jobs-delayed", path: "jobs?state=delayed"},
	{name: "jobs-running", path: "jobs?state=running"},
	{name: "jobs-retrying", path: "jobs?state=retrying"},
	{name: "jobs-parked", path: "jobs?state=parked"},
	{name: "jobs-dead", path: "jobs?state=dead"},
	{name: "jobs-of-schedule", path: "jobs?state=all&q=schedule%3Async-crm"},
	{name: "jobs-found", path: "jobs?state=dead&q=error%3A%22mailbox%22"},
	{name: "job-dead", path: "jobs/mail/invoices@2026-10-31T18:00:00Z"},
	{name: "job-running", path: "jobs/media/upload-7781"},
	{name: "batches", path: "batches"},
	{name: "batches-in-progress", path: "batches?state=in-progress"},
	{name: "batches-ended", path: "batches?state=ended"},
	{name: "batches-done", path: "batches?state=done"},
	{name: "batches-cancelled", path: "batches?state=cancelled"},
	{name: "batch", path: "batches/import%2Fprices.csv", of: importing},
	{name: "batch-cancel", path: "batches/import%2Fprices.csv", of: importing, do: ask(`main form[action$="/cancel"] button`)},
	{name: "failures", path: "failures", shown: 700},
	{name: "failure", path: "failures/resize?error=storage%3A+dial+tcp+%23.%23.%23.%23%3A%23%3A+connect%3A+connection+refused"},
	{name: "failures-empty", path: "failures", of: empty},
	{name: "workers", path: "workers"},
	{name: "worker", path: "workers", first: "workers/"},
	{name: "workers-empty", path: "workers", of: empty},
	{name: "search", path: "search?q=inv"},
	{name: "palette", path: "", do: func(p *browser.Page) error { return p.PressWithControl("k") }},
	{name: "keys", path: "", do: func(p *browser.Page) error { return p.Press("?") }},
	{name: "not-found", path: "schedules/invoice"},
}

// steps does several actions one after another.
func steps(all ...func(*browser.Page) error) func(*browser.Page) error {
	return func(p *browser.Page) error {
		for _, do := range all {
			if err := do(p); err != nil {
				return err
			}
		}
		return nil
	}
}

// tick ticks a row's box.
func tick(row string) func(*browser.Page) error {
	return func(p *browser.Page) error { return p.Click("main " + row + ` input[name="id"]`) }
}

// ask clicks a button that opens a dialog, and waits for the dialog.
func ask(selector string) func(*browser.Page) error {
	return func(p *browser.Page) error {
		if err := p.Click(selector); err != nil {
			return fmt.Errorf("ask: %w", err)
		}
		return p.Wait(`document.querySelector("dialog[open] .ask")`)
	}
}

package main

import (
	"fmt"

	"github.com/chimejobs/chime/internal/browser"
)

// A scene is what a picture shows.
type scene struct {
	name  string
	path  string                    // of the page, relative to where the dashboard is mounted
	first string                    // the page that is shown is the first one that path leads to and whose address begins so; empty: it is path itself
	of    string                    // which store; empty: the story
	do    func(*browser.Page) error // what the viewer does before the picture; nil: nothing
	shown int                       // how many pixels of it, from its top on, the docs show; 0: they do not
}

// The stores that are not the story.
const (
	empty = "empty" // nobody has used it yet
	gone  = "gone"  // it does not answer
)

// scenes are all pictures: each page, what its dialogs ask, and how it looks without anything to show. TestEveryPageHasAPicture fails for a link
// to a page that is not here.
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
	{name: "failures", path: "failures", shown: 700},
	{name: "failures-empty", path: "failures", of: empty},
	{name: "workers", path: "workers"},
	{name: "worker", path: "workers", first: "workers/"},
	{name: "workers-empty", path: "workers", of: empty},
	{name: "search", path: "search?q=inv"},
	{name: "palette", path: "", do: func(p *browser.Page) error { return p.PressWithControl("k") }},
	{name: "keys", path: "", do: func(p *browser.Page) error { return p.Press("?") }},
	{name: "not-found", path: "schedules/invoice"},
}

// steps does one thing after the other.
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

// ask presses what opens a dialog, and waits for it.
func ask(selector string) func(*browser.Page) error {
	return func(p *browser.Page) error {
		if err := p.Click(selector); err != nil {
			return fmt.Errorf("ask: %w", err)
		}
		return p.Wait(`document.querySelector("dialog[open] .ask")`)
	}
}

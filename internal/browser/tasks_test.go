package browser

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/internal/incident"
)

// maxClicks is how many clicks a task may need, from the overview.
const maxClicks = 6

// maxKeys is how many keys it may need to pause all schedules of a tenant.
const maxKeys = 15

// A walk is a viewer who does a task with a mouse and a keyboard.
type walk struct {
	*testing.T
	*bridge
	page         *Page
	clicks, keys int
}

// seen finds the first visible element of a selector that contains a text.
const seen = `[...document.querySelectorAll(%q)].find((e) => e.checkVisibility() && (e.innerText || e.value || e.title || "").includes(%q))`

// click clicks the first visible element of a selector that contains a text.
func (w *walk) click(selector, text string) {
	w.Helper()
	find := fmt.Sprintf(seen, selector, text)
	var at []float64
	place := `(() => { const e = document.readyState === "complete" && ` + find + `; if (!e) return []; e.scrollIntoView({block: "center", behavior: "instant"}); const box = e.getClientRects()[0]; return [box.x + box.width / 2, box.y + box.height / 2]; })()`
	eventually(w.T, fmt.Sprintf("%s that contains %q, to click", selector, text), func() bool {
		var err error
		at, err = Eval[[]float64](w.page, place) // fails while the page changes to another
		return err == nil && len(at) == 2
	})
	check(w.T, w.page.ClickAt(at[0], at[1])) // by its place, because an update of the page may replace an element
	w.clicks++
}

// types types a text into the field that was clicked.
func (w *walk) types(text string) {
	w.Helper()
	check(w.T, w.page.Press(text))
	w.keys += len([]rune(text))
}

// fill gives the field that was clicked a value as its picker does: a picker is not a part of the page, so this driver cannot click in it.
func (w *walk) fill(value string) {
	w.Helper()
	eval[bool](w.T, w.page, fmt.Sprintf(`(() => { const e = document.activeElement; e.value = %q; for (const type of ["input", "change"]) e.dispatchEvent(new Event(type, {bubbles: true})); return true; })()`, value))
	w.keys += len(value)
}

// at waits until the address of the page contains a text, and the page is loaded.
func (w *walk) at(part string) {
	w.Helper()
	wait(w.T, w.page, fmt.Sprintf(`document.readyState === "complete" && decodeURIComponent(location.href).includes(%q)`, part))
}

// reads waits until the page shows a text.
func (w *walk) reads(text string) {
	w.Helper()
	wait(w.T, w.page, fmt.Sprintf(`document.querySelector("main").innerText.includes(%q)`, text))
}

// ask waits for the question of a dialog.
func (w *walk) ask(title string) {
	w.Helper()
	wait(w.T, w.page, fmt.Sprintf(`document.querySelector("dialog[open] h1")?.innerText.includes(%q)`, title))
}

// A task is a question that a person has during an incident, or a change that they make.
type task struct {
	name string
	do   func(*walk)
}

// paused waits until want schedules are paused.
func (w *walk) paused(want int) {
	w.Helper()
	eventually(w.T, fmt.Sprintf("%d paused schedules", want), func() bool {
		n := 0
		w.inside(func() {
			for s, err := range chime.NewSchedules(w.world.Store).List(context.Background(), chime.ScheduleFilter{}) {
				check(w.T, err)
				if s.State == chime.StatePaused {
					n++
				}
			}
		})
		return n == want
	})
}

var tasks = []task{
	{"why a schedule did not run on a day", func(w *walk) {
		w.click(".rail a", "Schedules")
		w.click("#schedules-table a", incident.Failing)
		w.at("schedules/" + incident.Failing)
		w.click(".strip a", "✕")
		w.at("day=")
		w.reads("import of file 'customers.csv' failed at row 217")
	}},
	{"which kinds fail since the deploy", func(w *walk) {
		w.click(".rail a", "Failures")
		w.click("main a", "version v1.1.0")
		w.at("since:")
		w.reads("7 jobs in 1 group")
		w.reads("timeout after # s")
	}},
	{"requeue one error, from an instant on", func(w *walk) {
		w.click(".rail a", "Failures")
		w.click(`[data-term="since"]`, "")
		w.fill(w.now().UTC().Add(-30 * time.Minute).Format("2006-01-02T15:04"))
		w.click("main .filters button", "Filter")
		w.at("since:")
		w.click(`#failures tr:has(.error[title^="timeout"]) input`, "")
		w.click("[data-bulk] button", "Requeue")
		w.ask("Requeue 7 jobs")
		w.click("dialog button.primary", "Requeue")
		w.at("operations/")
		w.reads("7 requeued")
	}},
	{"pause a tenant with the keyboard", func(w *walk) {
		w.types("gs")
		w.at("schedules")
		w.types("f")
		wait(w.T, w.page, `document.activeElement.name === "prefix"`)
		eval[string](w.T, w.page, `document.activeElement.value = ""`) // this driver types the letter of a key although the page has prevented that
		w.types("tenant" + Enter)
		w.at("prefix=tenant")
		w.types("ap")
		w.ask("Pause 18 schedules?")
		w.types(Tab + Enter)
		w.paused(18)
		w.at("operations/")
		if w.keys > maxKeys {
			w.Errorf("it took %d keys, want at most %d", w.keys, maxKeys)
		}
	}},
	{"resume a tenant with the mouse", func(w *walk) {
		w.click(".rail a", "Schedules")
		w.click(`main .filters [name="prefix"]`, "")
		w.types("tenant-a" + Enter)
		w.at("prefix=tenant-a")
		w.click(`[data-do="tick-all"]`, "")
		w.click("[data-bulk] button", "Resume")
		w.ask("Resume 18 schedules?")
		w.click("dialog button.primary", "Resume")
		w.paused(0)
		wait(w.T, w.page, `document.readyState === "complete" && document.querySelector(".flash")`)
	}},
	{"the job of a customer, by its arguments", func(w *walk) {
		w.click(".rail a", "Jobs")
		w.click("#filter", "")
		w.types("arg:customer=4711" + Enter)
		w.at("arg:customer")
		w.click("#jobs tbody a", "done")
		w.at("order-of-4711")
	}},
	{"the next hour of a queue", func(w *walk) {
		w.click(".rail a", "Queues")
		w.click("#queue-rows a", incident.Unserved)
		w.at("queues/" + incident.Unserved)
		w.reads("Next hour")
		w.reads("of schedule unserved")
	}},
	{"this hour and the same hour yesterday", func(w *walk) {
		w.click(".rail a", "Queues")
		w.click("#queue-rows #row-a a", "a")
		w.at("queues/a")
		w.click("main .tabs a", "25h")
		w.at("window=25h")
		w.reads("faint: a day earlier")
	}},
	{"whether a worker is stuck", func(w *walk) {
		w.click(".rail a", "Workers")
		w.reads("Longest running jobs")
		w.click("#list tr a", "hangs")
		w.at("jobs/")
		w.click("main dd a", "hangs")
		w.at("kinds/hangs")
		w.reads("Usual")
	}},
	{"show another time zone", func(w *walk) {
		w.click(`.zone input`, "")
		w.types("Asia/Kathmandu" + Enter)
		w.at("zone=")
		w.reads("+0545")
	}},
	{"run a schedule now and watch it", func(w *walk) {
		w.click("#next a", incident.Quiet)
		w.click("main .actions button", "Run now")
		w.ask("Run " + incident.Quiet + " now?")
		w.click("dialog button.primary", "Run now")
		w.at("jobs/")
		w.reads("done")
	}},
	{"share a view", func(w *walk) {
		w.click(`#figures a[href*="state=dead"]`, "")
		w.at("state=dead")
		link := eval[string](w.T, w.page, `document.querySelector('[data-do="copy"]').href`)
		if !strings.Contains(link, "state=dead") {
			w.Errorf("the link is %s, want the state in it", link)
		}
		eval[bool](w.T, w.page, `(Object.defineProperty(navigator, "clipboard", {value: {writeText: async (text) => { window.copied = text; }}}), true)`)
		w.click(`[data-do="copy"]`, "Copy link")
		wait(w.T, w.page, `window.copied?.includes("state=dead") && window.copied.includes("zone=")`)
	}},
	{"silence a failing schedule until Monday", func(w *walk) {
		w.click("#health a", "failing")
		w.click("main tbody a, main h1", incident.Failing)
		w.click("main .actions button", "Acknowledge")
		w.ask("Acknowledge that " + incident.Failing)
		w.click(`dialog [name="until"]`, "")
		w.types(monday(w.now()).Format("2006-01-02 15:04"))
		w.click("dialog button.primary", "Acknowledge")
		w.reads("acknowledged by")
		w.inside(func() {
			known, err := chime.NewAcknowledgements(w.world.Store).List(context.Background())
			check(w.T, err)
			if len(known) != 1 || known[0].Schedule != incident.Failing || !known[0].Note.Until.Equal(monday(time.Now())) {
				w.Errorf("acknowledged are %+v, want %s until Monday", known, incident.Failing)
			}
		})
	}},
}

// monday returns eight o'clock on the next Monday.
func monday(now time.Time) time.Time {
	day := now.UTC().Truncate(24*time.Hour).AddDate(0, 0, 1)
	for day.Weekday() != time.Monday {
		day = day.AddDate(0, 0, 1)
	}
	return day.Add(8 * time.Hour)
}

// Each task is at most six clicks from the overview. With -v it prints how many clicks and keys each task took, and how long the
// browser took. With a folder in CHIME_SHOTS it takes pictures of where each one ends.
func TestTasksOfSomebodyOnCallNeedFewClicks(t *testing.T) {
	t.Parallel()
	b := newBridge(t, func(t *testing.T, w *incident.World) {
		_, err := chime.NewEnqueuer(w.Store, chime.EnqueuerOptions{}).Enqueue(t.Context(), "done", map[string]int{"customer": 4711}, chime.ID("order-of-4711"), chime.Queue(incident.Wide), chime.In(48*time.Hour))
		check(t, err)
	})
	table := &strings.Builder{}
	for _, task := range tasks {
		t.Run(task.name, func(t *testing.T) {
			page, err := chromium.Open(Look{Width: 1440, Height: 900, Zone: "UTC"})
			check(t, err)
			defer page.Close()
			defer func() {
				if t.Failed() {
					text, err := Eval[string](page, `location.href + "\n" + document.querySelector("main").innerText.slice(0, 3000)`)
					t.Log("the page:", text, err)
				}
			}()
			check(t, page.Go(b.url))
			w, begun := &walk{T: t, bridge: b, page: page}, time.Now()
			task.do(w)
			fmt.Fprintf(table, "%-42s %d clicks %3d keys %5.1f s\n", task.name, w.clicks, w.keys, time.Since(begun).Seconds())
			if w.clicks > maxClicks {
				t.Errorf("it took %d clicks, want at most %d", w.clicks, maxClicks)
			}
			unspoilt(t, "the pages", page)
			if folder := os.Getenv("CHIME_SHOTS"); folder != "" {
				picture, err := page.Shot()
				check(t, err)
				check(t, os.WriteFile(filepath.Join(folder, strings.ReplaceAll(task.name, " ", "-")+".png"), picture, 0o644))
			}
		})
	}
	t.Logf("clicks, keys and the time of the browser:\n%s", table)
}

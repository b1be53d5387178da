package browser

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/recurrence"
)

// tabTo presses Tab until the focus is on an element of a selector.
func tabTo(t *testing.T, p *Page, selector string) {
	t.Helper()
	for range 150 {
		check(t, p.Press(Tab))
		if eval[bool](t, p, `document.activeElement.matches(`+"`"+selector+"`"+`)`) {
			return
		}
	}
	t.Fatalf("Tab does not reach %s", selector)
}

// focused is the text of the focused element.
const focused = `document.activeElement.innerText || document.activeElement.value || ""`

func TestAScheduleIsPausedAndRunByTheKeyboard(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	p := w.open(t, desk, "schedules/report")
	tabTo(t, p, `form[action*="/pause"] button`)
	check(t, p.Press(Enter))
	wait(t, p, `document.querySelector("dialog[open] .ask")`)
	if got := eval[string](t, p, focused); got != "Cancel" {
		t.Errorf("the confirmation opens with the focus on %q, want Cancel", got)
	}
	tabTo(t, p, `dialog [name="note"]`)
	check(t, p.Press("stock-taking"))
	tabTo(t, p, `dialog button.primary`)
	check(t, p.Press(Enter))
	wait(t, p, `!document.querySelector("dialog[open]") && document.querySelector("main").innerText.includes("stock-taking")`)
	s, err := w.schedules.Get(t.Context(), "report")
	check(t, err)
	if s.State != chime.StatePaused || s.Note.Text != "stock-taking" || s.Note.By != "bob" {
		t.Errorf("the schedule is %s, %+v; want it paused by bob: stock-taking", s.State, s.Note)
	}

	check(t, w.schedules.Resume(t.Context(), "report"))
	check(t, p.Go(w.url+"schedules/report"))
	tabTo(t, p, `form[action*="/trigger"] button`)
	check(t, p.Press(Enter))
	wait(t, p, `document.querySelector("dialog[open] .ask")`)
	tabTo(t, p, `dialog button.primary`)
	check(t, p.Press(Enter))
	wait(t, p, `location.pathname.includes("/jobs/")`)
	unspoilt(t, "the job's page", p)
}

func TestManyJobsAreDeletedByTheKeyboard(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	p := w.open(t, desk, "jobs?state=dead&queue=mail")
	check(t, p.Press("jxjx")) // two rows
	wait(t, p, `document.querySelector("[data-ticked]").textContent === "2"`)
	tabTo(t, p, `[data-bulk] button[value="delete"]`)
	check(t, p.Press(Enter))
	wait(t, p, `document.querySelector("dialog[open] .ask")`)
	if got := eval[string](t, p, focused); got != "Cancel" {
		t.Errorf("the confirmation opens with the focus on %q, want Cancel", got)
	}
	if !eval[bool](t, p, `document.querySelector("dialog button.primary").disabled`) {
		t.Error("the form can be sent before the number was typed")
	}
	check(t, p.Press(Escape))
	wait(t, p, `!document.querySelector("dialog[open]")`)
	tabTo(t, p, `[data-bulk] button[value="delete"]`)
	check(t, p.Press(Enter))
	wait(t, p, `document.querySelector("dialog[open] .ask")`)
	tabTo(t, p, `dialog [data-exactly]`)
	check(t, p.Press("2"))
	tabTo(t, p, `dialog button.primary`)
	check(t, p.Press(Enter))
	w.waitForDead(t, 2)
	wait(t, p, `document.querySelector("main").innerText.includes("2")`)
	unspoilt(t, "the list", p)
}

// The buttons of a list are disabled until a row is ticked. A tick with shift ticks all rows since the last tick.
func TestButtonsOfAListWaitForTicks(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	p := w.open(t, desk, "jobs?state=dead")
	wait(t, p, `document.querySelectorAll("#jobs tbody tr").length === 4`)
	click := func(row int, shift bool) {
		t.Helper()
		eval[bool](t, p, fmt.Sprintf(`document.querySelectorAll('#jobs [name="id"]')[%d].dispatchEvent(new MouseEvent("click", {bubbles: true, shiftKey: %v}))`, row, shift))
	}
	for _, step := range []struct {
		row   int
		shift bool
		want  string
	}{{3, false, "0001"}, {1, true, "0111"}, {0, false, "1111"}, {2, false, "1101"}, {3, true, "1100"}, {0, false, "0100"}, {1, false, "0000"}} {
		click(step.row, step.shift)
		got := eval[string](t, p, `[...document.querySelectorAll('#jobs [name="id"]')].map((box) => +box.checked).join("")`)
		off := eval[bool](t, p, `[...document.querySelectorAll("[data-bulk] button")].every((button) => button.disabled)`)
		if got != step.want || off != (got == "0000") {
			t.Errorf("after row %d, shift %v: ticked are %s, want %s; all buttons are disabled: %v", step.row, step.shift, got, step.want, off)
		}
	}
	eval[bool](t, p, `document.querySelector('[data-bulk] [name="all"]').click(), true`)
	if eval[bool](t, p, `document.querySelector("[data-bulk] button").disabled`) {
		t.Error("the buttons are disabled although all matching schedules are selected")
	}
	unspoilt(t, "the list", p)
}

// A second click on the button of a confirmation does not repeat the action.
func TestAQuestionIsAnsweredOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	p := w.open(t, desk, "schedules/report")
	check(t, p.Press("t"))
	wait(t, p, `document.querySelector("dialog[open] .ask")`)
	sent := eval[int](t, p, `(() => { const real = fetch; let sent = 0; window.fetch = (...all) => { sent++; return real(...all); };
		const button = document.querySelector("dialog button.primary"); button.click(); button.click(); return sent; })()`)
	if sent != 1 {
		t.Errorf("two clicks have sent it %d times, want once", sent)
	}
	wait(t, p, `document.readyState === "complete" && document.querySelector(".flash")?.innerText.includes("runs as soon as")`)
	check(t, p.Go(w.url+"schedules/report")) // the page of the job has been opened
	check(t, p.Press("t"))
	wait(t, p, `document.querySelector("dialog[open] .ask")`)
	check(t, p.Press(Escape))
	wait(t, p, `!document.querySelector("dialog[open]")`)
	check(t, p.Press("p")) // the next confirmation opens
	wait(t, p, `document.querySelector("dialog[open] h1")?.textContent.startsWith("Pause")`)
	unspoilt(t, "the schedule's page", p)
}

func TestKeysLeadAcrossThePages(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	p := w.open(t, desk, "")
	check(t, p.Press("?"))
	wait(t, p, `document.querySelector("dialog[open]")?.innerText.includes("search")`)
	check(t, p.Press(Escape))
	wait(t, p, `!document.querySelector("dialog[open]")`)
	check(t, p.Press("/"))
	if got := eval[string](t, p, `document.activeElement.id`); got != "search" {
		t.Errorf("/ leads to %q, want the search", got)
	}
	check(t, p.PressWithControl("k"))
	wait(t, p, `document.querySelector("dialog[open].palette")`)
	check(t, p.Press("invoi"))
	wait(t, p, `document.querySelector('.palette [aria-selected="true"]')?.textContent.includes("invoices")`)
	check(t, p.Press(Enter))
	wait(t, p, `document.querySelector("h1")?.textContent === "invoices"`)
	for key, page := range map[string]string{"s": "schedules", "j": "jobs", "q": "queues", "b": "batches", "w": "workers", "i": "find"} {
		wait(t, p, `document.readyState === "complete"`)
		check(t, p.Press("g"+key))
		wait(t, p, `location.pathname.endsWith("/`+page+`")`)
	}
	check(t, p.Go(w.url+"schedules"))
	check(t, p.Press("jj"+Enter))
	wait(t, p, `/\/schedules\/./.test(location.pathname)`)
	if trouble := p.Trouble(); len(trouble) > 0 {
		t.Errorf("the pages recorded: %s", strings.Join(trouble, "\n"))
	}
}

func TestKeysPauseAndRunWhatTheyAreOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	state := func(name string) chime.ScheduleState {
		s, err := w.schedules.Get(t.Context(), name)
		check(t, err)
		return s.State
	}
	p := w.open(t, desk, "schedules?prefix=re")
	check(t, p.Press("jp"))
	wait(t, p, `document.querySelector("dialog[open] h1")?.innerText === "Pause 1 schedule?"`)
	check(t, p.Press(Escape))
	wait(t, p, `!document.querySelector("dialog[open]") && document.querySelector("[data-ticked]").textContent === "1"`)
	check(t, p.Press("t"))
	wait(t, p, `document.querySelector("dialog[open] h1")?.innerText === "Run now 1 schedule?"`)
	check(t, p.Go(w.url+"schedules?prefix=cleanup"))
	check(t, p.Press("jp"))
	wait(t, p, `document.querySelector("dialog[open] h1")?.innerText === "Resume 1 schedule?"`)
	tabTo(t, p, `dialog button.primary`)
	check(t, p.Press(Enter))
	wait(t, p, `document.querySelector(".flash") && document.readyState === "complete"`)
	if got := state("cleanup"); got != chime.StateLive {
		t.Errorf("the schedule is %s, want it live", got)
	}

	check(t, p.Go(w.url+"schedules/report"))
	check(t, p.Press("t"))
	wait(t, p, `document.querySelector("dialog[open] h1")?.innerText === "Run report now?"`)
	check(t, p.Press(Escape))
	wait(t, p, `!document.querySelector("dialog[open]")`)
	check(t, p.Press("p"))
	wait(t, p, `document.querySelector("dialog[open] h1")?.innerText === "Pause report?"`)
	check(t, p.Go(w.url+"queues/mail"))
	check(t, p.Press("p"))
	wait(t, p, `document.querySelector("dialog[open] h1")?.innerText === "Pause queue mail?"`)
	if got := state("report"); got != chime.StateLive {
		t.Errorf("a key without confirmation changed the schedule to %s", got)
	}
	unspoilt(t, "the pages", p)
}

func TestAllSchedulesThatMatchAreDeletedByTheKeyboard(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	for i := range 30 {
		_, err := w.schedules.Put(t.Context(), fmt.Sprintf("old-%02d", i), recurrence.Recurrence{Frequency: recurrence.Hour}, chime.NoImmediateRun())
		check(t, err)
	}
	p := w.open(t, desk, "schedules?prefix=old-&limit=10")
	check(t, p.Press("jx"))
	tabTo(t, p, `[data-bulk] [name="all"]`)
	check(t, p.Press(" "))
	tabTo(t, p, `[data-bulk] button[value="delete"]`) // Tab has to go around, because the box is after the buttons
	check(t, p.Press(Enter))
	wait(t, p, `document.querySelector("dialog[open] h1")?.innerText === "Delete 30 schedules?"`)
	if got := eval[string](t, p, focused); got != "Cancel" {
		t.Errorf("the confirmation opens with the focus on %q, want Cancel", got)
	}
	if text := eval[string](t, p, `document.querySelector("dialog .ask").innerText`); !strings.Contains(text, "whose names begin with “old-”") || !strings.Contains(text, "and 25 more") || !strings.Contains(text, "cannot be undone") {
		t.Errorf("the confirmation is %q", text)
	}
	tabTo(t, p, `dialog [data-exactly]`)
	check(t, p.Press("30"))
	tabTo(t, p, `dialog button.primary`)
	check(t, p.Press(Enter))
	wait(t, p, `location.pathname.includes("/operations/") && document.querySelector("#progress").innerText.includes("30 deleted") && document.querySelector("#progress").innerText.includes("It is done.")`)
	unspoilt(t, "the page of the operation", p)
}

func TestQueuesArePausedByAKeyInTheListAndOnTheirPages(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	paused := func(want bool) {
		t.Helper()
		eventually(t, fmt.Sprintf("mail is paused: %v", want), func() bool {
			queue, err := chime.NewQueues(w.store).Get(t.Context(), "mail")
			check(t, err)
			return queue.Paused == want
		})
	}
	p := w.open(t, desk, "queues")
	wait(t, p, `document.querySelectorAll("#queue-rows tbody tr").length === 3`)
	eval[bool](t, p, `window.asked = true`) // removed with this page: its row may change before the next page is loaded
	check(t, p.Press("jjjp"))               // archive, default, mail
	wait(t, p, `document.querySelector("dialog[open] h1")?.textContent === "Pause queue mail?"`)
	tabTo(t, p, `dialog button.primary`)
	check(t, p.Press(Enter))
	paused(true)
	wait(t, p, `!window.asked && document.readyState === "complete" && location.pathname.endsWith("/queues") && document.querySelector('#row-mail [aria-label="Resume mail"]')`)
	check(t, p.Press("jjjp")) // an action that can be undone needs no confirmation
	paused(false)
	wait(t, p, `location.pathname.endsWith("/queues") && document.querySelector('#row-mail [aria-label="Pause mail"]')`)

	check(t, p.Go(w.url+"queues/mail"))
	check(t, p.Press("p"))
	wait(t, p, `document.querySelector("dialog[open] h1")?.textContent === "Pause queue mail?"`)
	check(t, p.Press(Escape))
	wait(t, p, `!document.querySelector("dialog[open]")`)
	for what, closes := range map[string]func(){
		"Escape":  func() { check(t, p.Press(Escape)) },
		"a click": func() { eval[bool](t, p, `document.querySelector("h2").click(), true`) },
	} {
		tabTo(t, p, `.menu-more summary`)
		check(t, p.Press(Enter))
		wait(t, p, `document.querySelector(".menu-more[open] button").checkVisibility()`)
		closes()
		if eval[bool](t, p, `document.querySelector(".menu-more").open`) {
			t.Errorf("%s leaves the menu open", what)
		}
	}
	tabTo(t, p, `.menu-more summary`)
	check(t, p.Press(Enter))
	tabTo(t, p, `.menu-more form[action$="purge"] button`)
	check(t, p.Press(Enter))
	wait(t, p, `document.querySelector("dialog[open] h1")?.textContent.includes("mail")`)
	if trouble := p.Trouble(); len(trouble) > 0 {
		t.Errorf("the pages recorded: %s", strings.Join(trouble, "\n"))
	}
}

// All schedules of a tenant are paused by at most fifteen keys. Keys can be switched off, except those with ctrl, and on again.
func TestATenantsSchedulesArePausedByFifteenKeys(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	for i := range 18 {
		_, err := w.schedules.Put(t.Context(), fmt.Sprintf("acme:job-%02d", i), recurrence.Recurrence{Cron: "30 2 * * *"}, chime.JobName("report"))
		check(t, err)
	}
	p := w.open(t, desk, "schedules")
	keys := 0
	press := func(text string) {
		t.Helper()
		keys += len([]rune(text))
		check(t, p.Press(text))
	}
	press("f")
	wait(t, p, `document.activeElement.name === "prefix"`)
	eval[string](t, p, `document.activeElement.value = ""`) // this driver types the letter of a key although the page has prevented that
	press("acme")
	press(Enter)
	wait(t, p, `location.search.includes("prefix=acme") && document.readyState === "complete"`)
	if rows := eval[int](t, p, `document.querySelectorAll("#schedules-table tbody tr").length`); rows != 18 {
		t.Fatalf("%d schedules are listed, want 18: %s", rows, eval[string](t, p, `document.querySelector("main").innerText.slice(0, 500)`))
	}
	press("a")
	press("p")
	wait(t, p, `document.querySelector("dialog[open] h1")?.innerText === "Pause 18 schedules?"`)
	press(Tab)
	press(Enter)
	eventually(t, "18 paused schedules", func() bool {
		paused := 0
		for s, err := range w.schedules.List(t.Context(), chime.ScheduleFilter{Prefix: "acme"}) {
			check(t, err)
			if s.State == chime.StatePaused {
				paused++
			}
		}
		return paused == 18
	})
	if keys > 15 {
		t.Errorf("that took %d keys, want at most 15", keys)
	}

	wait(t, p, `location.pathname.includes("/operations/") && document.readyState === "complete"`)
	check(t, p.Go(w.url+"schedules"))
	check(t, p.Press("?"))
	wait(t, p, `document.querySelector("dialog[open]")?.innerText.includes("tick all")`)
	eval[bool](t, p, `[...document.querySelectorAll("dialog[open] button")].find((b) => b.innerText.startsWith("Switch")).click(), true`)
	check(t, p.Press("?"))
	if eval[bool](t, p, `!!document.querySelector("dialog[open]")`) {
		t.Error("a key acts although the keys are switched off")
	}
	check(t, p.PressWithControl("k"))
	wait(t, p, `document.querySelector("dialog[open].palette")`)
	check(t, p.Press("keys"))
	check(t, p.Press(Enter))
	wait(t, p, `document.querySelector("dialog[open] h2")?.innerText === "Keys"`)
	eval[bool](t, p, `[...document.querySelectorAll("dialog[open] button")].find((b) => b.innerText.startsWith("Switch")).click(), true`)
	check(t, p.Press("?"))
	wait(t, p, `document.querySelector("dialog[open] h2")?.innerText === "Keys"`)
	p.Trouble()
}

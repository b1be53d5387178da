package browser

import (
	"context"
	"math"
	"net/http"
	"strings"
	"testing"

	"github.com/chimejobs/chime"
)

func TestAChangeIsSeenAndTakesNothingFromTheViewer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	p := w.open(t, desk, "schedules")
	wait(t, p, `document.getElementById("live").dataset.state === "on" && document.querySelector(".live .text").textContent.startsWith("live")`)
	check(t, p.Click(`tr:has(a[href$="/report"]) input[name="id"]`))
	check(t, p.Click("#search"))
	check(t, p.Press("half a wo"))

	check(t, w.schedules.Pause(t.Context(), "report", chime.Note{Text: "a live change", By: "carla"}))
	wait(t, p, `document.querySelector("main").innerText.includes("a live change")`)
	for what, holds := range map[string]string{
		"the typed text": `document.getElementById("search").value === "half a wo"`,
		"the focus":      `document.activeElement.id === "search"`,
		"the tick":       `document.querySelector('tr:has(a[href$="/report"]) input[name="id"]').checked`,
		"the bar":        `document.querySelector("[data-ticked]").textContent === "1"`,
	} {
		if !eval[bool](t, p, holds) {
			t.Errorf("the change took %s", what)
		}
	}
	unspoilt(t, "the live page", p)
}

func TestNewRowsWaitUntilTheViewerWantsThem(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	p := w.open(t, desk, "jobs?state=dead")
	wait(t, p, `document.querySelector(".live .text").textContent.startsWith("live")`)
	before := eval[int](t, p, `document.querySelectorAll("#jobs tbody tr").length`)
	_, err := w.enqueuer.Enqueue(t.Context(), "broken", nil, chime.ID("one-more"), chime.MaxAttempts(1))
	check(t, err)
	wait(t, p, `document.querySelector('[data-do="show-waiting"]')?.textContent.includes("1 new")`)
	if now := eval[int](t, p, `document.querySelectorAll("#jobs tbody tr").length`); now != before {
		t.Errorf("there are %d rows, want the %d from before", now, before)
	}
	check(t, p.Click(`[data-do="show-waiting"]`))
	wait(t, p, `document.querySelector("#jobs").innerText.includes("one-more")`)
	unspoilt(t, "the live list", p)
}

// hide sets the visibility of a tab like a browser.
func hide(t *testing.T, p *Page, hidden string) {
	t.Helper()
	eval[any](t, p, `Object.defineProperty(document, "hidden", {value: `+hidden+`, configurable: true}); document.dispatchEvent(new Event("visibilitychange")); null`)
}

func TestAHiddenTabHasNoStream(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	p := w.open(t, desk, "")
	eventually(t, "a stream of the page", func() bool { return w.streams.Load() == 1 })
	hide(t, p, "true")
	eventually(t, "no stream of a hidden tab", func() bool { return w.streams.Load() == 0 })
	hide(t, p, "false")
	eventually(t, "a stream of the tab that is seen again", func() bool { return w.streams.Load() == 1 })
	check(t, p.Go("about:blank"))
	eventually(t, "no stream of a page that was left", func() bool { return w.streams.Load() == 0 })
}

func TestAllChartsShowTheInstantUnderThePointer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	p := w.open(t, desk, "?window=15m")
	wait(t, p, `document.querySelectorAll("svg.chart[data-plot][data-from]").length > 1`)
	step := 0.0
	eventually(t, "a line in each chart", func() bool { // a live change redraws the charts without the line, until the pointer moves
		step++
		at := eval[[]float64](t, p, `(() => { const box = document.querySelector("svg.chart[data-plot][data-from]").getBoundingClientRect(); return [box.left + box.width / 3, box.top + box.height / 2]; })()`)
		check(t, p.Point(at[0]+math.Mod(step, 20), at[1]))
		return eval[bool](t, p, `[...document.querySelectorAll("svg.chart .cross")].filter((line) => line.getAttribute("d")).length > 1 &&
			[...document.querySelectorAll("[data-reading]")].some((reading) => /\d:\d/.test(reading.textContent))`)
	})
	unspoilt(t, "the charts", p)
}

func TestTheViewersThemeStays(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	p := w.open(t, desk, "")
	light := eval[string](t, p, `getComputedStyle(document.documentElement).backgroundColor`)
	check(t, p.Click(`[data-do="theme"]`))
	wait(t, p, `getComputedStyle(document.documentElement).backgroundColor !== "`+light+`"`)
	check(t, p.Go(w.url+"queues"))
	if got := eval[string](t, p, `document.documentElement.dataset.theme`); got != "dark" {
		t.Errorf("on the next page the theme is %q, want dark", got)
	}
}

func TestAPageWithoutAStreamShowsThatItIsNotLive(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.one.Store(true)
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	for range 20 { // as many as one viewer may have
		r, err := http.NewRequestWithContext(ctx, "GET", w.url+"events?page=queues", nil)
		check(t, err)
		answer, err := http.DefaultClient.Do(r)
		check(t, err)
		defer answer.Body.Close()
	}
	p := w.open(t, desk, "schedules")
	wait(t, p, `document.querySelector(".live .text").textContent === "not live" && document.getElementById("full")?.innerText.startsWith("This page is not live:")`)
	leave()
	wait(t, p, `document.querySelector(".live .text").textContent.startsWith("live") && !document.getElementById("full")`)
	unspoilt(t, "the page that is live again", p)
}

// A page whose server is gone is shown as one whose Redis is gone: a banner, faint figures and no buttons. It recovers by itself.
func TestAPageShowsThatItsServerIsGone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	p := w.open(t, desk, "schedules/report")
	wait(t, p, `document.querySelector(".live .text").textContent.startsWith("live")`)
	w.gone.Store(true)
	wait(t, p, `document.getElementById("trouble")?.innerText.startsWith("No answer from the server") && document.body.classList.contains("stale") &&
		[...document.querySelectorAll('main form[method=post] button:not([type=button])')].every((button) => button.disabled)`)
	w.gone.Store(false)
	wait(t, p, `!document.getElementById("trouble") && !document.body.classList.contains("stale") && document.querySelector(".live .text").textContent.startsWith("live") &&
		[...document.querySelectorAll('main form[method=post] button')].some((button) => !button.disabled)`)
	p.Trouble() // failed requests
}

// The focus stays on its run when a newer run comes before it, and only the new row is tinted.
func TestTheFocusStaysOnItsRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	p := w.open(t, desk, "schedules/report")
	wait(t, p, `document.querySelector(".live .text").textContent.startsWith("live") && document.querySelector("#runs tbody tr a")`)
	id := eval[string](t, p, `(() => { const link = document.querySelector("#runs tbody tr a"); link.focus(); window.tinted = new Set();
		new MutationObserver((all) => { for (const { target } of all) if (target.classList?.contains("changed")) tinted.add(target.localName + " " + target.id); })
			.observe(document.body, { subtree: true, attributes: true, attributeFilter: ["class"] });
		return link.closest("tr").id; })()`)
	_, err := w.schedules.Trigger(t.Context(), "report")
	check(t, err)
	wait(t, p, `document.querySelector("#runs tbody tr").id !== `+"`"+id+"`")
	if got := eval[string](t, p, `document.activeElement.closest("tr")?.id ?? "nothing"`); got != id {
		t.Errorf("the focus is on %q, want %q", got, id)
	}
	if tinted := eval[[]string](t, p, `[...tinted]`); len(tinted) == 0 || strings.Contains(strings.Join(tinted, " "), id) || strings.Contains(strings.Join(tinted, " "), "dd") {
		t.Errorf("tinted are %q, want only the new rows", tinted)
	}
	unspoilt(t, "the schedule's page", p)
}

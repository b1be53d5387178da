package browser

import (
	"testing"

	"github.com/chimejobs/chime"
)

// retype replaces the text of the focused field.
func retype(t *testing.T, p *Page, text string) {
	t.Helper()
	eval[any](t, p, `document.activeElement.select(); null`)
	check(t, p.Press(text))
}

func TestThePreviewFollowsWhatIsTyped(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	p := w.open(t, desk, "schedules/cleanup/edit?tab=cron")
	check(t, p.Click(`[name="cron"]`))
	retype(t, p, "*/20 9 * * 1")
	wait(t, p, `document.querySelector("#preview .words")?.innerText.includes("Monday") && document.querySelectorAll("#preview tbody tr").length >= 10`)
	wait(t, p, `document.querySelector("#preview .differences")?.innerText.includes("*/20 9 * * 1")`)
	wait(t, p, `document.getElementById("said").textContent.includes("Monday")`)
	if got := eval[string](t, p, `document.activeElement.name + " " + document.activeElement.value`); got != "cron */20 9 * * 1" {
		t.Errorf("the focus and what was typed are %q", got)
	}

	retype(t, p, "61 9 * * 1")
	wait(t, p, `document.querySelector('[name="cron"]').getAttribute("aria-invalid") === "true" && document.getElementById("ask-cron-hint").matches(".wrong") && document.querySelector("#preview .banner.fail")`)
	retype(t, p, "30 9 * * 1")
	wait(t, p, `!document.querySelector("#preview .banner.fail") && !document.querySelector('[name="cron"]').hasAttribute("aria-invalid") && document.getElementById("ask-cron-hint").matches(".note")`)
	if got := eval[string](t, p, `document.getElementById("ask-cron-hint").textContent`); got == "" {
		t.Error("the hint has not come back")
	}
	check(t, p.Press(Enter)) // which would load the page again
	wait(t, p, `document.activeElement.name === "cron"`)
	s, err := w.schedules.Get(t.Context(), "cleanup")
	check(t, err)
	if s.Recurrence.Cron != "30 2 * * *" || s.State != chime.StatePaused {
		t.Errorf("the preview has stored %v", s.Recurrence)
	}
	unspoilt(t, "the editor", p)

	check(t, p.Go(w.url+"schedules/new"))
	wait(t, p, `document.querySelector("#preview .words")?.innerText.includes("09:00")`) // without input
}

// Empty fields that do not matter for the frequency are hidden. An error opens the group of its field.
func TestTheEditorShowsWhatMatters(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	p := w.open(t, desk, "schedules/new")
	choose := func(frequency string) {
		t.Helper()
		eval[any](t, p, `(() => { const field = document.querySelector('[name="frequency"]'); field.value = "`+frequency+`"; field.dispatchEvent(new Event("input", {bubbles: true})); })(); null`)
	}
	shown := func() string {
		t.Helper()
		return eval[string](t, p, `["weekDays", "monthDays", "monthlyOccurrences", "months"].filter((name) => document.querySelector('[name="' + name + '"]').checkVisibility()).join(" ")`)
	}
	for _, c := range [][2]string{{"day", ""}, {"week", "weekDays"}, {"month", "monthDays monthlyOccurrences months"}, {"year", "months"}, {"", ""}} {
		if choose(c[0]); shown() != c[1] {
			t.Errorf("with frequency %q are shown %q, want %q", c[0], shown(), c[1])
		}
	}
	choose("month")
	check(t, p.Click(`[name="monthDays"]`))
	check(t, p.Press("31"))
	check(t, p.Click(`[name="months"]`))
	choose("day")
	if got := shown(); got != "monthDays months" {
		t.Errorf("with frequency day are shown %q, want the filled ones", got)
	}
	wait(t, p, `document.getElementById("ask-monthDays-hint").matches(".wrong")`)

	check(t, p.Go(w.url+"schedules/new"))
	check(t, p.Click(`#runs summary`))
	check(t, p.Click(`[name="grace"]`))
	check(t, p.Press("soon"))
	check(t, p.Click(`#runs summary`))
	wait(t, p, `document.getElementById("runs").open && document.getElementById("ask-grace-hint").matches(".wrong")`)
	submit(t, p, `[name="like"][value="week"]`)
	wait(t, p, `document.readyState === "complete" && document.querySelector('[name="weekDays"]').checked && document.getElementById("runs").open`)
	unspoilt(t, "the editor", p)
}

// slow delays the responses to the page's requests until the test releases them: the first one last.
const slow = `(() => { const real = fetch; window.held = []; window.fetch = (address, options) =>
	new Promise((answer) => held.push(() => answer(real(address, {...options, signal: undefined})))); })()`

func TestTheLatestPreviewWins(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	p := w.open(t, desk, "schedules/cleanup/edit?tab=cron")
	eval[any](t, p, slow+"; null")
	check(t, p.Click(`[name="cron"]`))
	retype(t, p, "0 9 * * 1")
	wait(t, p, `held.length === 1`)
	retype(t, p, "0 9 * * 5")
	wait(t, p, `held.length === 2`)
	eval[any](t, p, `held[1](); null`)
	wait(t, p, `document.querySelector("#preview .words").innerText.includes("Friday")`)
	eval[any](t, p, `window.all = performance.getEntriesByType("resource").length; held[0](); null`)
	wait(t, p, `performance.getEntriesByType("resource").length > all`) // the response has come too late
	if !eval[bool](t, p, `new Promise((done) => setTimeout(() => done(document.querySelector("#preview .words").innerText.includes("Friday")), 100))`) {
		t.Error("the preview of the first input is shown, because its response came last")
	}
}

// An error of the server is shown in the preview. After too many requests, the last one is sent again.
func TestAPreviewThatCannotBeHadIsSaid(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	p := w.open(t, desk, "schedules/cleanup/edit?tab=cron")
	eval[any](t, p, `(() => { const real = fetch; window.answers = [429]; window.fetch = (...all) =>
		answers.length ? Promise.resolve(new Response('<section class="failure"><p class="status">503</p><p>No answer from Redis</p></section>', {status: answers.shift()})) : real(...all); })(); null`)
	check(t, p.Click(`[name="cron"]`))
	retype(t, p, "0 9 * * 1")
	wait(t, p, `answers.length === 0 && document.querySelector("#preview .words").innerText.includes("Monday")`)
	eval[any](t, p, `answers.push(503); null`)
	retype(t, p, "0 9 * * 5")
	wait(t, p, `document.querySelector("#preview .banner.fail")?.textContent === "No answer from Redis"`)
	retype(t, p, "0 9 * * 2")
	wait(t, p, `document.querySelector("#preview .words")?.innerText.includes("Tuesday")`)
	unspoilt(t, "the editor", p)
}

func TestWithoutScriptsThePreviewHasAButton(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	look := desk
	look.NoScript = true
	p := w.open(t, look, "schedules/new?tab=cron")
	check(t, p.Click(`[name="cron"]`))
	for range len("0 9 * * *") {
		check(t, p.Press("\b"))
	}
	check(t, p.Press("0 9 * * 1"))
	submit(t, p, `.answers button[value="preview"]`)
	wait(t, p, `document.querySelector("#preview .words")?.innerText.includes("Monday")`)
}

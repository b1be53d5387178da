package browser

import (
	"testing"

	"github.com/chimejobs/chime"
)

// submit clicks the button of a form and waits for the next page. Chromium evaluates the tests' expressions even if pages may not run scripts.
func submit(t *testing.T, p *Page, selector string) {
	t.Helper()
	wait(t, p, "document.querySelector(`"+selector+"`)")
	check(t, p.Click(selector))
}

func TestEverythingWorksWithoutScripts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	look := desk
	look.NoScript = true
	p := w.open(t, look, "schedules/report")
	submit(t, p, `form[action*="/pause"] button`)
	wait(t, p, `location.pathname.endsWith("/pause") && document.querySelector("h1")`)
	check(t, p.Click(`[name="note"]`))
	check(t, p.Press("by hand"))
	submit(t, p, `.ask button.primary`)
	wait(t, p, `location.pathname.endsWith("/schedules/report") && document.querySelector("main").innerText.includes("by hand")`)
	s, err := w.schedules.Get(t.Context(), "report")
	check(t, err)
	if s.State != chime.StatePaused {
		t.Errorf("the schedule is %s, want it paused", s.State)
	}

	check(t, p.Go(w.url+"jobs?state=dead&queue=mail"))
	check(t, p.Click(`input[name="id"]`))
	submit(t, p, `[data-bulk] button[value="delete"]`)
	wait(t, p, `document.querySelector("[data-exactly]")`)
	check(t, p.Click(`[data-exactly]`))
	check(t, p.Press("1"))
	submit(t, p, `.ask button.primary`)
	wait(t, p, `location.pathname.includes("/operations/")`) // opening the next page would cancel this navigation
	w.waitForDead(t, 3)

	check(t, p.Go(w.url+"search"))
	check(t, p.Click("#search"))
	check(t, p.Press("invoices"+Enter))
	wait(t, p, `document.querySelector("main").innerText.includes("invoices")`)
	unspoilt(t, "without scripts", p)
}

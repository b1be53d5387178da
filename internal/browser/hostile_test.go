package browser

import (
	"strings"
	"testing"
)

// A text in Redis is always shown as text, in every place, and never runs.
func TestHostileTextsAreShownAndNeverRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t, hostile)
	seen := ""
	for name, path := range shown(t, w) {
		p := w.open(t, desk, path)
		wait(t, p, `document.readyState === "complete"`)
		if name != "nothing" {
			unspoilt(t, name, p)
		}
		if n := eval[int](t, p, `document.querySelectorAll("main script, main img, [onerror]").length`); n != 0 {
			t.Errorf("%s: a text created %d elements", name, n)
		}
		if title := eval[string](t, p, "document.title"); name != "nothing" && !strings.Contains(title, "chime") {
			t.Errorf("%s: its title was cut off: %q", name, title)
		}
		text := eval[string](t, p, "document.body.innerText")
		for _, raw := range []string{"\x1b", "\u202e", "\u2066"} {
			if strings.Contains(text, raw) {
				t.Errorf("%s: %q is on the page without escapes", name, raw)
			}
		}
		seen += text
		p.Close()
	}
	for what, want := range map[string]string{
		"a schedule's name": "invoices", "an error": "refused", "a note": "until the move is over", "who paused": "anna",
	} {
		if !strings.Contains(seen, want+`"><script>alert(1)</script>`) {
			t.Errorf("%s: no page shows the whole text", what)
		}
	}

	job := w.open(t, desk, "jobs/mail/dead-0") // its arguments are shown on request
	check(t, job.Click(`form[action$="/reveal"] button`))
	wait(t, job, `document.body.innerText.includes("card")`)
	unspoilt(t, "revealed", job)
}

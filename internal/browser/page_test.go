package browser

import (
	_ "embed"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chimejobs/chime/internal/long"
)

//go:embed testdata/axe.min.js
var axe string

// shown are the pages, each with the pattern of its path and a path in a world. TestEveryLinkedPageIsLookedAt fails for a link without a pattern.
func shown(t *testing.T, w *world) map[string]string {
	t.Helper()
	paths := map[string]string{}
	for _, link := range crawl(t, w) {
		for name, pattern := range patterns {
			if pattern.MatchString(link) && (paths[name] == "" || link < paths[name]) {
				paths[name] = link
			}
		}
	}
	return paths
}

// patterns are the patterns of the pages' paths by name.
var patterns = map[string]*regexp.Regexp{
	"overview":      regexp.MustCompile(`^$`),
	"batches":       regexp.MustCompile(`^batches$`),
	"batch":         regexp.MustCompile(`^batches/[^/?]+$`),
	"calendar":      regexp.MustCompile(`^calendar$`),
	"failures":      regexp.MustCompile(`^failures$`),
	"failure":       regexp.MustCompile(`^failures/[^/?]+\?error=`),
	"kind":          regexp.MustCompile(`^kinds/[^/?]+$`),
	"problems":      regexp.MustCompile(`^problems$`),
	"find":          regexp.MustCompile(`^find$`),
	"jobs, waiting": regexp.MustCompile(`^jobs(\?state=waiting)?$`),
	"jobs, dead":    regexp.MustCompile(`^jobs\?state=dead$`),
	"jobs, parked":  regexp.MustCompile(`^jobs\?state=parked$`),
	"job":           regexp.MustCompile(`^jobs/[^/?]+/[^/?]+$`),
	"queues":        regexp.MustCompile(`^queues$`),
	"queue":         regexp.MustCompile(`^queues/[^/?]+$`),
	"schedules":     regexp.MustCompile(`^schedules$`),
	"new schedule":  regexp.MustCompile(`^schedules/new$`),
	"schedule":      regexp.MustCompile(`^schedules/[^/?]+$`),
	"a day":         regexp.MustCompile(`^schedules/[^/?]+\?day=[0-9-]+$`),
	"editor":        regexp.MustCompile(`^schedules/[^/?]+/edit$`),
	"editor, JSON":  regexp.MustCompile(`^schedules/[^/?]+/edit\?tab=json$`),
	"editor, cron":  regexp.MustCompile(`^schedules/[^/?]+/edit\?tab=cron$`),
	"workers":       regexp.MustCompile(`^workers$`),
	"worker":        regexp.MustCompile(`^workers/[^/?]+$`),
	"nothing":       regexp.MustCompile(`^no-such-page$`),
	"search":        regexp.MustCompile(`^search\?q=`),
}
var hrefPattern = regexp.MustCompile(`<a [^>]*href="([^"#]*)`)
var basePattern = regexp.MustCompile(`<base href="([^"]*)"`)

// crawl returns the paths of all pages to which links or buttons lead. It follows links without a query.
func crawl(t *testing.T, w *world) []string {
	t.Helper()
	found := map[string]bool{"": true, "no-such-page": true, "search?q=report": true, "schedules/report/edit?tab=json": true, "schedules/report/edit?tab=cron": true}
	queue := []string{""}
	for len(queue) > 0 && len(found) < 500 {
		path := queue[0]
		queue = queue[1:]
		text := w.get(t, path)
		base, err := url.Parse(w.url + path)
		check(t, err)
		if m := basePattern.FindStringSubmatch(text); m != nil {
			base, err = base.Parse(m[1])
			check(t, err)
		}
		for _, m := range hrefPattern.FindAllStringSubmatch(text, -1) {
			to, err := base.Parse(strings.ReplaceAll(m[1], "&amp;", "&"))
			check(t, err)
			link, ok := strings.CutPrefix(to.String(), w.url)
			if !ok || found[link] || strings.HasPrefix(link, "assets/") {
				continue
			}
			found[link] = true
			if !strings.Contains(link, "?") {
				queue = append(queue, link)
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

func TestEveryLinkedPageIsLookedAt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	for _, link := range crawl(t, w) {
		path, _, _ := strings.Cut(link, "?")
		known := slices.ContainsFunc(slices.Collect(maps.Values(patterns)), func(p *regexp.Regexp) bool { return p.MatchString(link) || p.MatchString(path) })
		if !known {
			t.Errorf("a link leads to %q, but no test opens it: add a pattern", link)
		}
	}
	paths := shown(t, w)
	for name := range patterns {
		if _, ok := paths[name]; !ok {
			t.Errorf("no link leads to the page %q", name)
		}
	}
}

// looks are the settings with which each page is opened. 320 pixels are 1280 at 400 %.
var looks = map[string]Look{
	"1440 light": {Width: 1440, Height: 900}, "1440 dark": {Width: 1440, Height: 900, Dark: true},
	"720 light": {Width: 720, Height: 900}, "720 dark": {Width: 720, Height: 900, Dark: true},
	"320 light": {Width: 320, Height: 640}, "320 dark": {Width: 320, Height: 640, Dark: true},
	"1280 at 400 %": {Width: 320, Height: 256, Scale: 4},
}

// violations returns the violations that axe finds, by the rules of WCAG 2.2 AA and its own rules of good practice.
const violations = `axe.run(document, {resultTypes: ["violations"], runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}).then((r) =>
	r.violations.flatMap((v) => v.nodes.map((n) => v.id + ": " + n.html.slice(0, 200) + " " + (n.any[0]?.message ?? ""))))`

// With a number in CHIME_SEEDS each page has the setting of a desk, and each of the other pairs of page and setting has one turn of eight.
func TestEveryPageSuitsEveryViewer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	for name, path := range shown(t, w) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := w.open(t, desk, path)
			for what, look := range looks {
				if what != "1440 light" && !long.Turn(name+", "+what) {
					continue
				}
				check(t, p.Look(look))
				check(t, p.Go(w.url+path))
				wait(t, p, `document.fonts.status === "loaded"`)
				if name != "nothing" {
					unspoilt(t, what, p)
				}
				if _, err := Eval[any](p, axe+"; true"); err != nil {
					t.Fatal(err)
				}
				for _, violation := range eval[[]string](t, p, violations) {
					t.Errorf("%s: %s", what, violation)
				}
				if wide := eval[string](t, p, wider); wide != "" {
					t.Errorf("%s: the page scrolls sideways: %s", what, wide)
				}
				p.Trouble() // discards the output of axe
			}
		})
	}
}

// wider returns the elements that are wider than a page that scrolls sideways.
const wider = `(() => { const root = document.documentElement; if (root.scrollWidth <= root.clientWidth) return "";
	return root.scrollWidth + " of " + root.clientWidth + ": " + [...document.querySelectorAll("main *, header *")].filter((e) => e.getBoundingClientRect().right > root.clientWidth + 1)
	.slice(0, 3).map((e) => e.outerHTML.slice(0, 120)).join(" | "); })()`

// Paper is white, whatever the viewer has chosen.
func TestPagesArePrintedInTheLightTheme(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	p := w.open(t, Look{Width: 1440, Height: 900, Dark: true}, "")
	const colours = `getComputedStyle(document.documentElement).color + " on " + getComputedStyle(document.documentElement).backgroundColor`
	const dark, light = "rgb(232, 235, 237) on rgb(15, 18, 20)", "rgb(22, 25, 28) on rgb(247, 247, 245)"
	for _, chosen := range []string{"", "dark"} {
		eval[bool](t, p, `(document.documentElement.dataset.theme = "`+chosen+`", true)`)
		for print, want := range map[bool]string{false: dark, true: light} {
			check(t, p.Look(Look{Width: 1440, Height: 900, Dark: true, Print: print}))
			if got := eval[string](t, p, colours); got != want {
				t.Errorf("theme %q, print %v: %s, want %s", chosen, print, got, want)
			}
		}
	}
}

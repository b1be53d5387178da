package main

import (
	"bytes"
	"image/png"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chimejobs/chime/internal/browser"
)

const docs = "../../../docs"

func TestThePicturesInTheDocsAreOfThesePages(t *testing.T) {
	all := open(t)
	got, err := all.signed()
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(filepath.Join(docs, "images", signatures))
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("pages have changed since docs/images was drawn; run go run ./internal/browser/shots\ngot  %s\nwant %s", got, want)
	}
	for _, s := range scenes {
		if s.shown == 0 {
			continue
		}
		for _, dark := range []bool{false, true} {
			picture, err := os.ReadFile(filepath.Join(docs, "images", s.shownFile(dark)))
			if err != nil {
				t.Error(err)
				continue
			}
			if size, err := png.DecodeConfig(bytes.NewReader(picture)); err != nil || size.Width != wide || size.Height > s.shown {
				t.Errorf("%s is %d by %d, %v: want %d by %d at most", s.shownFile(dark), size.Width, size.Height, err, wide, s.shown)
			}
		}
	}
}

// The docs show each stored picture.
func TestTheDocsShowThePictures(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join(docs, "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(docs, "dashboard.md"))
	if err != nil {
		t.Fatal(err)
	}
	shown := 0
	for _, s := range scenes {
		if s.shown == 0 {
			continue
		}
		shown++
		for _, dark := range []bool{false, true} {
			if file := "images/" + s.shownFile(dark); !bytes.Contains(readme, []byte(file)) && !bytes.Contains(page, []byte(file)) {
				t.Errorf("neither README.md nor docs/dashboard.md shows %s", file)
			}
		}
	}
	if shown != 3 {
		t.Errorf("%d pictures are stored, want 3", shown)
	}
}

// Two studios draw the same picture of the same page, byte for byte.
func TestAPictureIsTheSameTwice(t *testing.T) {
	for _, s := range scenes {
		if s.shown == 0 {
			continue
		}
		var pictures [][]byte
		for range 2 {
			studio, err := newStudio()
			if err != nil {
				t.Fatal(err)
			}
			picture, err := studio.shoot(s, looks[0].Look)
			studio.close()
			if err != nil {
				t.Fatal(err)
			}
			pictures = append(pictures, picture)
		}
		if !bytes.Equal(pictures[0], pictures[1]) {
			t.Errorf("%s has %d bytes, then %d", s.name, len(pictures[0]), len(pictures[1]))
		}
	}
}

// kind returns the kind of a page: its path without names. Lists of jobs also differ by state.
func kind(t *testing.T, path string) string {
	t.Helper()
	parsed, err := url.Parse(path)
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(parsed.EscapedPath(), "/")
	for i := 1; i < len(parts); i++ {
		if parts[i] != "edit" && parts[i] != "new" {
			parts[i] = "*"
		}
	}
	kind := strings.Join(parts, "/")
	for _, key := range []string{"state", "tab"} {
		value := parsed.Query().Get(key)
		if value != "" && value != "waiting" && !slices.Contains([]string{"failures", "find", "schedules"}, kind) {
			kind += " " + key + "=" + value
		}
	}
	return kind
}

func TestEveryPageHasAPicture(t *testing.T) {
	sites := open(t)
	pictured := map[string]bool{}
	for _, s := range scenes {
		if s.of == gone {
			continue
		}
		path, err := sites[s.of].address(s)
		if err != nil {
			t.Fatal(err)
		}
		pictured[kind(t, path)] = true
	}
	for _, of := range []string{"", importing} {
		found := map[string]string{} // one address for each kind of page
		for queue := []string{""}; len(queue) > 0; queue = queue[1:] {
			links, err := sites[of].links(queue[0])
			if err != nil {
				t.Fatal(err)
			}
			for _, link := range links {
				if k := kind(t, link); found[k] == "" {
					found[k] = link
					queue = append(queue, link)
				}
			}
		}
		if len(found) < 15 {
			t.Errorf("links lead to only %d kinds of pages: %q", len(found), slices.Sorted(maps.Keys(found)))
		}
		for kind, path := range found {
			if !pictured[kind] {
				t.Errorf("there is no picture of %q, such as %q", kind, path)
			}
		}
		if of == importing && found["batches/*"] == "" {
			t.Error("no link leads to the page of a batch")
		}
	}
}

// The picture in the docs answers a newcomer's question: why did invoices not run on 31 October?
func TestThePictureOfAScheduleShowsWhyItDidNotRun(t *testing.T) {
	studio, err := newStudio()
	if err != nil {
		t.Fatal(err)
	}
	defer studio.close()
	p, err := studio.chromium.Open(looks[0].Look)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	s := studio.sites[""]
	// From the overview to the failing schedule, and then to the day.
	if err := p.Go(s.url); err != nil {
		t.Fatal(err)
	}
	for _, step := range []string{"state=failing", "schedules/invoices", "day=2026-10-31"} {
		if err := p.Click(`main a[href*="` + step + `"]`); err != nil {
			t.Fatal(err)
		}
		if err := p.Wait(`location.href.includes("` + step + `") && document.readyState === "complete"`); err != nil {
			t.Fatal(err)
		}
	}
	said, err := browser.Eval[string](p, `document.getElementById("asked").innerText`)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"31 Oct", "dead", "smtp: dial tcp 10.0.0.7:587: connect: connection refused"} {
		if !strings.Contains(said, want) {
			t.Errorf("the day does not show %q, but:\n%s", want, said)
		}
	}
}

func open(t *testing.T) sites {
	t.Helper()
	all, err := openSites()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(all.close)
	return all
}

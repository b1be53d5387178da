// Command shots draws all pictures of the dashboard, from the real pages with a fixed story, and the picture of chime top. From the repository's root:
//
//	go run ./internal/browser/shots                  # into docs/images; the repository has only those that the docs show
//	go run ./internal/browser/shots -out /tmp/shots -only schedule
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/chimejobs/chime/internal/browser"
)

func main() {
	out := flag.String("out", filepath.FromSlash("docs/images"), "`folder` to write to")
	only := flag.String("only", "", "only the pictures whose names begin with `text`")
	flag.Parse()
	if err := run(*out, *only); err != nil {
		fmt.Fprintln(os.Stderr, "shots:", err)
		os.Exit(1)
	}
}

func run(out, only string) error {
	studio, err := newStudio()
	if err != nil {
		return err
	}
	defer studio.close()
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	written := 0
	for _, s := range scenes {
		if !strings.HasPrefix(s.name, only) {
			continue
		}
		for _, l := range looks {
			picture, err := studio.shoot(s, l.Look)
			if err != nil {
				return fmt.Errorf("%s, %s: %w", s.name, l.name, err)
			}
			if err := os.WriteFile(filepath.Join(out, s.file(l.name)), picture, 0o644); err != nil {
				return err
			}
			written++
			if s.shown == 0 || l.Width != wide {
				continue
			}
			if picture, err = top(picture, s.shown); err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(out, s.shownFile(l.Dark)), picture, 0o644); err != nil {
				return err
			}
			written++
		}
	}
	if only == "" {
		if err := drawTop(out); err != nil {
			return err
		}
		if err := sign(out); err != nil {
			return err
		}
		written++
	}
	fmt.Printf("%d pictures in %s\n", written, out)
	return nil
}

// The looks of each scene.
const wide, narrow = 1440, 390

var looks = []struct {
	name string
	browser.Look
}{
	{"1440-light", browser.Look{Width: wide, Height: 900, Zone: zone}},
	{"1440-dark", browser.Look{Width: wide, Height: 900, Zone: zone, Dark: true}},
	{"390-light", browser.Look{Width: narrow, Height: 844, Zone: zone}},
	{"390-dark", browser.Look{Width: narrow, Height: 844, Zone: zone, Dark: true}},
}

// file returns the name of a picture of a whole page. Such a picture is not in the repository.
func (s scene) file(look string) string { return "all-" + s.name + "-" + look + ".png" }

// shownFile returns the name of a picture that the docs show.
func (s scene) shownFile(dark bool) string {
	if dark {
		return "dashboard-" + s.name + "-dark.png"
	}
	return "dashboard-" + s.name + ".png"
}

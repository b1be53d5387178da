package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"image"
	"image/draw"
	"image/png"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/chimejobs/chime/internal/browser"
	"github.com/chimejobs/chime/internal/browser/story"
	"github.com/chimejobs/chime/redisstore"
)

// A studio has a browser and a dashboard of each store.
type studio struct {
	chromium *browser.Browser
	sites
}

// sites are the dashboards by the name of their store.
type sites map[string]*site

func openSites() (sites, error) {
	all := sites{}
	for name, open := range map[string]func() (*story.Store, error){"": story.Open, empty: story.Empty, gone: story.Empty, importing: story.Importing} {
		store, err := open()
		if err != nil {
			return nil, err
		}
		if name == gone {
			store.Stop()
		}
		if all[name], err = serve(store); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func (s sites) close() {
	for _, site := range s {
		site.close()
	}
}

func newStudio() (*studio, error) {
	redis.SetLogger(redisstore.ClientLogger(slog.New(slog.DiscardHandler))) // one of the stores does not answer
	all, err := openSites()
	if err != nil {
		return nil, err
	}
	chromium, err := browser.Start()
	if err != nil {
		all.close()
		return nil, err
	}
	return &studio{chromium, all}, nil
}

func (s *studio) close() {
	s.chromium.Close()
	s.sites.close()
}

// shoot draws the picture of a scene.
func (s *studio) shoot(scene scene, look browser.Look) ([]byte, error) {
	p, err := s.chromium.Open(look)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	if err := p.Freeze(story.At); err != nil {
		return nil, err
	}
	path, err := s.sites[scene.of].address(scene)
	if err != nil {
		return nil, err
	}
	for reads, tries := true, 0; reads && tries < 50; tries++ { // a page of many jobs may need several readings: on a busy machine even this one
		if err := p.Go(s.sites[scene.of].url + path); err != nil {
			return nil, err
		}
		if err := p.Wait(`document.fonts.status === "loaded" && document.readyState === "complete"`); err != nil {
			return nil, err
		}
		if reads, err = browser.Eval[bool](p, `/Reading…|At least /.test(document.body.textContent)`); err != nil {
			return nil, err
		}
	}
	if scene.do != nil {
		if err := scene.do(p); err != nil {
			return nil, err
		}
		return p.View() // a dialog is in the middle of the screen
	}
	return still(p.Shot)
}

// still takes pictures until two in a row are the same: on a busy machine the browser may not have painted all parts of a long page yet.
func still(shoot func() ([]byte, error)) ([]byte, error) {
	last, err := shoot()
	for range 20 {
		if err != nil {
			return nil, err
		}
		before := last
		if last, err = shoot(); bytes.Equal(before, last) {
			return last, err
		}
	}
	return nil, errors.New("the page does not come to rest: 20 pictures of it differ")
}

// top returns the upper part of a picture.
func top(picture []byte, height int) ([]byte, error) {
	all, err := png.Decode(bytes.NewReader(picture))
	if err != nil {
		return nil, err
	}
	part := image.NewRGBA(image.Rect(0, 0, all.Bounds().Dx(), min(height, all.Bounds().Dy())))
	draw.Draw(part, part.Bounds(), all, all.Bounds().Min, draw.Src)
	var out bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	if err := encoder.Encode(&out, part); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// signatures is the name of the file with the hashes of the pages in the docs' pictures. Pages are compared and not pictures, because two versions of a
// browser draw different pictures of the same page.
const signatures = "dashboard.sum"

// sign writes it from sites that no viewer has opened yet, because a polled site has more rates.
func sign(out string) error {
	fresh, err := openSites()
	if err != nil {
		return err
	}
	defer fresh.close()
	text, err := fresh.signed()
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(out, signatures), []byte(text), 0o644)
}

// signed returns a line for each picture in the docs: the hash of its page. The page's links contain the hashes of its styles and scripts.
func (s sites) signed() (string, error) {
	var text strings.Builder
	for _, scene := range scenes {
		if scene.shown == 0 {
			continue
		}
		page, err := s[scene.of].get(scene.path)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&text, "%x %s\n", sha256.Sum256(page), scene.shownFile(false))
	}
	return text.String(), nil
}

// drawTop runs the command's module to draw chime top, because no other module may import its internal packages.
func drawTop(out string) error {
	absolute, err := filepath.Abs(filepath.Join(out, "top.svg"))
	if err != nil {
		return err
	}
	draw := exec.Command("go", "run", "./internal/top/picture", "-out", absolute)
	draw.Dir = filepath.FromSlash("cmd/chime")
	if said, err := draw.CombinedOutput(); err != nil {
		return fmt.Errorf("chime top: %w: %s", err, said)
	}
	return nil
}

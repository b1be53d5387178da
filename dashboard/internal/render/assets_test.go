package render

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func get(method, path, accept string) (*httptest.ResponseRecorder, bool) {
	r := httptest.NewRequest(method, "/"+path, nil)
	r.Header.Set("Accept-Encoding", accept)
	w := httptest.NewRecorder()
	return w, ServeAsset(w, r, path)
}

func TestAnAssetMayBeKeptForEver(t *testing.T) {
	for name, a := range assets {
		if a.kind == "" {
			t.Errorf("%s has no content type", name)
		}
		w, ok := get(http.MethodGet, assetPath(name), "br, gzip;q=0.8")
		header := w.Result().Header
		if !ok || w.Code != http.StatusOK || header.Get("Content-Type") != a.kind || header.Get("X-Content-Type-Options") != "nosniff" ||
			header.Get("Cache-Control") != "public, max-age=31536000, immutable" || header.Get("Content-Length") != strconv.Itoa(w.Body.Len()) {
			t.Errorf("the response to %s is %d %v", name, w.Code, header)
		}
		text := w.Body.Bytes()
		if zipped := header.Get("Content-Encoding") == "gzip"; zipped != !strings.HasSuffix(name, ".woff2") {
			t.Errorf("%s is compressed: %v", name, zipped)
		} else if zipped {
			reader, err := gzip.NewReader(bytes.NewReader(text))
			if err != nil {
				t.Fatal(err)
			}
			if text, err = io.ReadAll(reader); err != nil {
				t.Fatal(err)
			}
		}
		for _, accept := range []string{"", "br", "gzip;q=0", "gzip; q=0.0"} {
			if w, _ := get(http.MethodGet, assetPath(name), accept); w.Header().Get("Content-Encoding") != "" || !bytes.Equal(w.Body.Bytes(), text) {
				t.Errorf("%s is not sent uncompressed to a browser that accepts %q", name, accept)
			}
		}
	}
}

func TestOtherAddressesBelowAssets(t *testing.T) {
	for _, c := range []struct {
		method, path, cache string
		status              int
	}{
		{http.MethodGet, "assets/000000000000/app.css", "no-store", http.StatusOK}, // an address of another release
		{http.MethodHead, assetPath("app.css"), "public, max-age=31536000, immutable", http.StatusOK},
		{http.MethodPost, assetPath("app.css"), "", http.StatusMethodNotAllowed},
		{http.MethodGet, "assets/", "", http.StatusNotFound},
		{http.MethodGet, assetPath(""), "", http.StatusNotFound},
		{http.MethodGet, assetPath("../render.go"), "", http.StatusNotFound},
	} {
		w, ok := get(c.method, c.path, "")
		if !ok || w.Code != c.status || w.Header().Get("Cache-Control") != c.cache {
			t.Errorf("the response to %s %s is %d, %q, want %d, %q", c.method, c.path, w.Code, w.Header().Get("Cache-Control"), c.status, c.cache)
		}
	}
	if _, ok := get(http.MethodGet, "schedules", ""); ok {
		t.Error("the path of a page is served as an asset")
	}
}

func TestAssetsAreSmall(t *testing.T) {
	lines, sent, most := 0, 0, 0 // sent: with every page
	for name, a := range assets {
		if !strings.HasSuffix(name, ".js") {
			continue
		}
		if slices.Contains(slices.Collect(maps.Values(scripts)), name) {
			most = max(most, len(a.plain))
		} else if name != "sheet.js" { // it is loaded by a key

			sent += len(a.plain)
		}
		if name == "idiomorph.js" {
			continue
		}
		text, err := assetFiles.ReadFile("assets/" + name)
		if err != nil {
			t.Fatal(err)
		}
		lines += bytes.Count(text, []byte("\n"))
		if !bytes.HasPrefix(text, []byte("// "+name+": ")) {
			t.Errorf("%s does not begin with its purpose", name)
		}
		for line := range strings.Lines(string(text)) {
			if strings.Count(line, "`")%2 != 0 {
				t.Errorf("%s has a string of several lines, and slim would change it: %s", name, line)
			}
		}
	}
	if lines > 630 || sent+most >= 30_000 {
		t.Errorf("the scripts have %d lines, and those of a page %d bytes before they are compressed, want at most 630 and fewer than 30,000", lines, sent+most)
	}
	css := assets["app.css"].plain
	if n := bytes.Count(css, []byte("\n")); n > 700 || len(css) > 25_000 {
		t.Errorf("app.css has %d lines and %d bytes, want at most 700 and 25,000", n, len(css))
	}
}

// Idiomorph is the unchanged release of its authors. This test makes an update visible.
func TestIdiomorphIsAsReleased(t *testing.T) {
	sum := sha256.Sum256(assets["idiomorph.js"].plain)
	const want = "4cbd535caf7663a51eda9bce6595371c384fc430d54b8d414e29a61167f19f96"
	if got := hex.EncodeToString(sum[:]); got != want {
		t.Errorf("idiomorph.js has the SHA-256 %s, want %s of release 0.8.0", got, want)
	}
}

// The policy forbids inline styles and scripts. They would have no effect, or would look like an attack.
func TestTemplatesHaveNoStylesAndNoScripts(t *testing.T) {
	forbidden := regexp.MustCompile(`(?i)\sstyle\s*=|<style|\son[a-z]+\s*=|javascript:|<script[^>]*>[^<]|https?://|href="#|action="["?#]`)
	used := regexp.MustCompile(`\{\{-?\s*icon "([^"]*)"`)
	files, err := os.ReadDir("templates")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile("templates/" + file.Name())
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range forbidden.FindAll(text, -1) {
			t.Errorf("templates/%s has %q", file.Name(), found)
		}
		for _, name := range used.FindAllSubmatch(text, -1) {
			if _, err := icon(string(name[1])); err != nil {
				t.Errorf("templates/%s: %v", file.Name(), err)
			}
		}
	}
	for _, item := range rail {
		if _, err := icon(item.Icon); err != nil {
			t.Error(err)
		}
	}
	for word, l := range looks {
		if _, err := icon(l.icon); err != nil {
			t.Errorf("%s: %v", word, err)
		}
	}
	for name, a := range assets {
		if strings.HasSuffix(name, ".js") && name != "idiomorph.js" && regexp.MustCompile(`innerHTML\s*=|insertAdjacentHTML|document\.write|eval\(|\.style\b`).Match(a.plain) {
			t.Errorf("%s creates elements from a text, or styles them, by itself", name)
		}
	}
}

func TestColoursCanBeRead(t *testing.T) {
	css := string(assets["app.css"].plain)
	pairs := regexp.MustCompile(`--([a-z0-9-]+): ?light-dark\(#([0-9a-f]{6}), ?#([0-9a-f]{6})\)`).FindAllStringSubmatch(css, -1)
	if len(pairs) < 14 {
		t.Fatalf("app.css has %d colours of two themes, want 14 at least", len(pairs))
	}
	for i, theme := range []string{"light", "dark"} {
		tokens := map[string]float64{}
		for _, pair := range pairs {
			tokens[pair[1]] = luminance(t, pair[2+i])
		}
		for token, least := range map[string]float64{
			"ink": 5.3, "ink-2": 5.3, "accent": 5.3, "ok": 5.3, "run": 5.3, "late": 5.3, "fail": 5.3, "paused": 5.3, "off": 5.3, "edge": 3,
		} {
			for _, ground := range []string{"paper", "panel"} {
				if got := math.Round(contrast(tokens[token], tokens[ground])*10) / 10; got < least {
					t.Errorf("%s: --%s on --%s has the contrast %.1f, want %.1f at least", theme, token, ground, got, least)
				}
			}
		}
		for _, ground := range []string{"accent", "fail"} {
			if got := contrast(tokens["on-accent"], tokens[ground]); got < 4.5 {
				t.Errorf("%s: --on-accent on --%s has the contrast %.2f, want 4.5 at least", theme, ground, got)
			}
		}
	}
}

// luminance returns the relative luminance of WCAG 2.2.
func luminance(t *testing.T, hexadecimal string) float64 {
	t.Helper()
	colour, err := hex.DecodeString(hexadecimal)
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for i, weight := range []float64{.2126, .7152, .0722} {
		c := float64(colour[i]) / 255
		if c <= .04045 {
			c /= 12.92
		} else {
			c = math.Pow((c+.055)/1.055, 2.4)
		}
		sum += weight * c
	}
	return sum
}

func contrast(a, b float64) float64 { return (max(a, b) + .05) / (min(a, b) + .05) }

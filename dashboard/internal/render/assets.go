package render

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"

	"github.com/chimejobs/chime/internal/svg"
)

//go:embed assets/*
var assetFiles embed.FS

// An asset is a file that pages refer to.
type asset struct {
	kind   string
	plain  []byte
	zipped []byte // nil: compression does not make it smaller
}

// assets has all assets by name, and version is a hash of them. Their addresses contain the hash, so the content of an address never changes.
var assets, version = readAssets()

// idiomorph is a script that is sent unchanged.
const idiomorph = "idiomorph.js"

// contentTypes are the content types of the assets, so that none is guessed.
var contentTypes = map[string]string{
	".css":   "text/css; charset=utf-8",
	".js":    "text/javascript; charset=utf-8",
	".svg":   "image/svg+xml",
	".txt":   "text/plain; charset=utf-8", // licences, which accompany the files
	".woff2": "font/woff2",
}

// iconColors are the colours of the icon in a browser's tab, by the environment's colour; "": no environment is named.
var iconColors = map[string]string{"": "#3a50c2", "red": "#b8242a", "orange": "#8f5200", "green": "#17733f", "blue": "#0b66aa", "violet": "#6f4fa8", "grey": "#5f686f"}

// iconName returns the name of the icon in a colour.
func iconName(color string) string {
	if color == "" {
		return "icon.svg"
	}
	return "icon-" + color + ".svg"
}

func readAssets() (map[string]*asset, string) {
	files, err := assetFiles.ReadDir("assets")
	if err != nil {
		panic(err) // the files are part of the program
	}
	all, hash := make(map[string]*asset, len(files)), sha256.New()
	for _, file := range files {
		text, err := assetFiles.ReadFile(path.Join("assets", file.Name()))
		if err != nil {
			panic(err)
		}
		switch {
		case file.Name() == "app.css":
			text = slimStyle(append(text, svg.CSS...))
		case path.Ext(file.Name()) == ".js" && file.Name() != idiomorph:
			text = slim(text)
		}
		all[file.Name()] = &asset{kind: contentTypes[path.Ext(file.Name())], plain: text}
		io.WriteString(hash, file.Name()+"\n"+strconv.Itoa(len(text))+"\n")
		hash.Write(text)
		if file.Name() == "icon.svg" {
			for color, rgb := range iconColors {
				all[iconName(color)] = &asset{kind: contentTypes[".svg"], plain: bytes.ReplaceAll(text, []byte(iconColors[""]), []byte(rgb))}
			}
		}
	}
	return all, hex.EncodeToString(hash.Sum(nil))[:12]
}

// zipAssets compresses the texts when one is requested for the first time.
var zipAssets = sync.OnceFunc(func() {
	for name, a := range assets {
		if path.Ext(name) == ".woff2" {
			continue // it is already compressed
		}
		var zipped bytes.Buffer
		w, _ := gzip.NewWriterLevel(&zipped, gzip.BestCompression)
		w.Write(a.plain) // writing to a buffer does not fail
		w.Close()
		a.zipped = zipped.Bytes()
	}
})

// Version is the version of the assets. A page that was rendered with another version should be loaded again.
func Version() string { return version }

// assetPath returns the path of an asset, relative to where the dashboard is mounted.
func assetPath(name string) string { return "assets/" + version + "/" + name }

// ServeAsset serves paths below assets/, relative to where the dashboard is mounted. An asset may be cached without a limit. While a new release is
// rolled out, an asset may be requested by another version's address. The response then has the current asset, and must not be cached.
func ServeAsset(w http.ResponseWriter, r *http.Request, escapedPath string) bool {
	rest, ok := strings.CutPrefix(escapedPath, "assets/")
	if !ok {
		return false
	}
	hash, name, _ := strings.Cut(rest, "/")
	a := assets[name]
	header := w.Header()
	switch {
	case a == nil:
		http.Error(w, "This asset does not exist.", http.StatusNotFound)
		return true
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		header.Set("Allow", "GET, HEAD")
		http.Error(w, "Assets can only be read.", http.StatusMethodNotAllowed)
		return true
	}
	header.Set("Cache-Control", "no-store")
	if hash == version {
		header.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	header.Set("Content-Type", a.kind)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Vary", "Accept-Encoding")
	zipAssets()
	text := a.plain
	if a.zipped != nil && AcceptsGzip(r) {
		header.Set("Content-Encoding", "gzip")
		text = a.zipped
	}
	header.Set("Content-Length", strconv.Itoa(len(text)))
	if r.Method == http.MethodGet {
		_, _ = w.Write(text) // ignored: the viewer may have gone
	}
	return true
}

// AcceptsGzip reports whether a request's Accept-Encoding has gzip with a weight above 0.
func AcceptsGzip(r *http.Request) bool {
	for part := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		coding, weight, _ := strings.Cut(strings.TrimSpace(part), ";")
		if strings.EqualFold(strings.TrimSpace(coding), "gzip") {
			_, q, _ := strings.Cut(weight, "=")
			return strings.Trim(q, "0. ") != "" || q == ""
		}
	}
	return false
}

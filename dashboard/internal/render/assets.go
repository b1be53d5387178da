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
	"slices"
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
	zipped []byte // nil: it is not made smaller by it
}

// assets are all of them by name, and version is a hash of them, which is in their addresses: what is at an address never changes.
var assets, version = readAssets()

// contentTypes are those of the assets: nothing is guessed.
var contentTypes = map[string]string{
	".css":   "text/css; charset=utf-8",
	".js":    "text/javascript; charset=utf-8",
	".svg":   "image/svg+xml",
	".txt":   "text/plain; charset=utf-8", // licences, which go wherever the files go
	".woff2": "font/woff2",
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
			text = append(text, svg.CSS...)
		case path.Ext(file.Name()) == ".js":
			text = slim(text)
		}
		all[file.Name()] = &asset{kind: contentTypes[path.Ext(file.Name())], plain: text}
		io.WriteString(hash, file.Name()+"\n"+strconv.Itoa(len(text))+"\n")
		hash.Write(text)
	}
	return all, hex.EncodeToString(hash.Sum(nil))[:12]
}

// slim leaves out of a script the comments, and what its lines are indented by: a fifth of it. No string of it has several lines, or " // " in it.
func slim(script []byte) []byte {
	var slimmed bytes.Buffer
	for line := range bytes.Lines(script) {
		line = bytes.TrimLeft(line, " ")
		if code, _, found := bytes.Cut(line, []byte(" // ")); found && !bytes.HasPrefix(line, []byte("//")) {
			line = append(slices.Clone(code), '\n')
		}
		if !bytes.HasPrefix(line, []byte("//")) && len(bytes.TrimSpace(line)) > 0 {
			slimmed.Write(line)
		}
	}
	return slimmed.Bytes()
}

// zipAssets compresses the texts, the first time that one is asked for.
var zipAssets = sync.OnceFunc(func() {
	for name, a := range assets {
		if path.Ext(name) == ".woff2" {
			continue // compressed as it is
		}
		var zipped bytes.Buffer
		w, _ := gzip.NewWriterLevel(&zipped, gzip.BestCompression)
		w.Write(a.plain) // a buffer takes all
		w.Close()
		a.zipped = zipped.Bytes()
	}
})

// Version names the assets. A page that was rendered with another one should be loaded again.
func Version() string { return version }

// assetPath is where an asset is, relative to where the dashboard is mounted.
func assetPath(name string) string { return "assets/" + version + "/" + name }

// ServeAsset answers if a path, relative to where the dashboard is mounted, is below assets/. An asset may be kept for ever. One that is asked for by
// another version's address, as while a new release is rolled out, is answered with what there is, and may not be kept.
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
		http.Error(w, "There is no such asset.", http.StatusNotFound)
		return true
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		header.Set("Allow", "GET, HEAD")
		http.Error(w, "Assets can be read only.", http.StatusMethodNotAllowed)
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
	if a.zipped != nil && acceptsGzip(r.Header.Get("Accept-Encoding")) {
		header.Set("Content-Encoding", "gzip")
		text = a.zipped
	}
	header.Set("Content-Length", strconv.Itoa(len(text)))
	if r.Method == http.MethodGet {
		_, _ = w.Write(text) // a viewer who has gone needs nothing
	}
	return true
}

// acceptsGzip reports whether an Accept-Encoding has gzip, and not with the weight 0.
func acceptsGzip(header string) bool {
	for part := range strings.SplitSeq(header, ",") {
		coding, weight, _ := strings.Cut(strings.TrimSpace(part), ";")
		if strings.EqualFold(strings.TrimSpace(coding), "gzip") {
			_, q, _ := strings.Cut(weight, "=")
			return strings.Trim(q, "0. ") != "" || q == ""
		}
	}
	return false
}

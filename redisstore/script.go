package redisstore

import (
	"crypto/sha1"
	"embed"
	"encoding/hex"
	"io/fs"
	"path"
	"strings"
)

//go:embed scripts/*.lua scripts/*/*.lua
var scripts embed.FS

// A script is one of scripts/*.lua; its line `-- uses: piece …` is replaced by the text of these pieces, files of scripts/lib. A long
// one goes on in sections, which share its locals: its line `-- then: section` is replaced by the text of a file of the folder of its name.
// The text is constant: data is passed in ARGV only, names of keys in KEYS only.
type script struct {
	name, text, sha string
}

func load(name string) script {
	text := assemble(name)
	sum := sha1.Sum([]byte(text))
	return script{name: name, text: text, sha: hex.EncodeToString(sum[:])}
}

// usesMark begins a line that names pieces.
const usesMark = "-- uses: "

// assemble returns the text of a script with its pieces in it.
func assemble(name string) string {
	return replaceLines(withSections(name), usesMark, func(names string) string {
		var pieces strings.Builder
		for piece := range strings.FieldsSeq(names) {
			pieces.WriteString(read("scripts/lib/" + piece + ".lua"))
		}
		return pieces.String()
	})
}

// withSections returns the text of a script with its sections in it.
func withSections(name string) string {
	return replaceLines(read("scripts/"+name+".lua"), "-- then: ", func(section string) string {
		return read("scripts/" + name + "/" + section + ".lua")
	})
}

// replaceLines returns a text in which the lines that begin with a mark, behind any spaces, are replaced by what a function makes of the rest
// of the line. Every process does this for all scripts when it starts: a regular expression would double the time of that.
func replaceLines(text, mark string, replace func(rest string) string) string {
	var replaced strings.Builder
	for line := range strings.Lines(text) {
		rest, found := strings.CutPrefix(strings.TrimLeft(line, " "), mark)
		if !found {
			replaced.WriteString(line)
			continue
		}
		rest, ended := strings.CutSuffix(rest, "\n")
		replaced.WriteString(replace(rest))
		if ended {
			replaced.WriteByte('\n')
		}
	}
	return replaced.String()
}

func read(file string) string {
	text, err := scripts.ReadFile(file)
	if err != nil {
		panic("redisstore: " + err.Error())
	}
	return string(text)
}

// scriptNames returns the names of all scripts, in order.
func scriptNames() []string {
	files, err := fs.Glob(scripts, "scripts/*.lua")
	if err != nil {
		panic("redisstore: " + err.Error())
	}
	for i, file := range files {
		files[i] = strings.TrimSuffix(path.Base(file), ".lua")
	}
	return files
}

// Scripts returns the text of every script, to load them ahead or to find them by their SHA-1 in a log of the server.
func Scripts() []string {
	texts := scriptNames()
	for i, name := range texts {
		texts[i] = assemble(name)
	}
	return texts
}

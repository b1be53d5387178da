// Package script assembles the scripts of a server from their source files, and finds the file and the line to which an error of the
// server refers.
//
// A library is a tree of files: <noun>/<script>.lua, with the pieces that scripts share in lib/<piece>.lua. A script's line
// `-- uses: piece …` is replaced by the text of these pieces. A long script continues in sections, which share its locals: its line
// `-- then: section` is replaced by the text of <noun>/<script>/<section>.lua.
package script

import (
	"crypto/sha1"
	"encoding/hex"
	"io/fs"
	"strings"
)

// A Library has scripts. New creates one.
type Library struct{ files fs.FS }

// New returns the library of the files in a folder of a tree. A file that is missing later is an error of the program: the calls panic.
func New(tree fs.FS, folder string) Library {
	files, err := fs.Sub(tree, folder)
	if err != nil {
		panic("redisstore: " + err.Error())
	}
	return Library{files}
}

// A Script is a constant text that the server runs: data is passed in ARGV only, key names in KEYS only.
type Script struct {
	Name string // <noun>/<verb>
	Text string // as it is sent
	SHA  string // SHA-1 of Text; the server identifies the script by it

	library Library
}

// Load returns a script by its name. Every process loads all scripts when it starts; a regular expression would double the time for
// that.
func (l Library) Load(name string) Script {
	text := l.text(name)
	sum := sha1.Sum([]byte(text))
	return Script{Name: name, Text: text, SHA: hex.EncodeToString(sum[:]), library: l}
}

// Names returns the names of all scripts, in order.
func (l Library) Names() []string {
	files, err := fs.Glob(l.files, "*/*.lua")
	if err != nil {
		panic("redisstore: " + err.Error())
	}
	names := files[:0]
	for _, file := range files {
		if !strings.HasPrefix(file, "lib/") {
			names = append(names, strings.TrimSuffix(file, ".lua"))
		}
	}
	return names
}

// Texts returns the texts of all scripts, in the order of their names.
func (l Library) Texts() []string {
	texts := l.Names()
	for i, name := range texts {
		texts[i] = l.text(name)
	}
	return texts
}

func (l Library) text(name string) string {
	var text strings.Builder
	for _, part := range l.Parts(name) {
		text.WriteString(part.Text)
	}
	return text.String()
}

// A Part is a run of lines in the text of a script, with its origin.
type Part struct {
	File string // in the library
	Line int    // of File, the first one, from 1
	Text string
}

// The beginning, after spaces, of a line that names pieces or a section.
const (
	usesMark = "-- uses: "
	thenMark = "-- then: "
)

// Parts returns the parts that form the text of a script, in order.
func (l Library) Parts(name string) []Part {
	return l.append(nil, name+".lua", name)
}

// append appends the parts of a file of a script.
func (l Library) append(parts []Part, file, script string) []Part {
	text := l.read(file)
	line, first := 1, 1 // the current line; the first line that is not appended yet
	begin, at := 0, 0
	for whole := range strings.Lines(text) {
		trimmed := strings.TrimLeft(strings.TrimSuffix(whole, "\n"), " ")
		pieces, uses := strings.CutPrefix(trimmed, usesMark)
		section, then := strings.CutPrefix(trimmed, thenMark)
		if uses || then {
			parts = append(parts, Part{file, first, text[begin:at]})
			begin, first = at+len(strings.TrimSuffix(whole, "\n")), line // keeps the end of the line
		}
		switch {
		case uses:
			for piece := range strings.FieldsSeq(pieces) {
				piece = "lib/" + piece + ".lua"
				parts = append(parts, Part{piece, 1, l.read(piece)})
			}
		case then:
			parts = l.append(parts, script+"/"+section+".lua", script)
		}
		at, line = at+len(whole), line+1
	}
	return append(parts, Part{file, first, text[begin:]})
}

func (l Library) read(file string) string {
	text, err := fs.ReadFile(l.files, file)
	if err != nil {
		panic("redisstore: " + err.Error())
	}
	return string(text)
}

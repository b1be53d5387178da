// Package script puts the scripts of a server together from the files that they are written in, and finds the file and the line that an
// error of the server speaks of.
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

// A Library has scripts. New makes one.
type Library struct{ files fs.FS }

// New returns the library whose files are in a folder of a tree. A file that it lacks later is an error of the program: the calls panic.
func New(tree fs.FS, folder string) Library {
	files, err := fs.Sub(tree, folder)
	if err != nil {
		panic("redisstore: " + err.Error())
	}
	return Library{files}
}

// A Script is a constant text that the server runs: data is passed in ARGV only, names of keys in KEYS only.
type Script struct {
	Name string // <noun>/<verb>
	Text string // as it is sent
	SHA  string // SHA-1 of Text, by which the server knows it

	library Library
}

// Load returns a script by its name. Every process does this for all scripts when it starts: a regular expression would double the
// time of that.
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

// A Part is a run of lines in the text of a script: where it comes from, and what it is.
type Part struct {
	File string // in the library
	Line int    // of File, the first one, from 1
	Text string
}

// What a line begins with, behind any spaces, that names pieces or a section.
const (
	usesMark = "-- uses: "
	thenMark = "-- then: "
)

// Parts returns what the text of a script is put together from, in order.
func (l Library) Parts(name string) []Part {
	return l.append(nil, name+".lua", name)
}

// append appends the parts of a file of a script.
func (l Library) append(parts []Part, file, script string) []Part {
	text := l.read(file)
	line, first := 1, 1 // the line at hand; the first one of what is not appended yet
	begin, at := 0, 0
	for whole := range strings.Lines(text) {
		trimmed := strings.TrimLeft(strings.TrimSuffix(whole, "\n"), " ")
		pieces, uses := strings.CutPrefix(trimmed, usesMark)
		section, then := strings.CutPrefix(trimmed, thenMark)
		if uses || then {
			parts = append(parts, Part{file, first, text[begin:at]})
			begin, first = at+len(strings.TrimSuffix(whole, "\n")), line // the end of the line stays
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

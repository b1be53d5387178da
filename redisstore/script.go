package redisstore

import (
	"crypto/sha1"
	"embed"
	"encoding/hex"
	"path"
	"regexp"
	"strings"
)

//go:embed scripts/*.lua scripts/lib/*.lua
var scripts embed.FS

// A script is one of scripts/*.lua; where it says `-- uses: piece …` those pieces of scripts/lib stand in its text.
// The text is constant: data travels in ARGV only, names of keys in KEYS only.
type script struct {
	name, text, sha string
}

var usesLine = regexp.MustCompile(`(?m)^ *-- uses: (.+)$`)

func load(name string) script {
	text := usesLine.ReplaceAllStringFunc(read("scripts/"+name+".lua"), func(line string) string {
		var pieces strings.Builder
		for piece := range strings.FieldsSeq(usesLine.FindStringSubmatch(line)[1]) {
			pieces.WriteString(read("scripts/lib/" + piece + ".lua"))
		}
		return pieces.String()
	})
	sum := sha1.Sum([]byte(text))
	return script{name: name, text: text, sha: hex.EncodeToString(sum[:])}
}

func read(file string) string {
	text, err := scripts.ReadFile(path.Clean(file))
	if err != nil {
		panic("redisstore: " + err.Error())
	}
	return string(text)
}

// Scripts returns the text of every script, to load them ahead or to look them up in a log of the server by their SHA-1.
func Scripts() []string {
	all := []script{
		abdicateScript, announceScript, arriveScript, closeScript, declareScript, departScript, departedScript, enqueueScript, extendScript,
		leadScript, leaveScript, lookScript, owedScript, pauseScript, placeScript, postponeScript, queueScript, reapScript,
		registerScript, registryScript, removeScript, sweepScript, workScript,
	}
	texts := make([]string, len(all))
	for i, s := range all {
		texts[i] = s.text
	}
	return texts
}

package redisstore

import (
	"embed"

	"github.com/chimejobs/chime/redisstore/internal/script"
)

//go:embed scripts
var files embed.FS

// scripts has the scripts of the folder with that name.
var scripts = script.New(files, "scripts")

// Scripts returns the text of every script, to load them in advance or to find one by its SHA-1 in a log of the server.
func Scripts() []string { return scripts.Texts() }

package redisstore

import (
	"embed"

	"github.com/chimejobs/chime/redisstore/internal/script"
)

//go:embed scripts
var files embed.FS

// scripts are those of the folder of that name.
var scripts = script.New(files, "scripts")

// Scripts returns the text of every script, to load them ahead or to find them by their SHA-1 in a log of the server.
func Scripts() []string { return scripts.Texts() }

// Command picture draws chime top for the docs: the real screen with a fixed story. In the folder of the command chime:
//
//	go run ./internal/top/picture
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/chimejobs/chime/cmd/chime/internal/top"
	"github.com/chimejobs/chime/cmd/chime/internal/top/story"
)

// The size of the drawn screen.
const columns, lines = 132, 30

func main() {
	out := flag.String("out", filepath.FromSlash("../../docs/images/top.svg"), "`file` to write")
	flag.Parse()
	if err := os.WriteFile(*out, picture(), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, "picture:", err)
		os.Exit(1)
	}
}

// picture returns the same bytes each time.
func picture() []byte {
	const title = "chime top: queues, what runs next and now, failures of the last hour, workers"
	return draw(title, story.Model(columns, lines, top.Options{}).View().Content)
}

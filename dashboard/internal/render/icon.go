package render

import (
	"embed"
	"fmt"
	"html/template"
	"path"
	"strings"
)

// The icons are unchanged files of Lucide 1.62.0.
//
//go:embed icons/*.svg
var iconFiles embed.FS

// icons has the elements for a page, by name. They are only decoration: each is next to a word, or in a button with a name.
var icons = readIcons()

func readIcons() map[string]template.HTML {
	files, err := iconFiles.ReadDir("icons")
	if err != nil {
		panic(err) // the files are part of the program
	}
	all := make(map[string]template.HTML, len(files))
	for _, file := range files {
		text, err := iconFiles.ReadFile(path.Join("icons", file.Name()))
		if err != nil {
			panic(err)
		}
		_, element, _ := strings.Cut(string(text), "<svg")
		_, inside, _ := strings.Cut(element, ">")
		inside, _, _ = strings.Cut(inside, "</svg>")
		all[strings.TrimSuffix(file.Name(), ".svg")] = template.HTML(`<svg class="icon" viewBox="0 0 24 24" width="16" height="16" aria-hidden="true">` +
			strings.Join(strings.Fields(inside), " ") + `</svg>`)
	}
	return all
}

func icon(name string) (template.HTML, error) {
	element, ok := icons[name]
	if !ok {
		return "", fmt.Errorf("there is no icon %q", name)
	}
	return element, nil
}

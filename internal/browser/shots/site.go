package main

import (
	"fmt"
	"html"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"time"
	_ "time/tzdata" // the story is shown in the zone of Berlin

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/dashboard"
	"github.com/chimejobs/chime/internal/browser/story"
)

// zone is the zone of the company and of the viewer.
const zone = "Europe/Berlin"

// A site is the dashboard of a store for a viewer with all rights.
type site struct {
	url    string // with a slash at its end
	pages  *dashboard.Dashboard
	server *httptest.Server
}

func serve(store chime.Store) (*site, error) {
	berlin, err := time.LoadLocation(zone)
	if err != nil {
		return nil, err
	}
	pages := dashboard.New(store, dashboard.Options{
		Prefix: "/chime", Title: story.Namespace, Zone: berlin, Write: true, Logger: slog.New(slog.DiscardHandler),
		Authorize: func(r *http.Request) (dashboard.Viewer, error) {
			return dashboard.Viewer{Name: "anna", Rights: dashboard.View | dashboard.Operate | dashboard.Edit | dashboard.Delete | dashboard.Reveal}, nil
		},
	})
	server := httptest.NewServer(pages)
	return &site{server.URL + "/chime/", pages, server}, nil
}

// get returns a page as the server sends it.
func (s *site) get(path string) ([]byte, error) {
	answer, err := s.server.Client().Get(s.url + path)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	switch answer.StatusCode {
	case http.StatusOK:
		return io.ReadAll(answer.Body)
	case http.StatusTooManyRequests:
		time.Sleep(time.Second) // the wait that the rate limit requires
		return s.get(path)
	}
	return nil, fmt.Errorf("%s: %s", path, answer.Status)
}

var (
	hrefPattern = regexp.MustCompile(`<a [^>]*href="([^"#]*)`)
	basePattern = regexp.MustCompile(`<base href="([^"]*)"`)
)

// links returns the addresses within the site to which a page links.
func (s *site) links(path string) (all []string, err error) {
	text, err := s.get(path)
	if err != nil {
		return nil, err
	}
	base, err := url.Parse(s.url + path)
	if err != nil {
		return nil, err
	}
	if m := basePattern.FindSubmatch(text); m != nil {
		if base, err = base.Parse(string(m[1])); err != nil {
			return nil, err
		}
	}
	for _, m := range hrefPattern.FindAllSubmatch(text, -1) {
		to, err := base.Parse(html.UnescapeString(string(m[1])))
		if err != nil {
			return nil, err
		}
		if link, ok := strings.CutPrefix(to.String(), s.url); ok && !strings.HasPrefix(link, "assets/") {
			all = append(all, link)
		}
	}
	return all, nil
}

// address returns the address of a scene's page.
func (s *site) address(of scene) (string, error) {
	if of.first == "" {
		return of.path, nil
	}
	links, err := s.links(of.path)
	if err != nil {
		return "", err
	}
	for _, link := range links {
		if strings.HasPrefix(link, of.first) {
			return link, nil
		}
	}
	return "", fmt.Errorf("%s: no link begins with %s", of.path, of.first)
}

func (s *site) close() {
	s.pages.Close()
	s.server.Close()
}

package main

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"time"
	_ "time/tzdata" // the story is looked at in Berlin

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/dashboard"
	"github.com/chimejobs/chime/internal/browser/story"
)

// viewer is who looks: the zone of the pages is theirs.
const zone = "Europe/Berlin"

// A site is the dashboard of a store, as it is for somebody who may do everything.
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

// get returns a page as the server writes it.
func (s *site) get(path string) ([]byte, error) {
	answer, err := s.server.Client().Get(s.url + path)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", path, answer.Status)
	}
	return io.ReadAll(answer.Body)
}

func (s *site) close() {
	s.pages.Close()
	s.server.Close()
}

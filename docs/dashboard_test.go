package docs_test

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/dashboard"
)

// docs/dashboard.md shows the code of this file; dashboard_run_test.go runs it.

func mountForThisMachine(mux *http.ServeMux, store chime.Store) {
	mux.Handle("/chime/", dashboard.New(store, dashboard.Options{Prefix: "/chime"}))
}

func mountBehindLogin(mux *http.ServeMux, store chime.Store, users func(*http.Request) (name string, admin bool, err error)) *dashboard.Dashboard {
	pages := dashboard.New(store, dashboard.Options{
		Prefix: "/chime",
		Title:  "billing",
		Write:  true,
		Authorize: func(r *http.Request) (dashboard.Viewer, error) {
			name, admin, err := users(r)
			if err != nil {
				return dashboard.Viewer{}, err
			}
			viewer := dashboard.Viewer{Name: name, Rights: dashboard.View | dashboard.Operate}
			if admin {
				viewer.Rights |= dashboard.Edit | dashboard.Delete | dashboard.Reveal
			}
			return viewer, nil
		},
	})
	mux.Handle("/chime/", pages)
	return pages
}

func mountBehindBasicAuth(mux *http.ServeMux, store chime.Store, hashes map[string][sha256.Size]byte) *dashboard.Dashboard {
	pages := dashboard.New(store, dashboard.Options{
		Prefix: "/chime",
		Write:  true,
		Authorize: func(r *http.Request) (dashboard.Viewer, error) {
			name, _, _ := r.BasicAuth() // it was checked below
			return dashboard.Viewer{Name: name, Rights: dashboard.View | dashboard.Operate}, nil
		},
	})
	mux.HandleFunc("/chime/", func(w http.ResponseWriter, r *http.Request) {
		name, token, _ := r.BasicAuth()
		want, known := hashes[name]
		got := sha256.Sum256([]byte(token))
		if subtle.ConstantTimeCompare(got[:], want[:]) == 0 || !known {
			w.Header().Set("WWW-Authenticate", `Basic realm="chime", charset="UTF-8"`)
			http.Error(w, "a name and a token are needed", http.StatusUnauthorized)
			return
		}
		pages.ServeHTTP(w, r)
	})
	return pages
}

func mountTwo(mux *http.ServeMux, billing, mail chime.Store) {
	production := dashboard.Environment{Name: "production", Color: dashboard.Red}
	mux.Handle("/billing/", dashboard.New(billing, dashboard.Options{
		Prefix: "/billing", Environment: production, Elsewhere: []dashboard.Link{{Text: "mail", URL: "../mail/"}},
	}))
	mux.Handle("/mail/", dashboard.New(mail, dashboard.Options{
		Prefix: "/mail", Environment: production, Elsewhere: []dashboard.Link{{Text: "billing", URL: "../billing/"}},
	}))
}

func servePages(server *http.Server, pages *dashboard.Dashboard) {
	server.RegisterOnShutdown(pages.Close)
}

func onlyMail(_ context.Context, viewer dashboard.Viewer, action dashboard.Action, names []string) error {
	for _, name := range names {
		if viewer.Name == "anna" && !strings.HasPrefix(name, "mail-") {
			return &dashboard.Refusal{Text: action.Act + ": anna may change only what begins with mail-"}
		}
	}
	return nil
}

func auditTo(entries chan<- dashboard.Action) dashboard.Options {
	return dashboard.Options{Audit: func(ctx context.Context, action dashboard.Action) {
		select {
		case entries <- action: // At, Viewer, Remote, Act ("pause schedule"), Queue, Target, Note, Args, Detail, Count, Err
		case <-ctx.Done():
		}
	}}
}

var credential = regexp.MustCompile(`token=\S+`)

func withoutSecrets() dashboard.Options {
	return dashboard.Options{
		Redact: func(_ *chime.JobInfo, payload any) any {
			if fields, ok := payload.(map[string]any); ok && fields["card"] != nil {
				fields["card"] = "hidden"
			}
			return payload
		},
		RedactError: func(_ *chime.JobInfo, text string) string { return credential.ReplaceAllString(text, "token=…") },
		Links: func(job *chime.JobInfo) []dashboard.Link {
			return []dashboard.Link{{Text: "Logs", URL: "https://logs.example.com/?job=" + url.QueryEscape(job.ID)}}
		},
	}
}

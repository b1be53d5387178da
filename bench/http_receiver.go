package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"sync/atomic"

	"github.com/chimejobs/chime"
	"github.com/chimejobs/chime/httpapi/action"
)

// Receivers are servers that get the requests of actions, in turn.
type receivers struct {
	servers []*http.Server
	uris    []string
	turn    atomic.Int64
}

// startReceivers starts n receivers; got is called with each body as it arrives.
func startReceivers(n int, got func(body []byte)) (*receivers, error) {
	all := &receivers{}
	for range n {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			all.close()
			return nil, err
		}
		server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return // the sender has gone
			}
			got(body)
			_ = pause(r.Context(), sendAnswer)
			w.WriteHeader(http.StatusNoContent)
		})}
		go func() { _ = server.Serve(listener) }()
		all.servers = append(all.servers, server)
		all.uris = append(all.uris, "http://"+listener.Addr().String()+"/")
	}
	return all, nil
}

func (all *receivers) close() {
	for _, server := range all.servers {
		_ = server.Close()
	}
}

// request is an action that sends a body to the next receiver.
func (all *receivers) request(body []byte) *action.Action {
	uri := all.uris[int(all.turn.Add(1))%len(all.uris)]
	return &action.Action{Type: action.HTTP, Request: &action.Request{URI: uri, Method: http.MethodPost, Body: string(body)}}
}

// Actions are chime's jobs that send their payload to receivers.
type actions struct {
	*chimeLibrary
	to *receivers
}

func (a *actions) Enqueue(ctx context.Context, payload []byte) error {
	item, err := a.to.request(payload).Item()
	if err != nil {
		return err
	}
	_, err = a.enqueuer.EnqueueMany(ctx, []chime.Item{item})
	return err
}

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/chimejobs/chime"
)

// A message is for one recipient. All tenants share one queue and the same workers, and each tenant is a group: its messages do not wait
// for those of the others.
type message struct {
	Tenant string `json:"tenant"`
	To     string `json:"to"`
	Text   string `json:"text"`
}

const messages = "messages" // the queue

var deliver = chime.Define[message]("message", chime.Queue(messages), chime.MaxAttempts(3), chime.Timeout(time.Minute),
	chime.GroupBy(func(m message) string { return m.Tenant }))

// maxRecipients is the maximum number of recipients of a request.
const maxRecipients = 500

// send enqueues a message for each recipient: {"text": "…", "to": ["anna", …]}.
func (a api) send(ctx context.Context, r *request) (answer, error) {
	var body struct {
		Text string   `json:"text"`
		To   []string `json:"to"`
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil && err != io.EOF {
		var tooLong *http.MaxBytesError
		if errors.As(err, &tooLong) {
			return answer{}, err
		}
		return answer{}, &chime.InvalidError{Field: "body", Value: err.Error(), Limit: `{"text": "text", "to": ["name"]}`}
	}
	if n := len(body.To); n < 1 || n > maxRecipients {
		return answer{}, &chime.InvalidError{Field: "to", Value: strconv.Itoa(n) + " recipients", Limit: "1 to " + strconv.Itoa(maxRecipients)}
	}
	items := make([]chime.Item, len(body.To))
	for i, to := range body.To {
		items[i] = deliver.Item(message{r.tenant, to, body.Text})
	}
	_, err := a.enqueuer.EnqueueMany(ctx, items)
	return answer{status: http.StatusAccepted, body: map[string]int{"accepted": len(items)}}, err
}

// handleMessages makes a worker print the messages of all tenants. Another service would send e-mails here.
func handleMessages(worker *chime.Worker, out io.Writer) {
	deliver.Handle(worker, func(_ context.Context, _ *chime.Job, m message) error {
		_, err := fmt.Fprintf(out, "%s to %s: %s\n", m.Tenant, m.To, m.Text)
		return err
	})
}
